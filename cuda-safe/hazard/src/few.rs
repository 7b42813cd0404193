//! [`Few`]: a list that most often has one element, and then allocates nothing.
//!
//! A node of a graph has several such lists, most often of one predecessor, one access and one raw node.

use std::mem;
use std::ops::{Deref, DerefMut};

/// A list that stores a single element without an allocation.
#[derive(Clone, Debug)]
pub enum Few<T> {
    /// One element.
    One([T; 1]),
    /// Any number of elements.
    Many(Vec<T>),
}

impl<T> Few<T> {
    /// Changes the list.
    pub fn change(&mut self, f: impl FnOnce(&mut Vec<T>)) {
        let mut list = mem::take(self).into();
        f(&mut list);
        *self = list.into();
    }

    /// Appends an element.
    #[inline]
    pub fn push(&mut self, element: T) {
        match self {
            Self::Many(list) if list.is_empty() => *self = Self::One([element]),
            Self::Many(list) => list.push(element),
            Self::One(_) => self.change(|list| list.push(element)),
        }
    }
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl<T> From<Vec<T>> for Few<T> {
    fn from(list: Vec<T>) -> Self {
        <[T; 1]>::try_from(list).map_or_else(Self::Many, Self::One)
    }
}

impl<T> From<Few<T>> for Vec<T> {
    fn from(few: Few<T>) -> Self {
        match few {
            Few::One([one]) => {
                let mut list = Vec::with_capacity(4);
                list.push(one);
                list
            }
            Few::Many(list) => list,
        }
    }
}

impl<T> FromIterator<T> for Few<T> {
    #[inline]
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let mut elements = elements.into_iter();
        let Some(first) = elements.next() else { return Self::default() };
        match elements.next() {
            None => Self::One([first]),
            Some(second) => Self::Many([first, second].into_iter().chain(elements).collect()),
        }
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Self::One(one) => one,
            Self::Many(list) => list,
        }
    }
}

impl<T> DerefMut for Few<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::One(one) => one,
            Self::Many(list) => list,
        }
    }
}
