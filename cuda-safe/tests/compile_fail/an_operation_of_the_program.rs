//! Only the crate has operations: their duties to the graph are not for safe code.
use cuda_safe::graph::Node;
use cuda_safe::graph::node::{BodyOp, NodeOp};
use cuda_safe::{Graph, Result};

struct Own;

impl NodeOp for Own {
    type Added = ();

    fn add_to(self, _: &mut Graph, _: &[Node]) -> Result<()> {
        Ok(())
    }
}

impl BodyOp for Own {}

fn main() {}
