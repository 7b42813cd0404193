//! Advice of a program about managed memory, page by page. It changes nothing but the attributes of the
//! memory.

use std::collections::BTreeMap;

/// A place that memory may be advised or moved to: the host is [`HOST`], a device is its ordinal.
pub(crate) type Location = i32;
/// The host, as the runtime numbers it.
pub(crate) const HOST: Location = -1;
/// No place: the result if there is no advice, or if it differs within the range.
pub(crate) const NOWHERE: Location = -2;

const PAGE: u64 = 4096;

/// The advice about one page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Advice {
    pub(crate) read_mostly: bool,
    pub(crate) preferred: Location,
    pub(crate) accessed_by: Vec<Location>,
    pub(crate) prefetched: Location,
}

impl Default for Advice {
    fn default() -> Self {
        Self { read_mostly: false, preferred: NOWHERE, accessed_by: Vec::new(), prefetched: NOWHERE }
    }
}

/// The advice about all pages that any was given about.
#[derive(Debug, Default)]
pub(crate) struct Advices {
    pages: BTreeMap<u64, Advice>,
}

fn pages(address: u64, size: u64) -> std::ops::Range<u64> {
    address / PAGE..address.saturating_add(size).div_ceil(PAGE)
}

impl Advices {
    /// Changes the advice about every page of a range.
    pub(crate) fn change(&mut self, address: u64, size: u64, change: impl Fn(&mut Advice)) {
        for page in pages(address, size) {
            change(self.pages.entry(page).or_default());
        }
    }

    /// The advice about every page of a range, in order.
    pub(crate) fn of(&self, address: u64, size: u64) -> impl Iterator<Item = Advice> {
        pages(address, size).map(|page| self.pages.get(&page).cloned().unwrap_or_default())
    }

    /// The value that is the same for every page of a range, if there is one.
    pub(crate) fn common<T: PartialEq>(
        &self,
        address: u64,
        size: u64,
        get: impl Fn(&Advice) -> T,
    ) -> Option<T> {
        let mut all = self.of(address, size).map(|advice| get(&advice));
        let first = all.next()?;
        all.all(|next| next == first).then_some(first)
    }

    /// The value of most samples of a range, one every `step` bytes.
    pub(crate) fn most<T: Ord>(
        &self,
        address: u64,
        size: u64,
        step: usize,
        get: impl Fn(&Advice) -> T,
    ) -> Option<T> {
        let mut counts = BTreeMap::<T, u64>::new();
        for at in (address..address.saturating_add(size)).step_by(step.max(1)) {
            let advice = self.pages.get(&(at / PAGE));
            *counts.entry(advice.map_or_else(|| get(&Advice::default()), &get)).or_default() += 1;
        }
        counts.into_iter().max_by_key(|entry| entry.1).map(|entry| entry.0)
    }

    /// Forgets a range.
    pub(super) fn forget(&mut self, address: u64, size: u64) {
        for page in pages(address, size) {
            self.pages.remove(&page);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_an_answer_only_where_its_pages_agree() {
        let mut advices = Advices::default();
        advices.change(0x10000, 8192, |advice| advice.preferred = 1);
        assert_eq!(advices.common(0x10000, 8192, |advice| advice.preferred), Some(1));
        assert_eq!(advices.common(0x10000, 8193, |advice| advice.preferred), None);
        assert_eq!(advices.common(0x20000, 100, |advice| advice.preferred), Some(NOWHERE));
        assert_eq!(advices.most(0x10000, 16384 + 1, 4096, |advice| advice.preferred), Some(NOWHERE));
        assert_eq!(advices.most(0x10000, 12288, 4096, |advice| advice.preferred), Some(1));
        advices.forget(0x10000, 4096);
        assert_eq!(advices.common(0x10000, 8192, |advice| advice.preferred), None);
    }
}
