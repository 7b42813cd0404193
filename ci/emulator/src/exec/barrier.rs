//! The barriers of one block.

/// One barrier.
#[derive(Clone, Copy, Debug, Default)]
struct Barrier {
    /// How often it has opened.
    generation: u64,
    arrived: u32,
    /// The number of threads that the barrier waits for; `None` means all of the block.
    expected: Option<u32>,
    /// How many of the threads that arrived brought a true predicate.
    truths: u32,
    /// The counts of the last two generations: threads, and truths among them.
    gathered: [(u32, u32); 2],
}

/// The barriers of a block, and how many of its threads have not ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Barriers {
    list: [Barrier; 17],
    live: u32,
}

impl Barriers {
    pub(super) fn new(live: u32) -> Self {
        Self { list: Default::default(), live }
    }

    /// How many barriers a block has.
    pub(super) fn count(&self) -> u32 {
        17
    }

    /// How often a barrier has opened.
    pub(super) fn generation(&self, id: u32) -> u64 {
        self.list[id as usize].generation
    }

    /// Lets threads arrive, and opens the barrier if they were the last.
    pub(super) fn arrive(&mut self, id: u32, threads: u32, truths: u32, expected: Option<u32>) {
        let live = self.live;
        let b = &mut self.list[id as usize];
        b.arrived += threads;
        b.truths += truths;
        b.expected = expected;
        b.open(live);
    }

    /// Removes threads that have ended: nobody waits for them. Returns the barriers that open.
    pub(super) fn exit(&mut self, threads: u32) -> Vec<u32> {
        self.live -= threads.min(self.live);
        let live = self.live;
        let mut opened = Vec::new();
        for (id, b) in (0..).zip(&mut self.list) {
            if b.arrived > 0 && b.open(live) {
                opened.push(id);
            }
        }
        opened
    }

    /// The counts of a generation: threads, and true predicates.
    pub(super) fn gathered(&self, id: u32, generation: u64) -> (u32, u32) {
        self.list[id as usize].gathered[usize::from(generation % 2 == 1)]
    }

    /// Describes at which barriers threads wait, and how many are missing.
    pub(super) fn describe(&self) -> String {
        let mut text = Vec::new();
        for (id, b) in self.list.iter().enumerate().filter(|(_, b)| b.arrived > 0) {
            let expected = b.expected.unwrap_or(self.live);
            text.push(format!("{} of {expected} threads at barrier {id}", b.arrived));
        }
        text.join(", ")
    }
}

impl Barrier {
    /// Opens if nobody is missing. Returns whether it does.
    fn open(&mut self, live: u32) -> bool {
        let opens = self.arrived >= self.expected.unwrap_or(live);
        if opens {
            self.gathered[usize::from(self.generation % 2 == 1)] = (self.arrived, self.truths);
            self.generation += 1;
            (self.arrived, self.truths, self.expected) = (0, 0, None);
        }
        opens
    }
}
