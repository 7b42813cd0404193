//! Copies to and from variables of a module, and queries about variables.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::*;

use crate::case::Cases;
use crate::log::{Log, ask, need};
use crate::memory::{Block, Kind, pattern, stream};

unsafe extern "C" {
    fn case_number_symbol() -> *const c_void;
    fn case_list_symbol() -> *const c_void;
    fn case_constant_symbol() -> *const c_void;
    fn case_managed_symbol() -> *const c_void;
    fn case_read_symbols();
}

/// A symbol by name: its handle and size.
#[derive(Clone, Copy)]
enum Symbol {
    Number,
    List,
    Constant,
    Managed,
}

impl Symbol {
    fn handle(self) -> *const c_void {
        // SAFETY: the functions take nothing and return an address.
        unsafe {
            match self {
                Self::Number => case_number_symbol(),
                Self::List => case_list_symbol(),
                Self::Constant => case_constant_symbol(),
                Self::Managed => case_managed_symbol(),
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::List => "a list",
            Self::Constant => "a constant list",
            Self::Managed => "a managed number",
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::Number | Self::Managed => 4,
            Self::List | Self::Constant => 64,
        }
    }
}

fn copy(
    log: &mut Log,
    to: bool,
    blocking: bool,
    symbol: *const c_void,
    memory: *mut c_void,
    bytes: usize,
    offset: usize,
    way: cudaMemcpyKind,
) {
    let on = ptr::null_mut();
    match (to, blocking) {
        (true, true) => ask!(log, cudaMemcpyToSymbol(symbol, memory, bytes, offset, way)),
        (true, false) => ask!(log, cudaMemcpyToSymbolAsync(symbol, memory, bytes, offset, way, on)),
        (false, true) => ask!(log, cudaMemcpyFromSymbol(memory, symbol, bytes, offset, way)),
        (false, false) => ask!(log, cudaMemcpyFromSymbolAsync(memory, symbol, bytes, offset, way, on)),
    };
}

fn edges(cases: &mut Cases, to: bool, blocking: bool) {
    let api = match (to, blocking) {
        (true, true) => "cudaMemcpyToSymbol",
        (true, false) => "cudaMemcpyToSymbolAsync",
        (false, true) => "cudaMemcpyFromSymbol",
        (false, false) => "cudaMemcpyFromSymbolAsync",
    };
    let right = if to { cudaMemcpyHostToDevice } else { cudaMemcpyDeviceToHost };
    let wrong = if to { cudaMemcpyDeviceToHost } else { cudaMemcpyHostToDevice };
    for (what, null, bytes, offset, way) in [
        ("all of it", false, 64, 0, right),
        ("no bytes", false, 0, 0, right),
        ("direction default", false, 64, 0, cudaMemcpyDefault),
        ("the wrong direction", false, 64, 0, wrong),
        ("host to host", false, 64, 0, cudaMemcpyHostToHost),
        ("no direction", false, 64, 0, cudaMemcpyKind(100)),
        ("memory null", true, 64, 0, right),
        ("one byte too many", false, 65, 0, right),
        ("one byte from one past the end", false, 1, 64, right),
        ("an offset without end", false, 4, usize::MAX - 1, right),
        ("a part over the end", false, 8, 60, right),
    ] {
        let case = cases.add(format!("{api}/{what}"), move |log| {
            let block = Block::new(log, Kind::Pinned, 128)?;
            let memory = if null { ptr::null_mut() } else { block.ptr() };
            copy(log, to, blocking, Symbol::List.handle(), memory, bytes, offset, way);
            ask!(log, cudaDeviceSynchronize());
            Ok(())
        });
        // Hardware accepts some of these, and writes past the end of the variable.
        if !blocking && offset.saturating_add(bytes) > 64 {
            case.alone();
        }
    }
    cases.add(format!("{api}/symbol null"), move |log| {
        let block = Block::new(log, Kind::Pinned, 128)?;
        copy(log, to, blocking, ptr::null(), block.ptr(), 4, 0, right);
        Ok(())
    });
    cases.add(format!("{api}/no symbol at all"), move |log| {
        let block = Block::new(log, Kind::Pinned, 128)?;
        copy(log, to, blocking, block.ptr(), block.ptr(), 4, 0, right);
        Ok(())
    });
}

pub(super) fn add(cases: &mut Cases) {
    for to in [true, false] {
        for blocking in [true, false] {
            edges(cases, to, blocking);
        }
    }
    for symbol in [Symbol::Number, Symbol::List, Symbol::Constant, Symbol::Managed] {
        for kind in [Kind::Pinned, Kind::Device] {
            for blocking in [true, false] {
                let word = if blocking { "blocking" } else { "asynchronous" };
                let (there, back) = match kind {
                    Kind::Device => (cudaMemcpyDeviceToDevice, cudaMemcpyDeviceToDevice),
                    _ => (cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost),
                };
                let id = format!(
                    "cudaMemcpyToSymbol/{}, {} memory there and back, {word}",
                    symbol.name(),
                    kind.name()
                );
                cases.add(id, move |log| {
                    let source = pattern(symbol.bytes(), 1);
                    let (s, d) = (Block::with(log, kind, &source)?, Block::new(log, kind, source.len())?);
                    copy(log, true, blocking, symbol.handle(), s.ptr(), source.len(), 0, there);
                    copy(log, false, blocking, symbol.handle(), d.ptr(), source.len(), 0, back);
                    ask!(log, cudaDeviceSynchronize());
                    d.compare(log, "all bytes", &source)
                });
            }
        }
        cases.add(format!("cudaGetSymbolSize/{}", symbol.name()), move |log| {
            let mut bytes = 0;
            ask!(log, cudaGetSymbolSize(&raw mut bytes, symbol.handle()));
            log.fact("bytes", bytes);
            Ok(())
        });
        cases.add(format!("cudaGetSymbolAddress/{}, is memory of the device", symbol.name()), move |log| {
            let mut address = ptr::null_mut();
            ask!(log, cudaGetSymbolAddress(&raw mut address, symbol.handle()));
            let source = pattern(symbol.bytes(), 7);
            let back = Block::new(log, Kind::Pinned, source.len())?;
            need!(log, cudaMemcpy(address, source.as_ptr().cast(), source.len(), cudaMemcpyDefault));
            copy(log, false, true, symbol.handle(), back.ptr(), source.len(), 0, cudaMemcpyDeviceToHost);
            back.compare(log, "all bytes", &source)
        });
    }
    cases.add("cudaMemcpyToSymbol/a part at an offset", |log| {
        let source = pattern(20, 1);
        let s = Block::with(log, Kind::Pinned, &source)?;
        let back = Block::new(log, Kind::Pinned, 20)?;
        copy(log, true, true, Symbol::List.handle(), s.ptr(), 20, 20, cudaMemcpyHostToDevice);
        copy(log, false, true, Symbol::List.handle(), back.ptr(), 20, 20, cudaMemcpyDeviceToHost);
        back.compare(log, "all bytes", &source)
    });
    for (which, handle) in [
        ("the legacy stream", Some(ptr::null_mut())),
        ("the stream of the thread", Some(cudaStreamPerThread)),
        ("a stream", None),
    ] {
        cases.add(format!("cudaMemcpyToSymbolAsync/a part at an offset, on {which}"), move |log| {
            let (source, list) = (pattern(20, 1), Symbol::List.handle());
            let (s, back) = (Block::with(log, Kind::Pinned, &source)?, Block::new(log, Kind::Pinned, 20)?);
            let on = match handle {
                Some(handle) => handle,
                None => stream(log)?,
            };
            ask!(log, cudaMemcpyToSymbolAsync(list, s.ptr(), 20, 20, cudaMemcpyHostToDevice, on));
            ask!(log, cudaMemcpyFromSymbolAsync(back.ptr(), list, 20, 20, cudaMemcpyDeviceToHost, on));
            ask!(log, cudaStreamSynchronize(on));
            back.compare(log, "all bytes", &source)
        });
    }
    for symbol in [Symbol::List, Symbol::Constant] {
        let id = format!("cudaMemcpyFromSymbolAsync/{}, captured and launched", symbol.name());
        cases.alone(id, move |log| {
            let (source, on) = (pattern(64, 3), stream(log)?);
            let (s, back) = (Block::with(log, Kind::Pinned, &source)?, Block::new(log, Kind::Pinned, 64)?);
            let (list, up, down) = (symbol.handle(), cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost);
            need!(log, cudaStreamBeginCapture(on, cudaStreamCaptureModeRelaxed));
            ask!(log, cudaMemcpyToSymbolAsync(list, s.ptr(), 64, 0, up, on));
            ask!(log, cudaMemcpyFromSymbolAsync(back.ptr(), list, 64, 0, down, on));
            let graph = super::capture::end(log, "end", on);
            let mut run = ptr::null_mut();
            ask!(log, cudaGraphInstantiateWithFlags(&raw mut run, graph, 0));
            ask!(log, cudaGraphLaunch(run, on));
            ask!(log, cudaStreamSynchronize(on));
            back.compare(log, "all bytes", &source)
        });
    }
    cases.alone("cudaMemcpyFromSymbolAsync/on a stream of its own", |log| {
        let on = stream(log)?;
        let back = Block::new(log, Kind::Pinned, 4)?;
        ask!(
            log,
            cudaMemcpyFromSymbolAsync(back.ptr(), Symbol::Number.handle(), 4, 0, cudaMemcpyDeviceToHost, on)
        );
        ask!(log, cudaStreamSynchronize(on));
        back.compare(log, "the number", &5_i32.to_le_bytes())
    });
    cases.alone("symbols/what the source says is what a kernel reads", |log| {
        let out = Block::new(log, Kind::Managed, 16)?;
        let mut to = out.ptr();
        let mut arguments = [(&raw mut to).cast::<c_void>()];
        let one = dim3 { x: 1, y: 1, z: 1 };
        let kernel = case_read_symbols as *const c_void;
        ask!(log, cudaLaunchKernel(kernel, one, one, arguments.as_mut_ptr(), 0, ptr::null_mut()));
        ask!(log, cudaDeviceSynchronize());
        let got = out.load(log)?;
        let numbers: Vec<_> =
            got.chunks(4).map(|four| i32::from_le_bytes(four.try_into().unwrap())).collect();
        log.fact("numbers", format_args!("{numbers:?}"));
        Ok(())
    });
    cases.add("cudaGetSymbolAddress/symbol null", |log| {
        let mut address = ptr::null_mut();
        ask!(log, cudaGetSymbolAddress(&raw mut address, ptr::null()));
        Ok(())
    });
    cases.add("cudaGetSymbolSize/symbol null", |log| {
        let mut bytes = 0;
        ask!(log, cudaGetSymbolSize(&raw mut bytes, ptr::null()));
        Ok(())
    });
    cases.add("cudaGetSymbolSize/not a symbol", |log| {
        let mut bytes = 0;
        ask!(log, cudaGetSymbolSize(&raw mut bytes, (&raw const bytes).cast()));
        Ok(())
    });
}
