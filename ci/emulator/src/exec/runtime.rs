//! The functions of the runtime that device code calls: launches, copies, streams and events of kernels.
//!
//! The interpreter takes a call apart and hands it to the machine, which has the streams: `Env::runtime`.

macro_rules! functions {
    ($($name:ident)*) => {
        /// A function of the runtime that kernels may call, by its name without `cuda`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the names are those of the runtime")]
        pub(crate) enum RuntimeFunction {
            $($name,)*
        }

        impl RuntimeFunction {
            /// Finds the function that a name of the toolkit's headers stands for.
            pub(crate) fn from_name(name: &str) -> Option<Self> {
                let name = name.strip_prefix("__cudaCDP2")?;
                match name.strip_suffix("_ptsz").unwrap_or(name) {
                    $(stringify!($name) => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// Its name.
            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Self::$name => concat!("cuda", stringify!($name)),)*
                }
            }
        }
    };
}

functions! {
    GetParameterBuffer GetParameterBufferV2 LaunchDevice LaunchDeviceV2 StreamCreateWithFlags StreamDestroy
    StreamWaitEvent EventCreateWithFlags EventRecord EventDestroy MemcpyAsync
    Memcpy2DAsync Memcpy3DAsync MemsetAsync Memset2DAsync Memset3DAsync Malloc Free GetLastError
    PeekAtLastError GetErrorString GetErrorName GetDevice GetDeviceCount DeviceGetAttribute DeviceGetLimit
    DeviceGetCacheConfig DeviceGetSharedMemConfig RuntimeGetVersion FuncGetAttributes
    OccupancyMaxActiveBlocksPerMultiprocessor OccupancyMaxActiveBlocksPerMultiprocessorWithFlags
}
