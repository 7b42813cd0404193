//! How instructions address images.

/// The dimensions of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Geometry {
    /// One row.
    Line,
    /// Rows.
    Plane,
    /// Layers of rows, with values between them.
    Solid,
    /// Rows that stand for themselves.
    Lines,
    /// Layers of rows that stand for themselves.
    Planes,
    /// The six faces of a cube, read by direction.
    Cube,
    /// Layers of cubes.
    Cubes,
}

impl Geometry {
    /// Whether the first coordinate is the number of a layer.
    pub(crate) fn is_layered(self) -> bool {
        matches!(self, Self::Lines | Self::Planes | Self::Cubes)
    }

    /// Whether it is read by direction.
    pub(crate) fn is_cube(self) -> bool {
        matches!(self, Self::Cube | Self::Cubes)
    }

    /// How many coordinates there are besides.
    pub(crate) fn dimensions(self) -> usize {
        match self {
            Self::Line | Self::Lines => 1,
            Self::Plane | Self::Planes => 2,
            Self::Solid | Self::Cube | Self::Cubes => 3,
        }
    }
}

/// How a read of a texture selects a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LevelBy {
    /// It reads the first.
    Nothing,
    /// By number.
    Number,
    /// By derivatives of the coordinates.
    Derivatives,
}

/// A read of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Read {
    /// The dimensions.
    pub(crate) geometry: Geometry,
    /// Whether the coordinate is the number of an element.
    pub(crate) by_number: bool,
    /// Whether the registers are to hold floating-point numbers.
    pub(crate) floats: bool,
    /// How the level is selected.
    pub(crate) level: LevelBy,
    /// The channel of a gather: of the four neighbours one number each.
    pub(crate) gathers: Option<u8>,
}

/// The effect of a surface access outside of its image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Boundary {
    /// Ends the kernel.
    Trap,
    /// Takes the nearest element.
    Clamp,
    /// Reads zeros and writes nothing.
    Zero,
}
