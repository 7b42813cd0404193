//! Devices: their properties, and the changes that a program has made to them.

mod attributes;
mod limits;
mod properties;

pub(crate) use attributes::{attribute, p2p_attribute};
pub(crate) use limits::{Limits, unsupported};
pub(crate) use properties::{pci_bus_id, properties};

use crate::error::Code;
use crate::stream::Caller;
use crate::sys::{cudaFuncCache, cudaFuncCachePreferNone};

/// The changes that a program has made to one device.
#[derive(Debug)]
pub(crate) struct Device {
    /// The error that ended the context. Every later call returns it.
    pub(crate) fault: Option<Code>,
    /// The devices whose memory this one's kernels may use.
    pub(crate) peers: Vec<usize>,
    /// The flags given to `cudaSetDeviceFlags`.
    pub(crate) flags: u32,
    /// Whether it was reset, and not used since.
    pub(crate) ended: bool,
    pub(crate) cache: cudaFuncCache,
    pub(crate) limits: Limits,
    /// The thread that calls host functions.
    pub(crate) caller: Option<Caller>,
}

impl Default for Device {
    fn default() -> Self {
        Self {
            fault: None,
            peers: Vec::new(),
            flags: 0,
            ended: false,
            cache: cudaFuncCachePreferNone,
            limits: Limits::default(),
            caller: None,
        }
    }
}
