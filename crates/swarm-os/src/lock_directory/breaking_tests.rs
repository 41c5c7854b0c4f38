use std::time::Duration;

use super::*;

struct Place {
    _directory: tempfile::TempDir,
    lock: PathBuf,
    turn: PathBuf,
}

impl Place {
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

    /// A lock directory that was left behind, as one sees it who is about to break it.
    fn left(&self) -> Look {
        make_old(&self.lock);
        look(&look_at(&self.lock).unwrap().unwrap())
    }

    fn try_at(&self, seen: Look) -> bool {
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

fn make_old(directory: &Path) {
    crate::create_private_dir(directory).unwrap();
    let long_ago = SystemTime::now() - Duration::from_mins(1);
    File::open(directory)
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
}

#[test]
fn what_was_left_behind_is_removed_and_nothing_else_is_left() {
    let place = Place::fresh();
    assert!(place.try_at(place.left()));
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn what_another_one_has_made_since_the_look_stays() {
    let place = Place::fresh();
    let seen = place.left();
    // Somebody was faster: broke it, and has it. An old time too, so that only its identity tells.
    let kept = File::open(&place.lock).unwrap();
    remove(&place.lock).unwrap();
    make_old(&place.lock);
    assert!(!place.try_at(seen));
    assert_eq!(place.names(), ["f.lock"]);
    drop(kept);
}

#[test]
fn what_its_owner_has_refreshed_since_the_look_stays() {
    let place = Place::fresh();
    let seen = place.left();
    let owner = File::open(&place.lock).unwrap();
    super::super::entry::refresh(&owner).unwrap();
    assert!(!place.try_at(seen));
    assert_eq!(place.names(), ["f.lock"]);
}

#[test]
fn what_becomes_anothers_behind_the_last_look_is_put_back() {
    let place = Place::fresh();
    let seen = place.left();
    let kept = File::open(&place.lock).unwrap();
    let mut breaking = Breaking::of(&place.lock);
    let turn = breaking
        .take_turn(Protocol::DirectoryOnly)
        .unwrap()
        .unwrap();
    remove(&place.lock).unwrap();
    make_old(&place.lock);
    assert!(!turn.move_in(&place.lock, seen).unwrap());
    drop(turn);
    assert_eq!(place.names(), ["f.lock"]);
    drop(kept);
}

#[test]
fn one_at_a_time() {
    let place = Place::fresh();
    let seen = place.left();
    let mut first = Breaking::of(&place.lock);
    let turn = first.take_turn(Protocol::DirectoryOnly).unwrap().unwrap();
    assert!(!place.try_at(seen), "it is the first one's turn");
    assert!(turn.break_it(&place.lock, seen).unwrap());
    drop(turn);
    assert!(place.names().is_empty());
}

#[test]
fn a_breaker_whose_turn_was_taken_away_breaks_nothing() {
    let place = Place::fresh();
    let seen = place.left();
    let mut first = Breaking::of(&place.lock);
    let turn = first.take_turn(Protocol::DirectoryOnly).unwrap().unwrap();
    // It stands still, and the next one clears up and has its own turn.
    remove(&place.turn).unwrap();
    let mut second = Breaking::of(&place.lock);
    let next = second.take_turn(Protocol::DirectoryOnly).unwrap().unwrap();
    assert!(!turn.break_it(&place.lock, seen).unwrap());
    drop(turn);
    assert_eq!(place.names(), ["f.lock", "f.lock.breaking"]);
    assert!(next.break_it(&place.lock, seen).unwrap());
}

#[test]
fn the_turn_of_a_dead_breaker_is_cleared_once_it_is_old_and_under_the_flock_at_once() {
    for protocol in [Protocol::DirectoryOnly, Protocol::UnderFlock] {
        let place = Place::fresh();
        let seen = place.left();
        make_old(&place.turn);
        // It died with the old lock in its hands.
        crate::create_private_dir(&place.turn.join(MOVED)).unwrap();
        let long_ago = SystemTime::now() - Duration::from_mins(1);
        let turn = File::open(&place.turn).unwrap();
        turn.set_modified(long_ago).unwrap();
        let mut breaking = Breaking::of(&place.lock);
        let mut tries = 0;
        while !breaking.try_at(seen, protocol).unwrap() {
            tries += 1;
            std::thread::park_timeout(Duration::from_millis(20));
        }
        let at_once = tries == 1;
        assert_eq!(at_once, protocol == Protocol::UnderFlock, "{tries}");
        assert!(place.names().is_empty(), "{:?}", place.names());
    }
}

#[test]
fn something_else_in_the_place_of_the_turn_is_named() {
    let place = Place::fresh();
    let seen = place.left();
    crate::create_private_file(&place.turn).unwrap();
    let refused = Breaking::of(&place.lock).try_at(seen, Protocol::DirectoryOnly);
    let told = refused.unwrap_err().to_string();
    assert!(told.contains("f.lock.breaking"), "{told}");
}

#[test]
fn a_lock_directory_with_something_in_it_stays_and_is_named() {
    let place = Place::fresh();
    make_old(&place.lock);
    crate::create_private_file(&place.lock.join("note")).unwrap();
    let seen = look(&look_at(&place.lock).unwrap().unwrap());
    let refused = Breaking::of(&place.lock).try_at(seen, Protocol::DirectoryOnly);
    assert!(refused.unwrap_err().to_string().contains("f.lock"));
    assert_eq!(place.names(), ["f.lock"]);
    assert!(place.lock.join("note").exists());
}
