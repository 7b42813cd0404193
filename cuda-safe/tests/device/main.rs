//! Devices, code that is loaded at run time, errors, and the messages of runtime and driver.

mod device;
mod error;
mod forms;
mod known_answers;
mod library;
mod logs;
mod version_cfgs;
