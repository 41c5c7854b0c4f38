//! The directories in which agent programs keep their configuration and state, as a sandbox shows
//! them.
//!
//! A program must write there, but programs of the user run from what is written there: a command
//! in its settings would run without the sandbox when the user starts the program the next time. So a
//! sandboxed program sees a directory of its member instead, in which the user's settings appear
//! read-only and its login writable.

use std::fs;
use std::path::{Path, PathBuf};

use swarm_os::namespaces::Replacement;
use swarm_os::{OsError, ensure_private_dir, replace_alone};

/// A directory of an agent program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDirectory {
    /// The user's directory.
    pub path: PathBuf,
    /// The member's directory, which the program sees in its place.
    pub private: PathBuf,
    /// Names of the user's entries that the program can read.
    pub read: Vec<String>,
    /// Names of the user's files that the program can read although they are hidden from others.
    pub secret: Vec<String>,
    /// Names of the user's files that the program can also write in place, such as a login, although
    /// they are hidden from others.
    pub write: Vec<String>,
    /// The user's files that are copied at each start, because the program replaces them.
    pub copy: Vec<PathBuf>,
}

impl StateDirectory {
    /// Creates what is missing, and returns what appears where.
    pub(crate) fn prepare(&self) -> Result<Vec<Replacement>, OsError> {
        if !self.path.is_dir() {
            ensure_private_dir(&self.path)?;
        }
        ensure_private_dir(&self.private)?;
        let path = resolved(&self.path)?;
        let mut replaced = vec![Replacement {
            path: path.clone(),
            source: resolved(&self.private)?,
            writable: true,
        }];
        let read = self.read.iter().chain(&self.secret);
        let read = read.map(|name| (name, false));
        let write = self.write.iter().map(|name| (name, true));
        for (name, writable) in read.chain(write) {
            let path = path.join(name);
            match path.canonicalize() {
                Ok(source) => {
                    make_way(&self.private.join(name), source.is_dir())?;
                    replaced.push(Replacement {
                        path,
                        source,
                        writable,
                    });
                }
                Err(_) => remove_empty(&self.private.join(name)),
            }
        }
        for file in &self.copy {
            if let (Ok(bytes), Some(name)) = (fs::read(file), file.file_name()) {
                let copy = self.private.join(name);
                make_way(&copy, false)?;
                replace_alone(&copy, &bytes)?;
            }
        }
        Ok(replaced)
    }

    /// Returns whether the program needs this path although it is hidden from others.
    pub(crate) fn needs(&self, path: &Path) -> bool {
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return false;
        };
        let mut needed = self.write.iter().chain(&self.secret);
        let same = |other: &Path| directory.canonicalize().is_ok_and(|real| real == other);
        needed.any(|needed| name == needed.as_str())
            && (directory == self.path || self.path.canonicalize().is_ok_and(|real| same(&real)))
    }
}

fn resolved(path: &Path) -> Result<PathBuf, OsError> {
    path.canonicalize().map_err(|source| OsError::Io {
        path: path.to_owned(),
        op: "resolve",
        source,
    })
}

/// Renames an entry of the member on which an entry of the user cannot appear, because one is a
/// directory and the other is not.
fn make_way(path: &Path, for_directory: bool) -> Result<(), OsError> {
    let found = path.symlink_metadata();
    // A link is removed when the entry of the user is mounted.
    let differs = |found: fs::Metadata| !found.is_symlink() && found.is_dir() != for_directory;
    if !found.is_ok_and(differs) {
        return Ok(());
    }
    let mut aside = path.to_owned();
    while aside.symlink_metadata().is_ok() {
        aside.as_mut_os_string().push(".old");
    }
    fs::rename(path, aside).map_err(|source| OsError::Io {
        path: path.to_owned(),
        op: "rename",
        source,
    })
}

/// Removes what an earlier start has mounted an entry of the user on that no longer exists.
fn remove_empty(path: &Path) {
    let is_empty = |found: fs::Metadata| found.is_file() && found.len() == 0;
    if path.symlink_metadata().is_ok_and(is_empty) {
        fs::remove_file(path).ok();
    } else {
        // Only if it is an empty directory.
        fs::remove_dir(path).ok();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_users_settings_are_read_only_its_login_writable_and_everything_else_the_members() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let state = StateDirectory {
            path: base.join("home/.codex"),
            private: base.join("members/bob/codex/0"),
            read: vec!["config.toml".to_owned(), "skills".to_owned()],
            secret: vec![".env".to_owned()],
            write: vec!["auth.json".to_owned()],
            copy: vec![base.join("home/.codex.json")],
        };
        for (name, is_needed) in [("auth.json", true), (".env", true), ("config.toml", false)] {
            assert_eq!(state.needs(&state.path.join(name)), is_needed, "{name}");
        }
        assert!(!state.needs(&base.join("home/auth.json")));
        let only_directory = state.prepare().unwrap();
        assert_eq!(only_directory.len(), 1, "a new user");
        let write = |path: &str| replace_alone(&base.join(path), b"{}").unwrap();
        write("home/settings");
        symlink(base.join("home/settings"), state.path.join("config.toml")).unwrap();
        write("home/.codex/auth.json");
        write("home/.codex.json");
        // Where `skills` was mounted before.
        fs::create_dir(state.private.join("skills")).unwrap();
        // What the program has created where the user has files.
        fs::create_dir_all(state.private.join("auth.json/mine")).unwrap();
        fs::create_dir(state.private.join("auth.json.old")).unwrap();
        fs::create_dir(state.private.join(".codex.json")).unwrap();
        let found = state.prepare().unwrap();
        let shown: Vec<_> = found
            .iter()
            .map(|one| (one.path.clone(), one.source.clone(), one.writable))
            .collect();
        let expected = [
            (state.path.clone(), state.private.clone(), true),
            (
                state.path.join("config.toml"),
                base.join("home/settings"),
                false,
            ),
            (
                state.path.join("auth.json"),
                state.path.join("auth.json"),
                true,
            ),
        ];
        assert_eq!(shown, expected);
        assert!(!state.private.join("skills").exists());
        assert!(!state.private.join("auth.json").exists());
        assert!(state.private.join("auth.json.old.old/mine").is_dir());
        assert_eq!(fs::read(state.private.join(".codex.json")).unwrap(), b"{}");
    }
}
