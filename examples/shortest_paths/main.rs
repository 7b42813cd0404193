//! Finds the shortest paths from one place to all others, by a loop that ends on the device.
//!
//! Each step of the loop looks at every road. The loop ends when a step has shortened no distance: a kernel
//! sets the condition of the graph's node, and the host waits only once. The nodes of the loop are ordered by
//! the memory that they share, and the copy to the host waits for the launch.
//!
//! Not under memcheck, initcheck: conditional nodes lose the context at random there, in C++ too.
#![expect(unsafe_code, reason = "adds kernels to a graph")]
use cuda_safe::graph::{Conditional, node};
use cuda_safe::{DeviceBuffer, Graph, Stream, memset};
use examples::kernels::linked::{Road, UNREACHABLE, relax, until_nothing_changes};

const PLACES: u32 = 1000;
const THREADS: usize = 128;

fn main() -> anyhow::Result<()> {
    // A street with a shortcut over each ten places, and a place that no road leads to.
    let street = (0..PLACES - 2).map(|from| Road { from, to: from + 1, length: 3 });
    let shortcuts = (0..PLACES - 11).step_by(10).map(|from| Road { from, to: from + 10, length: 7 });
    let roads: Vec<Road> = street.chain(shortcuts).collect();

    let d_roads = DeviceBuffer::from_slice(&roads)?;
    let mut d_changed = DeviceBuffer::from_slice(&[0_u32])?;
    let mut d_distances = DeviceBuffer::from_slice(&[UNREACHABLE; PLACES as usize])?;
    memset(&mut d_distances.slice_mut(..1)?, 0)?;
    let stream = Stream::new()?;

    let mut graph = Graph::new()?;
    let again = graph.condition(1)?;
    graph.add(
        &[],
        node::conditional(&again, Conditional::While, |_, body| {
            let (grid, count) = (roads.len().div_ceil(THREADS), roads.len());
            // SAFETY: the roads are as many as the count, and lead to places that have a distance.
            let step = unsafe {
                body.add(
                    &[],
                    node::kernel(
                        &relax,
                        (grid, THREADS),
                        (&d_roads, count, &mut d_distances, &mut d_changed),
                    ),
                )
            }?;
            // SAFETY: one thread, for one number.
            unsafe {
                body.add(&[step], node::kernel(&until_nothing_changes, (1, 1), (&again, &mut d_changed)))
            }?;
            Ok(())
        }),
    )?;

    graph.instantiate()?.launch(&stream)?;
    let distances = d_distances.to_vec()?; // waits for the launch
    for place in [0, 5, 9, 10, 128, 998] {
        println!("place {place}: {}", distances[place]);
    }
    let last = PLACES as usize - 1;
    println!("place {last}: {}", if distances[last] == UNREACHABLE { "no path" } else { "a path" });
    Ok(())
}
