//! Makes lowered operations out of closures on typed values.

/// An operation that applies a function of [`file`](crate::exec::file) to the closure.
macro_rules! lanes {
    ($map:ident :: < $($t:ty),* >, $f:expr) => {{
        let plain: $crate::exec::file::Alu =
            |file, s, mask| $crate::exec::file::$map::<$($t),*>(file, s, mask, $f);
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code, reason = "functions for newer processors are called after asking for them")]
        let vectors: $crate::exec::file::Alu =
            // SAFETY: it is used only if the processor has the instructions.
            |file, s, mask| unsafe { $crate::exec::file::vectors::$map::<$($t),*>(file, s, mask, $f) };
        #[cfg(not(target_arch = "x86_64"))]
        let vectors = plain;
        $crate::exec::file::best(plain, vectors)
    }};
}

/// An operation of one operand.
macro_rules! op1 {
    ($a:ty => $d:ty, $f:expr) => {
        lanes!(map1::<$a, $d>, $f)
    };
}

/// An operation of two operands.
macro_rules! op2 {
    ($a:ty, $b:ty => $d:ty, $f:expr) => {
        lanes!(map2::<$a, $b, $d>, $f)
    };
}

/// An operation of three operands.
macro_rules! op3 {
    ($a:ty, $b:ty, $c:ty => $d:ty, $f:expr) => {
        lanes!(map3::<$a, $b, $c, $d>, $f)
    };
}

/// An operation that takes long: computed only in the lanes that need it, one after the other.
macro_rules! slow {
    ($a:ty => $d:ty, $f:expr) => {
        lanes!(each1::<$a, $d>, $f)
    };
    ($a:ty, $b:ty => $d:ty, $f:expr) => {
        lanes!(each2::<$a, $b, $d>, $f)
    };
    ($a:ty, $b:ty, $c:ty => $d:ty, $f:expr) => {
        lanes!(each3::<$a, $b, $c, $d>, $f)
    };
    ($a:ty, $b:ty, $c:ty, $e:ty => $d:ty, $f:expr) => {
        lanes!(each4::<$a, $b, $c, $e, $d>, $f)
    };
}

/// A comparison of two operands into a predicate.
macro_rules! cmp {
    ($a:ty, $f:expr) => {
        lanes!(compare::<$a>, $f)
    };
}

/// Chooses between two operands by a predicate.
macro_rules! choose {
    ($a:ty) => {
        lanes!(choose::<$a>, |a, b, p| if p { a } else { b })
    };
}

/// An expression with a name for a type.
macro_rules! with_type {
    ($t:ident, $ty:ty, $body:expr) => {{
        type $t = $ty;
        $body
    }};
}

/// An expression for a rounding mode, with a name for the mode.
macro_rules! with_mode {
    ($m:ident, $mode:ident, $body:expr) => {{
        const $m: Rounding = Rounding::$mode;
        $body
    }};
}

/// One expression for each integer type: `T` stands for the type in it.
macro_rules! by_int {
    ($ty:expr, $t:ident => $body:expr) => {
        match $ty {
            Type::U16 | Type::B16 => with_type!($t, u16, $body),
            Type::S16 => with_type!($t, i16, $body),
            Type::U32 | Type::B32 => with_type!($t, u32, $body),
            Type::S32 => with_type!($t, i32, $body),
            Type::U64 | Type::B64 => with_type!($t, u64, $body),
            Type::S64 => with_type!($t, i64, $body),
            _ => return Err("this type does not fit the instruction".into()),
        }
    };
}

/// One expression for each width of integers: `T` stands for the unsigned type in it.
macro_rules! by_width {
    ($ty:expr, $t:ident => $body:expr) => {
        match $ty.size() {
            2 => with_type!($t, u16, $body),
            4 => with_type!($t, u32, $body),
            8 => with_type!($t, u64, $body),
            _ => return Err("this type does not fit the instruction".into()),
        }
    };
}
