//! Appending whole lines to a file that others append to as well.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::FsError;
use crate::contained::{folder_of, open_own, retrying};
use crate::disk::{Step, log};
use crate::private::create_new;
use crate::replace::open_folder;
use crate::settle::Unsettled;

/// Appends `bytes`, one or more whole lines, in one write and returns once they are on disk. A missing
/// file is made with mode 0600; a missing newline at the end is added. Needs no lock: the kernel keeps
/// appending writes apart.
///
/// A partial last line, left by a writer that was killed or ran out of space, is ended first and so
/// stays behind as a line of its own: it is never cut off, because it may be another writer's.
///
/// # Errors
/// [`FsError::Gone`] if the folder is missing, [`FsError::NotOurs`] for a symbolic link and the like. After
/// [`FsError::Io`] the line may be there in part, never followed by anything else on the same line.
pub fn append_durable(path: &Path, bytes: &[u8]) -> Result<(), FsError> {
    append(path, bytes)?.settle()
}

/// The same without the wait for the disk.
///
/// # Errors
/// As [`append_durable`].
pub fn append(path: &Path, bytes: &[u8]) -> Result<Unsettled, FsError> {
    let (file, is_new) = open_or_create(path)?;
    let mut block = Vec::with_capacity(bytes.len() + 2);
    if !is_new && ends_in_partial_line(&file).map_err(|error| FsError::io(path, "read", error))? {
        block.push(b'\n');
    }
    block.extend_from_slice(bytes);
    if !bytes.ends_with(b"\n") {
        block.push(b'\n');
    }
    write_at_once(&file, &block).map_err(|error| FsError::io(path, "append to", error))?;
    log(Step::Wrote, path);
    let appended = Unsettled::appended(path.to_owned(), file);
    if is_new {
        log(Step::Entered, path);
        let folder = folder_of(path);
        let entered = Unsettled::entered(folder.to_owned(), open_folder(folder)?);
        return Ok(appended.and(entered));
    }
    Ok(appended)
}

/// Opens a file to which a program is to append, as [`append`] would; it is at the beginning of a line. The descriptor is
/// of the file that was looked at, whatever is put in its place meanwhile.
///
/// # Errors
/// As [`append_durable`].
pub fn open_for_appending(path: &Path) -> Result<File, FsError> {
    let (file, is_new) = open_or_create(path)?;
    if !is_new && ends_in_partial_line(&file).map_err(|error| FsError::io(path, "read", error))? {
        write_at_once(&file, b"\n").map_err(|error| FsError::io(path, "append to", error))?;
    }
    Ok(file)
}

/// What stands in a file and perhaps not on disk yet, because whoever appended it was killed before the wait. `None` if there
/// is no file.
///
/// # Errors
/// As for [`crate::read_optional`].
pub fn left_unsettled(path: &Path) -> Result<Option<Unsettled>, FsError> {
    let Some(file) = open_own(path, OFlags::RDONLY)? else {
        return Ok(None);
    };
    // It may have been the one that made the file, too.
    let folder = folder_of(path);
    let entered = Unsettled::entered(folder.to_owned(), open_folder(folder)?);
    Ok(Some(
        Unsettled::appended(path.to_owned(), file).and(entered),
    ))
}

fn open_or_create(path: &Path) -> Result<(File, bool), FsError> {
    loop {
        if let Some(file) = open_own(path, OFlags::RDWR | OFlags::APPEND)? {
            return Ok((file, false));
        }
        match create_new(path) {
            // Another process made it in between.
            Err(FsError::Exists { .. }) => {}
            created => return created.map(|file| (file, true)),
        }
    }
}

fn ends_in_partial_line(file: &File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.read_at(&mut last, length - 1)?;
    }
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
