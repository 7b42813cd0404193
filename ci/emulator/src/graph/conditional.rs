//! Conditional nodes, and the bodies that run for the values that kernels set.

use super::executable::ExecNode;
use super::node::NodeOp;
use crate::stream::{Expansion, OperationId, Part, Work, condition};

/// When a conditional node runs which of its bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    /// The first one once if the value is not zero, the second one, if there is one, if it is.
    If,
    /// The only one as long as the value is not zero.
    While,
    /// The one of that number once, if there is one.
    Switch,
}

/// A conditional node.
#[derive(Clone, Debug)]
pub(crate) struct Conditional {
    pub(crate) handle: u64,
    pub(crate) test: Test,
    /// The graphs that the node owns.
    pub(crate) bodies: Vec<usize>,
}

/// The beginning of a launch, which gives these handles their first values.
#[derive(Debug)]
pub(super) struct Beginning(Vec<u64>);

impl Beginning {
    /// That of a launch of these steps, if they have conditional nodes.
    pub(super) fn of(steps: &[ExecNode]) -> Option<Self> {
        let mut handles = Vec::new();
        collect(steps, &mut handles);
        (!handles.is_empty()).then_some(Self(handles))
    }
}

fn collect(steps: &[ExecNode], handles: &mut Vec<u64>) {
    for step in steps {
        handles.extend(step.choice.as_ref().map(|it| it.handle));
        step.choice.iter().flat_map(|it| &it.bodies).for_each(|body| collect(body, handles));
    }
}

impl Expansion for Beginning {
    fn next(&mut self) -> Option<Vec<Part>> {
        self.0.iter().for_each(|handle| condition::begin(*handle));
        None
    }
}

/// A conditional node of an executable graph, whose bodies are laid out.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(super) handle: u64,
    pub(super) test: Test,
    pub(super) bodies: Vec<Vec<ExecNode>>,
    /// Whether it has run a body.
    ran: bool,
}

impl Choice {
    pub(super) fn new(of: &Conditional, bodies: Vec<Vec<ExecNode>>) -> Self {
        Self { handle: of.handle, test: of.test, bodies, ran: false }
    }
}

impl Expansion for Choice {
    fn next(&mut self) -> Option<Vec<Part>> {
        if core::mem::replace(&mut self.ran, true) && self.test != Test::While {
            return None;
        }
        let value = condition::value(self.handle);
        let body = match self.test {
            Test::If => self.bodies.get(usize::from(value == 0)),
            Test::While => self.bodies.first().filter(|_| value != 0),
            Test::Switch => self.bodies.get(usize::try_from(value).unwrap_or(usize::MAX)),
        };
        // Bodies have no nodes that wait for events.
        body.map(|steps| parts(steps, |_| None))
    }
}

/// The operations of some steps. `moment` is the one that an event marks.
pub(super) fn parts(steps: &[ExecNode], moment: impl Fn(usize) -> Option<OperationId>) -> Vec<Part> {
    let part = |step: &ExecNode| {
        let and =
            if let NodeOp::Wait(event) = step.op { moment(event).into_iter().collect() } else { Vec::new() };
        let work = match &step.choice {
            _ if !step.enabled => Work::Nothing,
            Some(choice) => Work::Expansion(Box::new(choice.clone())),
            None => step.op.work(),
        };
        let (device, call, line, before) = (step.device, step.call, step.line, step.before.clone());
        Part { device, call, line, work, before, and }
    };
    steps.iter().map(part).collect()
}
