//! The runtime as device code calls it: launches, copies, streams and events of kernels.
//!
//! The interpreter takes a call apart and hands it to the machine, which has the streams
//! ([`Env::runtime`](super::env::Env::runtime)).

use super::fault::Fault;
use super::launch::{Cached, Context, Launch};
use super::memory::{BYTES, Verb};
use super::program::{CODE, CallSite, Element, SHARED};
use super::warp::Warp;

macro_rules! functions {
    ($($name:ident)*) => {
        /// A function of the runtime that kernels may call, by its name without `cuda`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the names are those of the runtime")]
        pub enum RuntimeFunction {
            $($name,)*
        }

        impl RuntimeFunction {
            /// Finds the function that a name of the toolkit's headers stands for.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                let name = name.strip_prefix("__cudaCDP2")?;
                match name.strip_suffix("_ptsz").unwrap_or(name) {
                    $(stringify!($name) => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// Its name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => concat!("cuda", stringify!($name)),)*
                }
            }
        }
    };
}

functions! {
    GetParameterBuffer GetParameterBufferV2 LaunchDevice LaunchDeviceV2 StreamCreateWithFlags StreamDestroy
    StreamWaitEvent EventCreateWithFlags EventRecord EventDestroy MemcpyAsync
    Memcpy2DAsync Memcpy3DAsync MemsetAsync Memset2DAsync Memset3DAsync Malloc Free GetLastError
    PeekAtLastError GetErrorString GetErrorName GetDevice GetDeviceCount DeviceGetAttribute DeviceGetLimit
    DeviceGetCacheConfig DeviceGetSharedMemConfig RuntimeGetVersion FuncGetAttributes
    OccupancyMaxActiveBlocksPerMultiprocessor OccupancyMaxActiveBlocksPerMultiprocessorWithFlags
}

/// A call of the runtime by one thread.
#[derive(Debug)]
pub struct RuntimeCall<'a> {
    /// The function.
    pub function: RuntimeFunction,
    /// The launch of the kernel that calls.
    pub launch: &'a Launch,
    /// The number of the thread's block.
    pub block: u64,
    /// The number of the thread in its block.
    pub thread: u32,
    /// The calling instruction.
    pub pc: u32,
    /// The bytes of each argument.
    pub arguments: Vec<Vec<u8>>,
    /// The structure that the first argument points to, if the function reads one.
    pub structure: Vec<u8>,
}

impl RuntimeCall<'_> {
    /// An argument as a number; zero if there is none.
    #[must_use]
    pub fn number(&self, argument: usize) -> u64 {
        self.arguments.get(argument).map_or(0, |bytes| number(bytes, 0))
    }

    /// An argument as dimensions.
    #[must_use]
    pub fn dimensions(&self, argument: usize) -> [u32; 3] {
        let bytes = self.arguments.get(argument).map_or(&[][..], |bytes| bytes);
        [0, 4, 8].map(|at| bytes.get(at..at + 4).map_or(0, |word| super::file::low(number(word, 0))))
    }

    /// Eight bytes of an argument that is a structure.
    #[must_use]
    pub fn part(&self, argument: usize, at: usize) -> u64 {
        self.arguments.get(argument).map_or(0, |bytes| number(bytes, at))
    }

    /// Eight bytes of the structure as a number.
    #[must_use]
    pub fn field(&self, at: usize) -> u64 {
        number(&self.structure, at)
    }

    /// Whether an address is in shared or local memory, or that of arguments, which other grids do not have.
    #[must_use]
    pub fn is_own_memory(address: u64) -> bool {
        (SHARED..CODE).contains(&address)
    }
}

/// Up to eight bytes as a number.
fn number(bytes: &[u8], at: usize) -> u64 {
    let mut wide = [0; 8];
    for (to, from) in wide.iter_mut().zip(bytes.get(at..).unwrap_or_default()) {
        *to = *from;
    }
    u64::from_le_bytes(wide)
}

/// The answer to a call.
#[derive(Clone, Debug, Default)]
pub struct RuntimeAnswer {
    /// The result: an error code or an address.
    pub result: u64,
    /// The bytes that go to where the first argument points.
    pub output: Vec<u8>,
}

/// `sizeof(cudaMemcpy3DParms)`.
const COPY_PARAMETERS: usize = 160;

impl Warp {
    /// Calls the runtime for one thread.
    pub(super) fn runtime(
        &mut self,
        cx: &mut Context<'_>,
        function: RuntimeFunction,
        site: &CallSite,
        lane: usize,
        pc: u32,
    ) -> Result<u64, Fault> {
        let thread = self.thread(u32::try_from(lane).unwrap_or(0));
        let arguments: Vec<_> =
            site.args.iter().map(|&(at, size)| self.frame_bytes(lane, at, size).to_vec()).collect();
        let first = arguments.first().map_or(0, |bytes| number(bytes, 0));
        let mut structure = Vec::new();
        if function == RuntimeFunction::Memcpy3DAsync {
            structure.resize(COPY_PARAMETERS, 0);
            self.read_bytes(cx, first, &mut structure, lane, pc)?;
        }
        let call =
            RuntimeCall { function, launch: cx.launch, block: cx.number, thread, pc, arguments, structure };
        let answer = cx.env.runtime(&call);
        let RuntimeAnswer { result, output } =
            answer.map_err(|(code, what)| cx.fault(code, &what, thread, pc))?;
        // Memory may have come or gone.
        cx.caches.fill(Cached::EMPTY);
        for (at, byte) in (first..).zip(output) {
            let place = self.reach(cx, BYTES, at, 1, lane, pc, Verb::Write)?;
            super::bytes::write(place, Element::U8, byte.into());
        }
        Ok(result)
    }
}
