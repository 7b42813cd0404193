//! Makes lowered operations out of closures on typed values.

/// An operation of one operand.
macro_rules! op1 {
    ($a:ty => $d:ty, $f:expr) => {
        (|file: &mut $crate::exec::file::File, s: &$crate::exec::file::Slots, mask: u32| {
            $crate::exec::file::map1::<$a, $d>(file, s, mask, $f)
        }) as $crate::exec::file::Alu
    };
}

/// An operation of two operands.
macro_rules! op2 {
    ($a:ty, $b:ty => $d:ty, $f:expr) => {
        (|file: &mut $crate::exec::file::File, s: &$crate::exec::file::Slots, mask: u32| {
            $crate::exec::file::map2::<$a, $b, $d>(file, s, mask, $f)
        }) as $crate::exec::file::Alu
    };
}

/// An operation of three operands.
macro_rules! op3 {
    ($a:ty, $b:ty, $c:ty => $d:ty, $f:expr) => {
        (|file: &mut $crate::exec::file::File, s: &$crate::exec::file::Slots, mask: u32| {
            $crate::exec::file::map3::<$a, $b, $c, $d>(file, s, mask, $f)
        }) as $crate::exec::file::Alu
    };
}

/// An operation of four operands.
macro_rules! op4 {
    ($a:ty, $b:ty, $c:ty, $e:ty => $d:ty, $f:expr) => {
        (|file: &mut $crate::exec::file::File, s: &$crate::exec::file::Slots, mask: u32| {
            $crate::exec::file::map4::<$a, $b, $c, $e, $d>(file, s, mask, $f)
        }) as $crate::exec::file::Alu
    };
}

/// A comparison of two operands into a predicate.
macro_rules! cmp {
    ($a:ty, $f:expr) => {
        (|file: &mut $crate::exec::file::File, s: &$crate::exec::file::Slots, mask: u32| {
            $crate::exec::file::compare::<$a>(file, s, mask, $f)
        }) as $crate::exec::file::Alu
    };
}

/// One expression for each integer type: `T` stands for the type in it.
macro_rules! by_int {
    ($ty:expr, $t:ident => $body:expr) => {
        match $ty {
            Type::U16 | Type::B16 => {
                type $t = u16;
                $body
            }
            Type::S16 => {
                type $t = i16;
                $body
            }
            Type::U32 | Type::B32 => {
                type $t = u32;
                $body
            }
            Type::S32 => {
                type $t = i32;
                $body
            }
            Type::U64 | Type::B64 => {
                type $t = u64;
                $body
            }
            Type::S64 => {
                type $t = i64;
                $body
            }
            _ => return Err("this type does not fit the instruction".into()),
        }
    };
}

/// One expression for each width of integers: `T` stands for the unsigned type in it.
macro_rules! by_width {
    ($ty:expr, $t:ident => $body:expr) => {
        match $ty.size() {
            2 => {
                type $t = u16;
                $body
            }
            4 => {
                type $t = u32;
                $body
            }
            8 => {
                type $t = u64;
                $body
            }
            _ => return Err("this type does not fit the instruction".into()),
        }
    };
}
