//! Copies files and directory trees.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::ioctl_ficlone;

use crate::OsError;
use crate::contained::not_ours;
use crate::error::OnPath as _;

/// How a file is duplicated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplication {
    /// Both files share their blocks until one of them is changed (`FICLONE`). Fails where the file
    /// system does not support it.
    Reflink,
    /// All bytes are copied.
    Copy,
}

/// Returns whether files below `directory` can share their blocks with `sample`. Tries it with a
/// temporary file.
pub fn can_reflink(directory: &Path, sample: &Path) -> bool {
    let attempt = || -> io::Result<()> {
        let probe = tempfile::tempfile_in(directory)?;
        Ok(ioctl_ficlone(&probe, File::open(sample)?)?)
    };
    attempt().is_ok()
}

/// Duplicates a regular file with its permissions. Does not follow a symbolic link at `from`, and
/// does not replace `to`.
///
/// # Errors
/// [`OsError::NotOurs`] if `from` is not a regular file, [`OsError::Exists`] if `to` exists,
/// [`OsError::Io`].
pub fn duplicate_file(from: &Path, to: &Path, how: Duplication) -> Result<(), OsError> {
    let found = fs::symlink_metadata(from).or_gone(from, "inspect")?;
    if !found.is_file() {
        return Err(not_ours(from, "it is not a regular file"));
    }
    if fs::symlink_metadata(to).is_ok() {
        return Err(OsError::exists(to));
    }
    let done = match how {
        Duplication::Copy => fs::copy(from, to).map(drop),
        Duplication::Reflink => reflink(from, to, &found),
    };
    done.or_io(from, "duplicate")
}

fn reflink(from: &Path, to: &Path, found: &fs::Metadata) -> io::Result<()> {
    let source = File::open(from)?;
    let target = File::options().write(true).create_new(true).open(to)?;
    ioctl_ficlone(&target, &source)?;
    target.set_permissions(found.permissions())
}

/// Duplicates a directory tree. Symbolic links are copied with the same text. Skips links to
/// absolute paths, which would lead back to the original, and special files; returns the skipped
/// paths.
///
/// # Errors
/// [`OsError::Exists`] if `to` exists; [`OsError::Io`] at the first file that cannot be duplicated,
/// which leaves a partial copy.
pub fn duplicate_tree(from: &Path, to: &Path, how: Duplication) -> Result<Vec<PathBuf>, OsError> {
    let mut skipped = Vec::new();
    let mut directories = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = directories.pop() {
        fs::create_dir(&to).or_gone(&to, "create the directory")?;
        let entries = fs::read_dir(&from).or_io(&from, "list")?;
        for entry in entries {
            let entry = entry.or_io(&from, "list")?;
            let (source, target) = (entry.path(), to.join(entry.file_name()));
            let kind = entry.file_type().or_io(&source, "inspect")?;
            if kind.is_dir() {
                directories.push((source, target));
            } else if kind.is_symlink() {
                if !duplicate_link(&source, &target)? {
                    skipped.push(source);
                }
            } else if kind.is_file() {
                duplicate_file(&source, &target, how)?;
            } else {
                skipped.push(source);
            }
        }
        let permissions = fs::metadata(&from).or_io(&from, "inspect")?.permissions();
        // Read-only permissions are not copied: the files of the directory could not be created any
        // more.
        if !permissions.readonly() {
            fs::set_permissions(&to, permissions).or_io(&to, "set the permissions of")?;
        }
    }
    Ok(skipped)
}

/// Creates a symbolic link with the same text. Returns `false` if it points to an absolute path.
fn duplicate_link(from: &Path, to: &Path) -> Result<bool, OsError> {
    let text = fs::read_link(from).or_io(from, "read the link")?;
    if text.is_absolute() {
        return Ok(false);
    }
    symlink(&text, to).or_io(to, "create the link")?;
    Ok(true)
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "no other process uses the files of a test"
)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn duplicates_a_directory_with_relative_links_and_without_absolute_ones() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::create_dir_all(path("from/bin")).unwrap();
        fs::write(path("from/a.js"), "a").unwrap();
        symlink("../a.js", path("from/bin/a")).unwrap();
        symlink(path("from/a.js"), path("from/bin/absolute")).unwrap();
        let skipped = duplicate_tree(&path("from"), &path("copy"), Duplication::Copy).unwrap();
        assert_eq!(skipped, [path("from/bin/absolute")]);
        assert_eq!(fs::read(path("copy/bin/a")).unwrap(), b"a");
        let inode = |name| fs::metadata(path(name)).unwrap().ino();
        assert_ne!(inode("copy/a.js"), inode("from/a.js"));
        let again = duplicate_tree(&path("from"), &path("copy"), Duplication::Copy);
        assert!(matches!(again, Err(OsError::Exists(_))), "{again:?}");
    }

    #[test]
    fn refuses_to_duplicate_a_symbolic_link() {
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
