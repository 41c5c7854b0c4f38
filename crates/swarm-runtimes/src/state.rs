//! The directories in which agent programs keep their configuration and state, as a sandbox shows
//! them.
//!
//! A program must write there, but programs of the user run from what is written there: a command
//! in its settings would run without the sandbox when the user starts the program the next time. So a
//! sandboxed program sees a directory of its member instead, in which the user's settings appear
//! read-only and its login writable: mounted in its place, or, where nothing can be mounted, named by
//! the variable that moves it, with links to the user's files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use swarm_os::namespaces::Replacement;
use swarm_os::{OsError, ensure_private_dir, replace_alone};

use crate::SettingsCopy;

/// A directory of an agent program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDirectory {
    /// The user's directory.
    pub path: PathBuf,
    /// Variable that moves it.
    pub variable: String,
    /// The member's directory: the value of that variable where nothing can be mounted.
    pub private: PathBuf,
    /// Path from the value of the variable to the directory that the program sees in the place of the
    /// user's; may be empty.
    pub inner: String,
    /// Names of the user's entries that the program can read.
    pub read: Vec<String>,
    /// Names of the user's files that the program can read although they are hidden from others.
    pub secret: Vec<String>,
    /// Names of the user's files that the program can also write in place, such as a login, although
    /// they are hidden from others.
    pub write: Vec<String>,
    /// The user's settings of which it gets a copy at each start, because it replaces the file.
    pub copy: Option<SettingsCopy>,
}

/// Files that a program sees by links.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Links {
    pub(crate) readable: Vec<PathBuf>,
    pub(crate) writable: Vec<PathBuf>,
}

impl StateDirectory {
    /// Creates what is missing, and returns what appears where.
    pub(crate) fn mounts(&self) -> Result<Vec<Replacement>, OsError> {
        let own = self.create()?;
        let path = resolved(&self.path)?;
        let mut replaced = vec![Replacement {
            path: path.clone(),
            source: own.clone(),
            writable: true,
        }];
        for (name, writable) in self.entries() {
            let (path, shown) = (path.join(name), own.join(name));
            match path.canonicalize() {
                Ok(source) => {
                    make_way(&shown, Some(source.is_dir()))?;
                    replaced.push(Replacement {
                        path,
                        source,
                        writable,
                    });
                }
                Err(_) => remove_empty(&shown),
            }
        }
        Ok(replaced)
    }

    /// Creates what is missing, with links to what the program can use of the user's directory.
    pub(crate) fn links(&self) -> Result<Links, OsError> {
        let own = self.create()?;
        let mut links = Links {
            readable: Vec::new(),
            writable: vec![resolved(&self.private)?],
        };
        for (name, writable) in self.entries() {
            let shown = own.join(name);
            if shown.is_symlink() {
                fs::remove_file(&shown).map_err(failed("remove", &shown))?;
            } else {
                remove_empty(&shown);
            }
            let Ok(target) = self.path.join(name).canonicalize() else {
                continue;
            };
            make_way(&shown, None)?;
            symlink(&target, &shown).map_err(failed("create", &shown))?;
            let list = if writable {
                &mut links.writable
            } else {
                &mut links.readable
            };
            list.push(target);
        }
        Ok(links)
    }

    /// Creates both directories, and copies settings. Returns the one that the program sees.
    fn create(&self) -> Result<PathBuf, OsError> {
        if !self.path.is_dir() {
            ensure_private_dir(&self.path)?;
        }
        ensure_private_dir(&self.private)?;
        let mut own = resolved(&self.private)?;
        if !self.inner.is_empty() {
            own.push(&self.inner);
            // A program can replace it if it sees the directory above.
            if own.is_symlink() {
                fs::remove_file(&own).map_err(failed("remove", &own))?;
            }
            ensure_private_dir(&own)?;
        }
        let files = self
            .copy
            .iter()
            .flat_map(|copy| copy.files.iter().map(move |file| (copy, file)));
        for (copy, file) in files {
            let Some(name) = file.file_name() else {
                continue;
            };
            let content = fs::read(file).ok();
            if let Some(content) = content.and_then(|content| copy.of(&content)) {
                let target = own.join(name);
                make_way(&target, Some(false))?;
                replace_alone(&target, &content)?;
            }
        }
        Ok(own)
    }

    /// Returns the names of the user's entries that the program can use, and whether it can write them.
    fn entries(&self) -> impl Iterator<Item = (&String, bool)> {
        let read = self.read.iter().chain(&self.secret);
        let write = self.write.iter().map(|name| (name, true));
        read.map(|name| (name, false)).chain(write)
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

fn failed<'p>(op: &'static str, path: &'p Path) -> impl FnOnce(std::io::Error) -> OsError + 'p {
    move |source| OsError::io(path, op, source)
}

fn resolved(path: &Path) -> Result<PathBuf, OsError> {
    path.canonicalize().map_err(failed("resolve", path))
}

/// Renames an entry of the member in whose place an entry of the user cannot appear: `directory` says
/// whether that is a directory; `None` if any entry is in the way.
fn make_way(path: &Path, directory: Option<bool>) -> Result<(), OsError> {
    let found = path.symlink_metadata();
    // A link is removed when the entry of the user appears.
    let differs = |found: fs::Metadata| !found.is_symlink() && directory != Some(found.is_dir());
    if !found.is_ok_and(differs) {
        return Ok(());
    }
    let mut aside = path.to_owned();
    while aside.symlink_metadata().is_ok() {
        aside.as_mut_os_string().push(".old");
    }
    fs::rename(path, aside).map_err(failed("rename", path))
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

    fn state(base: &Path) -> StateDirectory {
        StateDirectory {
            path: base.join("home/.codex"),
            variable: "CODEX_HOME".to_owned(),
            private: base.join("members/bob/codex/0"),
            inner: ".codex".to_owned(),
            read: vec!["config.toml".to_owned(), "skills".to_owned()],
            secret: vec![".env".to_owned()],
            write: vec!["auth.json".to_owned()],
            copy: Some(SettingsCopy {
                files: vec![base.join("home/.codex.json")],
                keys: vec!["theme".to_owned()],
                project_keys: Vec::new(),
                servers: Vec::new(),
                directory: base.to_owned(),
            }),
        }
    }

    /// The user's entries, and what the program has left where some of them are.
    fn fill(base: &Path, state: &StateDirectory) -> PathBuf {
        let write = |path: &str, text: &str| {
            replace_alone(&base.join(path), text.as_bytes()).unwrap();
        };
        write("home/settings", "");
        symlink(base.join("home/settings"), state.path.join("config.toml")).unwrap();
        write("home/.codex/auth.json", "login");
        write(
            "home/.codex.json",
            r#"{"theme": 1, "mcpServers": {"a": {}}}"#,
        );
        let own = state.private.join(".codex");
        // Where `skills` was mounted before.
        fs::create_dir(own.join("skills")).unwrap();
        fs::create_dir_all(own.join("auth.json/mine")).unwrap();
        fs::create_dir(own.join("auth.json.old")).unwrap();
        fs::create_dir(own.join(".codex.json")).unwrap();
        own
    }

    fn check(own: &Path) {
        assert!(!own.join("skills").exists());
        assert!(own.join("auth.json.old.old/mine").is_dir());
        let copied = fs::read_to_string(own.join(".codex.json")).unwrap();
        assert_eq!(copied, r#"{"theme":1,"mcpServers":{}}"#);
    }

    #[test]
    fn only_logins_and_keys_are_needed_although_they_are_hidden() {
        let base = tempfile::tempdir().unwrap();
        let state = state(base.path());
        for (name, is_needed) in [("auth.json", true), (".env", true), ("config.toml", false)] {
            assert_eq!(state.needs(&state.path.join(name)), is_needed, "{name}");
        }
        assert!(!state.needs(&base.path().join("home/auth.json")));
    }

    #[test]
    fn the_users_settings_are_read_only_its_login_writable_and_everything_else_the_members() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let state = state(&base);
        assert_eq!(state.mounts().unwrap().len(), 1, "a new user");
        let own = fill(&base, &state);
        let found = state.mounts().unwrap();
        let shown: Vec<_> = found
            .iter()
            .map(|one| (one.path.clone(), one.source.clone(), one.writable))
            .collect();
        let (settings, login) = (state.path.join("config.toml"), state.path.join("auth.json"));
        let expected = [
            (state.path.clone(), own.clone(), true),
            (settings, base.join("home/settings"), false),
            (login.clone(), login, true),
        ];
        assert_eq!(shown, expected);
        check(&own);
        assert!(!own.join("auth.json").exists());
    }

    #[test]
    fn links_lead_to_the_same_files_and_replace_what_the_program_has_left() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let state = state(&base);
        let private = state.private.clone();
        let links = |writable: &[PathBuf], readable: &[PathBuf]| Links {
            readable: readable.to_vec(),
            writable: writable.to_vec(),
        };
        let found = state.links().unwrap();
        assert_eq!(
            found,
            links(std::slice::from_ref(&private), &[]),
            "a new user"
        );
        let own = fill(&base, &state);
        let (settings, login) = (base.join("home/settings"), state.path.join("auth.json"));
        let expected = links(&[private, login.clone()], std::slice::from_ref(&settings));
        assert_eq!(state.links().unwrap(), expected);
        check(&own);
        // The program turns a link around, and its directory into a link.
        fs::remove_file(own.join("config.toml")).unwrap();
        symlink("/etc", own.join("config.toml")).unwrap();
        assert_eq!(state.links().unwrap(), expected);
        assert_eq!(fs::read_link(own.join("config.toml")).unwrap(), settings);
        assert_eq!(fs::read_link(own.join("auth.json")).unwrap(), login);
        fs::rename(&own, state.private.join("moved")).unwrap();
        let outside = base.join("outside");
        fs::create_dir(&outside).unwrap();
        symlink(&outside, &own).unwrap();
        assert_eq!(state.links().unwrap(), expected);
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        fs::remove_file(&login).unwrap();
        state.links().unwrap();
        assert!(own.join("auth.json").symlink_metadata().is_err());
    }
}
