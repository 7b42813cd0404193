//! Attributes of streams, and events recorded with flags.

use cuda_safe::stream::{
    AccessPolicy, AccessProperty, AsStream, Event, MemSyncDomain, MemSyncDomainMap, RecordFlags, Stream,
    StreamAttribute, SyncPolicy,
};
use cuda_safe::{Device, DeviceBuffer, sys};
use cuda_testing::alone;

#[test]
fn an_attribute_that_was_set_is_the_attribute() {
    let _alone = alone();
    let stream = Stream::new().unwrap();
    let view = &stream;
    for policy in [SyncPolicy::SPIN, SyncPolicy::YIELD, SyncPolicy::BLOCKING_SYNC, SyncPolicy::AUTO] {
        view.set_attribute(StreamAttribute::SyncPolicy(policy)).unwrap();
        assert_eq!(view.attributes().unwrap().sync_policy, policy);
        assert_eq!(view.attributes().unwrap().sync_policy.as_raw(), policy.as_raw());
    }
    assert_eq!(view.attributes().unwrap().mem_sync_domain, MemSyncDomain::DEFAULT);
    view.set_attribute(StreamAttribute::MemSyncDomain(MemSyncDomain::REMOTE)).unwrap();
    assert_eq!(view.attributes().unwrap().mem_sync_domain, MemSyncDomain::REMOTE);
    let count = stream.device().attribute(sys::cudaDevAttrMemSyncDomainCount).unwrap();
    if count > 1 {
        let map = MemSyncDomainMap { default: 1, remote: 0 };
        view.set_attribute(StreamAttribute::MemSyncDomainMap(map)).unwrap();
        assert_eq!(view.attributes().unwrap().mem_sync_domain_map, map);
    }
    let too_many = MemSyncDomainMap { default: u8::MAX, remote: 0 };
    assert!(view.set_attribute(StreamAttribute::MemSyncDomainMap(too_many)).is_err());
    let greatest = stream.device().stream_priority_range().unwrap().greatest;
    view.set_attribute(StreamAttribute::Priority(greatest)).unwrap();
    assert_eq!(view.priority().unwrap(), greatest);
    let _ = cuda_safe::error::take_last();
}

#[test]
fn an_access_policy_is_a_hint_about_addresses_that_may_outlive_the_memory() {
    let _alone = alone();
    let stream = Stream::new().unwrap();
    let view = &stream;
    assert_eq!(view.attributes().unwrap().access_policy_window, None);
    let buffer = DeviceBuffer::<u8>::alloc(4096).unwrap();
    let place = buffer.as_ptr().addr();
    let policy =
        AccessPolicy::new(&buffer.as_slice(), 0.5, AccessProperty::Persisting, AccessProperty::Streaming);
    view.set_attribute(StreamAttribute::AccessPolicy(Some(policy))).unwrap();
    let window = view.attributes().unwrap().access_policy_window.unwrap();
    assert!(window.0 <= place && window.0 + window.1 >= place + 4096, "{window:?}");
    let wrong =
        AccessPolicy::new(&buffer.as_slice(), 2.0, AccessProperty::Persisting, AccessProperty::Normal);
    assert!(view.set_attribute(StreamAttribute::AccessPolicy(Some(wrong))).is_err());
    let _ = cuda_safe::error::take_last();
    drop(buffer);
    view.set_attribute(StreamAttribute::AccessPolicy(None)).unwrap();
    assert_eq!(view.attributes().unwrap().access_policy_window, None);
    stream.device().reset_persisting_l2_cache().unwrap();
}

#[test]
fn attributes_are_copied_from_one_stream_to_another() {
    let _alone = alone();
    let (from, to) = (Stream::new().unwrap(), Stream::new().unwrap());
    from.set_attribute(StreamAttribute::SyncPolicy(SyncPolicy::BLOCKING_SYNC)).unwrap();
    to.copy_attributes_from(&from).unwrap();
    assert_eq!(to.attributes().unwrap().sync_policy, SyncPolicy::BLOCKING_SYNC);
    let Ok(second) = Device::new(1) else {
        eprintln!("skipped: there is no second device");
        return;
    };
    let elsewhere = Stream::builder().device(second).build().unwrap();
    assert!(elsewhere.as_stream().copy_attributes_from(&from).unwrap_err().is_refused());
}

#[test]
fn a_stream_does_not_inherit_what_another_one_was_set_to() {
    let _alone = alone();
    // A different priority keeps the streams of other tests away.
    let make = || Stream::builder().non_blocking().priority(-1).build().unwrap();
    let fresh = make();
    let usual = fresh.as_stream().attributes().unwrap().sync_policy;
    let stream = make();
    let id = stream.id().unwrap();
    stream.set_attribute(StreamAttribute::SyncPolicy(SyncPolicy::SPIN)).unwrap();
    stream.set_attribute(StreamAttribute::MemSyncDomain(MemSyncDomain::REMOTE)).unwrap();
    stream.synchronize().unwrap();
    drop(stream);
    let next = make();
    assert_eq!(next.id().unwrap(), id, "the handle serves again");
    assert_eq!(next.as_stream().attributes().unwrap().sync_policy, usual);
    assert_eq!(next.as_stream().attributes().unwrap().mem_sync_domain, MemSyncDomain::DEFAULT);
}

#[test]
fn an_event_is_recorded_for_the_outside_only_in_a_capture() {
    let _alone = alone();
    let stream = Stream::new().unwrap();
    let event = Event::without_timing().unwrap();
    event.record_with(&stream, RecordFlags::empty()).unwrap();
    event.synchronize().unwrap();
    let error = event.record_with(&stream, RecordFlags::EXTERNAL).unwrap_err();
    assert_eq!(error.code(), sys::cudaErrorIllegalState);
    // It still stands for the same work.
    assert!(event.is_done().unwrap());
    let _ = cuda_safe::error::take_last();
}
