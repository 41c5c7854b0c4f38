//! Appends complete lines to files that several processes append to.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::OsError;
use crate::contained::{directory_of, open_known, open_own, retrying};
use crate::disk::{Step, log};
use crate::error::OnPath as _;
use crate::pending_sync::PendingSync;
use crate::private::create_new;

/// Appends `bytes`, one or more complete lines, in one write, and returns once they are on disk.
/// Creates a missing file with mode 0600, and adds a missing line break at the end. Needs no lock:
/// the kernel does not interleave appending writes. A partial last line of a writer that was killed
/// or ran out of disk space is completed with a line break. It is never truncated, because another
/// writer may still be writing it.
///
/// # Errors
/// [`OsError::Gone`] if the directory is missing, [`OsError::NotOurs`] if the path is not a regular
/// file of this user. After [`OsError::Io`] a part of the line may have been written; nothing else
/// is appended to that line.
pub fn append_durable(path: &Path, bytes: &[u8]) -> Result<(), OsError> {
    append(path, bytes)?.sync()
}

/// Like [`append_durable`], without waiting for the disk.
pub fn append(path: &Path, bytes: &[u8]) -> Result<PendingSync, OsError> {
    let (file, length) = open_or_create(path)?;
    append_to(path, file, length, bytes)
}

/// An existing file that was opened to append to it, before a lock is taken (see
/// [`crate::with_lock_after`]): opening it under the lock would let others wait longer.
#[derive(Debug)]
pub struct Appendable {
    path: PathBuf,
    file: File,
}

impl Appendable {
    /// Opens a file. Returns `None` if it does not exist.
    ///
    /// # Errors
    /// As [`append_durable`].
    pub fn open(path: &Path) -> Result<Option<Self>, OsError> {
        let path = path.to_owned();
        let file = open_own(&path, OFlags::RDWR | OFlags::APPEND)?;
        Ok(file.map(|file| Self { path, file }))
    }

    /// Does the same as [`append`], if the path still refers to this file.
    ///
    /// # Errors
    /// As [`append`].
    pub fn append(self, bytes: &[u8]) -> Result<PendingSync, OsError> {
        let found = self.file.metadata().or_io(&self.path, "inspect")?;
        append_to(&self.path, self.file, Some(found.len()), bytes)
    }
}

/// Appends to an open file of this length, or one that was just created.
fn append_to(
    path: &Path,
    file: File,
    length: Option<u64>,
    bytes: &[u8],
) -> Result<PendingSync, OsError> {
    let mut block = Vec::with_capacity(bytes.len() + 2);
    if ends_in_partial_line(path, &file, length)? {
        block.push(b'\n');
    }
    block.extend_from_slice(bytes);
    if !bytes.ends_with(b"\n") {
        block.push(b'\n');
    }
    write_in_one_call(&file, &block).or_io(path, "append to")?;
    log(Step::Wrote, path);
    let appended = PendingSync::appended(path.to_owned(), file);
    if length.is_none() {
        log(Step::Entered, path);
        return Ok(appended.and(PendingSync::entered_in(directory_of(path))?));
    }
    Ok(appended)
}

/// Opens a file for a program that appends to it, at the beginning of a line. The descriptor refers
/// to the file that was checked, even if the path is replaced in the meantime.
///
/// # Errors
/// As [`append_durable`].
pub fn open_for_appending(path: &Path) -> Result<File, OsError> {
    let (file, length) = open_or_create(path)?;
    if ends_in_partial_line(path, &file, length)? {
        write_in_one_call(&file, b"\n").or_io(path, "append to")?;
    }
    Ok(file)
}

/// Returns the pending sync of a file whose last writer may have been killed before it waited for
/// the disk. Returns `None` if there is no file.
///
/// # Errors
/// As for [`crate::read_optional`].
pub fn left_unsynced(path: &Path) -> Result<Option<PendingSync>, OsError> {
    let Some(file) = open_own(path, OFlags::RDONLY)? else {
        return Ok(None);
    };
    let appended = PendingSync::appended(path.to_owned(), file);
    // The writer may also have created the file.
    let entered = PendingSync::entered_in(directory_of(path))?;
    Ok(Some(appended.and(entered)))
}

/// Opens the file and returns its length in bytes, or `None` if it was created.
fn open_or_create(path: &Path) -> Result<(File, Option<u64>), OsError> {
    loop {
        if let Some((file, found)) = open_known(path, OFlags::RDWR | OFlags::APPEND)? {
            return Ok((file, Some(found.len())));
        }
        match create_new(path) {
            // Another process created it in the meantime.
            Err(OsError::Exists(_)) => {}
            created => return created.map(|file| (file, None)),
        }
    }
}

/// Returns whether the last byte of a file of this length is not a line break. Lines that were
/// appended since do not matter: each is complete, or the next writer completes it.
fn ends_in_partial_line(path: &Path, file: &File, length: Option<u64>) -> Result<bool, OsError> {
    let Some(end) = length.and_then(|length| length.checked_sub(1)) else {
        return Ok(false);
    };
    let mut last = [b'\n'];
    file.read_at(&mut last, end).or_io(path, "read")?;
    Ok(last != *b"\n")
}

/// Writes in a single call: the rest after a short write could end up after the line of another
/// process.
fn write_in_one_call(file: &File, block: &[u8]) -> io::Result<()> {
    match retrying(|| rustix::io::write(file, block)) {
        Ok(written) if written == block.len() => Ok(()),
        Ok(_) => Err(Errno::NOSPC.into()),
        Err(error) => Err(error.into()),
    }
}
