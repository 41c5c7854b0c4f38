//! Files and directories that exist only so that something can be mounted on them. The sticky bit
//! marks them: a user's own empty directory does not have it.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, fchmod, flock, fstat, mkdir, openat};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};

use super::bind::{MountError, at};
use super::fixed::{FixedEntry, FixedKind, ITSELF, is_same};

/// How often to try again if another process removes the placeholder or has locked it.
const ATTEMPTS: usize = 10;

/// Mode of a placeholder.
const MARKED: Mode = Mode::SVTX
    .union(Mode::RWXU)
    .union(Mode::RGRP)
    .union(Mode::XGRP)
    .union(Mode::ROTH)
    .union(Mode::XOTH);

const MARKED_FILE: Mode = MARKED.difference(Mode::XUSR.union(Mode::XGRP).union(Mode::XOTH));

/// Time until the next attempt if it is locked. Its removal takes less.
const PAUSE: Duration = Duration::from_millis(20);

/// The placeholders of one sandbox. Several sandboxes may use the same ones: each holds a shared lock,
/// and only the last removes them.
#[derive(Debug, Default)]
pub(super) struct Placeholders {
    held: Vec<Held>,
}

#[derive(Debug)]
struct Held {
    entry: FixedEntry,
    /// Has the shared lock.
    file: fs::File,
}

impl Placeholders {
    /// Creates and locks the placeholder of a reserved entry, or adopts an existing one. Does nothing
    /// for other entries, if something else exists there, and in a directory in which this user cannot
    /// create files.
    ///
    /// # Errors
    /// [`MountError`] if it cannot be created for another reason.
    pub(super) fn create(&mut self, entry: &FixedEntry) -> Result<(), MountError> {
        if !entry.is_reserved() {
            return Ok(());
        }
        for _ in 0..ATTEMPTS {
            let acquired = match acquire(entry) {
                Err(error) if is_unwritable(&error) => return Ok(()),
                acquired => acquired.map_err(at("reserve", &entry.path))?,
            };
            if let Some(acquired) = acquired {
                let is_same_file =
                    |known: &Held| is_same(known.file.metadata(), acquired.file.metadata());
                if !self.held.iter().any(is_same_file) && is_marked(&acquired.file) {
                    self.held.push(acquired);
                }
                return Ok(());
            }
        }
        let path = entry.path.display();
        let busy = format!("another program has locked it: end that program (`fuser {path}`)");
        Err(at("reserve", &entry.path)(io::Error::other(busy)))
    }

    /// Removes the placeholders that no other sandbox uses. One in which something was created only
    /// loses its mark. Call it in the mount namespace after every other process in it has ended.
    pub(super) fn remove(self) {
        for held in self.held {
            let path = held.entry.path.as_path();
            while unmount(path, UnmountFlags::DETACH).is_ok() {}
            if !is_unused(&held.file) {
                continue;
            }
            if let Err(error) = remove(&held) {
                tracing::warn!(%error, path = %path.display(), "cannot remove a placeholder");
            }
        }
    }
}

/// A placeholder that no sandbox uses, because the process that would have removed it was killed.
/// While this value exists, no sandbox adopts it.
#[derive(Debug)]
pub struct LeftPlaceholder(Held);

impl LeftPlaceholder {
    /// Returns the placeholder of a reserved entry, if there is one that no sandbox uses.
    pub fn of(entry: &FixedEntry) -> Option<Self> {
        let file = open(&entry.path).ok()??;
        let is_left = is_marked(&file) && is_unused(&file) && is_at(&file, &entry.path);
        let entry = entry.clone();
        (is_left && entry.is_placeholder()).then_some(Self(Held { entry, file }))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0.entry.path
    }

    /// Removes it.
    ///
    /// # Errors
    /// Fails if the directory is not writable.
    pub fn remove(self) -> io::Result<()> {
        remove(&self.0)
    }
}

/// Removes a placeholder. One in which something was created only loses its mark, and what has
/// replaced one is kept.
fn remove(Held { entry, file }: &Held) -> io::Result<()> {
    let path = entry.path.as_path();
    if !is_at(file, path) {
        return Ok(());
    }
    match entry.kind {
        _ if !entry.is_placeholder() => unmark(path),
        FixedKind::ReservedDirectory => fs::remove_dir(path),
        _ => fs::remove_file(path),
    }
}

/// Returns whether no other sandbox holds the shared lock. No process gets it until the file is closed.
fn is_unused(file: &fs::File) -> bool {
    flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Creates the placeholder if nothing exists there, and takes a shared lock. `None` if it was removed in
/// the meantime or another program has locked it.
fn acquire(entry: &FixedEntry) -> io::Result<Option<Held>> {
    create(entry)?;
    let Some(file) = open(&entry.path)? else {
        return Ok(None);
    };
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Err(Errno::WOULDBLOCK) => {
            #[expect(
                clippy::disallowed_methods,
                reason = "a lock cannot be awaited with a limit"
            )]
            sleep(PAUSE);
            return Ok(None);
        }
        locked => locked?,
    }
    let entry = entry.clone();
    Ok(is_at(&file, &entry.path).then_some(Held { entry, file }))
}

fn is_unwritable(error: &io::Error) -> bool {
    use io::ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem};
    matches!(
        error.kind(),
        NotFound | PermissionDenied | ReadOnlyFilesystem
    )
}

/// Creates the placeholder if nothing exists there.
fn create(entry: &FixedEntry) -> io::Result<()> {
    let path = entry.path.as_path();
    let created = match entry.kind {
        FixedKind::ReservedDirectory => mkdir(path, MARKED).map_err(io::Error::from),
        _ => create_complete(path),
    };
    match created {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => created,
    }
}

/// Opens a placeholder. `None` if it was removed in the meantime.
fn open(path: &Path) -> io::Result<Option<fs::File>> {
    // A pipe would be opened without waiting for its other end.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(CWD, path, flags, Mode::empty()) {
        Err(Errno::NOENT) => Ok(None),
        opened => Ok(Some(opened?.into())),
    }
}

/// Creates the file with its content, since git reads it at any time.
fn create_complete(path: &Path) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(path))?;
    file.write_all(ITSELF.as_bytes())?;
    fchmod(&file, MARKED_FILE)?;
    file.persist_noclobber(path)?;
    Ok(())
}

fn is_marked(file: &fs::File) -> bool {
    let found = fstat(file);
    found.is_ok_and(|found| Mode::from_raw_mode(found.st_mode).contains(Mode::SVTX))
}

/// By path: the file may have been opened through a read-only mount.
fn unmark(path: &Path) -> io::Result<()> {
    let mode = path.symlink_metadata()?.mode() & !Mode::SVTX.as_raw_mode();
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

fn is_at(file: &fs::File, path: &Path) -> bool {
    is_same(file.metadata(), path.symlink_metadata())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &Path, kind: FixedKind) -> FixedEntry {
        let path = path.to_owned();
        FixedEntry { path, kind }
    }

    #[test]
    fn the_last_sandbox_removes_a_placeholder() {
        let base = tempfile::tempdir().unwrap();
        for (name, kind) in [
            (".claude", FixedKind::ReservedDirectory),
            ("commondir", FixedKind::ReservedCommonDirectory),
        ] {
            let reserved = entry(&base.path().join(name), kind);
            let (mut one, mut other) = (Placeholders::default(), Placeholders::default());
            one.create(&reserved).unwrap();
            one.create(&reserved).unwrap();
            other.create(&reserved).unwrap();
            one.remove();
            assert!(reserved.path.exists(), "{name}");
            other.remove();
            assert!(!reserved.path.exists(), "{name}");
        }
    }

    #[test]
    fn a_placeholder_that_another_program_locks_is_an_error() {
        let base = tempfile::tempdir().unwrap();
        let reserved = entry(&base.path().join(".claude"), FixedKind::ReservedDirectory);
        fs::create_dir(&reserved.path).unwrap();
        let file = fs::File::open(&reserved.path).unwrap();
        flock(&file, FlockOperation::LockExclusive).unwrap();
        let failed = Placeholders::default().create(&reserved).unwrap_err();
        assert!(failed.to_string().contains("fuser"), "{failed}");
    }

    #[test]
    fn what_was_created_in_the_meantime_is_kept() {
        let base = tempfile::tempdir().unwrap();
        let (own, file) = (base.path().join("own"), base.path().join("file"));
        let empty = base.path().join("empty");
        fs::create_dir_all(own.join("inner")).unwrap();
        fs::create_dir(&empty).unwrap();
        fs::File::create(&file).unwrap();
        let later = base.path().join("later");
        let mut placeholders = Placeholders::default();
        for path in [&own, &empty, &file, &later] {
            let reserved = entry(path, FixedKind::ReservedDirectory);
            placeholders.create(&reserved).unwrap();
        }
        fs::create_dir(later.join("inner")).unwrap();
        placeholders.remove();
        assert!(own.is_dir() && empty.is_dir() && file.is_file());
        assert!(later.join("inner").is_dir() && !is_marked(&fs::File::open(later).unwrap()));
    }

    #[test]
    fn a_placeholder_that_a_dead_sandbox_left_is_removed() {
        let base = tempfile::tempdir().unwrap();
        for (name, kind) in [
            (".claude", FixedKind::ReservedDirectory),
            ("commondir", FixedKind::ReservedCommonDirectory),
        ] {
            let reserved = entry(&base.path().join(name), kind);
            let mut dead = Placeholders::default();
            dead.create(&reserved).unwrap();
            assert!(LeftPlaceholder::of(&reserved).is_none(), "{name}: in use");
            drop(dead);
            assert!(reserved.is_placeholder(), "{name}");
            let mut next = Placeholders::default();
            next.create(&reserved).unwrap();
            next.remove();
            assert!(!reserved.path.exists(), "{name}");
            let mut dead = Placeholders::default();
            dead.create(&reserved).unwrap();
            drop(dead);
            LeftPlaceholder::of(&reserved).unwrap().remove().unwrap();
            assert!(!reserved.path.exists(), "{name}");
        }
    }

    #[test]
    fn what_has_replaced_a_placeholder_is_kept() {
        let base = tempfile::tempdir().unwrap();
        let reserved = entry(&base.path().join(".claude"), FixedKind::ReservedDirectory);
        let mut dead = Placeholders::default();
        dead.create(&reserved).unwrap();
        drop(dead);
        let left = LeftPlaceholder::of(&reserved).unwrap();
        let own = base.path().join("own");
        fs::rename(&reserved.path, base.path().join("moved")).unwrap();
        fs::create_dir(&own).unwrap();
        std::os::unix::fs::symlink(&own, &reserved.path).unwrap();
        let before = own.metadata().unwrap().mode();
        left.remove().unwrap();
        assert!(reserved.path.is_symlink());
        assert_eq!(own.metadata().unwrap().mode(), before);
    }

    #[test]
    fn what_is_not_marked_or_not_empty_is_not_left_by_a_sandbox() {
        let base = tempfile::tempdir().unwrap();
        let reserved = entry(&base.path().join(".claude"), FixedKind::ReservedDirectory);
        fs::create_dir(&reserved.path).unwrap();
        assert!(LeftPlaceholder::of(&reserved).is_none(), "the user's own");
        fs::set_permissions(&reserved.path, fs::Permissions::from_mode(0o1755)).unwrap();
        assert!(LeftPlaceholder::of(&reserved).is_some());
        fs::create_dir(reserved.path.join("inner")).unwrap();
        assert!(LeftPlaceholder::of(&reserved).is_none(), "with an entry");
    }

    #[test]
    fn entries_of_other_kinds_need_no_placeholder() {
        let base = tempfile::tempdir().unwrap();
        let missing = base.path().join("missing");
        for kind in [FixedKind::Pinned, FixedKind::ReadOnly] {
            let mut placeholders = Placeholders::default();
            placeholders.create(&entry(&missing, kind)).unwrap();
            assert!(!missing.exists());
        }
    }
}
