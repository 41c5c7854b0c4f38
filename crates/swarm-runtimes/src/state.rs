//! The directories in which agent programs keep their configuration and state, as a sandbox shows
//! them.
//!
//! A program must write there, but programs of the user run from what is written there: a command
//! in its settings would run without the sandbox when the user starts the program the next time. So a
//! sandboxed program sees a directory of its member instead, in which the user's settings appear
//! read-only and its login writable.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use swarm_os::namespaces::Replacement;
use swarm_os::{ensure_private_dir, replace_alone};

/// A directory of an agent program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDirectory {
    /// The user's directory.
    pub path: PathBuf,
    /// The member's directory, which the program sees in its place.
    pub private: PathBuf,
    /// Names of the user's entries that the program can read.
    pub read: Vec<String>,
    /// Names of the user's files that the program can also write in place, such as a login.
    pub write: Vec<String>,
    /// The user's files that are copied at each start, because the program replaces them.
    pub copy: Vec<PathBuf>,
}

impl StateDirectory {
    /// Creates what is missing, and returns what appears where.
    pub(crate) fn prepare(&self) -> io::Result<Vec<Replacement>> {
        if !self.path.is_dir() {
            ensure_private_dir(&self.path).map_err(io::Error::other)?;
        }
        ensure_private_dir(&self.private).map_err(io::Error::other)?;
        let path = self.path.canonicalize()?;
        let mut replaced = vec![Replacement {
            path: path.clone(),
            source: self.private.canonicalize()?,
            writable: true,
        }];
        let read = self.read.iter().map(|name| (name, false));
        let write = self.write.iter().map(|name| (name, true));
        for (name, writable) in read.chain(write) {
            let path = path.join(name);
            match path.canonicalize() {
                Ok(source) => replaced.push(Replacement {
                    path,
                    source,
                    writable,
                }),
                Err(_) => remove_empty(&self.private.join(name)),
            }
        }
        for file in &self.copy {
            if let (Ok(bytes), Some(name)) = (fs::read(file), file.file_name()) {
                replace_alone(&self.private.join(name), &bytes).map_err(io::Error::other)?;
            }
        }
        Ok(replaced)
    }
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
            write: vec!["auth.json".to_owned()],
            copy: vec![base.join("home/.codex.json")],
        };
        let only_directory = state.prepare().unwrap();
        assert_eq!(only_directory.len(), 1, "a new user");
        let write = |path: &str| replace_alone(&base.join(path), b"{}").unwrap();
        write("home/settings");
        symlink(base.join("home/settings"), state.path.join("config.toml")).unwrap();
        write("home/.codex/auth.json");
        write("home/.codex.json");
        // Where `skills` was mounted before.
        fs::create_dir(state.private.join("skills")).unwrap();
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
        assert_eq!(fs::read(state.private.join(".codex.json")).unwrap(), b"{}");
    }
}
