//! One case: calls with a known answer.

use crate::log::{Log, Outcome};

/// A change of the arguments of a call, which spoils them or not.
pub(crate) type Change<T> = fn(&mut T);

/// The calls of a case.
type Run = Box<dyn Fn(&mut Log) -> Outcome>;

/// A case: `function/its special condition`.
pub(crate) struct Case {
    pub(crate) id: String,
    /// The number of devices that it needs.
    pub(crate) devices: i32,
    /// Whether it leaves the process in a state that no other case may see, or needs a fresh one.
    pub(crate) alone: bool,
    pub(crate) run: Run,
}

impl Case {
    /// Gives the case a process of its own.
    pub(crate) fn alone(&mut self) -> &mut Self {
        self.alone = true;
        self
    }

    /// Marks the case as one for two devices.
    pub(crate) fn two_devices(&mut self) -> &mut Self {
        self.devices = 2;
        self
    }
}

/// All cases, in order.
#[derive(Default)]
pub(crate) struct Cases {
    pub(crate) list: Vec<Case>,
    /// Helpers that other cases start in a process of their own. They are in no table.
    pub(crate) helpers: Vec<Case>,
}

impl Cases {
    /// Adds a helper for [`run::beside`](crate::run::beside).
    pub(crate) fn help(&mut self, id: &str, run: impl Fn(&mut Log) -> Outcome + 'static) {
        let (id, run) = (id.to_owned(), Box::new(run));
        self.helpers.push(Case { id, devices: 1, alone: true, run });
    }

    /// Adds a case.
    pub(crate) fn add(
        &mut self,
        id: impl Into<String>,
        run: impl Fn(&mut Log) -> Outcome + 'static,
    ) -> &mut Case {
        self.list.push(Case { id: id.into(), devices: 1, alone: false, run: Box::new(run) });
        let last = self.list.len() - 1;
        &mut self.list[last]
    }

    /// Adds a case with a process of its own.
    pub(crate) fn alone(&mut self, id: impl Into<String>, run: impl Fn(&mut Log) -> Outcome + 'static) {
        self.add(id, run).alone();
    }

    /// Adds a case for two devices, with a process of its own.
    pub(crate) fn two_devices(&mut self, id: impl Into<String>, run: impl Fn(&mut Log) -> Outcome + 'static) {
        self.add(id, run).alone().two_devices();
    }
}
