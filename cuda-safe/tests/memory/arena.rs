//! Arenas: parts that never overlap, the same addresses after each reset, order by bytes.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::thread;

use cuda_safe::error::ErrorKind;
use cuda_safe::memory::Arena;
use cuda_safe::{DeviceBuffer, PinnedBuffer, Result, Stream, hazard, memcpy_async, memset_async};
use cuda_testing::{Gate, alone};

#[test]
fn parts_are_aligned_and_apart_and_a_reset_gives_the_same_addresses() -> Result<()> {
    let _alone = alone();
    let mut arena = Arena::new(DeviceBuffer::alloc(4096)?);
    let mut rounds = Vec::new();
    for _ in 0..3 {
        let (bytes, doubles, none) = (arena.alloc::<u8>(3)?, arena.alloc::<f64>(40)?, arena.alloc::<u32>(0)?);
        let last = arena.alloc::<u16>(100)?;
        assert_eq!((bytes.len(), doubles.len(), none.len(), last.len()), (3, 40, 0, 100));
        let addresses = [bytes.as_slice().as_ptr().addr(), doubles.as_slice().as_ptr().addr()];
        let addresses = [addresses[0], addresses[1], last.as_slice().as_ptr().addr()];
        assert!(addresses.iter().all(|address| address % 256 == 0));
        assert_eq!([addresses[1] - addresses[0], addresses[2] - addresses[1]], [256, 512]);
        assert_eq!(arena.used(), 768 + 200);
        rounds.push(addresses);
        arena.reset();
        assert_eq!(arena.used(), 0);
    }
    assert!(rounds.iter().all(|addresses| *addresses == rounds[0]));
    assert_eq!(DeviceBuffer::from(arena).len(), 4096);
    Ok(())
}

#[test]
fn a_full_arena_refuses_with_what_is_left_and_hands_nothing_out() -> Result<()> {
    let _alone = alone();
    let mut arena = Arena::new(DeviceBuffer::alloc(1000)?);
    let all = arena.alloc::<u8>(1000)?;
    assert_eq!(all.len(), 1000);
    let error = arena.alloc::<u8>(1).unwrap_err();
    assert_eq!(error.detail().kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("the arena of 1000 bytes has 0 left, and 1 are needed"), "{error}");
    assert_eq!(arena.alloc::<u64>(0)?.len(), 0, "nothing fits in nothing");
    arena.reset();
    arena.alloc::<u8>(600)?;
    let error = arena.alloc::<u32>(100).unwrap_err();
    assert!(error.to_string().contains("has 232 left, and 400 are needed"), "{error}");
    assert!(arena.alloc::<u64>(usize::MAX / 4).is_err());
    assert_eq!((arena.used(), arena.alloc::<u32>(58)?.len()), (600, 58), "the rest is still there");
    Ok(())
}

#[test]
fn threads_get_parts_that_are_apart() -> Result<()> {
    let _alone = alone();
    let arena = Arena::new(DeviceBuffer::alloc(8 * 100 * 256)?);
    let taken = || (0..100).map(|_| arena.alloc::<u32>(64).unwrap().as_slice().as_ptr().addr());
    let mut ranges: Vec<usize> = thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|_| scope.spawn(|| taken().collect::<Vec<_>>())).collect();
        all.into_iter().flat_map(|one| one.join().unwrap()).collect()
    });
    ranges.sort_unstable();
    assert!(ranges.windows(2).all(|two| two[1] - two[0] >= 256));
    assert_eq!(ranges.len(), 800);
    assert!(arena.alloc::<u8>(1).is_err());
    Ok(())
}

#[test]
fn parts_do_not_wait_for_each_other_and_the_next_user_of_bytes_waits() -> Result<()> {
    let alone = alone();
    let (a, b) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let mut arena = Arena::new(DeviceBuffer::alloc(4096)?);
    let mut host = PinnedBuffer::<u8>::from_slice(&[0; 100])?;
    let gate = Gate::on(&alone, &a);
    {
        let (mut first, mut second) = (arena.alloc::<u8>(100)?, arena.alloc::<u8>(100)?);
        memset_async(&mut first, 1, &a)?;
        let added = hazard::added_waits();
        memset_async(&mut second, 2, &b)?;
        assert_eq!(hazard::added_waits(), added);
    }
    b.synchronize()?;
    arena.reset();
    let mut again = arena.alloc::<u8>(100)?;
    memset_async(&mut again, 3, &b)?;
    memcpy_async(&mut host, &again, &b)?;
    assert!(!b.is_done()?, "the bytes are in use behind the gate");
    gate.open();
    assert_eq!(host.host()?[..], [3; 100]);
    Ok(())
}
