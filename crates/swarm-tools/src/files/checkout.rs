//! Snapshot of the repository in which an agent starts, to detect later changes of its
//! configuration.

use std::path::{Path, PathBuf};

use super::is_git_directory;

/// Maximum depth of includes in a git configuration, as in git.
const MAX_INCLUDE_DEPTH: usize = 10;
/// Maximum number of files of a configuration; with more it counts as unknown.
const MAX_FILES: usize = 64;

/// Snapshot of the repository that git finds from a directory, with its configuration.
///
/// The configuration of a repository can name programs that git runs, even in commands that only
/// read. Programs in it when an agent starts are the user's choice; later additions may be the
/// agent's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checkout {
    home: Option<PathBuf>,
    found: Discovery,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Discovery {
    /// There is no repository.
    #[default]
    Nothing,
    /// A repository with a `.git`.
    Repository {
        /// The directory that all its worktrees share.
        common: PathBuf,
        /// The content of each configuration file.
        config: Vec<Vec<u8>>,
    },
    /// A git directory that is not named `.git`, a `.git` file that points nowhere, or a
    /// configuration whose includes cannot be resolved.
    Unknown,
}

impl Checkout {
    /// Takes a snapshot of what git finds from `directory`, for a user with this home directory.
    pub fn of(directory: &Path, home: Option<&Path>) -> Self {
        Self {
            home: home.map(Path::to_owned),
            found: find(directory, home),
        }
    }

    /// Returns whether there was a repository.
    pub fn is_repository(&self) -> bool {
        matches!(self.found, Discovery::Repository { .. })
    }

    /// Describes the change since the snapshot, seen from `directory`, which may be in another
    /// worktree of the repository. Returns `None` if nothing changed.
    pub fn change(&self, directory: &Path) -> Option<&'static str> {
        let now = find(directory, self.home.as_deref());
        match (&self.found, &now) {
            (_, Discovery::Unknown) | (Discovery::Unknown, _) => {
                Some("the git directory or its configuration is not in a known form")
            }
            (before, now) if before == now => None,
            (Discovery::Nothing, _) => Some("this repository did not exist when the agent started"),
            (_, Discovery::Nothing) => {
                Some("the repository in which the agent started no longer exists")
            }
            (
                Discovery::Repository { common: before, .. },
                Discovery::Repository { common: now, .. },
            ) if before == now => {
                Some("the configuration of this repository has changed since the agent started")
            }
            _ => Some("this is not the repository in which the agent started"),
        }
    }
}

fn find(directory: &Path, home: Option<&Path>) -> Discovery {
    // Git resolves symbolic links.
    let Ok(directory) = directory.canonicalize() else {
        return Discovery::Unknown;
    };
    for directory in directory.ancestors() {
        let dot_git = directory.join(".git");
        if dot_git.is_dir() && is_git_directory(&dot_git) {
            return repository(&dot_git, home);
        }
        if dot_git.is_file() {
            let named = text(&dot_git)
                .and_then(|text| Some(directory.join(text.strip_prefix("gitdir:")?.trim())));
            return match named.and_then(|named| named.canonicalize().ok()) {
                Some(own) if is_git_directory(&own) => repository(&own, home),
                _ => Discovery::Unknown,
            };
        }
        if is_git_directory(directory) {
            return Discovery::Unknown;
        }
    }
    Discovery::Nothing
}

fn repository(own: &Path, home: Option<&Path>) -> Discovery {
    let common = text(&own.join("commondir"))
        .map_or_else(|| own.to_owned(), |named| own.join(named.trim_end()));
    let Ok(common) = common.canonicalize() else {
        return Discovery::Unknown;
    };
    let mut config = Vec::new();
    let files = [common.join("config"), own.join("config.worktree")];
    let understood = files
        .iter()
        .all(|file| add_config(file, home, 0, &mut config));
    if understood {
        Discovery::Repository { common, config }
    } else {
        Discovery::Unknown
    }
}

/// Adds the content of a configuration file and of its includes. Returns false if an include cannot
/// be resolved.
fn add_config(file: &Path, home: Option<&Path>, depth: usize, config: &mut Vec<Vec<u8>>) -> bool {
    let content = if file.is_file() {
        std::fs::read(file).unwrap_or_default()
    } else {
        Vec::new()
    };
    let readable = String::from_utf8_lossy(&content);
    let kept = without_branches(&readable);
    config.push(kept.clone().into_bytes());
    if depth == MAX_INCLUDE_DEPTH {
        return true;
    }
    if config.len() > MAX_FILES {
        return false;
    }
    for line in kept.lines() {
        let value = line.split_once('=').filter(|(key, _)| {
            let key = key.rsplit(']').next().unwrap_or(key).trim();
            key.eq_ignore_ascii_case("path")
        });
        if let Some((_, path)) = value {
            let base = file.parent().unwrap_or(file);
            let included = config_value(path).and_then(|path| included(&path, base, home));
            if !included.is_some_and(|file| add_config(&file, home, depth + 1, config)) {
                return false;
            }
        }
    }
    true
}

fn included(path: &str, base: &Path, home: Option<&Path>) -> Option<PathBuf> {
    match path.strip_prefix("~/") {
        Some(rest) => Some(home?.join(rest)),
        // Another user's home directory, or git's installation prefix.
        None if path.starts_with(['~', '%']) => None,
        None => Some(base.join(path)),
    }
}

/// Parses a value as git does: removes quotes, escapes and comments. Returns `None` if it continues
/// in the next line or is invalid.
fn config_value(text: &str) -> Option<String> {
    let (mut value, mut end, mut quoted) = (String::new(), 0, false);
    let mut chars = text.trim().chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '#' | ';' if !quoted => break,
            '\\' => value.push(match chars.next()? {
                escaped @ ('"' | '\\') => escaped,
                'n' => '\n',
                't' => '\t',
                'b' => '\u{8}',
                _ => return None,
            }),
            c => value.push(c),
        }
        if quoted || !c.is_whitespace() {
            end = value.len();
        }
    }
    value.truncate(end);
    (!quoted).then_some(value)
}

/// Removes the plain `[branch "…"]` sections, which `git push -u` and `git switch -c` write and
/// which cannot name a program.
fn without_branches(text: &str) -> String {
    let mut in_branch = false;
    let mut kept = String::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with('[') {
            let header = trimmed
                .strip_prefix("[branch \"")
                .and_then(|rest| rest.strip_suffix("\"]"));
            in_branch = header.is_some_and(|name| !name.contains(['[', ']', '"', '\\']));
        }
        if !in_branch {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// Reads a short regular file. Returns `None` for anything else.
fn text(file: &Path) -> Option<String> {
    const LONGEST: u64 = 8 << 10;
    let metadata = file.metadata().ok()?;
    (metadata.is_file() && metadata.len() <= LONGEST)
        .then(|| std::fs::read_to_string(file).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use super::*;

    fn put(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = fs::File::create(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn is_as_found(found: &Checkout, directory: &Path) -> bool {
        found.change(directory).is_none()
    }

    /// Creates a repository as `git init` does.
    fn init(git: &Path) {
        fs::create_dir_all(git.join("objects")).unwrap();
        fs::create_dir_all(git.join("refs")).unwrap();
        put(&git.join("HEAD"), "ref: refs/heads/main\n");
        put(&git.join("config"), "[core]\n\tbare = false\n");
    }

    #[test]
    fn a_repository_created_in_a_subdirectory_is_detected() {
        let scratch = tempfile::tempdir().unwrap();
        let top = scratch.path().canonicalize().unwrap();
        init(&top.join(".git"));
        let package = top.join("pkg");
        fs::create_dir_all(package.join("deep")).unwrap();
        let found = Checkout::of(&package, None);
        assert!(is_as_found(&found, &package) && is_as_found(&found, &top));
        init(&package);
        assert!(!is_as_found(&found, &package) && !is_as_found(&found, &package.join("deep")));
        assert!(is_as_found(&found, &top));
        // A directory of this form is never trusted, even if the agent starts in it.
        assert!(!is_as_found(&Checkout::of(&package, None), &package));
    }

    #[test]
    fn a_repository_created_after_the_start_is_detected() {
        let scratch = tempfile::tempdir().unwrap();
        let top = scratch.path().canonicalize().unwrap();
        let found = Checkout::of(&top, None);
        assert!(is_as_found(&found, &top));
        init(&top.join(".git"));
        let why = found.change(&top).unwrap();
        assert!(why.contains("did not exist"), "{why}");
    }

    #[test]
    fn a_configuration_change_is_detected_unless_only_branches_changed() {
        let scratch = tempfile::tempdir().unwrap();
        let top = scratch.path().canonicalize().unwrap();
        init(&top.join(".git"));
        let config = top.join(".git/config");
        let base = "[core]\n\tbare = false\n[include]\n\tpath = ../shared.inc\n";
        put(&config, base);
        put(&top.join("shared.inc"), "[user]\n\tname = a\n");
        let found = Checkout::of(&top, None);
        let branch = "[branch \"a\"]\n\tremote = origin\n\tmerge = refs/heads/a\n";
        put(&config, &format!("{base}{branch}"));
        assert!(is_as_found(&found, &top));
        for added in [
            "[core]\n\tfsmonitor = x\n",
            "[branch \"a\"] [core] fsmonitor = x\n",
            "[branch \"a\"]\n [core]\n fsmonitor = x\n",
            "[branch \"a\"]fsmonitor = x\n",
        ] {
            put(&config, &format!("{base}{added}"));
            assert!(!is_as_found(&found, &top), "{added}");
        }
        put(&config, base);
        assert!(is_as_found(&found, &top));
        put(
            &top.join(".git/config.worktree"),
            "[core]\n\tfsmonitor = x\n",
        );
        assert!(!is_as_found(&found, &top));
        fs::remove_file(top.join(".git/config.worktree")).unwrap();
        put(&top.join("shared.inc"), "[core]\n\tfsmonitor = x\n");
        assert!(!is_as_found(&found, &top));
    }

    #[test]
    fn includes_are_resolved_for_every_spelling_of_the_path() {
        let scratch = tempfile::tempdir().unwrap();
        let top = scratch.path().canonicalize().unwrap();
        let (home, repo) = (top.join("home"), top.join("repo"));
        init(&repo.join(".git"));
        for (spelled, file) in [
            ("../a.inc # mine", repo.join("a.inc")),
            ("../a.inc ; mine", repo.join("a.inc")),
            ("\"../a b.inc\" # mine", repo.join("a b.inc")),
            ("../a\" b\".inc", repo.join("a b.inc")),
            ("../\\\"a.inc", repo.join("\"a.inc")),
            ("~/a.inc", home.join("a.inc")),
        ] {
            let config = format!("[core]\n\tbare = false\n[include]\n\tpath = {spelled}\n");
            put(&repo.join(".git/config"), &config);
            put(&file, "[user]\n\tname = a\n");
            let found = Checkout::of(&repo, Some(&home));
            assert!(is_as_found(&found, &repo), "{spelled}");
            put(&file, "[core]\n\tfsmonitor = x\n");
            assert!(!is_as_found(&found, &repo), "{spelled}");
        }
        for spelled in ["~bob/a.inc", "%(prefix)/a.inc", "a\\", "\"a"] {
            let config = format!("[include]\n\tpath = {spelled}\n");
            put(&repo.join(".git/config"), &config);
            let found = Checkout::of(&repo, Some(&home));
            assert!(!is_as_found(&found, &repo), "{spelled}");
        }
    }

    #[test]
    fn another_worktree_of_the_repository_is_accepted() {
        let scratch = tempfile::tempdir().unwrap();
        let top = scratch.path().canonicalize().unwrap();
        init(&top.join("main/.git"));
        let own = top.join("main/.git/worktrees/a");
        put(&own.join("HEAD"), "ref: refs/heads/a\n");
        put(&own.join("commondir"), "../..\n");
        put(&top.join("a/.git"), &format!("gitdir: {}\n", own.display()));
        assert!(is_as_found(
            &Checkout::of(&top.join("main"), None),
            &top.join("a")
        ));
        put(&top.join("a/.git"), "gitdir: /nowhere\n");
        assert!(!is_as_found(
            &Checkout::of(&top.join("main"), None),
            &top.join("a")
        ));
    }
}
