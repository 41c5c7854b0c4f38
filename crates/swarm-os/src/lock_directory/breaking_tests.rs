use std::time::Duration;

use super::*;

struct StaleLockFixture {
    _directory: tempfile::TempDir,
    lock: PathBuf,
    turn: PathBuf,
}

impl StaleLockFixture {
    fn fresh() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let lock = directory.path().join("f.lock");
        let turn = directory.path().join("f.lock.breaking");
        Self {
            _directory: directory,
            lock,
            turn,
        }
    }

    /// Creates a stale lock directory and returns its state.
    fn create_stale_lock(&self) -> LockState {
        create_old(&self.lock);
        state_of(&metadata_at(&self.lock).unwrap().unwrap())
    }

    fn try_at(&self, seen: LockState) -> bool {
        let mut breaking = Breaking::of(&self.lock);
        breaking.try_at(seen, Protocol::DirectoryOnly).unwrap()
    }

    fn names(&self) -> Vec<OsString> {
        let mut names = crate::names_in(self.lock.parent().unwrap())
            .unwrap()
            .unwrap();
        names.sort();
        names
    }
}

fn create_old(directory: &Path) {
    crate::create_private_dir(directory).unwrap();
    let long_ago = SystemTime::now() - Duration::from_mins(1);
    File::open(directory)
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
}

#[test]
fn a_stale_lock_is_removed_without_remains() {
    let fixture = StaleLockFixture::fresh();
    assert!(fixture.try_at(fixture.create_stale_lock()));
    assert!(fixture.names().is_empty(), "{:?}", fixture.names());
}

#[test]
fn a_lock_taken_by_another_process_since_the_check_is_kept() {
    let fixture = StaleLockFixture::fresh();
    let seen = fixture.create_stale_lock();
    // Another process has broken and taken the lock. The same old time, so that only the identity
    // differs.
    let kept = File::open(&fixture.lock).unwrap();
    remove(&fixture.lock).unwrap();
    create_old(&fixture.lock);
    assert!(!fixture.try_at(seen));
    assert_eq!(fixture.names(), ["f.lock"]);
    drop(kept);
}

#[test]
fn a_lock_refreshed_since_the_check_is_kept() {
    let fixture = StaleLockFixture::fresh();
    let seen = fixture.create_stale_lock();
    let owner = File::open(&fixture.lock).unwrap();
    super::super::entry::refresh(&owner).unwrap();
    assert!(!fixture.try_at(seen));
    assert_eq!(fixture.names(), ["f.lock"]);
}

#[test]
fn a_lock_taken_after_the_last_check_is_put_back() {
    let fixture = StaleLockFixture::fresh();
    let seen = fixture.create_stale_lock();
    let kept = File::open(&fixture.lock).unwrap();
    let mut breaking = Breaking::of(&fixture.lock);
    let turn = breaking
        .take_turn(Protocol::DirectoryOnly)
        .unwrap()
        .unwrap();
    remove(&fixture.lock).unwrap();
    create_old(&fixture.lock);
    assert!(!turn.move_in(seen).unwrap());
    drop(turn);
    assert_eq!(fixture.names(), ["f.lock"]);
    drop(kept);
}

#[test]
fn a_lock_that_cannot_be_put_back_replaces_no_other() {
    let fixture = StaleLockFixture::fresh();
    let mut breaking = Breaking::of(&fixture.lock);
    let turn = breaking
        .take_turn(Protocol::DirectoryOnly)
        .unwrap()
        .unwrap();
    crate::create_private_dir(&fixture.turn.join(MOVED)).unwrap();
    // A third process has taken the lock meanwhile.
    let taken = fixture.create_stale_lock();
    turn.put_back();
    let there = metadata_at(&fixture.lock).unwrap().unwrap();
    assert_eq!(state_of(&there), taken);
    drop(turn);
    assert_eq!(fixture.names(), ["f.lock"]);
}

#[test]
fn only_one_process_breaks_a_lock_at_a_time() {
    let fixture = StaleLockFixture::fresh();
    let seen = fixture.create_stale_lock();
    let mut first = Breaking::of(&fixture.lock);
    let turn = first.take_turn(Protocol::DirectoryOnly).unwrap().unwrap();
    assert!(!fixture.try_at(seen), "the first process has the turn");
    assert!(turn.break_lock(seen).unwrap());
    drop(turn);
    assert!(fixture.names().is_empty());
}

#[test]
fn a_process_whose_turn_was_removed_breaks_nothing() {
    let fixture = StaleLockFixture::fresh();
    let seen = fixture.create_stale_lock();
    let mut first = Breaking::of(&fixture.lock);
    let turn = first.take_turn(Protocol::DirectoryOnly).unwrap().unwrap();
    // The first process is suspended, and the second one removes its turn and takes its own.
    remove(&fixture.turn).unwrap();
    let mut second = Breaking::of(&fixture.lock);
    let next = second.take_turn(Protocol::DirectoryOnly).unwrap().unwrap();
    assert!(!turn.break_lock(seen).unwrap());
    drop(turn);
    assert_eq!(fixture.names(), ["f.lock", "f.lock.breaking"]);
    assert!(next.break_lock(seen).unwrap());
}

#[test]
fn the_turn_of_a_dead_process_is_removed_when_stale_or_immediately_under_the_flock() {
    for protocol in [Protocol::DirectoryOnly, Protocol::UnderFlock] {
        let fixture = StaleLockFixture::fresh();
        let seen = fixture.create_stale_lock();
        create_old(&fixture.turn);
        // It died after it had moved the old lock.
        crate::create_private_dir(&fixture.turn.join(MOVED)).unwrap();
        let long_ago = SystemTime::now() - Duration::from_mins(1);
        let turn = File::open(&fixture.turn).unwrap();
        turn.set_modified(long_ago).unwrap();
        let mut breaking = Breaking::of(&fixture.lock);
        let mut tries = 0;
        while !breaking.try_at(seen, protocol).unwrap() {
            tries += 1;
            std::thread::park_timeout(Duration::from_millis(20));
        }
        let is_immediate = tries == 1;
        assert_eq!(is_immediate, protocol == Protocol::UnderFlock, "{tries}");
        assert!(fixture.names().is_empty(), "{:?}", fixture.names());
    }
}

#[test]
fn the_error_names_a_file_at_the_path_of_the_turn() {
    let fixture = StaleLockFixture::fresh();
    let seen = fixture.create_stale_lock();
    crate::create_private_file(&fixture.turn).unwrap();
    let refused = Breaking::of(&fixture.lock).try_at(seen, Protocol::DirectoryOnly);
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("f.lock.breaking"), "{message}");
}

#[test]
fn a_lock_directory_with_entries_is_kept_and_named_in_the_error() {
    let fixture = StaleLockFixture::fresh();
    create_old(&fixture.lock);
    crate::create_private_file(&fixture.lock.join("note")).unwrap();
    let seen = state_of(&metadata_at(&fixture.lock).unwrap().unwrap());
    let refused = Breaking::of(&fixture.lock).try_at(seen, Protocol::DirectoryOnly);
    assert!(refused.unwrap_err().to_string().contains("f.lock"));
    assert_eq!(fixture.names(), ["f.lock"]);
    assert!(fixture.lock.join("note").exists());
}
