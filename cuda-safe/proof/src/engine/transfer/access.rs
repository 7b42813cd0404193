//! The accesses of a kernel: which bytes a step reads and writes, of what.

use crate::domain::{Affine, Region, State, Value, gcd, range_of, remainder};
use crate::effort::THOROUGH;
use crate::engine::analysis::{Access, Analysis, Doubt, FARTHEST};
use crate::ir::{Loaded, Op, Operand, Origin, Space, Step};

/// The bytes of the barrier in the grid's workspace: cooperative groups' headers have its layout, a word with
/// the workspace's size and a word that the blocks count in.
const BARRIER: std::ops::Range<i128> = 4..8;

/// A reason, and where the index of an access comes from.
type Why = (String, (Origin, (u32, u32)));

impl Analysis<'_> {
    /// Refuses the launch, if this pass counts.
    pub(crate) fn refuse(&mut self, doubt: Doubt) {
        if self.is_recording {
            self.doubt.get_or_insert(doubt);
        }
    }

    /// Checks the operand of a texture, which must have its value here, or of a branch by a table.
    pub(crate) fn operand(&mut self, state: &mut State, step: &Step) {
        let Some(operand) = step.from.first() else { return };
        let value = self.number(state, *operand, step.at);
        let (is_right, reason) = if let (Op::Below, Some(Operand::Number(end))) = (step.op, step.from.get(1))
        {
            let value = self.symbols.reading(state, &value, 32, false);
            let is_below = self.symbols.is_at_most_by(state, &value, THOROUGH, i128::from(*end) - 1);
            (is_below, "a branch may go past the end of its table")
        } else {
            (!self.symbols.is_unstable(&value), "the handle of a texture or surface may not be set here")
        };
        if !is_right {
            let origin = self.symbols.origin(&value);
            self.refuse(Doubt { at: step.at, reason: reason.to_owned(), origin });
        }
    }

    /// Returns the bytes of an object.
    pub(crate) fn size(&self, object: u32) -> u64 {
        self.kernel.objects[object as usize].bytes.unwrap_or(u64::from(self.launch.shared))
    }

    /// Enters an access, and sets the registers that a load writes.
    pub(crate) fn access(&mut self, state: &mut State, index: usize) {
        let step = &self.kernel.steps[index];
        let Some((base, rest)) = step.from.split_first() else { return };
        if !self.is_recording && step.to.is_empty() && !step.may_write_stack() {
            return;
        }
        let base = self.number(state, *base, step.at);
        let offset = match (step.op, rest) {
            (Op::Matrix, [_, Operand::Number(offset), ..]) | (_, [Operand::Number(offset), ..]) => *offset,
            _ => 0,
        };
        let address = base.add(i128::from(offset));
        let found = address.as_ref().and_then(|address| self.region_of(address));
        if self.is_recording {
            let access = match &found {
                Some((region, rest)) => self.bytes(state, step, *region, rest),
                None => Err(self.no_region(address.as_ref(), step.at)),
            };
            match access {
                Ok(access) => self.enter(access),
                Err((reason, origin)) => self.refuse(Doubt { at: step.at, reason, origin }),
            }
            if let Some((region, _)) = found {
                let region = own_space(region);
                let element = u32::from(step.bits) / 8;
                if step.writes() {
                    add(&mut self.written, (region, element));
                }
                // A value that nothing uses need not stay the same.
                if step.op == Op::Load && step.loaded != Loaded::Strong && !step.to.is_empty() {
                    add(&mut self.loaded, (region, element, step.loaded == Loaded::ReadOnly));
                }
            }
        }
        let place = found.as_ref().map(|(region, rest)| (*region, rest.as_constant()));
        self.store(state, step, place);
        let is_local = place.is_none_or(|(region, _)| match region {
            Region::Object(object) | Region::Generic(object) => {
                self.kernel.objects[object as usize].space == Space::Local
            }
            Region::Parameter(..) | Region::Workspace => false,
        });
        let is_stable = step.loaded == Loaded::Strong
            || !is_local
                && place.is_some_and(|(region, _)| {
                    !self.unstable.contains(&(own_space(region), step.loaded == Loaded::ReadOnly))
                });
        let origin = if step.op == Op::Atomic { Origin::Atomic } else { Origin::Memory };
        for (lane, to) in step.to.iter().enumerate() {
            if let Some(value) = self.loaded_from_stack(state, step, lane, *to, place) {
                self.set(state, *to, Value::Number(value));
                continue;
            }
            // Without a sign, a value of fewer bits than the register is extended by zeros.
            let range = range_of(step.bits, step.is_signed || self.bits(*to) == step.bits);
            let expr = self.symbols.new_value(!is_stable, range, (origin, step.at));
            self.set(state, *to, if step.bits > 64 { Value::Unset } else { Value::Number(expr) });
        }
    }

    /// Returns the bytes of a matrix from its address on, and the alignment of its rows.
    fn matrix(&mut self, state: &mut State, step: &Step) -> Result<(i128, u32), &'static str> {
        let [_, stride, _, Operand::Number(rows), Operand::Number(element), Operand::Number(align)] =
            step.from[..]
        else {
            return Err("a matrix of an unknown form");
        };
        let stride = self.number(state, stride, step.at);
        let stride = self.symbols.reading(state, &stride, 32, false);
        let unit = 16 / gcd(16, i128::from(element));
        if remainder(stride.constant, unit) != 0 || remainder(stride.divisor(), unit) != 0 {
            return Err("the stride of the matrix may be no multiple of 16 bytes");
        }
        let most = self.symbols.high(state, &stride).and_then(|it| it.checked_mul(i128::from(element)));
        let most = most.ok_or("the stride of the matrix has no bound")?;
        let end = i128::from(step.size).saturating_add(most.saturating_mul(i128::from(rows) - 1));
        Ok((end, u32::try_from(align).unwrap_or(0)))
    }

    /// Returns why an address has no region.
    fn no_region(&self, address: Option<&Affine>, at: (u32, u32)) -> Why {
        let Some(address) = address else {
            return ("the address is too large".to_owned(), (Origin::Computed, at));
        };
        let origin = self.symbols.origin(address);
        let reason = match origin {
            _ if self.symbols.has_region(address) => "the address is computed from several pointers",
            (Origin::Memory | Origin::Atomic | Origin::Shuffle, _) => "the address comes from memory",
            _ => "the address is not computed from a parameter or a variable",
        };
        (reason.to_owned(), origin)
    }

    /// Remembers what a step stores on the stack, and forgets what it may write over. The place is what it
    /// counts from, with the offset if that is constant.
    fn store(&mut self, state: &mut State, step: &Step, place: Option<(Region, Option<i128>)>) {
        if !step.may_write_stack() {
            return;
        }
        // An address that is not known is refused; it is in no object, or in one and within its bounds.
        let Some((region, offset)) = place else { return state.kept.forget_stack(None) };
        let (Region::Object(object) | Region::Generic(object)) = region else { return };
        let Some(at) = offset else {
            return state.kept.forget_stack(Some((object, i128::MIN..i128::MAX)));
        };
        let size = if step.op == Op::Matrix { 1 << 40 } else { i128::from(step.size) };
        state.kept.forget_stack(Some((object, at..at + size)));
        let is_own = self.kernel.objects[object as usize].is_own;
        let (Op::Store, Space::Local, true, [_, _, values @ ..]) =
            (step.op, step.space, is_own, &step.from[..])
        else {
            return;
        };
        for (value, lane) in values.iter().zip(0..) {
            let value = self.number(state, *value, step.at);
            if !self.symbols.is_unstable(&value) {
                let at = at + lane * i128::from(step.bits / 8);
                state.kept.store_on_stack(object, at, step.bits, value);
            }
        }
    }

    /// Returns what a load reads that the thread has stored before.
    fn loaded_from_stack(
        &mut self,
        state: &mut State,
        step: &Step,
        lane: usize,
        to: u32,
        place: Option<(Region, Option<i128>)>,
    ) -> Option<Affine> {
        let (Op::Load, Space::Local, Some((Region::Object(object), Some(at)))) = (step.op, step.space, place)
        else {
            return None;
        };
        let at = at + i128::try_from(lane).ok()? * i128::from(step.bits / 8);
        let value = state.kept.on_stack(object, at, step.bits)?.clone();
        if self.bits(to) == step.bits {
            return Some(value);
        }
        Some(self.symbols.reading(state, &value, step.bits, step.is_signed))
    }

    /// Returns the accesses that count.
    pub(crate) fn accesses(&self) -> &[Access] {
        &self.log
    }

    fn enter(&mut self, access: Access) {
        let end = match access.region {
            Region::Object(it) | Region::Generic(it) => i128::from(self.size(it)),
            Region::Parameter(..) => FARTHEST,
            Region::Workspace => BARRIER.end,
        };
        if access.low < 0 || access.high > end {
            self.beyond.get_or_insert_with(|| access.clone());
        }
        let reached =
            self.reached.iter_mut().find(|it| it.is_like(access.region, access.reads, access.writes));
        match reached {
            // The needs stay what they are.
            Some(it) if access.low >= it.low && access.high <= it.high && access.align <= it.align => return,
            Some(it) => {
                (it.low, it.high) = (access.low.min(it.low), access.high.max(it.high));
                it.align = access.align.max(it.align);
            }
            None => self.reached.push(access.clone()),
        }
        self.log.push(access);
    }

    /// Forgets the accesses of a pass that does not count.
    pub(crate) fn forget(&mut self, from: usize) {
        if from < self.log.len() {
            self.reached.clear();
            let kept: Vec<Access> = self.log.drain(..).take(from).collect();
            kept.into_iter().for_each(|access| self.enter(access));
        }
    }

    /// Splits an address into the region that it counts from, and the rest.
    fn region_of(&self, address: &Affine) -> Option<(Region, Affine)> {
        let mut regions = address
            .terms
            .iter()
            .filter_map(|(symbol, factor)| Some((*symbol, *factor, self.symbols.region(*symbol)?)));
        let Some((symbol, factor, region)) = regions.next() else {
            let [upper, lower] = self.workspace()?;
            let is_workspace = address.coefficient(upper) == 1 << 32 && address.coefficient(lower) == 1;
            let mut rest = address.clone();
            rest.terms.retain(|(symbol, _)| *symbol != upper && *symbol != lower);
            return is_workspace.then_some((Region::Workspace, rest));
        };
        if factor != 1 || regions.next().is_some() {
            return None;
        }
        Some((region, address.without(symbol)))
    }

    /// Returns the bytes of an access, or why they are not known.
    fn bytes(
        &mut self,
        state: &mut State,
        step: &Step,
        region: Region,
        rest: &Affine,
    ) -> Result<Access, Why> {
        let origin = self.symbols.origin(rest);
        let refused = |reason: &str| Err((reason.to_owned(), origin));
        let object = |object: u32| self.kernel.objects[object as usize].space;
        // 32 bits are a whole address of these spaces only.
        let is_short = matches!(step.from.first(), Some(Operand::Register(it)) if self.bits(*it) < 64);
        let is_small = |space: Space| matches!(space, Space::Shared | Space::Local | Space::Param);
        if is_short && !matches!(region, Region::Object(it) if is_small(object(it))) {
            return refused("the register has no whole address of this kind of memory");
        }
        let fits = match region {
            Region::Parameter(..) | Region::Workspace => matches!(step.space, Space::Global | Space::Generic),
            Region::Object(it) => match object(it) {
                Space::Global => matches!(step.space, Space::Global | Space::Generic),
                own => own == step.space,
            },
            Region::Generic(_) => step.space == Space::Generic,
        };
        if !fits {
            return refused("the address is of another kind of memory than the instruction accesses");
        }
        if step.op == Op::Load && step.flag && !matches!(region, Region::Object(_)) {
            return refused("an assertion prints a text that is not in the PTX");
        }
        if region == Region::Workspace {
            if !self.launch.is_cooperative {
                return refused("the barrier of the grid needs a cooperative launch");
            }
            let is_barrier = step.op == Op::Atomic || step.op == Op::Load && step.loaded == Loaded::Strong;
            if !is_barrier || rest.as_constant() != Some(BARRIER.start) || step.size != 4 {
                return refused("of the grid's workspace, only the barrier is known");
            }
        }
        let writes = step.writes();
        if let (true, Region::Object(it) | Region::Generic(it)) = (writes, region)
            && matches!(object(it), Space::Const | Space::Param)
        {
            return refused("constant memory is written");
        }
        let (end, align) = match step.op {
            Op::Matrix => self.matrix(state, step).map_err(|reason| (reason.to_owned(), origin))?,
            _ => (i128::from(step.size), step.size),
        };
        if !align.is_power_of_two() {
            return refused("an access of an odd size");
        }
        let unit = i128::from(align);
        if remainder(rest.divisor(), unit) != 0 || remainder(rest.constant, unit) != 0 {
            return refused(&format!("the address may be no multiple of {align}"));
        }
        if let Region::Object(it) | Region::Generic(it) = region {
            let object = &self.kernel.objects[it as usize];
            if align > object.align {
                return refused(&format!("{} is aligned to {}, not {align}", object.name, object.align));
            }
        }
        let reads = step.reads();
        // What is no further than other accesses needs no better bound.
        let (least, most) = match region {
            Region::Object(it) | Region::Generic(it) => (0, i128::from(self.size(it)) - end),
            Region::Workspace => (BARRIER.start, BARRIER.end - end),
            Region::Parameter(..) => {
                let reached = self.reached.iter().find(|it| it.is_like(region, reads, writes));
                reached.map_or((i128::MAX, i128::MIN), |it| (it.low, it.high - end))
            }
        };
        let (lowest, highest) = self.symbols.ends(state, &rest.terms);
        let within = |end: Option<i128>| end.and_then(|end| end.checked_add(rest.constant));
        let (lowest, highest) =
            (within(lowest).filter(|it| *it >= least), within(highest).filter(|it| *it <= most));
        self.symbols.work += u64::from(lowest.is_some()) + u64::from(highest.is_some());
        let high = highest.or_else(|| self.symbols.high_in_parts(state, rest, most));
        let high = high.and_then(|high| high.checked_add(end));
        let low = lowest.or_else(|| {
            let (opposite, least) = rest.times(-1).zip(least.checked_neg())?;
            self.symbols.high_in_parts(state, &opposite, least).and_then(i128::checked_neg)
        });
        let (Some(low), Some(high)) = (low, high) else { return refused("the index has no bound") };
        Ok(Access { at: step.at, region, low, high, align, reads, writes, origin })
    }
}

/// Adds something to a list of few.
fn add<T: PartialEq>(list: &mut Vec<T>, new: T) {
    if !list.contains(&new) {
        list.push(new);
    }
}

/// Returns an object's region in its own space.
fn own_space(region: Region) -> Region {
    if let Region::Generic(object) = region { Region::Object(object) } else { region }
}
