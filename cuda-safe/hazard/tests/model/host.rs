//! The host's part of a program.

use crate::bench::Bench;
use crate::common::machine::{Orders, Set, Touch};
use crate::program::Sabotage;
use cuda_hazard::{Access, Reach};

impl Bench<'_> {
    /// The host reads or writes a buffer, waiting as `wait_host` does.
    pub(crate) fn host(&mut self, touch: Touch) -> Result<(), String> {
        let access = Access::new(&self.ledgers[touch.buffer], touch.start..touch.end, touch.mode);
        if touch.start >= touch.end {
            return Ok(());
        }
        let conflicts = self.books.host_conflicts(access);
        let none = Orders::of(Set::default());
        let unproven = self.port.machine.borrow().unordered(&[touch], none).count();
        if !conflicts.is_empty() && unproven == 0 && !self.port.imprecise.get() {
            return Err("the host is made to wait for nothing".into());
        }
        self.run.host_waits += u64::from(!conflicts.is_empty());
        if self.port.sabotage != Sabotage::NoHostWait {
            for conflict in conflicts {
                let slot = self.books.slot(conflict.stamp.slot).unwrap();
                let track = self.port.track(slot);
                let reach = *slot.reach();
                if let Reach::Stream(_) = reach {
                    let coverage = self.books.coverage_by_event(slot);
                    let event = self.port.machine.borrow_mut().record(track);
                    self.port.machine.borrow_mut().waited(event);
                    self.books.completed_all(&coverage);
                } else {
                    self.port.device_synchronize(self.device(track));
                }
            }
            while let Some(conflict) = self.books.host_conflicts(access).first() {
                let slot = self.books.slot(conflict.stamp.slot).unwrap();
                self.port.device_synchronize(self.device(self.port.track(slot)));
            }
            self.books.prune(access);
        }
        let machine = self.port.machine.borrow();
        match machine.unordered(&[touch], none).next() {
            Some(node) => Err(format!("the host races with operation {node}")),
            None => Ok(()),
        }
    }
}
