//! Changes are flushed before they are reported as done: content before its rename, then the
//! directory.

use std::path::Path;

use swarm_os::{
    Appendable, LockOptions, Original, OsError, SyncHandle, append, append_durable, left_unsynced,
    place_alone, place_private_dir, rename_no_replace, replace_alone, replace_in_private_dir,
};

use crate::children::LockFixture;
use crate::recorder::left_open;

#[track_caller]
fn assert_durable(directory: &Path, work: impl FnOnce() -> Result<(), OsError>) {
    let (done, left) = left_open(directory, work);
    done.unwrap();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn every_change_is_flushed_before_it_is_reported_as_done() {
    let (_directory, fixture) = LockFixture::fresh();
    let below = |name: &str| fixture.directory.join(name);
    let directory = fixture.directory.as_path();
    assert_durable(directory, || replace_alone(&below("alone.json"), b"1"));
    assert_durable(directory, || {
        replace_in_private_dir(&below("in/side"), b"1")
    });
    assert_durable(directory, || append_durable(&below("new.jsonl"), b"1"));
    assert_durable(directory, || append_durable(&below("new.jsonl"), b"2"));
    assert_durable(directory, || {
        // Its writer is killed before it waits for the disk.
        drop(append(&below("killed.jsonl"), b"1")?);
        left_unsynced(&below("killed.jsonl"))?.unwrap().sync()
    });
    assert_durable(directory, || {
        SyncHandle::from(place_alone(&below("shared.json"), b"1")?).wait()
    });
    assert_durable(directory, || place_private_dir(&below("a/b/c"))?.sync());
    assert_durable(directory, || rename_no_replace(&below("a"), &below("b")));
    let locked = |work: &dyn Fn(&swarm_os::LockGuard) -> Result<(), OsError>| {
        assert_durable(directory, || fixture.locked(&LockOptions::default(), work));
    };
    locked(&|held| held.replace(&fixture.data, b"1"));
    locked(&|held| held.append(&below("locked.jsonl"), b"1"));
    locked(&|held| held.remove(&fixture.data));
    locked(&|held| {
        let files: Vec<_> = (0..300)
            .map(|number| (below(&format!("{number}.json")), b"x".to_vec()))
            .collect();
        held.place_all(directory, &files)?.sync()
    });
    locked(&|held| {
        let first = held.place(&below("first.json"), b"1")?;
        first.and(held.place(&below("second.json"), b"2")?).sync()
    });
    locked(&|held| {
        let (content, original) = Original::read(&below("first.json"))?;
        assert_eq!(content.unwrap(), b"1");
        held.place_over(original, &below("first.json"), b"3")?
            .sync()
    });
    assert_durable(directory, || {
        let opened = Appendable::open(&below("new.jsonl"))?.unwrap();
        opened.append(b"3")?.sync()
    });
}

#[test]
fn an_unflushed_change_is_detected() {
    let (_directory, fixture) = LockFixture::fresh();
    let (_placed, left) = left_open(&fixture.directory, || {
        let options = LockOptions::default();
        let placed = fixture.locked(&options, |held| held.place(&fixture.data, b"1"));
        drop(placed.unwrap());
    });
    assert_eq!(left, [format!("entry {}", fixture.data.display())]);
}
