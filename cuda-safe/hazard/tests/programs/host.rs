//! The host's part of a program.

use super::bench::Bench;
use super::program::Sabotage;
use crate::common::machine::{Orders, Set, Touch};
use cuda_hazard::{Access, WaitTarget};

impl Bench<'_> {
    /// Reads or writes a buffer on the host, which waits as `wait_host` does.
    pub(crate) fn host(&mut self, touch: Touch) -> Result<(), String> {
        let access = Access::new(&self.histories[touch.buffer], touch.start..touch.end, touch.mode);
        if touch.start >= touch.end {
            return Ok(());
        }
        let conflicts = self.tracker.host_conflicts(access);
        let none = Orders::of(Set::default());
        let unproven = self.backend.machine.borrow().unordered(&[touch], none).count();
        if !conflicts.is_empty() && unproven == 0 && !self.backend.imprecise.get() {
            return Err("the host is made to wait for nothing".into());
        }
        self.run.host_waits += u64::from(!conflicts.is_empty());
        if self.backend.sabotage != Sabotage::NoHostWait {
            for conflict in conflicts {
                let timeline = self.tracker.timeline(conflict.epoch.timeline).unwrap();
                let track = self.backend.track(timeline);
                let target = *timeline.wait_target();
                if let WaitTarget::Stream(_) = target {
                    let snapshot = self.tracker.snapshot_by_event(timeline);
                    let event = self.backend.machine.borrow_mut().record(track);
                    self.backend.machine.borrow_mut().waited(event);
                    self.tracker.completed_all(&snapshot);
                } else {
                    self.backend.device_synchronize(self.device(track));
                }
            }
            while let Some(conflict) = self.tracker.host_conflicts(access).first() {
                let timeline = self.tracker.timeline(conflict.epoch.timeline).unwrap();
                self.backend.device_synchronize(self.device(self.backend.track(timeline)));
            }
            self.tracker.prune(access);
        }
        let machine = self.backend.machine.borrow();
        match machine.unordered(&[touch], none).next() {
            Some(node) => Err(format!("the host races with operation {node}")),
            None => Ok(()),
        }
    }
}
