//! Replaces files atomically: every reader sees either the old or the new content.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use tempfile::NamedTempFile;

use crate::OsError;
use crate::contained::{
    PRIVATE_FILE, directory_of, hold, not_ours, open_directory, open_known, read_whole,
};
use crate::disk::{Step, flush_content, log};
use crate::error::OnPath as _;
use crate::pending_sync::{PendingSync, flush_in_parallel};
use crate::private::{place_private_dir, widen_file};

/// Suffix of temporary files. Their names start with a dot and the name of the file to replace.
const TEMPORARY_SUFFIX: &str = ".swarm-tmp";

/// Maximum length in bytes of a file that is written in place: a page, which the kernel copies in
/// one step.
const SHORT: u64 = 4096;

/// A complete temporary file (mode 0600) next to the file that it will replace. Deleted on drop
/// unless committed.
#[derive(Debug)]
pub(crate) struct Prepared<'p> {
    path: &'p Path,
    temporary: NamedTempFile,
}

impl<'p> Prepared<'p> {
    /// Writes the new content of `path` without flushing it.
    pub(crate) fn write(path: &'p Path, bytes: &[u8]) -> Result<Self, OsError> {
        let mut temporary = create_temporary(path)?;
        temporary
            .as_file_mut()
            .write_all(bytes)
            .or_io(path, "write the new content of")?;
        log(Step::Wrote, path);
        Ok(Self { path, temporary })
    }

    /// Flushes the new content to disk.
    pub(crate) fn flush(&self) -> Result<(), OsError> {
        flush_content(
            self.path,
            self.temporary.as_file(),
            "sync the new content of",
        )
    }

    /// Flushes several files in parallel.
    pub(crate) fn flush_all(all: &[Self]) -> Result<(), OsError> {
        flush_in_parallel(all, |one| one.temporary.as_file(), Self::flush)
    }

    /// Renames the temporary file, which makes the new content visible. The directory is not
    /// flushed yet. `original` is the file that is replaced, if the caller has it open. Returns the
    /// replaced file. Drop it where no other process waits: closing the last descriptor frees its
    /// blocks, and if the rename had to do that, the directory would be locked in the meantime.
    pub(crate) fn commit(self, original: Original) -> Result<Option<File>, OsError> {
        let before = match original.0 {
            Some(file) => Some(file),
            None => hold_regular(self.path)?,
        };
        self.temporary
            .persist(self.path)
            .map_err(|failed| OsError::gone_or_io(self.path, "replace", failed.error))?;
        log(Step::Entered, self.path);
        Ok(before)
    }
}

/// A file to be replaced that is already open, if it is: opening it again would take time under a
/// lock.
#[derive(Debug, Default)]
pub struct Original(Option<File>);

impl Original {
    /// Reads a regular file of this user and keeps it open. The content is `None` if it does not
    /// exist.
    ///
    /// # Errors
    /// As [`crate::read_optional`].
    pub fn read(path: &Path) -> Result<(Option<Vec<u8>>, Self), OsError> {
        let Some((file, found)) = open_known(path, OFlags::RDONLY)? else {
            return Ok((None, Self::default()));
        };
        let bytes = read_whole(path, &file, found.len())?;
        Ok((Some(bytes), Self(Some(file))))
    }
}

/// Opens what is replaced, without its content. Returns `None` if there is nothing.
fn hold_regular(path: &Path) -> Result<Option<File>, OsError> {
    let before = hold(path)?;
    if let Some(before) = &before
        && !before.metadata().or_io(path, "inspect")?.is_file()
    {
        return Err(not_ours(path, "it is not a regular file"));
    }
    Ok(before)
}

/// Replaces a file that only one process writes, without a lock. The file always has either its old
/// content or `bytes`, which are on disk on return. The new file has mode 0600.
///
/// # Errors
/// [`OsError::Gone`] if the directory is missing, [`OsError::NotOurs`] if `path` is not a regular
/// file. [`OsError::Io`] of the last operation (`sync the directory`) means that `bytes` are
/// visible but may not survive a power failure.
pub fn replace_alone(path: &Path, bytes: &[u8]) -> Result<(), OsError> {
    place_alone(path, bytes)?.sync()
}

/// Like [`replace_alone`], in a private directory that is created if it is missing.
///
/// # Errors
/// As [`replace_alone`] and [`crate::ensure_private_dir`].
pub fn replace_in_private_dir(path: &Path, bytes: &[u8]) -> Result<(), OsError> {
    let made = place_private_dir(directory_of(path))?;
    made.and(place_alone(path, bytes)?).sync()
}

/// Like [`replace_alone`], without syncing the directory: the new content is visible and flushed,
/// but a power failure may restore the old content until the result is synced.
pub fn place_alone(path: &Path, bytes: &[u8]) -> Result<PendingSync, OsError> {
    place_if(path, bytes, Original::default(), || Ok(()))
}

/// Like [`place_alone`], unless `confirm` fails, which is called right before the replacement.
pub(crate) fn place_if(
    path: &Path,
    bytes: &[u8],
    original: Original,
    confirm: impl FnOnce() -> Result<(), OsError>,
) -> Result<PendingSync, OsError> {
    // Opened first: after the rename only the sync can fail.
    let directory = open_directory(directory_of(path))?;
    let prepared = Prepared::write(path, bytes)?;
    prepared.flush()?;
    confirm()?;
    let before = prepared.commit(original)?;
    Ok(PendingSync::entered(directory_of(path).to_owned(), directory).freeing(before))
}

/// Like [`replace_alone`], for transient state of a running process, without waiting for the disk.
/// A power failure may leave older content, or on some file systems none. A short file is written
/// in place, which costs a tenth of creating a new file. White space may follow the content. A
/// reader that reads during the write may get a mix of both contents, which is not valid JSON, and
/// gets the new content when it reads again.
pub fn replace_passing(path: &Path, bytes: &[u8]) -> Result<(), OsError> {
    if let Some((file, found)) = open_known(path, OFlags::RDWR)?
        && found.len().max(bytes.len() as u64) <= SHORT
    {
        overwrite(&file, bytes).or_io(path, "write the new content of")?;
        log(Step::Wrote, path);
        return Ok(());
    }
    let prepared = Prepared::write(path, bytes)?;
    prepared.commit(Original::default()).map(drop)
}

/// Overwrites the content of a file in one write: readers never see an empty file or the rest of a
/// longer old content.
pub(crate) fn overwrite(file: &File, content: &[u8]) -> io::Result<()> {
    let before = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let mut padded = content.to_vec();
    padded.resize(content.len().max(before), b' ');
    file.write_all_at(&padded, 0)?;
    if before > content.len() {
        file.set_len(content.len() as u64)?;
    }
    Ok(())
}

/// Deletes temporary files of killed writers in `directory` that were not modified for
/// `older_than`. Returns their number; 0 if the directory is missing.
pub fn sweep_temporaries(directory: &Path, older_than: Duration) -> Result<usize, OsError> {
    let stale = stale_temporaries(directory, older_than)?;
    let deleted = stale.iter().filter(|path| fs::remove_file(path).is_ok());
    Ok(deleted.count())
}

/// Returns the temporary files that [`sweep_temporaries`] would delete.
///
/// # Errors
/// [`OsError::Io`] if the directory cannot be listed.
pub fn stale_temporaries(directory: &Path, older_than: Duration) -> Result<Vec<PathBuf>, OsError> {
    temporaries(directory, |name, age| {
        name.starts_with(b".") && age.is_some_and(|age| age >= older_than)
    })
}

/// Deletes temporary files of killed writers of `path`. Requires the lock on `path`.
pub(crate) fn sweep_attempts_on(path: &Path) -> Result<usize, OsError> {
    let prefix = temporary_prefix(path);
    let attempts = temporaries(directory_of(path), |name, _age| {
        name.starts_with(prefix.as_encoded_bytes())
    })?;
    let deleted = attempts.iter().filter(|path| fs::remove_file(path).is_ok());
    Ok(deleted.count())
}

fn temporaries(
    directory: &Path,
    is_leftover: impl Fn(&[u8], Option<Duration>) -> bool,
) -> Result<Vec<PathBuf>, OsError> {
    let Some(entries) = fs::read_dir(directory).or_none(directory, "list")? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !name
            .as_encoded_bytes()
            .ends_with(TEMPORARY_SUFFIX.as_bytes())
        {
            continue;
        }
        let age = entry
            .metadata()
            .and_then(|metadata| metadata.modified())
            .ok()
            .and_then(|modified| modified.elapsed().ok());
        if is_leftover(name.as_encoded_bytes(), age) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// Creates an empty temporary file (mode 0600) in the directory of `path`.
pub(crate) fn create_temporary(path: &Path) -> Result<NamedTempFile, OsError> {
    let temporary = tempfile::Builder::new()
        .prefix(&temporary_prefix(path))
        .suffix(TEMPORARY_SUFFIX)
        .tempfile_in(directory_of(path))
        .or_gone(path, "create a temporary file for")?;
    widen_file(temporary.path(), temporary.as_file(), PRIVATE_FILE)?;
    Ok(temporary)
}

fn temporary_prefix(path: &Path) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(path.file_name().unwrap_or(OsStr::new("file")));
    prefix.push(".");
    prefix
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contained::identity;

    #[test]
    fn a_replaced_file_is_freed_when_the_pending_sync_is_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let replace = |content: &[u8], original| {
            let prepared = Prepared::write(&path, content).unwrap();
            prepared.commit(original).unwrap()
        };
        assert!(replace(b"one", Original::default()).is_none());
        let first = identity(&fs::metadata(&path).unwrap());
        let (content, original) = Original::read(&path).unwrap();
        assert_eq!(content.unwrap(), b"one");
        for (original, replaced) in [(original, Some(first)), (Original::default(), None)] {
            let before = replace(b"two", original).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"two");
            let found = identity(&before.metadata().unwrap());
            assert!(replaced.is_none_or(|replaced| replaced == found));
            // The pending sync owns the replaced file.
            let pending = PendingSync::default().freeing(Some(before));
            let pending = PendingSync::default().and(pending);
            assert!(format!("{pending:?}").contains("File"), "{pending:?}");
            pending.sync().unwrap();
        }
        let pending = place_alone(&path, b"three").unwrap();
        assert!(
            format!("{pending:?}").contains("freed: [File"),
            "{pending:?}"
        );
        pending.sync().unwrap();
    }

    #[test]
    fn transient_state_is_written_in_place_unless_it_is_long() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.json");
        replace_passing(&path, b"a longer one").unwrap();
        let first = identity(&fs::metadata(&path).unwrap());
        replace_passing(&path, b"short").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"short");
        assert_eq!(identity(&fs::metadata(&path).unwrap()), first);
        let long = b"x".repeat(4097);
        replace_passing(&path, &long).unwrap();
        let second = identity(&fs::metadata(&path).unwrap());
        assert_ne!(second, first);
        replace_passing(&path, b"short").unwrap();
        assert_ne!(identity(&fs::metadata(&path).unwrap()), second);
        assert_eq!(fs::read(&path).unwrap(), b"short");
    }

    #[test]
    fn a_shorter_content_covers_the_longer_one_before_the_file_is_shortened() {
        use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = File::from(memfd_create("state.json", flags).unwrap());
        overwrite(&file, b"a longer one").unwrap();
        fcntl_add_seals(&file, SealFlags::SHRINK).unwrap();
        overwrite(&file, b"short").unwrap_err();
        assert_eq!(
            read_whole(Path::new("state.json"), &file, 12).unwrap(),
            b"short       "
        );
    }

    #[test]
    fn only_regular_files_are_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let (path, target) = (
            directory.path().join("link"),
            directory.path().join("target"),
        );
        std::os::unix::fs::symlink(&target, &path).unwrap();
        replace_alone(&path, b"x").unwrap_err();
        assert!(path.is_symlink() && !target.exists());
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        replace_alone(&path, b"x").unwrap_err();
    }
}
