//! Types and state spaces.

/// What the bits of a type are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A predicate.
    Predicate,
    /// Bits without a meaning: `.b32`.
    Bits,
    /// An unsigned integer, or two of them.
    Unsigned,
    /// A signed integer, or two of them.
    Signed,
    /// A floating-point number, or several of them.
    Float,
    /// A reference to a texture, a surface or a sampler.
    Opaque,
}

macro_rules! types {
    ($($name:ident $word:literal $kind:ident $bits:literal,)*) => {
        /// A type of PTX.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Type {
            $(#[doc = concat!("`.", $word, "`")] $name,)*
        }

        impl Type {
            /// All types.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the type of a word without its dot.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// Returns the type's word, without the dot.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            /// Returns what its bits are.
            #[must_use]
            pub fn kind(self) -> Kind {
                match self { $(Self::$name => Kind::$kind,)* }
            }

            /// Returns the bits of a value: 1 for a predicate.
            #[must_use]
            pub fn bits(self) -> u32 {
                match self { $(Self::$name => $bits,)* }
            }
        }
    };
}

types! {
    Pred "pred" Predicate 1,
    B8 "b8" Bits 8,
    B16 "b16" Bits 16,
    B32 "b32" Bits 32,
    B64 "b64" Bits 64,
    B128 "b128" Bits 128,
    U8 "u8" Unsigned 8,
    U16 "u16" Unsigned 16,
    U32 "u32" Unsigned 32,
    U64 "u64" Unsigned 64,
    U16x2 "u16x2" Unsigned 32,
    S8 "s8" Signed 8,
    S16 "s16" Signed 16,
    S32 "s32" Signed 32,
    S64 "s64" Signed 64,
    S16x2 "s16x2" Signed 32,
    F16 "f16" Float 16,
    F16x2 "f16x2" Float 32,
    Bf16 "bf16" Float 16,
    Bf16x2 "bf16x2" Float 32,
    Tf32 "tf32" Float 32,
    F32 "f32" Float 32,
    F32x2 "f32x2" Float 64,
    F64 "f64" Float 64,
    E4m3 "e4m3" Float 8,
    E5m2 "e5m2" Float 8,
    Texref "texref" Opaque 64,
    Surfref "surfref" Opaque 64,
    Samplerref "samplerref" Opaque 64,
}

impl Type {
    /// Returns the bytes of a value: 1 for a predicate.
    #[must_use]
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }
}

/// Where a variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Registers: of parameters in old texts.
    Reg,
    /// Memory of the device, seen by every thread.
    Global,
    /// Memory of the device that kernels only read.
    Const,
    /// Memory of one block.
    Shared,
    /// Memory of one thread.
    Local,
    /// Arguments of kernels and functions.
    Param,
    /// Global memory of textures, in old texts.
    Tex,
}

impl Space {
    /// Returns the space of a word without its dot.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "reg" => Self::Reg,
            "global" => Self::Global,
            "tex" => Self::Tex,
            "const" => Self::Const,
            "shared" => Self::Shared,
            "local" => Self::Local,
            "param" => Self::Param,
            _ => return None,
        })
    }

    /// Returns the space's word, without the dot.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Reg => "reg",
            Self::Global => "global",
            Self::Const => "const",
            Self::Shared => "shared",
            Self::Local => "local",
            Self::Param => "param",
            Self::Tex => "tex",
        }
    }
}
