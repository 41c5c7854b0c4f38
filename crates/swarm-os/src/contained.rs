//! Opening files in shared directories without being led elsewhere.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::LazyLock;

use rustix::buffer::spare_capacity;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::OsError;
use crate::waiting::retrying_interrupted;

/// What every open of a shared file is made with: a symbolic link in the last place is refused by the
/// kernel, and a FIFO put in a file's place cannot make the open hang.
const CONTAINED: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Owner reads and writes, nobody else anything.
pub(crate) const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);

/// Opens a regular file of this user; `None` if there is none.
///
/// # Errors
/// [`OsError::NotOurs`] for a symbolic link, for anything else that is not a regular file, for another user's file, and
/// to be written, for one that has a second name; [`OsError::Io`] for what the system refuses.
pub(crate) fn open_own(path: &Path, access: OFlags) -> Result<Option<File>, OsError> {
    Ok(open_known(path, access)?.map(|(file, _metadata)| file))
}

/// The same, with what was known of the file when it was opened.
pub(crate) fn open_known(path: &Path, access: OFlags) -> Result<Option<(File, Metadata)>, OsError> {
    open_known_at(CWD, path, access)
}

/// The same for a path that is relative to an open directory.
pub(crate) fn open_known_at(
    directory: BorrowedFd<'_>,
    path: &Path,
    access: OFlags,
) -> Result<Option<(File, Metadata)>, OsError> {
    let opened = retrying(|| rustix::fs::openat(directory, path, access | CONTAINED, PRIVATE_FILE));
    let file = match opened {
        Ok(descriptor) => File::from(descriptor),
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(Errno::LOOP) => return Err(not_ours(path, "it is a symbolic link")),
        Err(Errno::ISDIR | Errno::NXIO) => return Err(not_ours(path, "it is not a regular file")),
        Err(error) => return Err(OsError::io(path, "open", error)),
    };
    let metadata = file
        .metadata()
        .map_err(|error| OsError::io(path, "look at", error))?;
    if !metadata.is_file() {
        return Err(not_ours(path, "it is not a regular file"));
    }
    refuse_other_owner(path, &metadata)?;
    // What is read under two names does no harm, and what is replaced gets a file of its own.
    if access.intersects(OFlags::RDWR | OFlags::WRONLY) && metadata.nlink() > 1 {
        let why = "it has another name (a hard link) under which it would change too; put a copy in its place";
        return Err(not_ours(path, why));
    }
    Ok(Some((file, metadata)))
}

/// Holds on to whatever is at a path, without opening it; `None` if there is nothing.
pub(crate) fn hold(path: &Path) -> Result<Option<File>, OsError> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match retrying(|| rustix::fs::open(path, flags, Mode::empty())) {
        Ok(descriptor) => Ok(Some(File::from(descriptor))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(OsError::io(path, "look at", error)),
    }
}

/// How much room is made for a file before it is read; a longer one makes its room as it comes.
const MOST_AT_ONCE: usize = 16 * 1024 * 1024;

/// Reads a whole file; `None` if there is none. A file that is replaced meanwhile is read as it was
/// before or as it is after, never mixed.
///
/// # Errors
/// [`OsError::NotOurs`] for a symbolic link, for anything else that is not a regular file, and for
/// another user's file; [`OsError::Io`] for what the system refuses.
pub fn read_optional(path: &Path) -> Result<Option<Vec<u8>>, OsError> {
    let Some((file, metadata)) = open_known(path, OFlags::RDONLY)? else {
        return Ok(None);
    };
    read_whole(path, &file, metadata.len()).map(Some)
}

/// Reads a file from where it stands to its end, which `length` tells nearly always.
pub(crate) fn read_whole(path: &Path, mut file: &File, length: u64) -> Result<Vec<u8>, OsError> {
    let failed = |error: io::Error| OsError::io(path, "read", error);
    // One byte more, so that a file of this length shows that it ends there: a read that leaves room is at the end.
    let length = usize::try_from(length).unwrap_or_default();
    let mut bytes = Vec::with_capacity(length.saturating_add(1).min(MOST_AT_ONCE));
    let read = retrying(|| rustix::io::read(file, spare_capacity(&mut bytes)));
    if read.map_err(|error| failed(error.into()))? == length {
        return Ok(bytes);
    }
    // By way of `take`, because a file that is read to its end by itself is asked for its length once more.
    file.by_ref()
        .take(u64::MAX)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    Ok(bytes)
}

/// Reads a file from the position `from` in bytes to its end; `None` if there is none. Nothing when it is shorter.
///
/// # Errors
/// As for [`read_optional`].
pub fn read_optional_from(path: &Path, from: u64) -> Result<Option<Vec<u8>>, OsError> {
    let Some(mut file) = open_own(path, OFlags::RDONLY)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from))
        .and_then(|_| file.read_to_end(&mut bytes))
        .map_err(|error| OsError::io(path, "read", error))?;
    Ok(Some(bytes))
}

/// Reads the first `limit` bytes of a file at most; `None` if there is none.
///
/// # Errors
/// As for [`read_optional`].
pub fn read_beginning(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, OsError> {
    let Some(file) = open_own(path, OFlags::RDONLY)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    file.take(limit)
        .read_to_end(&mut bytes)
        .map_err(|error| OsError::io(path, "read", error))?;
    Ok(Some(bytes))
}

/// Reads the last `limit` bytes of a file at most; `None` if there is none.
///
/// # Errors
/// As for [`read_optional`].
pub fn read_ending(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, OsError> {
    let Some((mut file, metadata)) = open_known(path, OFlags::RDONLY)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(metadata.len().saturating_sub(limit)))
        .and_then(|_| file.take(limit).read_to_end(&mut bytes))
        .map_err(|error| OsError::io(path, "read", error))?;
    Ok(Some(bytes))
}

/// The names in a directory; `None` if it is not there. All of them or an error: what could not be listed does not look as
/// if it were not there.
///
/// # Errors
/// [`OsError::Io`] for what the system refuses, also half-way.
pub fn names_in(directory: &Path) -> Result<Option<Vec<OsString>>, OsError> {
    let listed = retrying_interrupted(|| {
        let entries = fs::read_dir(directory)?;
        whole(entries.map(|entry| entry.map(|entry| entry.file_name())))
    });
    match listed {
        Ok(names) => Ok(Some(names)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(OsError::io(directory, "list", error)),
    }
}

/// All of a listing, or why it broke off.
fn whole(listing: impl Iterator<Item = io::Result<OsString>>) -> io::Result<Vec<OsString>> {
    listing.collect()
}

/// Refuses what belongs to another user.
pub(crate) fn refuse_other_owner(path: &Path, metadata: &Metadata) -> Result<(), OsError> {
    if metadata.uid() == own_user() {
        Ok(())
    } else {
        Err(not_ours(path, "it belongs to another user"))
    }
}

/// The user that this process acts as, which never changes.
pub(crate) fn own_user() -> u32 {
    static USER: LazyLock<u32> = LazyLock::new(|| rustix::process::geteuid().as_raw());
    *USER
}

/// Which file or directory this is, for as long as somebody keeps it open: a free inode number is given
/// to the next comer.
pub(crate) fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// The directory that holds `path`.
pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Runs a system call again for as long as a signal interrupts it.
pub(crate) fn retrying<T>(
    mut call: impl FnMut() -> rustix::io::Result<T>,
) -> rustix::io::Result<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}

pub(crate) fn not_ours(path: &Path, why: &'static str) -> OsError {
    OsError::NotOurs {
        path: path.to_owned(),
        why,
    }
}

pub(crate) fn open_directory(directory: &Path) -> Result<File, OsError> {
    File::open(directory)
        .map_err(|error| OsError::gone_or_io(directory, "open the directory", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_that_breaks_off_is_an_error_and_not_a_short_one() {
        let name = || Ok(OsString::from("a"));
        assert_eq!(whole([name(), name()].into_iter()).unwrap().len(), 2);
        let broken = Err(io::Error::from(ErrorKind::TimedOut));
        let listed = whole([name(), broken, name()].into_iter());
        assert_eq!(listed.unwrap_err().kind(), ErrorKind::TimedOut);
    }
}
