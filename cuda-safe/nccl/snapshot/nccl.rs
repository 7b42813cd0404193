use cuda_safe::sys::cudaStream_t;

#[repr(C)]
#[derive(Debug)]
pub struct ncclComm {
    _unused: [u8; 0],
}
pub type ncclComm_t = *mut ncclComm;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ncclUniqueId {
    pub internal: [::std::os::raw::c_char; 128usize],
}
pub const ncclSuccess: ncclResult_t = ncclResult_t(0);
pub const ncclUnhandledCudaError: ncclResult_t = ncclResult_t(1);
pub const ncclSystemError: ncclResult_t = ncclResult_t(2);
pub const ncclInternalError: ncclResult_t = ncclResult_t(3);
pub const ncclInvalidArgument: ncclResult_t = ncclResult_t(4);
pub const ncclInvalidUsage: ncclResult_t = ncclResult_t(5);
pub const ncclRemoteError: ncclResult_t = ncclResult_t(6);
pub const ncclInProgress: ncclResult_t = ncclResult_t(7);
pub const ncclTimeout: ncclResult_t = ncclResult_t(8);
pub const ncclNumResults: ncclResult_t = ncclResult_t(9);
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct ncclResult_t(pub ::std::os::raw::c_uint);
pub const ncclSum: ncclRedOp_t = ncclRedOp_t(0);
pub const ncclProd: ncclRedOp_t = ncclRedOp_t(1);
pub const ncclMax: ncclRedOp_t = ncclRedOp_t(2);
pub const ncclMin: ncclRedOp_t = ncclRedOp_t(3);
pub const ncclAvg: ncclRedOp_t = ncclRedOp_t(4);
pub const ncclNumOps: ncclRedOp_t = ncclRedOp_t(5);
pub const ncclMaxRedOp: ncclRedOp_t = ncclRedOp_t(2147483647);
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct ncclRedOp_t(pub ::std::os::raw::c_uint);
pub const ncclInt8: ncclDataType_t = ncclDataType_t(0);
pub const ncclChar: ncclDataType_t = ncclDataType_t(0);
pub const ncclUint8: ncclDataType_t = ncclDataType_t(1);
pub const ncclInt32: ncclDataType_t = ncclDataType_t(2);
pub const ncclInt: ncclDataType_t = ncclDataType_t(2);
pub const ncclUint32: ncclDataType_t = ncclDataType_t(3);
pub const ncclInt64: ncclDataType_t = ncclDataType_t(4);
pub const ncclUint64: ncclDataType_t = ncclDataType_t(5);
pub const ncclFloat16: ncclDataType_t = ncclDataType_t(6);
pub const ncclHalf: ncclDataType_t = ncclDataType_t(6);
pub const ncclFloat32: ncclDataType_t = ncclDataType_t(7);
pub const ncclFloat: ncclDataType_t = ncclDataType_t(7);
pub const ncclFloat64: ncclDataType_t = ncclDataType_t(8);
pub const ncclDouble: ncclDataType_t = ncclDataType_t(8);
pub const ncclBfloat16: ncclDataType_t = ncclDataType_t(9);
pub const ncclFloat8e4m3: ncclDataType_t = ncclDataType_t(10);
pub const ncclFloat8e5m2: ncclDataType_t = ncclDataType_t(11);
pub const ncclNumTypes: ncclDataType_t = ncclDataType_t(12);
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct ncclDataType_t(pub ::std::os::raw::c_uint);
pub struct Nccl {
    __library: ::libloading::Library,
    pub ncclGetVersion: unsafe extern "C" fn(version: *mut ::std::os::raw::c_int) -> ncclResult_t,
    pub ncclGetUniqueId: unsafe extern "C" fn(uniqueId: *mut ncclUniqueId) -> ncclResult_t,
    pub ncclCommInitRank: unsafe extern "C" fn(
        comm: *mut ncclComm_t,
        nranks: ::std::os::raw::c_int,
        commId: ncclUniqueId,
        rank: ::std::os::raw::c_int,
    ) -> ncclResult_t,
    pub ncclCommInitAll: unsafe extern "C" fn(
        comm: *mut ncclComm_t,
        ndev: ::std::os::raw::c_int,
        devlist: *const ::std::os::raw::c_int,
    ) -> ncclResult_t,
    pub ncclCommDestroy: unsafe extern "C" fn(comm: ncclComm_t) -> ncclResult_t,
    pub ncclCommAbort: unsafe extern "C" fn(comm: ncclComm_t) -> ncclResult_t,
    pub ncclGetLastError: unsafe extern "C" fn(comm: ncclComm_t) -> *const ::std::os::raw::c_char,
    pub ncclCommGetAsyncError:
        unsafe extern "C" fn(comm: ncclComm_t, asyncError: *mut ncclResult_t) -> ncclResult_t,
    pub ncclReduce: unsafe extern "C" fn(
        sendbuff: *const ::std::os::raw::c_void,
        recvbuff: *mut ::std::os::raw::c_void,
        count: usize,
        datatype: ncclDataType_t,
        op: ncclRedOp_t,
        root: ::std::os::raw::c_int,
        comm: ncclComm_t,
        stream: cudaStream_t,
    ) -> ncclResult_t,
    pub ncclBroadcast: unsafe extern "C" fn(
        sendbuff: *const ::std::os::raw::c_void,
        recvbuff: *mut ::std::os::raw::c_void,
        count: usize,
        datatype: ncclDataType_t,
        root: ::std::os::raw::c_int,
        comm: ncclComm_t,
        stream: cudaStream_t,
    ) -> ncclResult_t,
    pub ncclAllReduce: unsafe extern "C" fn(
        sendbuff: *const ::std::os::raw::c_void,
        recvbuff: *mut ::std::os::raw::c_void,
        count: usize,
        datatype: ncclDataType_t,
        op: ncclRedOp_t,
        comm: ncclComm_t,
        stream: cudaStream_t,
    ) -> ncclResult_t,
    pub ncclReduceScatter: unsafe extern "C" fn(
        sendbuff: *const ::std::os::raw::c_void,
        recvbuff: *mut ::std::os::raw::c_void,
        recvcount: usize,
        datatype: ncclDataType_t,
        op: ncclRedOp_t,
        comm: ncclComm_t,
        stream: cudaStream_t,
    ) -> ncclResult_t,
    pub ncclAllGather: unsafe extern "C" fn(
        sendbuff: *const ::std::os::raw::c_void,
        recvbuff: *mut ::std::os::raw::c_void,
        sendcount: usize,
        datatype: ncclDataType_t,
        comm: ncclComm_t,
        stream: cudaStream_t,
    ) -> ncclResult_t,
    pub ncclSend: unsafe extern "C" fn(
        sendbuff: *const ::std::os::raw::c_void,
        count: usize,
        datatype: ncclDataType_t,
        peer: ::std::os::raw::c_int,
        comm: ncclComm_t,
        stream: cudaStream_t,
    ) -> ncclResult_t,
    pub ncclRecv: unsafe extern "C" fn(
        recvbuff: *mut ::std::os::raw::c_void,
        count: usize,
        datatype: ncclDataType_t,
        peer: ::std::os::raw::c_int,
        comm: ncclComm_t,
        stream: cudaStream_t,
    ) -> ncclResult_t,
    pub ncclGroupStart: unsafe extern "C" fn() -> ncclResult_t,
    pub ncclGroupEnd: unsafe extern "C" fn() -> ncclResult_t,
}
impl Nccl {
    pub unsafe fn new<P>(path: P) -> Result<Self, ::libloading::Error>
    where
        P: AsRef<::std::ffi::OsStr>,
    {
        let path = path.as_ref();
        let library = ::libloading::Library::new(path)?;
        Self::from_library(library)
    }
    pub unsafe fn from_library<L>(library: L) -> Result<Self, ::libloading::Error>
    where
        L: Into<::libloading::Library>,
    {
        let __library = library.into();
        let ncclGetVersion = __library.get(b"ncclGetVersion\0").map(|sym| *sym)?;
        let ncclGetUniqueId = __library.get(b"ncclGetUniqueId\0").map(|sym| *sym)?;
        let ncclCommInitRank = __library.get(b"ncclCommInitRank\0").map(|sym| *sym)?;
        let ncclCommInitAll = __library.get(b"ncclCommInitAll\0").map(|sym| *sym)?;
        let ncclCommDestroy = __library.get(b"ncclCommDestroy\0").map(|sym| *sym)?;
        let ncclCommAbort = __library.get(b"ncclCommAbort\0").map(|sym| *sym)?;
        let ncclGetLastError = __library.get(b"ncclGetLastError\0").map(|sym| *sym)?;
        let ncclCommGetAsyncError = __library.get(b"ncclCommGetAsyncError\0").map(|sym| *sym)?;
        let ncclReduce = __library.get(b"ncclReduce\0").map(|sym| *sym)?;
        let ncclBroadcast = __library.get(b"ncclBroadcast\0").map(|sym| *sym)?;
        let ncclAllReduce = __library.get(b"ncclAllReduce\0").map(|sym| *sym)?;
        let ncclReduceScatter = __library.get(b"ncclReduceScatter\0").map(|sym| *sym)?;
        let ncclAllGather = __library.get(b"ncclAllGather\0").map(|sym| *sym)?;
        let ncclSend = __library.get(b"ncclSend\0").map(|sym| *sym)?;
        let ncclRecv = __library.get(b"ncclRecv\0").map(|sym| *sym)?;
        let ncclGroupStart = __library.get(b"ncclGroupStart\0").map(|sym| *sym)?;
        let ncclGroupEnd = __library.get(b"ncclGroupEnd\0").map(|sym| *sym)?;
        Ok(Nccl {
            __library,
            ncclGetVersion,
            ncclGetUniqueId,
            ncclCommInitRank,
            ncclCommInitAll,
            ncclCommDestroy,
            ncclCommAbort,
            ncclGetLastError,
            ncclCommGetAsyncError,
            ncclReduce,
            ncclBroadcast,
            ncclAllReduce,
            ncclReduceScatter,
            ncclAllGather,
            ncclSend,
            ncclRecv,
            ncclGroupStart,
            ncclGroupEnd,
        })
    }
    pub unsafe fn ncclGetVersion(&self, version: *mut ::std::os::raw::c_int) -> ncclResult_t {
        (self.ncclGetVersion)(version)
    }
    pub unsafe fn ncclGetUniqueId(&self, uniqueId: *mut ncclUniqueId) -> ncclResult_t {
        (self.ncclGetUniqueId)(uniqueId)
    }
    pub unsafe fn ncclCommInitRank(
        &self,
        comm: *mut ncclComm_t,
        nranks: ::std::os::raw::c_int,
        commId: ncclUniqueId,
        rank: ::std::os::raw::c_int,
    ) -> ncclResult_t {
        (self.ncclCommInitRank)(comm, nranks, commId, rank)
    }
    pub unsafe fn ncclCommInitAll(
        &self,
        comm: *mut ncclComm_t,
        ndev: ::std::os::raw::c_int,
        devlist: *const ::std::os::raw::c_int,
    ) -> ncclResult_t {
        (self.ncclCommInitAll)(comm, ndev, devlist)
    }
    pub unsafe fn ncclCommDestroy(&self, comm: ncclComm_t) -> ncclResult_t {
        (self.ncclCommDestroy)(comm)
    }
    pub unsafe fn ncclCommAbort(&self, comm: ncclComm_t) -> ncclResult_t {
        (self.ncclCommAbort)(comm)
    }
    pub unsafe fn ncclGetLastError(&self, comm: ncclComm_t) -> *const ::std::os::raw::c_char {
        (self.ncclGetLastError)(comm)
    }
    pub unsafe fn ncclCommGetAsyncError(
        &self,
        comm: ncclComm_t,
        asyncError: *mut ncclResult_t,
    ) -> ncclResult_t {
        (self.ncclCommGetAsyncError)(comm, asyncError)
    }
    pub unsafe fn ncclReduce(
        &self,
        sendbuff: *const ::std::os::raw::c_void,
        recvbuff: *mut ::std::os::raw::c_void,
        count: usize,
        datatype: ncclDataType_t,
        op: ncclRedOp_t,
        root: ::std::os::raw::c_int,
        comm: ncclComm_t,
        stream: cudaStream_t,
    ) -> ncclResult_t {
        (self.ncclReduce)(sendbuff, recvbuff, count, datatype, op, root, comm, stream)
    }
    pub unsafe fn ncclBroadcast(
        &self,
        sendbuff: *const ::std::os::raw::c_void,
        recvbuff: *mut ::std::os::raw::c_void,
        count: usize,
        datatype: ncclDataType_t,
        root: ::std::os::raw::c_int,
        comm: ncclComm_t,
        stream: cudaStream_t,
    ) -> ncclResult_t {
        (self.ncclBroadcast)(sendbuff, recvbuff, count, datatype, root, comm, stream)
    }
    pub unsafe fn ncclAllReduce(
        &self,
        sendbuff: *const ::std::os::raw::c_void,
        recvbuff: *mut ::std::os::raw::c_void,
        count: usize,
        datatype: ncclDataType_t,
        op: ncclRedOp_t,
        comm: ncclComm_t,
        stream: cudaStream_t,
    ) -> ncclResult_t {
        (self.ncclAllReduce)(sendbuff, recvbuff, count, datatype, op, comm, stream)
    }
    pub unsafe fn ncclReduceScatter(
        &self,
        sendbuff: *const ::std::os::raw::c_void,
        recvbuff: *mut ::std::os::raw::c_void,
        recvcount: usize,
        datatype: ncclDataType_t,
        op: ncclRedOp_t,
        comm: ncclComm_t,
        stream: cudaStream_t,
    ) -> ncclResult_t {
        (self.ncclReduceScatter)(sendbuff, recvbuff, recvcount, datatype, op, comm, stream)
    }
    pub unsafe fn ncclAllGather(
        &self,
        sendbuff: *const ::std::os::raw::c_void,
        recvbuff: *mut ::std::os::raw::c_void,
        sendcount: usize,
        datatype: ncclDataType_t,
        comm: ncclComm_t,
        stream: cudaStream_t,
    ) -> ncclResult_t {
        (self.ncclAllGather)(sendbuff, recvbuff, sendcount, datatype, comm, stream)
    }
    pub unsafe fn ncclSend(
        &self,
        sendbuff: *const ::std::os::raw::c_void,
        count: usize,
        datatype: ncclDataType_t,
        peer: ::std::os::raw::c_int,
        comm: ncclComm_t,
        stream: cudaStream_t,
    ) -> ncclResult_t {
        (self.ncclSend)(sendbuff, count, datatype, peer, comm, stream)
    }
    pub unsafe fn ncclRecv(
        &self,
        recvbuff: *mut ::std::os::raw::c_void,
        count: usize,
        datatype: ncclDataType_t,
        peer: ::std::os::raw::c_int,
        comm: ncclComm_t,
        stream: cudaStream_t,
    ) -> ncclResult_t {
        (self.ncclRecv)(recvbuff, count, datatype, peer, comm, stream)
    }
    pub unsafe fn ncclGroupStart(&self) -> ncclResult_t {
        (self.ncclGroupStart)()
    }
    pub unsafe fn ncclGroupEnd(&self) -> ncclResult_t {
        (self.ncclGroupEnd)()
    }
}
