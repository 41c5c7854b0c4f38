//! Copies of files and of whole directories.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::ioctl_ficlone;

use crate::OsError;

/// How a file is duplicated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplication {
    /// The two share their blocks until one is changed (`FICLONE`). Where the file system cannot do that, it fails.
    Reflink,
    /// All bytes are copied.
    Copy,
}

/// Whether files below `directory` can share their blocks with files below `other`. Tried with a temporary file.
pub fn can_reflink(directory: &Path, sample: &Path) -> bool {
    let try_it = || -> io::Result<()> {
        let probe = tempfile::tempfile_in(directory)?;
        Ok(ioctl_ficlone(&probe, File::open(sample)?)?)
    };
    try_it().is_ok()
}

/// Duplicates one regular file with its permissions. A symbolic link at `from` is not followed, and nothing that is at
/// `to` is replaced.
///
/// # Errors
/// [`OsError::NotOurs`] if `from` is no regular file, [`OsError::Exists`], [`OsError::Io`].
pub fn duplicate_file(from: &Path, to: &Path, how: Duplication) -> Result<(), OsError> {
    let found =
        fs::symlink_metadata(from).map_err(|error| OsError::gone_or_io(from, "look at", error))?;
    if !found.is_file() {
        return Err(OsError::NotOurs {
            path: from.to_owned(),
            why: "it is not a regular file",
        });
    }
    if fs::symlink_metadata(to).is_ok() {
        return Err(OsError::Exists {
            path: to.to_owned(),
        });
    }
    let done = match how {
        Duplication::Copy => fs::copy(from, to).map(drop),
        Duplication::Reflink => reflink(from, to, &found),
    };
    done.map_err(|error| OsError::io(from, "duplicate", error))
}

fn reflink(from: &Path, to: &Path, found: &fs::Metadata) -> io::Result<()> {
    let source = File::open(from)?;
    let target = File::options().write(true).create_new(true).open(to)?;
    ioctl_ficlone(&target, &source)?;
    target.set_permissions(found.permissions())
}

/// Duplicates a directory with everything in it. Symbolic links are made anew with the same text; those that point to an
/// absolute path are left out, since they would lead back to where the copy came from. Returns what was left out.
///
/// # Errors
/// [`OsError::Exists`] if anything is at `to`; [`OsError::Io`] at the first file that cannot be duplicated: what was made
/// until then is still there.
pub fn duplicate_tree(from: &Path, to: &Path, how: Duplication) -> Result<Vec<PathBuf>, OsError> {
    let mut left_out = Vec::new();
    let mut directories = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = directories.pop() {
        fs::create_dir(&to).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => OsError::Exists { path: to.clone() },
            _ => OsError::gone_or_io(&to, "make the directory", error),
        })?;
        let entries = fs::read_dir(&from).map_err(|error| OsError::io(&from, "list", error))?;
        for entry in entries {
            let entry = entry.map_err(|error| OsError::io(&from, "list", error))?;
            let (source, target) = (entry.path(), to.join(entry.file_name()));
            let kind = entry
                .file_type()
                .map_err(|error| OsError::io(&source, "look at", error))?;
            if kind.is_dir() {
                directories.push((source, target));
            } else if kind.is_symlink() {
                if !duplicate_link(&source, &target)? {
                    left_out.push(source);
                }
            } else if kind.is_file() {
                duplicate_file(&source, &target, how)?;
            } else {
                left_out.push(source);
            }
        }
        let permissions = fs::metadata(&from)
            .map_err(|error| OsError::io(&from, "look at", error))?
            .permissions();
        // A directory that nobody may write gets that back only when it is full; its owner can always list it.
        if !permissions.readonly() {
            fs::set_permissions(&to, permissions)
                .map_err(|error| OsError::io(&to, "set the permissions of", error))?;
        }
    }
    Ok(left_out)
}

/// Makes a symbolic link with the same text; `false` when it points to an absolute path.
fn duplicate_link(from: &Path, to: &Path) -> Result<bool, OsError> {
    let text = fs::read_link(from).map_err(|error| OsError::io(from, "read the link", error))?;
    if text.is_absolute() {
        return Ok(false);
    }
    symlink(&text, to).map_err(|error| OsError::io(to, "make the link", error))?;
    Ok(true)
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "the files of a test are nobody else's"
)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_directory_is_duplicated_with_its_links_and_without_those_that_lead_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::create_dir_all(path("from/bin")).unwrap();
        fs::write(path("from/a.js"), "a").unwrap();
        symlink("../a.js", path("from/bin/a")).unwrap();
        symlink(path("from/a.js"), path("from/bin/absolute")).unwrap();
        let left_out = duplicate_tree(&path("from"), &path("copy"), Duplication::Copy).unwrap();
        assert_eq!(left_out, [path("from/bin/absolute")]);
        assert_eq!(fs::read(path("copy/bin/a")).unwrap(), b"a");
        let inode = |name| fs::metadata(path(name)).unwrap().ino();
        assert_ne!(inode("copy/a.js"), inode("from/a.js"));
        let again = duplicate_tree(&path("from"), &path("copy"), Duplication::Copy);
        assert!(matches!(again, Err(OsError::Exists { .. })), "{again:?}");
    }

    #[test]
    fn a_file_that_is_a_link_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("secret"), "s").unwrap();
        symlink("secret", path("link")).unwrap();
        let refused = duplicate_file(&path("link"), &path("copy"), Duplication::Copy);
        assert!(
            matches!(refused, Err(OsError::NotOurs { .. })),
            "{refused:?}"
        );
        assert!(!path("copy").exists());
    }
}
