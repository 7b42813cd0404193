//! Images as surfaces: reads and writes by bytes of a row.

use super::address::{Address, index};
use super::element::Image;
use super::operands::ImageOperands;
use crate::exec::fault::{Fault, Refused};
use crate::exec::geometry::{Boundary, Geometry};
use crate::exec::program::SurfaceAccess;

impl Image {
    /// The address of a surface access, which begins at byte `x` of a row. `None` if nothing is read or
    /// written.
    pub(super) fn place(
        &self,
        access: SurfaceAccess,
        given: &ImageOperands,
    ) -> Result<Option<*mut u8>, Refused> {
        // Surfaces of cubes are read and written by face.
        if access.geometry != Geometry::Planes || !self.geometry.is_some_and(Geometry::is_cube) {
            self.expect(access.geometry)?;
        }
        let (bytes, element) = (access.bytes(), self.element());
        if bytes != element {
            let why = format!("a surface access of {bytes} bytes to elements of {element}");
            return Err((Fault::NOT_SUPPORTED, why));
        }
        let [a, b, c] = [given[0], given[1], given[2]].map(|it| i64::from(it.cast_signed()));
        let [x, y, z] = match access.geometry {
            Geometry::Line => [a, 0, 0],
            Geometry::Plane => [a, b, 0],
            Geometry::Solid | Geometry::Cube | Geometry::Cubes => [a, b, c],
            // The layer comes first.
            Geometry::Lines => [b, 0, a],
            Geometry::Planes => [b, c, a],
        };
        let wide = |size: u64| i64::try_from(size).unwrap_or(i64::MAX);
        if x.rem_euclid(wide(element)) != 0 {
            let why = format!("a surface access at byte {x} of a row of elements of {element} bytes");
            return Err((Fault::MISALIGNED_ADDRESS, why));
        }
        let [width, height, depth] = self.size;
        let asked = [x.div_euclid(wide(element)), y, z];
        let mut at = [0; 3];
        for ((to, from), size) in at.iter_mut().zip(asked).zip([width, height, depth]) {
            let inside = (0..wide(size)).contains(&from);
            *to = match access.boundary {
                _ if inside => u64::try_from(from).unwrap_or(0),
                Boundary::Clamp => index(Address::Clamp, from, size).unwrap_or(0),
                Boundary::Zero => return Ok(None),
                Boundary::Trap => {
                    let why = format!(
                        "a surface access to element {asked:?} of an image of {width} x {height} x {depth}"
                    );
                    return Err((Fault::ILLEGAL_ADDRESS, why));
                }
            };
        }
        Ok(Some(self.at(at)))
    }
}
