//! The bytes of a slice.
//!
//! A build script puts [`Kernel::to_bytes`] into the handle that it generates, and the runtime reads it with
//! [`Kernel::from_bytes`]. Reading checks everything that the analysis relies on.

use super::cfg::Graph;
use super::inst::{Fields, Loaded, Op, Operand, Origin, Space, Special, Step};
use super::kernel::{Clusters, Kernel, Object, Parameter};

/// The bytes are not those of a slice, or of one that another version of this crate made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotASlice;

impl std::fmt::Display for NotASlice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the bytes are not a kernel's slice of this version of cuda-proof")
    }
}

impl std::error::Error for NotASlice {}

/// The first bytes: those of the files that define what a slice is. A format that differs has other ones.
const MAGIC: [u8; 8] = {
    let hash = hash_of(0xcbf2_9ce4_8422_2325, include_bytes!("inst.rs"));
    hash_of(hash_of(hash, include_bytes!("kernel.rs")), include_bytes!("encode.rs")).to_le_bytes()
};

/// Returns the hash of a text behind others (FNV-1a), however its lines end.
const fn hash_of(mut hash: u64, text: &[u8]) -> u64 {
    let mut at = 0;
    while at < text.len() {
        if text[at] != b'\r' {
            hash = (hash ^ text[at] as u64).wrapping_mul(0x0100_0000_01b3);
        }
        at += 1;
    }
    hash
}

impl Kernel {
    /// Writes the slice.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer(MAGIC.to_vec());
        out.text(&self.name);
        out.list(&self.parameters, |out, it| {
            out.number(it.bytes);
            out.number(it.align);
            out.number(it.pointee);
        });
        let clusters = self.clusters.map(|it| [Some(it.blocks), it.threads].into_iter().flatten().flatten());
        let clusters: Vec<u32> = clusters.into_iter().flatten().collect();
        out.list(&clusters, |out, it| out.number(*it));
        out.list(&self.objects, |out, it| {
            out.text(&it.name);
            out.index(Space::ALL, it.space);
            out.number(it.bytes.map_or(0, |bytes| bytes.saturating_add(1)));
            out.number(it.align);
            out.number(u8::from(it.is_own));
        });
        out.list(&self.registers, |out, it| out.number(*it));
        out.list(&self.files, |out, it| out.text(it));
        out.list(&self.texts, |out, it| out.text(it));
        out.list(&self.handles, |out, (parameter, is_surface)| {
            out.length(*parameter);
            out.number(u8::from(*is_surface));
        });
        let mut before = (0, 0);
        out.list(&self.steps, |out, it| {
            out.index(Op::ALL, it.op);
            let flags = [it.is_signed, it.flag, it.guard.is_some(), it.at != before];
            out.number(flags.iter().fold(0_u8, |all, flag| all << 1 | u8::from(*flag)));
            if it.at != before {
                out.number(it.at.0);
                out.number(it.at.1);
                before = it.at;
            }
            out.number(it.bits);
            it.guard.iter().for_each(|guard| out.operand(guard));
            out.list(&it.to, |out, it| out.number(*it));
            out.list(&it.from, |out, it| out.operand(it));
            match it.effects().1 {
                Fields::None => {}
                Fields::Origin => out.index(Origin::ALL, it.origin),
                Fields::Size => out.number(it.size),
                Fields::Access => {
                    out.number(it.size);
                    out.index(Space::ALL, it.space);
                    out.index(Loaded::ALL, it.loaded);
                }
            }
        });
        out.0
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    /// The bytes are not a slice of this version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, NotASlice> {
        let mut input = Input(bytes.strip_prefix(&MAGIC).ok_or(NotASlice)?);
        let name = input.text()?;
        let parameters = input.list(|input| {
            let (bytes, align, pointee) = (input.number()?, input.number()?, input.number()?);
            Ok(Parameter { bytes, align, pointee })
        })?;
        let clusters = match input.list(Input::number)?[..] {
            [] => None,
            [x, y, z] => Some(Clusters { blocks: [x, y, z], threads: None }),
            [x, y, z, a, b, c] => Some(Clusters { blocks: [x, y, z], threads: Some([a, b, c]) }),
            _ => return Err(NotASlice),
        };
        let objects = input.list(|input| {
            Ok(Object {
                name: input.text()?,
                space: input.choice(Space::ALL)?,
                bytes: input.number::<u64>()?.checked_sub(1),
                align: input.number()?,
                is_own: input.number::<u8>()? == 1,
            })
        })?;
        let registers = input.list(Input::number)?;
        let files = input.list(Input::text)?;
        let texts = input.list(Input::text)?;
        let handles = input.list(|input| Ok((input.number()?, input.number::<u8>()? == 1)))?;
        let mut before = (0, 0);
        let steps = input.list(|input| {
            let op = input.choice(Op::ALL)?;
            let flags: u8 = input.number()?;
            if flags & 1 != 0 {
                before = (input.number()?, input.number()?);
            }
            let bits = input.number()?;
            let guard = if flags & 2 == 0 { None } else { Some(input.operand()?) };
            let to = input.list(Input::number)?;
            let from = input.list(Input::operand)?;
            let mut step = Step { op, bits, guard, at: before, to, from, ..Step::new(op) };
            (step.is_signed, step.flag) = (flags & 8 != 0, flags & 4 != 0);
            match step.effects().1 {
                Fields::None => {}
                Fields::Origin => step.origin = input.choice(Origin::ALL)?,
                Fields::Size => step.size = input.number()?,
                Fields::Access => {
                    step.size = input.number()?;
                    step.space = input.choice(Space::ALL)?;
                    step.loaded = input.choice(Loaded::ALL)?;
                }
            }
            Ok(step)
        })?;
        let graph = Graph::default();
        let mut kernel =
            Self { name, parameters, clusters, objects, registers, steps, files, texts, handles, graph };
        if !input.0.is_empty() || !kernel.is_well_formed() {
            return Err(NotASlice);
        }
        kernel.graph = Graph::new(&kernel.steps);
        Ok(kernel)
    }
}

struct Writer(Vec<u8>);

impl Writer {
    /// Writes seven bits a byte, the lowest first.
    fn number(&mut self, value: impl Into<u64>) {
        let mut value = value.into();
        while value >= 0x80 {
            self.0.push(0x80 | value.to_le_bytes()[0] & 0x7f);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    fn length(&mut self, length: usize) {
        self.number(u64::try_from(length).unwrap_or(u64::MAX));
    }

    fn signed(&mut self, value: i64) {
        self.number((value << 1 ^ value >> 63).cast_unsigned());
    }

    fn text(&mut self, text: &str) {
        self.length(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }

    fn index<T: PartialEq>(&mut self, all: &[T], one: T) {
        self.length(all.iter().position(|it| *it == one).unwrap_or(usize::MAX));
    }

    fn list<T>(&mut self, list: &[T], mut one: impl FnMut(&mut Self, &T)) {
        self.length(list.len());
        list.iter().for_each(|it| one(self, it));
    }

    fn operand(&mut self, operand: &Operand) {
        match operand {
            Operand::Register(it) => self.number(u64::from(*it) * 5),
            Operand::Negated(it) => self.number(u64::from(*it) * 5 + 1),
            Operand::Object(it) => self.number(u64::from(*it) * 5 + 2),
            Operand::Special(it) => self.number(u64::from(it.0) * 5 + 3),
            Operand::Number(it) => {
                self.number(4_u64);
                self.signed(*it);
            }
        }
    }
}

struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn number<T: TryFrom<u64>>(&mut self) -> Result<T, NotASlice> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (first, rest) = self.0.split_first().ok_or(NotASlice)?;
            self.0 = rest;
            let part = u64::from(first & 0x7f);
            if part << shift >> shift != part {
                return Err(NotASlice);
            }
            value |= part << shift;
            if first & 0x80 == 0 {
                return T::try_from(value).map_err(|_| NotASlice);
            }
        }
        Err(NotASlice)
    }

    fn signed(&mut self) -> Result<i64, NotASlice> {
        let value: u64 = self.number()?;
        Ok((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
    }

    fn text(&mut self) -> Result<String, NotASlice> {
        let length: usize = self.number()?;
        let (text, rest) = self.0.split_at_checked(length).ok_or(NotASlice)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).map_err(|_| NotASlice)
    }

    fn choice<T: Copy>(&mut self, all: &[T]) -> Result<T, NotASlice> {
        let index: usize = self.number()?;
        all.get(index).copied().ok_or(NotASlice)
    }

    fn list<T>(
        &mut self,
        mut one: impl FnMut(&mut Self) -> Result<T, NotASlice>,
    ) -> Result<Vec<T>, NotASlice> {
        let length: usize = self.number()?;
        // Each entry has a byte at least.
        if length > self.0.len() {
            return Err(NotASlice);
        }
        (0..length).map(|_| one(self)).collect()
    }

    fn operand(&mut self) -> Result<Operand, NotASlice> {
        let word: u64 = self.number()?;
        let index = u32::try_from(word / 5).map_err(|_| NotASlice)?;
        Ok(match word % 5 {
            0 => Operand::Register(index),
            1 => Operand::Negated(index),
            2 => Operand::Object(index),
            3 => match u8::try_from(index) {
                Ok(it @ 0..22) => Operand::Special(Special(it)),
                _ => return Err(NotASlice),
            },
            _ if index == 0 => Operand::Number(self.signed()?),
            _ => return Err(NotASlice),
        })
    }
}
