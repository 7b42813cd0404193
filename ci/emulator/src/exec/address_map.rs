//! A map by addresses, which every strong access looks up.

use std::collections::HashMap;
use std::ops::Range;

/// Bytes of a word, and words of a page.
const WORD: usize = 4;
const WORDS: usize = 1024;
/// The place of a word without a value.
const NONE: u32 = u32::MAX;

/// A map by addresses of this process: pages with a place for each word, and the values. Addresses within
/// words are rare.
#[derive(Debug)]
pub(crate) struct AddressMap<T> {
    pages: Vec<Box<[u32; WORDS]>>,
    numbers: HashMap<usize, usize>,
    within: HashMap<usize, u32>,
    values: Vec<Option<T>>,
    /// Places without a value.
    free: Vec<u32>,
    /// The page that was used last: its number, and where it is.
    last: (usize, usize),
}

impl<T> Default for AddressMap<T> {
    fn default() -> Self {
        Self {
            pages: Vec::new(),
            numbers: HashMap::new(),
            within: HashMap::new(),
            values: Vec::new(),
            free: Vec::new(),
            last: (usize::MAX, 0),
        }
    }
}

impl<T> AddressMap<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.values.len() == self.free.len()
    }

    /// The page of an address, if there is one.
    fn page(&mut self, at: usize) -> Option<&mut [u32; WORDS]> {
        let number = at / WORD / WORDS;
        if self.last.0 != number {
            self.last = (number, *self.numbers.get(&number)?);
        }
        self.pages.get_mut(self.last.1).map(|page| &mut **page)
    }

    fn place(&mut self, at: usize) -> Option<u32> {
        if !at.is_multiple_of(WORD) {
            return self.within.get(&at).copied();
        }
        let place = self.page(at)?[at / WORD % WORDS];
        (place != NONE).then_some(place)
    }

    pub(crate) fn get(&mut self, at: usize) -> Option<&mut T> {
        let place = self.place(at)?;
        self.values.get_mut(place as usize)?.as_mut()
    }

    pub(crate) fn remove(&mut self, at: usize) -> Option<T> {
        let place = self.place(at)?;
        if at.is_multiple_of(WORD) {
            self.page(at)?[at / WORD % WORDS] = NONE;
        } else {
            self.within.remove(&at);
        }
        self.free.push(place);
        self.values.get_mut(place as usize)?.take()
    }

    /// The value at an address, which may be new.
    pub(crate) fn entry(&mut self, at: usize) -> &mut Option<T> {
        let place = self.place(at).unwrap_or_else(|| self.add(at));
        &mut self.values[place as usize]
    }

    fn add(&mut self, at: usize) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.values.push(None);
            u32::try_from(self.values.len() - 1).unwrap_or(NONE - 1)
        });
        if !at.is_multiple_of(WORD) {
            self.within.insert(at, place);
            return place;
        }
        if self.page(at).is_none() {
            let number = at / WORD / WORDS;
            self.numbers.insert(number, self.pages.len());
            self.pages.push(Box::new([NONE; WORDS]));
        }
        if let Some(page) = self.page(at) {
            page[at / WORD % WORDS] = place;
        }
        place
    }

    /// Forgets the values of a range.
    pub(crate) fn forget(&mut self, range: Range<usize>) {
        if self.is_empty() {
            return;
        }
        let mut at = range.start.next_multiple_of(WORD);
        while at < range.end {
            if self.page(at).is_some() {
                self.remove(at);
                at += WORD;
            } else {
                at = (at + 1).next_multiple_of(WORD * WORDS);
            }
        }
        let within: Vec<_> = self.within.keys().filter(|at| range.contains(at)).copied().collect();
        within.into_iter().for_each(|at| drop(self.remove(at)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_at_their_addresses_only() {
        let mut map = AddressMap::default();
        let all = [0x1000, 0x1004, 0x1005, 0x1006, 0x8000, 0x7ffc];
        assert!(map.is_empty());
        for at in all {
            assert_eq!(map.entry(at).replace(at), None);
        }
        for at in all {
            assert_eq!(map.get(at).copied(), Some(at));
        }
        assert_eq!((map.get(0x1007), map.get(0x1008), map.get(0x20_0000)), (None, None, None));
        assert_eq!((map.remove(0x1004), map.remove(0x1004)), (Some(0x1004), None));
        assert_eq!(map.entry(0x1008).replace(7), None, "its place is new");
        map.forget(0x1005..0x8000);
        assert_eq!(all.map(|at| map.get(at).is_some()), [true, false, false, false, true, false]);
        map.forget(0..0x10_0000);
        assert!(map.is_empty());
    }
}
