//! The macros `launch!` and `include_kernels!`.

/// Launches a kernel in the syntax of CUDA C++:
/// `launch!(kernel<<<grid, block, shared_bytes, &stream>>>(arguments))`.
///
/// Expands to [`Checked::launch`](crate::launch::Checked::launch), which is proven, or to
/// [`Kernel::launch`](crate::launch::Kernel::launch), whose duties the surrounding `unsafe` block takes on.
/// Grid and block are numbers, pairs or triples, or [`Dim3`](crate::launch::Dim3)s;
/// `shared_bytes` is a `usize`. All four are required in the brackets, because asynchronous work names its
/// stream. C++'s stream `0` is [`&Stream::legacy()?`](crate::stream::Stream::legacy).
///
/// A whole number may have any type: the launch converts it and refuses one that the parameter's type cannot
/// hold. A variable that is a `&mut` borrow is borrowed again, not moved, and serves the next launch, too.
///
/// # Examples
/// ```no_run
/// use cuda_safe::launch::Checked;
/// use cuda_safe::stream::Stream;
/// use cuda_safe::{DeviceBuffer, launch};
///
/// # fn run(saxpy: Checked<(f32, *const f32, *mut f32, u32)>) -> cuda_safe::Result<()> {
/// let stream = Stream::new()?;
/// let x = DeviceBuffer::from_slice(&[1.0_f32; 1000])?;
/// let mut y = DeviceBuffer::from_slice(&[2.0_f32; 1000])?;
/// launch!(saxpy<<<4, 256, 0, &stream>>>(0.5, &x, &mut y, 1000))?;
/// // SAFETY: the kernel's threads below the count touch one element each, the others none.
/// unsafe { launch!(saxpy.unchecked()<<<4, 256, 0, &stream>>>(0.5, &x, &mut y, 1000)) }?;
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaLaunchKernel")]
#[doc(alias = "<<<>>>")]
#[macro_export]
macro_rules! launch {
    ($kernel:ident << < $($rest:tt)*) => {
        $crate::__launch!(@config [$kernel] [] $($rest)*)
    };
    ($($tokens:tt)*) => {
        $crate::__launch!(@kernel [] $($tokens)*)
    };
}

/// The steps of [`launch!`](crate::launch!): collect the tokens before `<<<`, collect those up to `>>>`,
/// emit the call.
#[doc(hidden)]
#[macro_export]
macro_rules! __launch {
    (@kernel [$($kernel:tt)+] << < $($rest:tt)*) => {
        $crate::__launch!(@config [$($kernel)+] [] $($rest)*)
    };
    (@kernel [$($kernel:tt)*] $next:tt $($rest:tt)*) => {
        $crate::__launch!(@kernel [$($kernel)* $next] $($rest)*)
    };
    (@kernel [$($kernel:tt)*]) => {
        ::core::compile_error!(
            "a launch is written `launch!(kernel<<<grid, block, shared_bytes, &stream>>>(arguments))`"
        )
    };
    (@config [$($kernel:tt)+] [$($config:tt)*] >> > ($($arguments:tt)*)) => {
        $crate::__launch!(@call [$($kernel)+] [$($config)*] [$($arguments)*])
    };
    (@config [$($kernel:tt)+] [$($config:tt)*] $next:tt $($rest:tt)*) => {
        $crate::__launch!(@config [$($kernel)+] [$($config)* $next] $($rest)*)
    };
    (@config [$($kernel:tt)+] [$($config:tt)*]) => {
        ::core::compile_error!("a launch ends with `>>>(arguments)`")
    };
    (@call [$($kernel:tt)+] [$grid:expr, $block:expr, $shared_bytes:expr, 0 $(,)?] [$($arguments:tt)*]) => {
        ::core::compile_error!(
            "C++'s stream `0` is `&Stream::legacy()?`: `<<<grid, block, shared_bytes, &stream>>>`"
        )
    };
    (@call [$($kernel:tt)+] [$grid:expr, $block:expr, $shared_bytes:expr, $stream:expr $(,)?]
        [$($arguments:tt)*]) => {
        $crate::__launch!(@arguments [($($kernel)+) $grid, $block, $shared_bytes, $stream] []
            [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31]
            [$($arguments)*] [$($arguments)*])
    };
    // One argument at a time, from two copies of the rest. In the first copy a variable or a field is
    // recognised. The second copy has the tokens with their place in the program, which an `ident` loses and
    // the compiler's errors point at.
    (@arguments $call:tt [$($done:tt)*] [$index:tt $($indices:tt)*]
        [$variable:ident $(.$field:tt)* $(, $($rest:tt)*)?] [$first:tt $(.$next:tt)* $(, $($again:tt)*)?]) => {
        $crate::__launch!(@arguments $call
            [$($done)* { $first $(.$next)*, $index, $crate::launch::passing::like(&$first $(.$next)*) }]
            [$($indices)*] [$($($rest)*)?] [$($($again)*)?])
    };
    (@arguments $call:tt [$($done:tt)*] [$index:tt $($indices:tt)*] [$argument:expr $(, $($rest:tt)*)?] $all:tt) => {
        $crate::__launch!(@arguments $call
            [$($done)* { $argument, $index, $crate::launch::passing::unknown() }]
            [$($indices)*] [$($($rest)*)?] [$($($rest)*)?])
    };
    (@arguments [($($kernel:tt)+) $grid:expr, $block:expr, $shared_bytes:expr, $stream:expr]
        [$({ $argument:expr, $index:tt, $like:expr })*] $indices:tt [] []) => {{
        #[allow(unused_imports, reason = "a launch without arguments has no use for it")]
        use $crate::launch::passing::Infer as _;
        match $crate::launch::passing::joined(
            ($($like,)*),
            ($($kernel)+).taking::<{ <[()]>::len(&[$($crate::__launch!(@unit $argument)),*]) }>().launch(
                $crate::launch::LaunchConfig::new($grid, $block).with_shared_bytes($shared_bytes),
                $stream,
                $($argument),*
            ),
        ) {
            (launched, _passed) => {
                $(_passed.$index.infer();)*
                launched
            }
        }
    }};
    (@arguments $call:tt $done:tt [] [$($rest:tt)+] $again:tt) => {
        ::core::compile_error!("a kernel has at most 32 parameters here: put some into a struct")
    };
    (@unit $argument:expr) => { () };
    (@call [$($kernel:tt)+] [$grid:expr, $block:expr, $shared_bytes:expr $(,)?] [$($arguments:tt)*]) => {
        ::core::compile_error!(
            "asynchronous work names its stream: `<<<grid, block, shared_bytes, &stream>>>`; \
             the stream that C++ means here is `&Stream::legacy()?`"
        )
    };
    (@call [$($kernel:tt)+] [$grid:expr, $block:expr $(,)?] [$($arguments:tt)*]) => {
        ::core::compile_error!(
            "asynchronous work names its stream: `<<<grid, block, 0, &stream>>>`; \
             the stream that C++ means here is `&Stream::legacy()?`"
        )
    };
    (@call [$($kernel:tt)+] [$($config:tt)*] [$($arguments:tt)*]) => {
        ::core::compile_error!(
            "four things stand in the brackets, `<<<grid, block, shared_bytes, &stream>>>`, \
             and arguments separated by commas after them"
        )
    };
}

/// Includes the handles that `cuda-kernels-build` generated under this name in the crate's build script.
///
/// Use it inside a module, because it defines one `static` for each kernel, named as in C.
///
/// # Examples
/// ```text
/// mod kernels {
///     cuda_safe::include_kernels!("my_kernels");
/// }
/// ```
#[macro_export]
macro_rules! include_kernels {
    ($name:literal) => {
        include!(concat!(env!("OUT_DIR"), "/", $name, ".rs"));
    };
}
