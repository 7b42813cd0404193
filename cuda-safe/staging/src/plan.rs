//! Decides whether a transfer is staged, and how: the settings of the program, and arithmetic over sizes
//! and processors.
//!
//! A transfer is a plane of rows, or one row. Its bytes are counted as if the rows were packed. The device
//! copies one *chunk* at a time: some whole rows, or a part of one row if a row is larger than a chunk may
//! be. The first chunks are small, so that the other side has something to do soon; they grow, because each
//! costs the device some microseconds; and the last ones are small, so that little is left to do for one side
//! when the other is ready. A *piece* is the part of a chunk that one thread moves at a time.
//!
//! The figures were measured on a machine with an H200 (a link of 54 GB/s, 16 processors of 10 GB/s each),
//! with 1, 2, 3, 4, 6, 8 and 16 processors. `cudaMemcpy` moved 9 GB/s to the device there and 15.5 GB/s to
//! the host, and 16 GB/s to the device if the bytes were in the processor's cache.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use crate::Direction;
use crate::runtime::lock;

/// How large blocking copies between pageable memory and a device are made.
///
/// The crate chooses for the machine whatever is `None`. The environment sets the values that the program
/// starts with: `CUDA_SAFE_STAGED` is `off`, `on`, or the `threshold` in bytes; `CUDA_SAFE_STAGED_PINNED` is
/// `pinned` in bytes.
///
/// # Examples
/// ```
/// use cuda_staging::{Settings, configure};
///
/// // At most four threads, the calling one included, and 16 MiB of page-locked memory.
/// configure(Settings { threads: Some(4), pinned: 16 << 20, ..Settings::default() });
/// // All copies by `cudaMemcpy` itself.
/// configure(Settings { enabled: false, ..Settings::default() });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "written with `..Settings::default()`")]
pub struct Settings {
    /// Whether copies are staged at all. If not, every copy is one `cudaMemcpy`, straight to the program's
    /// memory.
    pub enabled: bool,
    /// The number of bytes from which a copy is staged. `None`: from where that is faster, and once a program
    /// has copied enough to make up for page-locking memory.
    pub threshold: Option<usize>,
    /// The number of threads that work on a copy, the calling one included. `None`: at most as many as the
    /// processors that the process may use.
    pub threads: Option<usize>,
    /// The most bytes that the device copies at a time, to or from one chunk of page-locked memory. A copy
    /// has up to eight chunks.
    pub chunk: Option<usize>,
    /// The most bytes of page-locked memory that the crate holds, for all devices together. With less than
    /// two chunks, no copy is staged.
    pub pinned: usize,
}

impl Default for Settings {
    /// Everything chosen for the machine, and at most 64 MiB of page-locked memory.
    fn default() -> Self {
        Self { enabled: true, threshold: None, threads: None, chunk: None, pinned: 64 << 20 }
    }
}

impl Settings {
    /// Stores the values that fast paths read. Called under the lock of the settings, so that the last
    /// settings win.
    fn publish(&self) {
        let lowest = if self.enabled { self.threshold.unwrap_or(NEVER) } else { usize::MAX };
        LOWEST.store(lowest, Ordering::Relaxed);
    }

    /// The settings that the environment asks for.
    fn from_environment(get: impl Fn(&str) -> Option<String>) -> Self {
        let mut settings = Self::default();
        if let Some(value) = get(VARIABLE) {
            match value.parse() {
                Ok(bytes) => settings.threshold = Some(bytes),
                Err(_) if value.eq_ignore_ascii_case("off") => settings.enabled = false,
                Err(_) if value.eq_ignore_ascii_case("on") => {}
                Err(_) => {
                    eprintln!("cuda-safe: {VARIABLE}={value} is not known; use off, on, or a number of bytes")
                }
            }
        }
        if let Some(value) = get(PINNED) {
            match value.parse() {
                Ok(bytes) => settings.pinned = bytes,
                Err(_) => eprintln!("cuda-safe: {PINNED}={value} is not a number of bytes"),
            }
        }
        settings
    }

    /// Returns the bytes of a slot of page-locked memory.
    pub(crate) fn slot_bytes(&self) -> usize {
        self.chunk.unwrap_or(LARGEST_CHUNK).max(1)
    }
}

/// The environment variable that switches staging off, or sets the threshold.
const VARIABLE: &str = "CUDA_SAFE_STAGED";

/// The environment variable that bounds page-locked memory.
const PINNED: &str = "CUDA_SAFE_STAGED_PINNED";

/// The settings of the process, read from the environment at first use.
fn current() -> &'static Mutex<Settings> {
    static CURRENT: OnceLock<Mutex<Settings>> = OnceLock::new();
    CURRENT.get_or_init(|| Mutex::new(Settings::from_environment(|name| std::env::var(name).ok())))
}

/// Returns the settings of the process.
#[must_use]
pub fn settings() -> Settings {
    let current = lock(current());
    current.publish();
    *current
}

/// Changes the settings of the process, from the next copy on; copies under way go on as they began.
///
/// [`release`](crate::release) frees page-locked memory beyond a lower bound.
pub fn configure(settings: Settings) {
    let mut current = lock(current());
    *current = settings;
    current.publish();
}

/// Without a threshold of the program, no copy below this is staged: it is not even considered.
const NEVER: usize = 1 << 19;

/// Copies of fewer bytes are not staged; 0 until the settings are first asked for.
static LOWEST: AtomicUsize = AtomicUsize::new(0);

/// Returns whether a copy is too small to be staged, without reading the settings.
#[inline]
#[must_use]
pub fn is_never_staged(bytes: usize) -> bool {
    bytes < LOWEST.load(Ordering::Relaxed)
}

/// Page-locked memory is bounded by the bytes that the program has copied, divided by this: page-locking a
/// byte costs as much as staging saves on so many.
///
/// Page-locking a ring of 16 MiB takes 5.5 ms, and staging saves 40 to 80 µs on each MiB: the ring has paid
/// for itself after 64 to 128 MiB. So it is allocated, in one go, by the copy that completes 128 MiB, and no
/// program spends more than twice what was necessary.
const COPIED_PER_PINNED: u64 = 8;

/// Bytes to new memory count so many times, as staging saves as many times the time on them: the first copy
/// of 32 MiB to new memory pays for the ring by itself.
const NEW_COUNTS: u64 = 4;

/// Bytes of all transfers so far that were large enough to be staged, staged or not.
static COPIED: AtomicU64 = AtomicU64::new(0);

/// Returns the page-locked memory that the program has earned with this transfer and all before.
pub(crate) fn earned(request: &Request, settings: &Settings) -> usize {
    if settings.threshold.is_some() {
        return usize::MAX;
    }
    let counts = if request.is_new { NEW_COUNTS } else { 1 };
    let bytes = (request.bytes as u64).saturating_mul(counts);
    let copied = COPIED.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
    usize::try_from(copied / COPIED_PER_PINNED).unwrap_or(usize::MAX)
}

/// The known properties of a transfer before it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) direction: Direction,
    pub(crate) bytes: usize,
    /// Whether the host's memory was allocated just now and has not been touched.
    pub(crate) is_new: bool,
    /// Processors that the process may use.
    pub(crate) processors: usize,
    pub(crate) traffic: Traffic,
}

/// Whether other bytes move in the opposite direction during a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// The transfer has the processors for itself, if nothing else is known.
    OneWay,
    /// Another transfer moves in the opposite direction, as in a pipeline: more threads than processors
    /// would slow each other down.
    BothWays,
}

impl Traffic {
    /// How many of the processors a transfer uses. At least two if there are two: with one it would not be
    /// staged.
    fn share(self, processors: usize) -> usize {
        match self {
            Self::OneWay => processors,
            Self::BothWays => (processors / 2).max(2).min(processors),
        }
    }
}

/// How a transfer is staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) sizes: Sizes,
    /// The most threads that work on it, the calling one included.
    pub(crate) threads: usize,
    /// The same after a wait. The transfer is then faster than the work it waited for. More threads would
    /// slow down other copies.
    threads_after_a_wait: usize,
    /// Whether the host's stores bypass its caches.
    pub(crate) bypass_caches: bool,
    /// Whether pages are populated while the device fills a chunk.
    pub(crate) populate: bool,
}

/// More threads than keep any link busy.
pub(crate) const MOST_THREADS: usize = 64;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// The largest chunk. Smaller ones cost the link a good part of its rate, larger ones add little to it.
const LARGEST_CHUNK: usize = 2 * MIB;

/// Less memory than this is seldom untouched, though it was allocated just now: allocators reuse memory.
pub(crate) const NEW_BYTES: usize = 32 * MIB;

/// The size from which so many threads are faster than `cudaMemcpy`, with a margin. One never is: it waits
/// for the device in addition. Two gain 50 % and more. Three and more gain 50 to 90 % at this size; H2D, they
/// gain 8 to 35 % at half of it.
fn threshold(direction: Direction, threads: usize) -> Option<usize> {
    match (direction, threads) {
        (_, 0 | 1) => None,
        (_, 2) => Some(4 * MIB),
        (Direction::HostToDevice, _) => Some(MIB),
        (Direction::DeviceToHost, _) => Some(MIB / 2),
    }
}

/// The maximum number of threads whose stores to the host bypass the caches: with more, the memory's queues
/// are full.
const FEW: usize = 6;

/// The maximum number of useful threads: beyond these the link or the memory is the limit.
fn enough(request: &Request) -> usize {
    match request.direction {
        Direction::HostToDevice => 10,
        // Pages take most of the time.
        Direction::DeviceToHost if request.is_new => 16,
        // With stores that bypass the caches, these keep the link as busy as twelve do without, which have to
        // be woken first.
        Direction::DeviceToHost if request.traffic == Traffic::OneWay => FEW - 1,
        Direction::DeviceToHost => 12,
    }
}

/// Whether the stores of so many threads bypass the caches.
///
/// H2D, the device then reads from memory and not from the cache of some processor; in large transfers, many
/// threads fill the queues of the memory that way. D2H, the host reads the bytes later, if at all, and stores
/// that bypass the caches are nearly twice as fast (two threads move 22 to 24 GB/s and not 15, four 48 to 52
/// and not 30). There are two exceptions: new pages, which the system has just cleared and left in the
/// caches, and traffic in the opposite direction, whose stores fill the queues already.
fn bypass_caches(request: &Request, threads: usize) -> bool {
    match request.direction {
        Direction::HostToDevice => request.bytes < 256 * MIB || threads < 8,
        Direction::DeviceToHost => threads <= FEW && !request.is_new && request.traffic == Traffic::OneWay,
    }
}

impl Plan {
    /// The plan for a transfer, or `None` if it is not staged.
    pub(crate) fn new(request: &Request, settings: &Settings) -> Option<Self> {
        let (threads, threads_after_a_wait) = if let Some(threads) = settings.threads {
            let threads = threads.clamp(1, MOST_THREADS);
            (threads, threads)
        } else {
            let threads = enough(request).min(request.traffic.share(request.processors)).max(1);
            (threads, threads.min(FEW - 1))
        };
        let threshold = settings.threshold.or_else(|| threshold(request.direction, threads))?;
        if !settings.enabled || request.bytes < threshold.max(1) {
            return None;
        }
        let most = match settings.chunk {
            Some(_) => settings.slot_bytes(),
            None => (request.bytes / 8).clamp(256 * KIB, LARGEST_CHUNK),
        };
        let piece = match request.bytes / MIB {
            // Threads that make the system provide neighbouring pages slow each other down.
            _ if request.is_new => MIB,
            0..4 => 64 * KIB,
            _ => 128 * KIB,
        };
        let sizes = Sizes { first: most / 4, last: (most / 8).max(64 * KIB), most, piece: piece.min(most) };
        let bypass_caches = bypass_caches(request, threads);
        Some(Self { sizes, threads, threads_after_a_wait, bypass_caches, populate: request.is_new })
    }

    /// The plan for the same transfer after it had to wait.
    pub(crate) fn after_a_wait(self) -> Self {
        Self { threads: self.threads_after_a_wait, ..self }
    }
}

/// The rows of a transfer on both sides, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the four numbers are all there is to a plane of rows")]
pub struct Layout {
    /// Bytes of a row.
    pub row_bytes: usize,
    /// Number of rows.
    pub rows: usize,
    /// Bytes from one row of the host's memory to the next.
    pub host_pitch: usize,
    /// Bytes from one row of the device's memory to the next.
    pub device_pitch: usize,
}

impl Layout {
    /// One row of so many bytes.
    #[must_use]
    pub fn linear(bytes: usize) -> Self {
        Self { row_bytes: bytes, rows: 1, host_pitch: bytes, device_pitch: bytes }
    }

    /// Returns how many bytes are moved.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.row_bytes.saturating_mul(self.rows)
    }

    /// The same bytes as one row, if both sides are packed.
    pub(crate) fn flattened(self) -> Self {
        if self.rows == 1 || (self.host_pitch == self.row_bytes && self.device_pitch == self.row_bytes) {
            Self::linear(self.bytes())
        } else {
            self
        }
    }
}

/// A part of a transfer: a chunk or a piece. It is a plane of rows in both memories, and packed in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowRange {
    /// First byte, counted from the start of the host's side.
    pub(crate) host: usize,
    /// First byte, counted from the start of the device's side.
    pub(crate) device: usize,
    /// First byte, counted from the start of the chunk.
    pub(crate) slot: usize,
    /// Bytes of a row of the part.
    pub(crate) width: usize,
    /// Rows of the part.
    pub(crate) rows: usize,
}

impl RowRange {
    /// Returns the number of bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.width * self.rows
    }

    /// The number of its pieces of so many bytes, at least a row each.
    fn pieces(&self, bytes: usize) -> usize {
        if self.rows == 1 {
            self.width.div_ceil(bytes)
        } else {
            self.rows.div_ceil(rows_of(bytes, self.width))
        }
    }

    /// Returns one of its pieces.
    fn piece(&self, at: usize, bytes: usize, layout: &Layout) -> Self {
        if self.rows == 1 {
            let skipped = at * bytes;
            Self {
                host: self.host + skipped,
                device: self.device + skipped,
                slot: skipped,
                width: bytes.min(self.width - skipped),
                rows: 1,
            }
        } else {
            let most = rows_of(bytes, self.width);
            let skipped = at * most;
            Self {
                host: self.host + skipped * layout.host_pitch,
                device: self.device + skipped * layout.device_pitch,
                slot: skipped * self.width,
                width: self.width,
                rows: most.min(self.rows - skipped),
            }
        }
    }
}

/// Returns the whole rows in so many bytes, at least one.
fn rows_of(bytes: usize, width: usize) -> usize {
    (bytes / width).max(1)
}

/// How large chunks and pieces may be, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Of the first chunk.
    pub(crate) first: usize,
    /// Of the last ones.
    pub(crate) last: usize,
    /// Of those in the middle; no chunk is larger.
    pub(crate) most: usize,
    /// Of a piece.
    pub(crate) piece: usize,
}

/// A transfer, divided into chunks and pieces.
#[derive(Debug)]
pub(crate) struct Chunks {
    layout: Layout,
    /// Bytes of a piece.
    piece: usize,
    chunks: Vec<RowRange>,
    /// The number of the first piece of each chunk.
    begins: Vec<usize>,
}

/// Chunks of one row end at the end of a page of the host, so that no two write to one page or cache line.
const PAGE: usize = 4096;

impl Chunks {
    pub(crate) fn new(layout: Layout, sizes: Sizes, host_address: usize) -> Self {
        let (layout, most) = (layout.flattened(), sizes.most.max(1));
        let (first, last) = (sizes.first.clamp(1, most), sizes.last.clamp(1, most));
        let skew = host_address % PAGE;
        let (mut chunks, mut done, mut growing) = (Vec::new(), 0, first);
        while done < layout.bytes() {
            let ending = ((layout.bytes() - done) / 2).max(last);
            let chunk = chunk_at(&layout, done, growing.min(ending).min(most), most, skew);
            done += chunk.bytes();
            chunks.push(chunk);
            growing = growing.saturating_mul(2).min(most);
        }
        let (piece, mut pieces) = (sizes.piece.max(1), 0);
        let begins = chunks.iter().map(|chunk| {
            pieces += chunk.pieces(piece);
            pieces - chunk.pieces(piece)
        });
        Self { layout, piece, begins: begins.collect(), chunks }
    }

    /// The chunks, in order.
    pub(crate) fn all(&self) -> &[RowRange] {
        &self.chunks
    }

    /// The number of pieces of each chunk.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = usize> {
        self.chunks.iter().map(|chunk| chunk.pieces(self.piece))
    }

    /// A piece, by its number in the transfer, and the number of its chunk; `None` past the end.
    pub(crate) fn piece(&self, number: usize) -> Option<(usize, RowRange)> {
        let chunk = self.begins.partition_point(|begin| *begin <= number).checked_sub(1)?;
        let (part, at) = (self.chunks[chunk], number - self.begins[chunk]);
        (at < part.pieces(self.piece)).then(|| (chunk, part.piece(at, self.piece, &self.layout)))
    }
}

/// The chunk that begins after so many bytes, of about `want` bytes and at most `most`.
fn chunk_at(layout: &Layout, done: usize, want: usize, most: usize, skew: usize) -> RowRange {
    let &Layout { row_bytes, rows, host_pitch, device_pitch } = layout;
    let (row, column) = (done / row_bytes, done % row_bytes);
    let (host, device) = (row * host_pitch + column, row * device_pitch + column);
    if column == 0 && row_bytes <= most && rows > 1 {
        let rows = rows_of(want, row_bytes).min(rows - row);
        return RowRange { host, device, slot: 0, width: row_bytes, rows };
    }
    let rest = row_bytes - column;
    let mut width = want.min(rest);
    if rows == 1 && width < rest {
        let past = (skew + column + width) % PAGE;
        if past < width {
            width -= past;
        }
    }
    RowRange { host, device, slot: 0, width, rows: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> Settings {
        Settings::from_environment(|name| {
            pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned())
        })
    }

    #[test]
    fn the_environment_switches_staging_off_and_sets_sizes() {
        assert_eq!(with(&[]), Settings::default());
        assert!(!with(&[("CUDA_SAFE_STAGED", "OFF")]).enabled);
        assert_eq!(with(&[("CUDA_SAFE_STAGED", "on")]), Settings::default());
        assert_eq!(with(&[("CUDA_SAFE_STAGED", "65536")]).threshold, Some(65536));
        assert_eq!(with(&[("CUDA_SAFE_STAGED_PINNED", "1048576")]).pinned, 1 << 20);
    }

    #[test]
    fn unknown_values_in_the_environment_change_nothing() {
        assert_eq!(with(&[("CUDA_SAFE_STAGED", "perhaps")]), Settings::default());
        assert_eq!(with(&[("CUDA_SAFE_STAGED_PINNED", "-1")]), Settings::default());
    }

    fn request(direction: Direction, bytes: usize) -> Request {
        Request { direction, bytes, is_new: false, processors: 16, traffic: Traffic::OneWay }
    }

    #[test]
    fn small_transfers_are_not_staged() {
        let settings = Settings::default();
        for direction in [Direction::HostToDevice, Direction::DeviceToHost] {
            for bytes in [0, 1, 64 << 10, (512 << 10) - 1] {
                assert_eq!(Plan::new(&request(direction, bytes), &settings), None);
            }
            assert!(Plan::new(&request(direction, 64 * MIB), &settings).is_some());
        }
    }

    #[test]
    fn the_fewer_processors_the_larger_a_transfer_has_to_be() {
        let staged = |direction, bytes, processors| {
            Plan::new(&Request { processors, ..request(direction, bytes) }, &Settings::default()).is_some()
        };
        assert_eq!(
            [1, 2, 3, 16].map(|it| staged(Direction::HostToDevice, MIB, it)),
            [false, false, true, true]
        );
        assert_eq!(
            [1, 2, 3, 16].map(|it| staged(Direction::DeviceToHost, MIB / 2, it)),
            [false, false, true, true]
        );
        assert_eq!([1, 2].map(|it| staged(Direction::HostToDevice, 4 * MIB, it)), [false, true]);
        assert_eq!([1, 2].map(|it| staged(Direction::DeviceToHost, 4 * MIB, it)), [false, true]);
        assert!(!staged(Direction::DeviceToHost, 1 << 30, 1));
    }

    #[test]
    fn the_program_can_set_the_threshold() {
        let settings = Settings { threshold: Some(1000), ..Settings::default() };
        assert_eq!(Plan::new(&request(Direction::HostToDevice, 999), &settings), None);
        assert!(Plan::new(&request(Direction::HostToDevice, 1000), &settings).is_some());
        let one = Request { processors: 1, ..request(Direction::HostToDevice, 64 * MIB) };
        assert_eq!(Plan::new(&one, &settings).unwrap().threads, 1);
        let all = Settings { threshold: Some(0), ..Settings::default() };
        assert_eq!(Plan::new(&request(Direction::HostToDevice, 0), &all), None);
    }

    #[test]
    fn switched_off_nothing_is_staged() {
        let off = Settings { enabled: false, threshold: Some(1), ..Settings::default() };
        assert_eq!(Plan::new(&request(Direction::DeviceToHost, 64 * MIB), &off), None);
    }

    #[test]
    fn no_more_threads_than_processors_unless_the_program_says_so() {
        let settings = Settings::default();
        let threads = |request: &Request, settings| Plan::new(request, settings).unwrap().threads;
        assert!(threads(&request(Direction::HostToDevice, 1 << 30), &settings) > 4);
        assert_eq!(
            threads(&Request { processors: 3, ..request(Direction::HostToDevice, 1 << 30) }, &settings),
            3
        );
        let many = Settings { threads: Some(20), ..settings };
        assert_eq!(threads(&request(Direction::DeviceToHost, 1 << 30), &many), 20);
        let none = Settings { threads: Some(0), threshold: Some(1), ..settings };
        assert_eq!(threads(&request(Direction::DeviceToHost, 1 << 30), &none), 1);
    }

    #[test]
    fn after_a_wait_five_threads_unless_the_program_says_how_many() {
        let after = |threads| {
            let settings = Settings { threads, ..Settings::default() };
            Plan::new(&request(Direction::HostToDevice, 1 << 30), &settings).unwrap().after_a_wait().threads
        };
        assert_eq!([None, Some(2), Some(20)].map(after), [5, 2, 20]);
    }

    #[test]
    fn of_two_transfers_at_once_each_uses_half_of_the_processors() {
        let shares = |traffic: Traffic| [1, 2, 3, 4, 16, 17].map(|processors| traffic.share(processors));
        assert_eq!(shares(Traffic::OneWay), [1, 2, 3, 4, 16, 17]);
        assert_eq!(shares(Traffic::BothWays), [1, 2, 2, 2, 8, 8]);
    }

    #[test]
    fn stores_of_a_few_threads_to_the_host_bypass_the_caches() {
        let plan = |request: Request, threads| {
            Plan::new(&request, &Settings { threads, ..Settings::default() }).unwrap()
        };
        let d2h = request(Direction::DeviceToHost, 64 * MIB);
        for processors in [2, 4, 6, 8, 16] {
            let plan = plan(Request { processors, ..d2h }, None);
            assert_eq!((plan.threads, plan.bypass_caches), (processors.min(5), true));
        }
        assert!(plan(d2h, Some(6)).bypass_caches && !plan(d2h, Some(7)).bypass_caches);
        let is_new = plan(Request { is_new: true, processors: 4, ..d2h }, None);
        let paired = plan(Request { traffic: Traffic::BothWays, ..d2h }, None);
        assert!(!is_new.bypass_caches && !paired.bypass_caches && (is_new.threads, paired.threads) == (4, 8));
    }

    #[test]
    fn a_chunk_is_never_larger_than_a_slot_nor_a_piece_than_a_chunk() {
        for chunk in [None, Some(0), Some(1), Some(4096), Some(1 << 20), Some(5 << 20)] {
            let settings = Settings { threshold: Some(1), chunk, ..Settings::default() };
            for bytes in [1, 5000, MIB, 3 * MIB, 5 * MIB, 1 << 30] {
                for is_new in [false, true] {
                    let sizes =
                        Plan::new(&Request { is_new, ..request(Direction::DeviceToHost, bytes) }, &settings)
                            .unwrap()
                            .sizes;
                    assert!(sizes.most <= settings.slot_bytes() && sizes.piece <= sizes.most, "{sizes:?}");
                    assert!(sizes.most > 0 && sizes.piece > 0);
                }
            }
        }
    }

    /// Divides a transfer and checks that every byte of every row is in exactly one piece, and in the same
    /// place on both sides and in the slot of its chunk; returns the sizes of the chunks.
    fn divide(layout: Layout, sizes: Sizes, address: usize) -> Vec<usize> {
        let chunks = Chunks::new(layout, sizes, address);
        let mut seen = vec![0_u8; layout.bytes()];
        // A packed transfer is divided as one row.
        let flat = layout.flattened();
        let mut number = 0;
        for (chunk, pieces) in chunks.pieces().enumerate() {
            let mut packed = 0;
            for _ in 0..pieces {
                let (of, piece) = chunks.piece(number).unwrap();
                assert_eq!((of, piece.slot), (chunk, packed));
                assert!(
                    piece.bytes() > 0 && (piece.bytes() <= sizes.piece.max(1) || piece.rows == 1),
                    "{piece:?}"
                );
                packed += piece.bytes();
                number += 1;
                for row in 0..piece.rows {
                    let (host, device) =
                        (piece.host + row * flat.host_pitch, piece.device + row * flat.device_pitch);
                    let (at, column) = (host / flat.host_pitch, host % flat.host_pitch);
                    assert_eq!((device / flat.device_pitch, device % flat.device_pitch), (at, column));
                    assert!(column + piece.width <= flat.row_bytes, "{piece:?}");
                    for byte in &mut seen[at * flat.row_bytes + column..][..piece.width] {
                        *byte += 1;
                    }
                }
            }
            assert_eq!(packed, chunks.all()[chunk].bytes());
            assert!(packed <= sizes.most.max(1));
        }
        assert_eq!(chunks.piece(number), None);
        assert!(seen.iter().all(|&times| times == 1), "{layout:?} {sizes:?}");
        chunks.all().iter().map(RowRange::bytes).collect()
    }

    #[test]
    fn every_byte_is_in_one_piece_whatever_the_sizes() {
        for bytes in [1, 2, 4095, 4096, 4097, 100_000, 1 << 20, (1 << 20) + 7] {
            for (first, most) in [(1 << 12, 1 << 12), (1 << 12, 1 << 16), (5000, 70_001), (1 << 20, 1 << 12)]
            {
                for piece in [1000, 4096, 1 << 20] {
                    for address in [0, 16, 4095] {
                        let sizes = Sizes { first, last: first / 2, most, piece };
                        divide(Layout::linear(bytes), sizes, address);
                    }
                }
            }
        }
        assert_eq!(divide(Layout::linear(5), Sizes { first: 0, last: 0, most: 0, piece: 0 }, 0), [1; 5]);
    }

    #[test]
    fn planes_are_divided_into_whole_rows_and_wide_rows_into_parts() {
        let sizes = Sizes { first: 1000, last: 1000, most: 4000, piece: 1500 };
        for (row_bytes, rows) in [(1, 5000), (999, 37), (1000, 3), (4000, 5), (4001, 5), (50_000, 3)] {
            for (host, device) in [(0, 0), (3, 0), (0, 512), (1, 100)] {
                let layout = Layout {
                    row_bytes,
                    rows,
                    host_pitch: row_bytes + host,
                    device_pitch: row_bytes + device,
                };
                let lengths = divide(layout, sizes, 8);
                if row_bytes <= sizes.most && host + device > 0 {
                    assert!(lengths.iter().all(|length| length % row_bytes == 0), "{lengths:?}");
                }
            }
        }
    }

    #[test]
    fn chunks_begin_small_grow_and_end_small() {
        let sizes = Sizes { first: 1 << 16, last: 1 << 15, most: 1 << 20, piece: 1 << 16 };
        let lengths = divide(Layout::linear(64 << 20), sizes, 0);
        assert_eq!(lengths[..4], [1 << 16, 1 << 17, 1 << 18, 1 << 19]);
        assert_eq!(lengths.iter().max(), Some(&(1 << 20)));
        assert!(lengths[lengths.len() - 2..].iter().all(|&length| length <= 1 << 15), "{lengths:?}");
    }

    #[test]
    fn chunks_of_a_row_end_with_a_page_of_the_host() {
        let sizes = Sizes { first: 10_000, last: 10_000, most: 10_000, piece: 10_000 };
        let mut end = 100;
        for chunk in Chunks::new(Layout::linear(1 << 20), sizes, 100).all() {
            end += chunk.bytes();
            assert!(end % PAGE == 0 || end == 100 + (1 << 20), "{chunk:?}");
        }
    }
}
