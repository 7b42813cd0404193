//! [`Few`]: a list that most often has one element, and then allocates nothing.
//!
//! A graph of 10,000 nodes has two such lists for each node.

use std::mem;
use std::ops::{Deref, DerefMut};

#[derive(Clone, Debug)]
pub(super) enum Few<T> {
    One([T; 1]),
    Many(Vec<T>),
}

impl<T> Few<T> {
    /// Changes the list.
    pub(super) fn change(&mut self, f: impl FnOnce(&mut Vec<T>)) {
        let mut list = match mem::replace(self, Self::Many(Vec::new())) {
            Self::One(one) => one.into(),
            Self::Many(list) => list,
        };
        f(&mut list);
        *self = list.into();
    }
}

impl<T> From<Vec<T>> for Few<T> {
    fn from(list: Vec<T>) -> Self {
        <[T; 1]>::try_from(list).map_or_else(Self::Many, Self::One)
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::One(one) => one,
            Self::Many(list) => list,
        }
    }
}

impl<T> DerefMut for Few<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::One(one) => one,
            Self::Many(list) => list,
        }
    }
}
