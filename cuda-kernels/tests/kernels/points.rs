//! An array of structs: the layout is C's, and the kernel reads the values that the host wrote.

use cuda_kernels::{Point, transform_points};
use cuda_safe::{DeviceBuffer, Result, Stream};
use cuda_testing::alone;

fn point(at: u16) -> Point {
    let at = f32::from(at);
    Point { x: at, y: 2.0 * at + 0.5, z: -at }
}

#[test]
fn a_point_is_three_floats_in_a_row() {
    let _alone = alone();
    assert_eq!((size_of::<Point>(), align_of::<Point>()), (12, 4));
    assert_eq!(cuda_safe::bytemuck::cast::<Point, [f32; 3]>(point(3)), [3.0, 6.5, -3.0]);
}

#[test]
fn every_point_is_scaled_and_moved() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let host: Vec<Point> = (0..256).map(point).collect();
    let mut points = DeviceBuffer::from_slice(&host)?;
    let (scale, offset) = (Point { x: 2.0, y: 0.5, z: -1.0 }, Point { x: 1.0, y: 0.0, z: 10.0 });
    transform_points(&mut points, scale, offset, &stream)?;
    let expected: Vec<Point> = host
        .iter()
        .map(|point| Point {
            x: point.x.mul_add(2.0, 1.0),
            y: point.y.mul_add(0.5, 0.0),
            z: point.z.mul_add(-1.0, 10.0),
        })
        .collect();
    assert_eq!(points.to_vec()?, expected);
    Ok(())
}
