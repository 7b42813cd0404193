//! Launches that are proven: what is refused, with which words, and that verdicts are kept.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![expect(unsafe_code, reason = "launches a kernel that cannot be proven")]

use std::thread;

use cuda_kernels::kernels::{
    add_one, add_step, arguments_pitched, arguments_shape, arguments_vectors, copy_values, fill_f32,
    heap_squares, matrix_multiply_tiled, scale_offset, transform_points, variables_sum, vector_add,
};
use cuda_kernels::{MatrixShape, Point, kernels};
use cuda_safe::error::ErrorKind;
use cuda_safe::graph::node;
use cuda_safe::launch::LaunchConfig;
use cuda_safe::memory::PitchedBuffer;
use cuda_safe::{Device, DeviceBuffer, Error, Graph, Result, Stream, hazard, launch};
use cuda_testing::alone;

/// Returns the sentence of a refusal by proof.
fn words(refused: Result<()>) -> String {
    words_of(refused.unwrap_err())
}

fn words_of(error: Error) -> String {
    assert_eq!(error.detail().kind(), ErrorKind::Proof, "{error}");
    assert!(error.is_refused() && error.call_site().file() == file!(), "{error}");
    error.detail().to_string()
}

fn floats(count: usize) -> Result<DeviceBuffer<f32>> {
    DeviceBuffer::alloc_zeroed(count)
}

#[test]
fn a_launch_that_leaves_a_buffer_is_refused_with_the_elements_the_line_and_the_values() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let (a, b, mut sum) = (floats(1024)?, floats(1024)?, floats(1000)?);
    let line = line!() + 1;
    let refused = launch!(vector_add<<<4, 256, 0, &stream>>>(&a, &b, &mut sum, 1024));
    assert_eq!(refused.as_ref().unwrap_err().call_site().line(), line);
    assert_eq!(
        words(refused),
        "vector_add may write sum[1000..1024], but sum has 1000 elements: kernels/vector.cu:11; the index is \
         up to 1023 with grid 4, block 256, count 1024"
    );
    // The stream is as before: nothing was queued.
    launch!(vector_add<<<4, 256, 0, &stream>>>(&a, &b, &mut sum, 1000))?;
    let refused = launch!(vector_add<<<4, 256, 0, &stream>>>(&a, b.slice(..999)?, &mut sum, 1000));
    assert!(words(refused).starts_with("vector_add may read b[999..1000], but b has 999 elements"));
    // The shape counts, not only the number: two blocks stay within the buffer.
    launch!(vector_add<<<2, 256, 0, &stream>>>(&a, &b, &mut sum, u32::MAX))?;
    let mut numbers = DeviceBuffer::from_slice(&[0_i32; 100])?;
    for (count, is_fine) in [(100_u32, true), (101, false), (100, true), (0, true), (u32::MAX, false)] {
        let launched = launch!(add_one<<<1, 128, 0, &stream>>>(&mut numbers, count));
        assert_eq!(launched.is_ok(), is_fine, "{count}");
    }
    assert_eq!(numbers.to_vec()?, [2; 100]);
    Ok(())
}

#[test]
fn the_refusal_that_the_readme_shows_is_that_of_its_program() -> Result<()> {
    let _alone = alone();
    let (stream, mut data) = (Stream::new()?, floats(4)?);
    let refused = launch!(scale_offset<<<1, 8, 0, &stream>>>(&mut data, 2.0, 1.0, 5));
    let readme = include_str!("../../../README.md").split_whitespace().collect::<Vec<_>>().join(" ");
    let refusal = words(refused);
    assert!(readme.contains(&refusal), "{refusal}");
    Ok(())
}

#[test]
fn what_cannot_be_proven_is_refused_with_its_line_and_runs_unchecked() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let mut out = DeviceBuffer::from_slice(&[0_u32; 4])?;
    let mut failures = DeviceBuffer::from_slice(&[0_u32])?;
    let refused = launch!(heap_squares<<<1, 4, 0, &stream>>>(&mut out, 4, &mut failures));
    assert_eq!(words(refused), "cannot prove heap_squares: kernels/heap.cu:8, malloc: the device's heap");
    // SAFETY: there are as many elements as threads.
    unsafe { launch!(heap_squares.unchecked()<<<1, 4, 0, &stream>>>(&mut out, 4, &mut failures)) }?;
    assert_eq!(out.to_vec()?, [0, 1, 4, 9]);

    let mut sum = DeviceBuffer::from_slice(&[0_u32])?;
    let refused = launch!(kernels::linked::add_amount<<<1, 1, 0, &stream>>>(&mut sum, 2_u32));
    assert_eq!(
        words(refused),
        "cannot prove add_amount: its device code is linked with that of other sources"
    );
    Ok(())
}

#[test]
fn a_view_that_begins_at_an_odd_element_is_refused_where_the_kernel_loads_vectors() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let (input, mut output) = (floats(12)?, floats(12)?);
    let mut positive = DeviceBuffer::from_slice(&[0_u8; 2])?;
    launch!(arguments_vectors<<<1, 32, 0, &stream>>>(&input, output.slice_mut(4..)?, &mut positive, 2))?;
    // The type of the parameter has an alignment, and the argument is refused before the proof.
    let odd = launch!(arguments_vectors<<<1, 32, 0, &stream>>>(
        &input, output.slice_mut(1..9)?, &mut positive, 2
    ));
    assert_eq!(odd.unwrap_err().detail().kind(), ErrorKind::Argument);
    let short = launch!(arguments_vectors<<<1, 32, 0, &stream>>>(&input, &mut output, &mut positive, 3));
    assert!(words(short).starts_with("arguments_vectors may write positive[2..3], but"));
    Ok(())
}

#[test]
fn structs_pitched_rows_tiles_and_dynamic_shared_memory_are_proven() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let mut points = DeviceBuffer::from_slice(&[Point { x: 1.0, y: 2.0, z: 3.0 }; 10])?;
    let (scale, offset) = (Point { x: 2.0, y: 2.0, z: 2.0 }, Point { x: 0.0, y: 1.0, z: 0.0 });
    launch!(transform_points<<<1, 32, 0, &stream>>>(&mut points, scale, offset, 10))?;
    let refused = launch!(transform_points<<<1, 32, 0, &stream>>>(&mut points, scale, offset, 11));
    assert!(words(refused).contains("points[10..11], but points has 10 elements"));

    let mut rows = PitchedBuffer::<i32>::alloc(20, 3)?;
    launch!(arguments_pitched<<<1, 32, 0, &stream>>>(&mut rows, 1, 5))?;
    let refused = launch!(arguments_pitched<<<1, 32, 0, &stream>>>(&mut rows, 2, 5));
    assert!(words(refused).contains("arguments_pitched may write"));

    let MatrixShape { rows, inner, columns } = MatrixShape { rows: 20, inner: 17, columns: 33 };
    let (a, b, mut c) = (floats(20 * 17)?, floats(17 * 33)?, floats(20 * 33)?);
    let mut multiply = |grid: (u32, u32), rows: u32| launch!(matrix_multiply_tiled<<<grid, (16, 16), 0, &stream>>>(&a, &b, &mut c, rows, inner, columns));
    multiply((3, 2), rows)?;
    assert!(words(multiply((3, 2), rows + 1)).contains("matrix_multiply_tiled may"));

    let (mut threads, mut shared) =
        (DeviceBuffer::from_slice(&[0_u32])?, DeviceBuffer::from_slice(&[0_u32])?);
    let mut shape = |bytes: usize, words: u32| {
        let config = LaunchConfig::new(2, 64).with_shared_bytes(bytes);
        arguments_shape.launch(config, &stream, (&mut threads, &mut shared, words))
    };
    shape(400, 100)?;
    assert!(words(shape(396, 100)).contains("396 bytes of dynamic shared memory"));
    Ok(())
}

#[test]
fn halves_of_rows_that_share_bytes_are_refused() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let mut rows = PitchedBuffer::<f32>::alloc(8, 4)?;
    let (left, right) = rows.plane_mut().split_at_column_mut(4)?;
    let refused = launch!(copy_values<<<1, 32, 0, &stream>>>(&left, right, 4));
    assert_eq!(
        words(refused),
        "cannot prove copy_values: from and to have bytes in common, and one of them may be written"
    );
    // The same memory twice is fine where nothing writes it.
    let (a, mut sum) = (floats(8)?, floats(8)?);
    launch!(vector_add<<<1, 8, 0, &stream>>>(&a, &a, &mut sum, 8))?;
    Ok(())
}

#[test]
fn verdicts_are_kept_for_many_values_and_on_many_threads() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let mut data = floats(256)?;
    // More than a thread or a kernel keeps.
    for _ in 0..2 {
        for count in 0..300_u32 {
            let launched = launch!(fill_f32<<<2, 256, 0, &stream>>>(&mut data, 1.0, count));
            assert_eq!(launched.is_ok(), count <= 256, "{count}");
        }
    }
    // Numbers that no address depends on are not among the values.
    for turn in 0..200_u8 {
        launch!(scale_offset<<<1, 256, 0, &stream>>>(&mut data, 1.0, f32::from(turn), 256))?;
    }
    stream.synchronize()?;
    thread::scope(|scope| {
        let each = |thread: u32| {
            move || -> Result<()> {
                let (stream, mut data) = (Stream::new()?, DeviceBuffer::from_slice(&[0_i32; 64])?);
                let step = DeviceBuffer::from_slice(&[1_i32])?;
                for turn in 0..100 {
                    let count = (turn + thread) % 80;
                    let launched = launch!(add_step<<<1, 128, 0, &stream>>>(&mut data, &step, count, 1));
                    assert_eq!(launched.is_ok(), count <= 64, "{count}");
                }
                stream.synchronize()
            }
        };
        let all: Vec<_> = (0..4).map(|thread| scope.spawn(each(thread))).collect();
        all.into_iter().try_for_each(|thread| thread.join().unwrap())
    })
}

#[test]
fn each_device_has_its_own_code() -> Result<()> {
    let _alone = alone();
    for device in Device::all()? {
        device.set_current()?;
        let stream = Stream::new()?;
        let mut data = DeviceBuffer::from_slice(&[0_i32; 8])?;
        launch!(add_one<<<1, 8, 0, &stream>>>(&mut data, 8))?;
        assert!(words(launch!(add_one<<<1, 16, 0, &stream>>>(&mut data, 9))).contains("data[8..9]"));
        assert_eq!(data.to_vec()?, [1; 8]);
    }
    Device::new(0)?.set_current()
}

#[test]
fn a_launch_on_a_captured_stream_is_proven_too() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::new()?;
    let mut data = DeviceBuffer::from_slice(&[0_i32; 8])?;
    let refused = stream.capture(|s| launch!(add_one<<<1, 16, 0, s>>>(&mut data, 9)));
    assert_eq!(refused.unwrap_err().detail().kind(), ErrorKind::Proof);
    let captured = stream.capture(|s| launch!(add_one<<<1, 16, 0, s>>>(&mut data, 8)))?;
    captured.instantiate()?.launch(&stream)?;
    assert_eq!(data.to_vec()?, [1; 8]);
    let mut sums = DeviceBuffer::from_slice(&[0_i32; 64])?;
    launch!(variables_sum<<<1, 64, 0, &stream>>>(&mut sums))?;
    let beyond = words(launch!(variables_sum<<<1, 65, 0, &stream>>>(&mut sums)));
    assert!(beyond.starts_with("cannot prove variables_sum: kernels/variables.cu:"), "{beyond}");
    assert!(beyond.contains("may access bytes"), "{beyond}");
    Ok(())
}

#[test]
fn nodes_of_graphs_and_their_changes_are_proven() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let mut data = DeviceBuffer::from_slice(&[0_i32; 8])?;
    let mut graph = Graph::new()?;
    let refused = graph.add(&[], node::checked_kernel(&add_one, (1, 16), (&mut data, 9)));
    assert!(words(refused.map(drop)).starts_with("add_one may write data[8..9], but data has 8 elements"));
    let node = graph.add(&[], node::checked_kernel(&add_one, (1, 16), (&mut data, 8)))?;
    let mut exec = graph.instantiate()?;
    exec.launch(&stream)?;
    let refused = exec.set(&graph, node, node::checked_kernel(&add_one, (1, 16), (&mut data, 9)));
    assert!(words(refused).contains("data[8..9]"));
    exec.set(&graph, node, node::checked_kernel(&add_one, (1, 16), (&mut data, 4)))?;
    exec.launch(&stream)?;
    graph.set(node, node::checked_kernel(&add_one, (1, 4), (&mut data, 8)))?;
    graph.instantiate()?.launch(&stream)?;
    assert_eq!(data.to_vec()?, [3, 3, 3, 3, 1, 1, 1, 1]);
    Ok(())
}

#[test]
fn the_needs_of_a_launch_are_its_ranges_and_just_enough_for_it() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let needs = vector_add.needs((4, 256), ((), (), (), 1000))?;
    let words: Vec<_> = needs.iter().map(|it| (it.name, it.read.clone(), it.written.clone())).collect();
    let expected =
        [("a", 0..4000, 0..0), ("b", 0..4000, 0..0), ("sum", 0..0, 0..4000), ("count", 0..0, 0..0)];
    assert_eq!(words, expected);
    assert!(needs[0].align == 4 && needs[3].align == 1 && needs[2].elements::<f32>() == 1000);
    // Just enough: the launch runs with so many elements, and with one less it is refused.
    let (a, b) = (floats(needs[0].elements::<f32>())?, floats(needs[1].elements::<f32>())?);
    let mut sum = floats(needs[2].elements::<f32>())?;
    launch!(vector_add<<<4, 256, 0, &stream>>>(&a, &b, &mut sum, 1000))?;
    assert!(launch!(vector_add<<<4, 256, 0, &stream>>>(&a, &b, sum.slice_mut(1..)?, 1000)).is_err());

    // The shape counts, but for a loop over all elements, and a vector load has its alignment.
    let of = |count: i64| -> Result<usize> { Ok(fill_f32.needs((2, 32), ((), 1.0, count))?[0].bytes()) };
    assert_eq!((of(10), of(1000), of(0)), (Ok(40), Ok(4000), Ok(0)));
    assert_eq!(add_one.needs((2, 32), ((), 1000))?[0].written, 0..256);
    let vectors = arguments_vectors.needs((1, 32), ((), (), (), 2))?;
    assert_eq!((vectors[0].align, vectors[1].align, vectors[2].bytes()), (16, 16, 2));
    let (scale, offset) = (Point { x: 2.0, y: 2.0, z: 2.0 }, Point { x: 0.0, y: 1.0, z: 0.0 });
    assert_eq!(transform_points.needs((1, 32), ((), scale, offset, 10))?[0].elements::<Point>(), 10);

    // Errors as in a launch.
    let refused = heap_squares.needs((1, 4), ((), 4, ()));
    assert_eq!(
        words_of(refused.unwrap_err()),
        "cannot prove heap_squares: kernels/heap.cu:8, malloc: the device's heap"
    );
    let beyond = of(-1);
    assert!(
        matches!(beyond, Err(error) if error.to_string().contains("argument 2 (0 is the first), `count`"))
    );
    assert!(fill_f32.needs((1, 2000), ((), 1.0, 1)).is_err(), "no block has so many threads");
    Ok(())
}

#[test]
fn launches_on_two_streams_wait_only_for_bytes_that_both_use() -> Result<()> {
    let _alone = alone();
    let (one, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let mut data = DeviceBuffer::from_slice(&[0_i32; 1024])?;
    let halves = |data: &mut DeviceBuffer<i32>, from: usize| -> Result<u64> {
        Device::current()?.synchronize()?;
        let before = hazard::added_waits();
        for _ in 0..3 {
            // Each gets all that lies behind, and writes 512 elements of that.
            launch!(add_one<<<2, 256, 0, &one>>>(&mut *data, u32::MAX))?;
            launch!(add_one<<<2, 256, 0, &other>>>(data.slice_mut(from..)?, 512))?;
        }
        Ok(hazard::added_waits() - before)
    };
    assert_eq!(halves(&mut data, 512)?, 0);
    assert_eq!(data.to_vec()?, [3; 1024]);
    // One element is in both.
    assert_eq!(halves(&mut data, 511)?, 5);
    assert_eq!(data.to_vec()?, [[6; 511].as_slice(), &[9], &[6; 511], &[3]].concat());

    let mut data = floats(1024)?;
    Device::current()?.synchronize()?;
    // What a launch does not touch, it need not wait for.
    let before = hazard::added_waits();
    launch!(fill_f32<<<4, 256, 0, &one>>>(&mut data, 1.0, 1024))?;
    launch!(fill_f32<<<4, 256, 0, &other>>>(&mut data, 2.0, 0))?;
    assert_eq!(hazard::added_waits(), before);
    // More than half of an argument counts as all of it.
    launch!(fill_f32<<<4, 256, 0, &other>>>(data.slice_mut(1023..)?, 2.0, 1))?;
    assert_eq!(hazard::added_waits(), before + 1);
    // A launch without proof uses all of each argument.
    launch!(fill_f32<<<1, 1, 0, &one>>>(&mut data, 3.0, 1))?;
    let before = hazard::added_waits();
    // SAFETY: the kernel writes no more than the count.
    unsafe { launch!(fill_f32.unchecked()<<<1, 1, 0, &other>>>(&mut data, 4.0, 0)) }?;
    assert_eq!(hazard::added_waits(), before + 1);
    Ok(())
}

#[test]
fn a_hazard_of_a_launch_names_the_argument_whose_bytes_conflict() -> Result<()> {
    let _alone = alone();
    let (one, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let (mut a, mut sum) = (floats(1024)?, floats(1024)?);
    Device::current()?.synchronize()?;
    hazard::set_policy(hazard::Policy::Error)?;
    let launched = || -> Result<()> {
        launch!(fill_f32<<<1, 256, 0, &one>>>(a.slice_mut(512..)?, 1.0, 256))?;
        launch!(fill_f32<<<1, 256, 0, &one>>>(&mut sum, 1.0, 256))?;
        launch!(copy_values<<<1, 256, 0, &other>>>(&a, &mut sum, 256))
    };
    let error = std::panic::catch_unwind(std::panic::AssertUnwindSafe(launched)).unwrap().unwrap_err();
    hazard::set_policy(hazard::Policy::Order)?;
    assert_eq!(error.detail().kind(), ErrorKind::Hazard, "{error}");
    let text = error.to_string();
    assert!(text.contains("`to`") && !text.contains("`from`") && !text.contains("read_only"), "{text}");
    Ok(())
}
