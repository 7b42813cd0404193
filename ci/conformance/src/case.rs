//! One case: calls with a known answer.

use crate::log::{Log, Outcome};

/// What becomes of a case when it is tried through `cuda-safe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Safe {
    /// It works, with the same result.
    Works,
    /// No safe program can say it: the types rule it out.
    Unwritable,
    /// Refused by a check of the crate, before the runtime is called.
    Refused,
    /// The runtime's own answer comes back as an error.
    Passed,
    /// The crate has no such function; it is raw only.
    Raw,
}

impl Safe {
    /// How the table spells it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Unwritable => "cannot be written",
            Self::Refused => "refused before the call",
            Self::Passed => "passed through",
            Self::Raw => "raw only",
        }
    }
}

/// What a case does.
type Run = Box<dyn Fn(&mut Log) -> Outcome>;

/// A case: `function/what is special`.
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) safe: Safe,
    /// How many devices it takes.
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

    /// Says that the case takes two devices.
    pub(crate) fn two_devices(&mut self) -> &mut Self {
        self.devices = 2;
        self
    }
}

/// All cases, in order.
#[derive(Default)]
pub(crate) struct Cases {
    pub(crate) list: Vec<Case>,
    /// What other cases start as a process of their own; these are in no table.
    pub(crate) helpers: Vec<Case>,
}

impl Cases {
    /// Adds what [`run::beside`](crate::run::beside) can start.
    pub(crate) fn help(&mut self, id: &str, run: impl Fn(&mut Log) -> Outcome + 'static) {
        let (id, safe, run) = (id.to_owned(), Safe::Raw, Box::new(run));
        self.helpers.push(Case { id, safe, devices: 1, alone: true, run });
    }

    /// Adds a case.
    pub(crate) fn add(
        &mut self,
        id: impl Into<String>,
        safe: Safe,
        run: impl Fn(&mut Log) -> Outcome + 'static,
    ) -> &mut Case {
        self.list.push(Case { id: id.into(), safe, devices: 1, alone: false, run: Box::new(run) });
        let last = self.list.len() - 1;
        &mut self.list[last]
    }
}
