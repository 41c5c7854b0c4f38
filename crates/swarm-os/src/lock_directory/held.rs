//! The lock directory `F.lock` next to a data file `F`: the protocol of npm's proper-lockfile,
//! which Claude Code uses. Created by `mkdir`, released by `rmdir`, stale if not refreshed. Under
//! the flock of the sidecar, swarm creates them with the sticky bit as a mark. A process that has
//! the flock and finds a marked directory knows that its creator is dead, and does not wait until
//! it is stale.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, utimensat};
use rustix::io::Errno;

use super::entry::{
    JUST_REFRESHED, NOW, Protocol, Refresher, TOO_YOUNG_TO_BE_BROKEN, refresh, remove,
};
use crate::OsError;
use crate::contained::{identity, metadata_at, own_user, retrying};
use crate::error::OnPath as _;

/// A lock directory that this process holds. Released on drop.
#[derive(Debug)]
pub(crate) struct LockDir {
    data: PathBuf,
    path: PathBuf,
    /// Where the directory is kept while the lock is free.
    kept: Option<PathBuf>,
    /// Identity of the directory. The inode number may be used again, but not together with the
    /// mark: only a holder of the flock gives it to a directory at this path. Without a mark, the
    /// refresher keeps the directory open.
    made: (u64, u64),
    /// Whether a dead process of swarm had left a lock directory.
    pub(super) was_left_behind: bool,
    refresher: Option<Refresher>,
}

impl LockDir {
    /// Tries once to create the directory, or to move it from `kept` to its path. Returns `None` if
    /// there is one. `kept` must be on the file system of the path, and requires the flock.
    pub(super) fn try_take(
        data: &Path,
        path: &Path,
        kept: Option<&Path>,
        protocol: Protocol,
    ) -> Result<Option<Self>, OsError> {
        let permissions = match protocol {
            Protocol::UnderFlock => Mode::RWXU | Mode::SVTX,
            Protocol::DirectoryOnly => Mode::RWXU,
        };
        let began = Instant::now();
        let moved_from = kept.filter(|kept| move_refreshed(kept, path).is_ok());
        let created = if moved_from.is_some() {
            Ok(())
        } else {
            retrying(|| rustix::fs::mkdir(path, permissions))
        };
        match created.or_gone(path, "create the lock directory") {
            Err(OsError::Exists(_)) => return Ok(None),
            created => created?,
        }
        let looked = match metadata_at(path) {
            Ok(looked) => looked,
            Err(error) => {
                remove(path)?;
                return Err(error);
            }
        };
        // This process was suspended, and another program broke the lock.
        let Some(made) = looked else {
            return Ok(None);
        };
        let may_be_anothers = began.elapsed() > TOO_YOUNG_TO_BE_BROKEN;
        if protocol == Protocol::DirectoryOnly && may_be_anothers {
            // If it is ours after all, it is not refreshed and will be broken as stale.
            return Ok(None);
        }
        // The file system does not keep the mark, or the directory belongs to another program by
        // now.
        if protocol == Protocol::UnderFlock && !is_our_mark(&made) {
            if may_be_anothers {
                return Ok(None);
            }
            if let Some(kept) = moved_from {
                remove_moved(path, kept)?;
                return Self::try_take(data, path, None, protocol);
            }
            remove(path)?;
            return Err(OsError::io(
                path,
                "mark the lock directory",
                Errno::OPNOTSUPP,
            ));
        }
        let made = identity(&made);
        let refresher = match protocol {
            Protocol::UnderFlock => None,
            Protocol::DirectoryOnly => match open_made(path, made) {
                Ok(Some(opened)) => Some(Refresher::start(path, opened)?),
                Ok(None) => return Ok(None),
                Err(error) => {
                    remove(path)?;
                    return Err(error);
                }
            },
        };
        Ok(Some(Self {
            data: data.to_owned(),
            path: path.to_owned(),
            kept: kept.map(Path::to_owned),
            made,
            was_left_behind: false,
            refresher,
        }))
    }

    /// Checks that the lock was not broken, and refreshes it so that it is not broken within the
    /// next seconds. Call it right before an operation that requires the lock.
    pub(crate) fn confirm(&self) -> Result<(), OsError> {
        let there = self.metadata()?;
        if self.refresher.is_none() && was_just_refreshed(&there) {
            return Ok(());
        }
        let opened = open_made(&self.path, self.made)?.ok_or_else(|| self.lost())?;
        refresh(&opened).or_io(&self.path, "refresh the lock directory")?;
        self.metadata().map(drop)
    }

    /// Returns the metadata of the directory if it is still ours.
    fn metadata(&self) -> Result<Metadata, OsError> {
        let there = metadata_at(&self.path)?.filter(|there| self.is_ours(there));
        there.ok_or_else(|| self.lost())
    }

    fn is_ours(&self, there: &Metadata) -> bool {
        identity(there) == self.made && (self.refresher.is_some() || is_our_mark(there))
    }

    fn lost(&self) -> OsError {
        OsError::LockLost(self.path.clone())
    }

    /// Returns whether the previous holder of swarm was killed while it held the lock.
    pub(crate) fn was_left_behind(&self) -> bool {
        self.was_left_behind
    }

    /// Returns whether this directory locks the given file.
    pub(crate) fn locks(&self, data: &Path) -> bool {
        self.data.as_os_str() == data.as_os_str()
    }

    fn release(&self) -> Result<(), OsError> {
        self.metadata()?;
        match &self.kept {
            Some(kept) if rename_to_nothing(&self.path, kept).is_ok() => Ok(()),
            _ => remove(&self.path),
        }
    }
}

impl Drop for LockDir {
    fn drop(&mut self) {
        // Retried once: otherwise other programs are blocked until the directory is stale.
        let released = match self.release() {
            Err(OsError::Io { .. }) => self.release(),
            done => done,
        };
        if let Err(error) = released {
            tracing::warn!(%error, "could not release a lock directory");
        }
    }
}

/// Moves a kept lock directory to its path. Refreshes it first, because other programs break a lock
/// by its age.
fn move_refreshed(kept: &Path, path: &Path) -> rustix::io::Result<()> {
    retrying(|| utimensat(CWD, kept, &NOW, AtFlags::SYMLINK_NOFOLLOW))?;
    rename_to_nothing(kept, path)
}

/// Removes what was moved from `kept` to the path of a lock directory, but is not one: programs that copy
/// a config directory may not copy the mark. What cannot be removed is moved back, where it blocks nobody.
fn remove_moved(path: &Path, kept: &Path) -> Result<(), OsError> {
    if remove(path).is_ok() {
        return Ok(());
    }
    let moved = rename_to_nothing(path, kept);
    moved.or_io(path, "move what is not a lock directory")
}

/// Renames, or fails if `to` exists or the file system cannot prevent that it is replaced.
fn rename_to_nothing(from: &Path, to: &Path) -> rustix::io::Result<()> {
    retrying(|| rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE))
}

/// Removes marked lock directories in `directory` except those in `held`. Requires the lock on the
/// sidecar of the whole directory: their creators are then dead.
pub(crate) fn sweep_marks(directory: &Path, held: &[LockDir]) -> Result<usize, OsError> {
    let entries = fs::read_dir(directory).or_gone(directory, "list")?;
    let mut removed = 0;
    for entry in entries.flatten() {
        let path = entry.path();
        let is_lock = path.extension().is_some_and(|end| end == "lock");
        if !is_lock || held.iter().any(|taken| taken.path == path) {
            continue;
        }
        if metadata_at(&path)?.is_some_and(|found| is_our_mark(&found)) {
            remove(&path)?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Returns `F.lock` for `F`.
pub(super) fn lock_path(data: &Path) -> PathBuf {
    let mut path = OsString::from(data);
    path.push(".lock");
    PathBuf::from(path)
}

pub(super) fn is_our_mark(found: &Metadata) -> bool {
    found.is_dir() && found.mode() & Mode::SVTX.as_raw_mode() != 0 && found.uid() == own_user()
}

/// Opens the created lock directory. Returns `None` if another program has broken it.
fn open_made(path: &Path, made: (u64, u64)) -> Result<Option<File>, OsError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let failed = |error| OsError::io(path, "open the lock directory", error);
    let opened = match retrying(|| rustix::fs::open(path, flags, Mode::empty())) {
        Ok(descriptor) => File::from(descriptor),
        Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => return Ok(None),
        Err(error) => return Err(failed(error.into())),
    };
    let found = opened.metadata().map_err(failed)?;
    Ok((identity(&found) == made).then_some(opened))
}

/// Returns whether a lock directory is so young that it will not be broken within the next seconds.
fn was_just_refreshed(found: &Metadata) -> bool {
    let age = found.modified().ok().and_then(|time| time.elapsed().ok());
    age.is_some_and(|age| age < JUST_REFRESHED)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_released_directory_is_kept_and_taken_again_refreshed() {
        let directory = tempfile::tempdir().unwrap();
        let [data, kept] = ["inbox.json", "inbox.free"].map(|name| directory.path().join(name));
        let path = lock_path(&data);
        let take = || LockDir::try_take(&data, &path, Some(&kept), Protocol::UnderFlock).unwrap();
        let first = take().unwrap();
        assert!(take().is_none());
        let made = first.made;
        drop(first);
        assert!(!path.exists() && kept.is_dir());
        File::open(&kept)
            .unwrap()
            .set_modified(SystemTime::UNIX_EPOCH)
            .unwrap();
        let second = take().unwrap();
        assert!(!kept.exists());
        assert_eq!(second.made, made);
        assert!(was_just_refreshed(&fs::metadata(&path).unwrap()));
        second.confirm().unwrap();
        // Another program broke the lock.
        fs::remove_dir(&path).unwrap();
        fs::create_dir(&path).unwrap();
        second.confirm().unwrap_err();
        drop(second);
        assert!(path.is_dir() && !kept.exists());
    }

    #[test]
    fn a_directory_is_removed_if_there_is_already_a_kept_one() {
        let directory = tempfile::tempdir().unwrap();
        let [data, kept] = ["inbox.json", "inbox.free"].map(|name| directory.path().join(name));
        let path = lock_path(&data);
        let taken = LockDir::try_take(&data, &path, Some(&kept), Protocol::UnderFlock).unwrap();
        fs::create_dir(&kept).unwrap();
        drop(taken.unwrap());
        assert!(!path.exists() && kept.is_dir());
    }

    #[test]
    fn a_kept_directory_without_the_mark_is_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let [data, kept] = ["inbox.json", "inbox.free"].map(|name| directory.path().join(name));
        let path = lock_path(&data);
        fs::create_dir(&kept).unwrap();
        let taken = LockDir::try_take(&data, &path, Some(&kept), Protocol::UnderFlock).unwrap();
        assert!(is_our_mark(&fs::metadata(&path).unwrap()) && !kept.exists());
        drop(taken.unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn what_is_not_an_empty_directory_is_not_used_as_a_lock_and_blocks_nobody() {
        let directory = tempfile::tempdir().unwrap();
        let [data, kept] = ["inbox.json", "inbox.free"].map(|name| directory.path().join(name));
        let path = lock_path(&data);
        let wrong: [fn(&Path); 3] = [
            |kept| drop(File::create(kept).unwrap()),
            |kept| std::os::unix::fs::symlink("nowhere", kept).unwrap(),
            |kept| {
                fs::create_dir(kept).unwrap();
                File::create(kept.join("file")).unwrap();
            },
        ];
        for put in wrong {
            put(&kept);
            let there = fs::symlink_metadata(&kept).unwrap().file_type();
            for _ in 0..2 {
                let taken = LockDir::try_take(&data, &path, Some(&kept), Protocol::UnderFlock);
                let taken = taken.unwrap().unwrap();
                assert!(is_our_mark(&fs::metadata(&path).unwrap()));
                drop(taken);
                assert!(!path.exists());
            }
            assert_eq!(fs::symlink_metadata(&kept).unwrap().file_type(), there);
            if there.is_dir() {
                fs::remove_dir_all(&kept).unwrap();
            } else {
                fs::remove_file(&kept).unwrap();
            }
        }
    }
}
