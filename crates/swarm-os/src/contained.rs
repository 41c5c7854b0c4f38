//! Opens files in shared directories without following symbolic links.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::LazyLock;

use rustix::buffer::spare_capacity;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::OsError;
use crate::error::OnPath as _;
use crate::flock::retrying_interrupted;

/// Flags for opening shared files: the kernel refuses a symbolic link as the last component, and
/// opening a FIFO does not block.
pub(crate) const CONTAINED: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Read and write permission for the owner only.
pub(crate) const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);

/// Opens a regular file of this user. Returns `None` if it does not exist.
///
/// # Errors
/// [`OsError::NotOurs`] if it is not a regular file, belongs to another user, or is opened for
/// writing and has several hard links; [`OsError::Io`] for errors of the system.
pub(crate) fn open_own(path: &Path, access: OFlags) -> Result<Option<File>, OsError> {
    Ok(open_known(path, access)?.map(|(file, _metadata)| file))
}

/// Like [`open_own`], and returns the metadata at the time of opening.
pub(crate) fn open_known(path: &Path, access: OFlags) -> Result<Option<(File, Metadata)>, OsError> {
    let opened = retrying(|| rustix::fs::open(path, access | CONTAINED, PRIVATE_FILE));
    let file = match opened {
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(Errno::LOOP) => return Err(not_ours(path, "it is a symbolic link")),
        Err(Errno::ISDIR | Errno::NXIO) => return Err(not_ours(path, "it is not a regular file")),
        opened => File::from(opened.or_io(path, "open")?),
    };
    let metadata = file.metadata().or_io(path, "inspect")?;
    if !metadata.is_file() {
        return Err(not_ours(path, "it is not a regular file"));
    }
    refuse_other_owner(path, &metadata)?;
    // Hard links are harmless for reading, and for replacing, which creates a new file.
    if access.intersects(OFlags::RDWR | OFlags::WRONLY) && metadata.nlink() > 1 {
        let why = "it has several hard links, which would all change; replace it with a copy";
        return Err(not_ours(path, why));
    }
    Ok(Some((file, metadata)))
}

/// Returns a descriptor (`O_PATH`) of whatever is at a path. Returns `None` if there is nothing.
pub(crate) fn hold(path: &Path) -> Result<Option<File>, OsError> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = retrying(|| rustix::fs::open(path, flags, Mode::empty()));
    Ok(held.or_none(path, "inspect")?.map(File::from))
}

/// Maximum buffer size in bytes that is allocated before reading; the buffer grows for larger
/// files.
const MAX_INITIAL_BUFFER: usize = 16 * 1024 * 1024;

/// Reads a file. Returns `None` if it does not exist. If the file is replaced in the meantime,
/// returns either the old or the new content.
///
/// # Errors
/// [`OsError::NotOurs`] if it is not a regular file or belongs to another user; [`OsError::Io`] for
/// errors of the system.
pub fn read_optional(path: &Path) -> Result<Option<Vec<u8>>, OsError> {
    let Some((file, metadata)) = open_known(path, OFlags::RDONLY)? else {
        return Ok(None);
    };
    read_whole(path, &file, metadata.len()).map(Some)
}

/// Returns an empty buffer with room for one byte more than expected: a read that does not fill it has
/// reached the end.
fn buffer_for(length: u64) -> Vec<u8> {
    let length = usize::try_from(length).unwrap_or_default();
    Vec::with_capacity(length.saturating_add(1).min(MAX_INITIAL_BUFFER))
}

/// Reads a file from its current position to its end. `length` is the expected number of bytes.
pub(crate) fn read_whole(path: &Path, mut file: &File, length: u64) -> Result<Vec<u8>, OsError> {
    let mut bytes = buffer_for(length);
    let read = retrying(|| rustix::io::read(file, spare_capacity(&mut bytes)));
    if read.or_io(path, "read")? as u64 == length {
        return Ok(bytes);
    }
    // `take` avoids another query of the length, which `read_to_end` makes for a plain file.
    file.by_ref()
        .take(u64::MAX)
        .read_to_end(&mut bytes)
        .or_io(path, "read")?;
    Ok(bytes)
}

/// Reads a file from the position `from` in bytes to its end. Returns `None` if it does not exist,
/// and no bytes if it is shorter.
///
/// # Errors
/// As for [`read_optional`].
pub fn read_optional_from(path: &Path, from: u64) -> Result<Option<Vec<u8>>, OsError> {
    read_part(path, |_| from, u64::MAX)
}

/// Reads at most the first `limit` bytes of a file. Returns `None` if it does not exist.
///
/// # Errors
/// As for [`read_optional`].
pub fn read_beginning(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, OsError> {
    read_part(path, |_| 0, limit)
}

/// Reads at most the last `limit` bytes of a file. Returns `None` if it does not exist.
///
/// # Errors
/// As for [`read_optional`].
pub fn read_ending(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, OsError> {
    read_part(path, |length| length.saturating_sub(limit), limit)
}

/// Reads at most `limit` bytes from the position that `start` returns for the length of the file.
fn read_part(
    path: &Path,
    start: impl FnOnce(u64) -> u64,
    limit: u64,
) -> Result<Option<Vec<u8>>, OsError> {
    let Some((mut file, metadata)) = open_known(path, OFlags::RDONLY)? else {
        return Ok(None);
    };
    let start = start(metadata.len());
    file.seek(SeekFrom::Start(start)).or_io(path, "read")?;
    let mut bytes = buffer_for(metadata.len().saturating_sub(start).min(limit));
    let read = file.take(limit).read_to_end(&mut bytes);
    read.or_io(path, "read")?;
    Ok(Some(bytes))
}

/// Returns the names of all entries of a directory, or `None` if the directory does not exist.
/// Never returns an incomplete list.
///
/// # Errors
/// [`OsError::Io`] if the directory cannot be read completely.
pub fn names_in(directory: &Path) -> Result<Option<Vec<OsString>>, OsError> {
    let listed = retrying_interrupted(|| {
        let entries = fs::read_dir(directory)?;
        collect_names(entries.map(|entry| entry.map(|entry| entry.file_name())))
    });
    listed.or_none(directory, "list")
}

/// Returns all names, or the first error.
fn collect_names(listing: impl Iterator<Item = io::Result<OsString>>) -> io::Result<Vec<OsString>> {
    listing.collect()
}

/// Refuses files of other users.
pub(crate) fn refuse_other_owner(path: &Path, metadata: &Metadata) -> Result<(), OsError> {
    if metadata.uid() == own_user() {
        Ok(())
    } else {
        Err(not_ours(path, "it belongs to another user"))
    }
}

/// Returns the effective user id of this process, which never changes.
pub(crate) fn own_user() -> u32 {
    static USER: LazyLock<u32> = LazyLock::new(|| rustix::process::geteuid().as_raw());
    *USER
}

/// Returns device and inode number. They identify a file or directory while it is open; afterwards
/// the number may be reused.
pub(crate) fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Returns the metadata of whatever is at a path, or `None` if there is nothing.
pub(crate) fn metadata_at(path: &Path) -> Result<Option<Metadata>, OsError> {
    fs::symlink_metadata(path).or_none(path, "inspect")
}

pub(crate) fn is_current(path: &Path, file: &File) -> Result<bool, OsError> {
    let opened = file.metadata().or_io(path, "inspect")?;
    Ok(metadata_at(path)?.is_some_and(|there| identity(&there) == identity(&opened)))
}

pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Repeats a system call while signals interrupt it.
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
    File::open(directory).or_gone(directory, "open the directory")
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    #[test]
    fn an_incomplete_listing_is_an_error() {
        let name = || Ok(OsString::from("a"));
        assert_eq!(
            collect_names([name(), name()].into_iter()).unwrap().len(),
            2
        );
        let broken = Err(io::Error::from(ErrorKind::TimedOut));
        let listed = collect_names([name(), broken, name()].into_iter());
        assert_eq!(listed.unwrap_err().kind(), ErrorKind::TimedOut);
    }
}
