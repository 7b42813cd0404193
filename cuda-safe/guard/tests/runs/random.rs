//! Drawn kernels: where the original stays inside, the guarded form does the same in all bits. Where it does
//! not, nothing outside changes, and the context is alive.
//!
//! `GUARD_ROUNDS=100000` draws another number of kernels, and `GUARD_SEED` begins elsewhere.

use std::collections::BTreeSet;
use std::fmt::Write;

use cuda_guard::{guard, guardable, verify};
use cuda_testing::{all, alone};

use crate::device::{Argument, Launch};

const GRID: u32 = 2;
const BLOCK: u32 = 4;
/// The bytes of each memory that are a thread's own.
const OWN: u32 = 64;
const BYTES: u32 = GRID * BLOCK * OWN;
/// The registers of 32 bits.
const WORDS: u64 = 6;

struct Draw {
    state: u64,
    text: String,
    labels: u32,
}

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % end
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    fn line(&mut self, line: &str) {
        writeln!(self.text, "    {line}").unwrap();
    }

    fn word(&mut self) -> String {
        format!("%w{}", self.below(WORDS))
    }

    fn arithmetic(&mut self) {
        let form = self.one(&["add.u32", "sub.u32", "mul.lo.u32", "xor.b32", "or.b32", "min.u32", "shr.u32"]);
        let last = if self.below(2) == 0 { self.word() } else { self.below(100).to_string() };
        let (to, from) = (self.word(), self.word());
        self.line(&format!("{form} {to}, {from}, {last};"));
    }

    /// An access of a thread's own bytes, unless `%wild` or `%skew` has bits. Of some, the address is aligned
    /// whatever they are, and in registers of its own.
    fn access(&mut self) {
        let (space, base) = self.one(&[
            ("global", "%a"),
            ("global", "%b"),
            ("global", "%c"),
            ("global", "%e"),
            ("shared", "%s"),
            ("local", "%l"),
        ]);
        let width = self.one(&[1, 2, 4, 4, 4, 8, 16]);
        let index = self.word();
        // The element behind it is a thread's own, too.
        let mask = OWN / width - 2;
        self.line(&format!("and.b32 %i, {index}, {mask}; and.b32 %j, {index}, %wild; or.b32 %i, %i, %j;"));
        let is_aligned = self.below(3) == 0;
        let ([wide, at], narrow, own) = if is_aligned {
            let own = self.labels;
            self.labels += 1;
            self.line(&format!(".reg .b32 %i{own}, %narrow{own}; .reg .b64 %wide{own}, %at{own};"));
            self.line(&format!("mul.lo.u32 %i{own}, %i, {width};"));
            ([format!("%wide{own}"), format!("%at{own}")], format!("%narrow{own}"), format!("%i{own}"))
        } else {
            self.line(&format!(
                "mul.lo.u32 %i, %i, {width}; and.b32 %j, {index}, %skew; add.u32 %i, %i, %j;"
            ));
            (["%at".to_owned(), "%at".to_owned()], "%at32".to_owned(), "%i".to_owned())
        };
        let at = if space == "shared" {
            self.line(&format!("add.u32 {narrow}, {base}, {own};"));
            narrow
        } else {
            self.line(&format!("cvt.s64.s32 {wide}, {own}; add.s64 {at}, {wide}, {base};"));
            at
        };
        for offset in [0, width].into_iter().take(1 + self.below(2) as usize) {
            let guard = self.one(&["", "", "@%p0 ", "@!%p1 "]);
            let kind = self.below(10);
            let (value, more) = (self.word(), [self.word(), self.word(), self.word()]);
            let at = format!("[{at}+{offset}]");
            let form = match width {
                1 => "u8",
                2 => "u16",
                4 => "u32",
                8 => "v2.u32",
                _ => "v4.u32",
            };
            let is_vector = width > 4;
            let value = match width {
                8 => format!("{{{value}, {}}}", more[0]),
                16 => format!("{{{value}, {}, {}, {}}}", more[0], more[1], more[2]),
                _ => value,
            };
            // Registers of a vector that is loaded have to differ.
            let loaded = match width {
                8 => "{%w0, %w1}".to_owned(),
                16 => "{%w0, %w1, %w2, %w3}".to_owned(),
                _ => value.clone(),
            };
            let is_read_only = base == "%c";
            let line = match kind {
                0..2 if base == "%e" || is_read_only => format!("ld.global.nc.{form} {loaded}, {at};"),
                2..5 if !is_read_only => format!("st.{space}.{form} {at}, {value};"),
                5 if !is_read_only && !is_vector && width == 4 && space != "local" => {
                    let form = self.one(&["add.u32", "exch.b32", "max.u32"]);
                    format!("atom.{space}.{form} {value}, {at}, {};", more[0])
                }
                6 if !is_read_only && !is_vector && width == 4 && space != "local" => {
                    format!("red.{space}.add.u32 {at}, {value};")
                }
                _ => format!("ld.{space}.{form} {loaded}, {at};"),
            };
            self.line(&format!("{guard}{line}"));
        }
    }

    fn block(&mut self, depth: u32) {
        for _ in 0..3 + self.below(6) {
            match self.below(12) {
                0..3 => self.arithmetic(),
                3 => {
                    let form = self.one(&["lt.u32", "eq.u32", "ge.s32"]);
                    let (to, a, b) = (self.below(2), self.word(), self.word());
                    self.line(&format!("setp.{form} %p{to}, {a}, {b};"));
                }
                4 if depth < 2 => {
                    let label = self.labels;
                    self.labels += 1;
                    self.line(&format!("@%p0 bra else{label};"));
                    self.block(depth + 1);
                    self.line(&format!("else{label}:"));
                }
                5 if depth < 2 => {
                    let label = self.labels;
                    self.labels += 1;
                    let rounds = 1 + self.below(3);
                    self.line(&format!("mov.u32 %n{depth}, {rounds};"));
                    self.line(&format!("loop{label}:"));
                    self.block(depth + 1);
                    self.line(&format!("sub.u32 %n{depth}, %n{depth}, 1;"));
                    self.line(&format!("setp.ne.u32 %p2, %n{depth}, 0;"));
                    self.line(&format!("@%p2 bra loop{label};"));
                }
                6 if depth > 0 && self.below(4) == 0 => self.line("@%p1 ret;"),
                _ => self.access(),
            }
        }
    }

    fn kernel(seed: u64) -> String {
        let mut this = Self { state: seed, text: String::new(), labels: 0 };
        (0..8).for_each(|_| _ = this.below(2));
        write!(
            this.text,
            "
.version 8.0
.target sm_70
.address_size 64
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pe, .param .u64 pout,
    .param .u32 pwild, .param .u32 pskew)
{{
    .reg .pred %p<3>;
    .reg .b32 %w<{WORDS}>, %n<2>, %i, %j, %t, %g, %s, %wild, %skew, %at32;
    .reg .b64 %a, %b, %c, %e, %out, %l, %o, %at;
    .shared .align 16 .b8 tile[{}];
    .local .align 16 .b8 stack[{OWN}];
    ld.param.u64 %a, [pa]; ld.param.u64 %b, [pb]; ld.param.u64 %c, [pc]; ld.param.u64 %e, [pe];
    ld.param.u64 %out, [pout]; ld.param.u32 %wild, [pwild]; ld.param.u32 %skew, [pskew];
    mov.u32 %t, %tid.x; mov.u32 %g, %ctaid.x; mad.lo.u32 %g, %g, {BLOCK}, %t;
    mul.wide.u32 %o, %g, {OWN};
    add.s64 %a, %a, %o; add.s64 %b, %b, %o; add.s64 %e, %e, %o; add.s64 %out, %out, %o;
    mov.u32 %s, tile; mad.lo.u32 %s, %t, {OWN}, %s;
    mov.u64 %l, stack;
    ld.global.u32 %w0, [%a]; ld.global.u32 %w1, [%b+4]; mov.u32 %w2, %g;
    setp.gt.u32 %p0, %w0, %w1;
",
            BLOCK * OWN,
        )
        .unwrap();
        for at in (0..OWN).step_by(16) {
            this.line(&format!("st.shared.v4.u32 [%s+{at}], {{%w0, %w1, %w2, %w0}};"));
            this.line(&format!("st.local.v4.u32 [%l+{at}], {{%w1, %w1, %w0, %w2}};"));
        }
        // Registers that nothing has written would differ.
        this.line("mov.u32 %w3, %w1; mov.u32 %w4, 5; mov.u32 %w5, %w0; setp.lt.u32 %p1, %w2, 3;");
        this.block(0);
        for at in 0..WORDS {
            this.line(&format!("st.global.u32 [%out+{}], %w{at};", 4 * at));
        }
        this.line("ret;");
        this.text.push_str("}\n");
        this.text
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|it| it.parse().unwrap())
}

#[test]
fn drawn_kernels_do_the_same_with_guards_where_they_stay_inside() {
    let _alone = alone();
    let rounds = number("GUARD_ROUNDS").unwrap_or(if all() { 3000 } else { 150 });
    let first = number("GUARD_SEED").unwrap_or(1);
    let (mut named, mut accesses, mut aligned) = (0, 0, 0);
    for seed in first..first + rounds {
        let text = Draw::kernel(seed);
        let module = cuda_ptx::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        // All accesses, or about half of them.
        let mut asked: BTreeSet<usize> = guardable(&module, "k").into_iter().collect();
        if seed % 2 == 0 {
            asked.retain(|at| at % 2 == 0);
        }
        accesses += asked.len();
        aligned += u64::from(text.contains("%narrow"));
        let guarded = guard(&module, "k", &asked).unwrap_or_else(|error| panic!("{error}\n{text}"));
        verify(&module, &asked, &guarded).unwrap_or_else(|error| panic!("{error}\n{}", guarded.text));
        let mut draw = Draw { state: seed, text: String::new(), labels: 0 };
        let mut memory = || {
            let bytes = (0..BYTES).map(|_| draw.below(256) as u8).collect();
            Argument::Memory(bytes, 0)
        };
        let arguments: Vec<_> = (0..5).map(|_| memory()).collect();
        let launch = |wild, skew| {
            let mut arguments = arguments.clone();
            arguments.extend([Argument::Number(wild), Argument::Number(skew)]);
            Launch { kernel: "k", grid: GRID, block: BLOCK, shared: 0, arguments }
        };
        let tame = launch(0, 0);
        let (contents, failure) = tame.guarded(&guarded);
        assert_eq!(failure, None, "GUARD_SEED={seed}:\n{text}");
        // The read-only cache may miss what the kernel has stored. The guarded form does not load through it.
        let original = tame.original(&text.replace("ld.global.nc.", "ld.global."));
        assert!(contents == original, "GUARD_SEED={seed}:\n{text}\n{}", guarded.text);
        if seed % 2 == 1 {
            let (wild, skew) =
                [(0xffff_ff00, 0), (0, 3), (0x7f00_0000, 1), (u32::MAX, 0)][seed as usize / 2 % 4];
            let (_, failure) = launch(wild, skew).guarded(&guarded);
            named += u64::from(failure.is_some());
        }
    }
    println!("{rounds} kernels, {accesses} guarded accesses, {named} of {} wild launches named", rounds / 2);
    assert!(named * 4 > rounds && aligned * 2 > rounds, "{named} of {}, {aligned}", rounds / 2);
}
