//! Appending whole lines to a file that others append to as well.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::OsError;
use crate::contained::{directory_of, open_directory, open_known, open_own, retrying};
use crate::disk::{Step, log};
use crate::pending_sync::PendingSync;
use crate::private::create_new;

/// Appends `bytes`, one or more whole lines, in one write and returns once they are on disk. A missing
/// file is made with mode 0600; a missing newline at the end is added. Needs no lock: the kernel keeps
/// appending writes apart.
///
/// A partial last line, left by a writer that was killed or ran out of space, is ended first and so
/// stays behind as a line of its own: it is never cut off, because it may be another writer's.
///
/// # Errors
/// [`OsError::Gone`] if the directory is missing, [`OsError::NotOurs`] for a symbolic link and the like. After
/// [`OsError::Io`] the line may be there in part, never followed by anything else on the same line.
pub fn append_durable(path: &Path, bytes: &[u8]) -> Result<(), OsError> {
    append(path, bytes)?.sync()
}

/// The same without the wait for the disk.
///
/// # Errors
/// As [`append_durable`].
pub fn append(path: &Path, bytes: &[u8]) -> Result<PendingSync, OsError> {
    let (file, length) = open_or_create(path)?;
    let mut block = Vec::with_capacity(bytes.len() + 2);
    if ends_in_partial_line(path, &file, length)? {
        block.push(b'\n');
    }
    block.extend_from_slice(bytes);
    if !bytes.ends_with(b"\n") {
        block.push(b'\n');
    }
    write_at_once(&file, &block).map_err(|error| OsError::io(path, "append to", error))?;
    log(Step::Wrote, path);
    let appended = PendingSync::appended(path.to_owned(), file);
    if length.is_none() {
        log(Step::Entered, path);
        let directory = directory_of(path);
        let entered = PendingSync::entered(directory.to_owned(), open_directory(directory)?);
        return Ok(appended.and(entered));
    }
    Ok(appended)
}

/// Opens a file to which a program is to append, as [`append`] would; it is at the beginning of a line. The descriptor is
/// of the file that was looked at, whatever is put in its place meanwhile.
///
/// # Errors
/// As [`append_durable`].
pub fn open_for_appending(path: &Path) -> Result<File, OsError> {
    let (file, length) = open_or_create(path)?;
    if ends_in_partial_line(path, &file, length)? {
        write_at_once(&file, b"\n").map_err(|error| OsError::io(path, "append to", error))?;
    }
    Ok(file)
}

/// What stands in a file and perhaps not on disk yet, because whoever appended it was killed before the wait. `None` if there
/// is no file.
///
/// # Errors
/// As for [`crate::read_optional`].
pub fn left_unsynced(path: &Path) -> Result<Option<PendingSync>, OsError> {
    let Some(file) = open_own(path, OFlags::RDONLY)? else {
        return Ok(None);
    };
    // It may have been the one that made the file, too.
    let directory = directory_of(path);
    let entered = PendingSync::entered(directory.to_owned(), open_directory(directory)?);
    Ok(Some(
        PendingSync::appended(path.to_owned(), file).and(entered),
    ))
}

/// The file, and its length if it existed.
fn open_or_create(path: &Path) -> Result<(File, Option<u64>), OsError> {
    loop {
        if let Some((file, found)) = open_known(path, OFlags::RDWR | OFlags::APPEND)? {
            return Ok((file, Some(found.len())));
        }
        match create_new(path) {
            // Another process created it in between.
            Err(OsError::Exists { .. }) => {}
            created => return created.map(|file| (file, None)),
        }
    }
}

/// Whether the last byte of a file of this length is not the end of a line. Lines that others have appended since do not
/// matter: each is complete, or left behind by a writer that the next one finds.
fn ends_in_partial_line(path: &Path, file: &File, length: Option<u64>) -> Result<bool, OsError> {
    let Some(end) = length.and_then(|length| length.checked_sub(1)) else {
        return Ok(false);
    };
    let mut last = [b'\n'];
    file.read_at(&mut last, end)
        .map_err(|error| OsError::io(path, "read", error))?;
    Ok(last != *b"\n")
}

/// One write and no second: what follows a short write could land behind another process's line.
fn write_at_once(file: &File, block: &[u8]) -> io::Result<()> {
    match retrying(|| rustix::io::write(file, block)) {
        Ok(written) if written == block.len() => Ok(()),
        Ok(_) => Err(Errno::NOSPC.into()),
        Err(error) => Err(error.into()),
    }
}
