//! The macros `launch!` and `include_kernels!`.

/// Launches a kernel in the syntax of CUDA C++:
/// `launch!(kernel<<<grid, block, shared_bytes, &stream>>>(arguments))`.
///
/// Expands to [`Kernel::launch`](crate::launch::Kernel::launch). The surrounding `unsafe` block takes on
/// its duties. Grid and block are numbers, pairs or triples of `u32`, or [`Dim3`](crate::launch::Dim3)s;
/// `shared_bytes` is a `usize`. All four are required in the brackets, because asynchronous work names its
/// stream.
///
/// # Examples
/// ```no_run
/// use cuda_safe::launch::Kernel;
/// use cuda_safe::stream::Stream;
/// use cuda_safe::{DeviceBuffer, launch};
///
/// # fn run(saxpy: Kernel<(f32, *const f32, *mut f32, u32)>) -> cuda_safe::Result<()> {
/// let stream = Stream::new()?;
/// let x = DeviceBuffer::from_slice(&[1.0_f32; 1000])?;
/// let mut y = DeviceBuffer::from_slice(&[2.0_f32; 1000])?;
/// // SAFETY: the kernel's threads below the count touch one element each, the others none.
/// unsafe { launch!(saxpy<<<4, 256, 0, &stream>>>(0.5, &x, &mut y, 1000)) }?;
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
    (@call [$($kernel:tt)+] [$grid:expr, $block:expr, $shared_bytes:expr, $stream:expr $(,)?]
        [$($argument:expr),* $(,)?]) => {
        ($($kernel)+).launch(
            $crate::launch::LaunchConfig::new($grid, $block).with_shared_bytes($shared_bytes),
            $stream,
            ($($argument,)*),
        )
    };
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
