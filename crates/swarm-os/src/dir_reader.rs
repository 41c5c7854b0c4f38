//! Reads several files of one directory through one open descriptor.

use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, RawDir};
use rustix::io::Errno;

use crate::OsError;
use crate::contained::{open_known_at, read_optional, read_whole, retrying};
use crate::error::OnPath as _;

/// Buffer size for directory entries in bytes: about a thousand short names per system call.
const ENTRY_BUFFER_BYTES: usize = 32 * 1024;

/// An open directory. Reading its files through the descriptor saves the kernel a path lookup for
/// each of them.
#[derive(Debug)]
pub struct DirReader {
    path: PathBuf,
    opened: OwnedFd,
}

impl DirReader {
    /// Opens a directory. Returns `None` if it does not exist.
    ///
    /// # Errors
    /// [`OsError::Io`] if the directory cannot be opened.
    pub fn open(path: PathBuf) -> Result<Option<Self>, OsError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = retrying(|| rustix::fs::openat(CWD, &path, flags, Mode::empty()));
        let opened = opened.or_none(&path, "list")?;
        Ok(opened.map(|opened| Self { path, opened }))
    }

    /// Returns the names of all entries. Call it once: the kernel continues a second listing where
    /// the first one stopped.
    ///
    /// # Errors
    /// [`OsError::Io`] if the directory cannot be read completely.
    pub fn names(&self) -> Result<Vec<OsString>, OsError> {
        let mut buffer = vec![MaybeUninit::uninit(); ENTRY_BUFFER_BYTES];
        let mut listing = RawDir::new(self.opened.as_fd(), &mut buffer);
        let mut names = Vec::new();
        while let Some(entry) = listing.next() {
            match entry {
                Ok(entry) => {
                    let name = entry.file_name().to_bytes();
                    if name != b"." && name != b".." {
                        names.push(OsStr::from_bytes(name).to_owned());
                    }
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(OsError::io(&self.path, "list", error)),
            }
        }
        Ok(names)
    }

    /// Reads a file of this directory, like [`read_optional`].
    pub fn read(&self, name: impl AsRef<Path>) -> Result<Option<Vec<u8>>, OsError> {
        let name = name.as_ref();
        let read = match open_known_at(self.opened.as_fd(), name, OFlags::RDONLY) {
            Ok(Some((file, metadata))) => read_whole(name, &file, metadata.len()).map(Some),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        };
        // Repeated for the error, which names the whole path.
        read.or_else(|_| read_optional(&self.path.join(name)))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::{create_private_file, replace_alone};

    #[test]
    fn reads_files_by_name_and_reports_whole_paths_in_errors() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_owned();
        assert!(DirReader::open(path.join("none")).unwrap().is_none());
        fs::create_dir(path.join("a")).unwrap();
        replace_alone(&path.join("a/b"), b"inner").unwrap();
        replace_alone(&path.join("c"), b"outer").unwrap();
        symlink(path.join("c"), path.join("d")).unwrap();
        let reader = DirReader::open(path.clone()).unwrap().unwrap();
        let mut names = reader.names().unwrap();
        names.sort();
        assert_eq!(names, ["a", "c", "d"]);
        let read = |name: &str| reader.read(name).map(Option::unwrap_or_default);
        assert_eq!(read("c").unwrap(), b"outer");
        assert_eq!(read("a/b").unwrap(), b"inner");
        assert_eq!(reader.read("e").unwrap(), None);
        match read("d") {
            Err(OsError::NotOurs { path: found, .. }) => assert_eq!(found, path.join("d")),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn lists_more_names_than_one_system_call_returns() {
        let directory = tempfile::tempdir().unwrap();
        let mut created: Vec<OsString> = (0..3000)
            .map(|number| OsString::from(format!("file-{number}")))
            .collect();
        for name in &created {
            create_private_file(&directory.path().join(name)).unwrap();
        }
        let reader = DirReader::open(directory.path().to_owned())
            .unwrap()
            .unwrap();
        let mut names = reader.names().unwrap();
        names.sort();
        created.sort();
        assert_eq!(names, created);
    }
}
