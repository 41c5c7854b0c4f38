//! Reads several files of one directory through one open descriptor.

use std::ffi::OsStr;
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, RawDir};
use rustix::io::Errno;

use crate::OsError;
use crate::contained::{CONTAINED, own_user, read_optional, retrying};
use crate::error::OnPath as _;

/// Buffer size for directory entries in bytes: about a thousand short names per system call.
const ENTRY_BUFFER_BYTES: usize = 32 * 1024;

/// Shorter files are read by one system call, in bytes.
const SHORT_FILE_BYTES: usize = 16 * 1024;

/// Permission to write for users other than the owner.
const WRITE_BY_OTHERS: u32 = Mode::WGRP.union(Mode::WOTH).bits();

/// An open directory. Reading its short files through the descriptor saves the kernel a path lookup
/// for each of them.
#[derive(Debug)]
pub struct DirReader {
    path: PathBuf,
    opened: File,
    /// Whether only this user can create files in it, so that their owner need not be checked.
    is_private: bool,
}

impl DirReader {
    /// Opens a directory. Returns `None` if it does not exist.
    ///
    /// # Errors
    /// [`OsError::Io`] if the directory cannot be opened.
    pub fn open(path: PathBuf) -> Result<Option<Self>, OsError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = retrying(|| rustix::fs::openat(CWD, &path, flags, Mode::empty()));
        let Some(opened) = opened.or_none(&path, "list")?.map(File::from) else {
            return Ok(None);
        };
        let metadata = opened.metadata().or_io(&path, "inspect")?;
        let is_private = metadata.uid() == own_user() && metadata.mode() & WRITE_BY_OTHERS == 0;
        Ok(Some(Self {
            path,
            opened,
            is_private,
        }))
    }

    /// Returns what `pick` makes of the names of the entries. Call it once: the kernel continues a
    /// second listing where the first one stopped.
    ///
    /// # Errors
    /// [`OsError::Io`] if the directory cannot be read completely.
    pub fn pick_names<T>(&self, pick: impl Fn(&OsStr) -> Option<T>) -> Result<Vec<T>, OsError> {
        let mut buffer = vec![MaybeUninit::uninit(); ENTRY_BUFFER_BYTES];
        let mut listing = RawDir::new(self.opened.as_fd(), &mut buffer);
        let mut picked = Vec::new();
        while let Some(entry) = listing.next() {
            match entry {
                Ok(entry) => {
                    let name = entry.file_name().to_bytes();
                    if name != b"." && name != b".." {
                        picked.extend(pick(OsStr::from_bytes(name)));
                    }
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(OsError::io(&self.path, "list", error)),
            }
        }
        Ok(picked)
    }

    /// Reads a file of this directory, like [`read_optional`].
    pub fn read(&self, name: impl AsRef<Path>) -> Result<Option<Vec<u8>>, OsError> {
        let name = name.as_ref();
        let short = self.is_private.then(|| self.read_short(name)).flatten();
        match short {
            Some(bytes) => Ok(Some(bytes)),
            None => read_optional(&self.path.join(name)),
        }
    }

    /// Reads a short file. Returns `None` for others, for an empty one, which may be a FIFO, and on
    /// errors.
    fn read_short(&self, name: &Path) -> Option<Vec<u8>> {
        let flags = OFlags::RDONLY | CONTAINED;
        let file = rustix::fs::openat(&self.opened, name, flags, Mode::empty()).ok()?;
        let mut buffer = [const { MaybeUninit::uninit() }; SHORT_FILE_BYTES];
        let (bytes, rest) = rustix::io::read(&file, &mut buffer[..]).ok()?;
        (!bytes.is_empty() && !rest.is_empty()).then(|| bytes.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::{create_private_file, replace_alone};

    fn names(reader: &DirReader) -> Vec<OsString> {
        let listed = reader.pick_names(|name| Some(name.to_owned()));
        let mut names = listed.unwrap();
        names.sort();
        names
    }

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
        assert_eq!(names(&reader), ["a", "c", "d"]);
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
    fn reads_long_empty_and_irregular_files_and_those_of_shared_directories() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_owned();
        let long = vec![b'x'; SHORT_FILE_BYTES];
        replace_alone(&path.join("long"), &long).unwrap();
        replace_alone(&path.join("empty"), b"").unwrap();
        rustix::fs::mkfifoat(CWD, path.join("fifo"), Mode::RUSR | Mode::WUSR).unwrap();
        for mode in [0o700, 0o777] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let reader = DirReader::open(path.clone()).unwrap().unwrap();
            assert_eq!(reader.is_private, mode == 0o700);
            assert_eq!(reader.read("long").unwrap().unwrap(), long);
            assert_eq!(reader.read("empty").unwrap().unwrap(), b"");
            match reader.read("fifo") {
                Err(OsError::NotOurs { path: found, .. }) => assert_eq!(found, path.join("fifo")),
                other => panic!("{other:?}"),
            }
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
        created.sort();
        assert_eq!(names(&reader), created);
    }
}
