//! Paths that file tools refuse to read or write in every permission mode.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use swarm_protocol::word_list;

use super::{executed_later, part_of_git_directory, resolve};

/// Entries of the state directory that file tools never write.
const PROTECTED_STATE: [&str; 10] =
    word_list("teams plans tasks swarm projects agents hooks plugins swarm.toml .credentials.json");
/// Entries of the state directory that file tools write only with approval, because they instruct
/// every agent of the user.
const INSTRUCTION_FILES: [&str; 4] = ["CLAUDE.md", "commands", "rules", "skills"];
/// Entries of a repository's `.claude` directory that file tools never write.
const PROTECTED_CONFIG: [&str; 3] = ["agents", "hooks", "swarm.toml"];
/// The repositories in the state directory that a node has received.
const NODE_REPOSITORIES: &str = "swarm/node/repositories";
/// Names that file tools never write in any directory.
const PROTECTED_NAMES: [&str; 3] = [".git", ".mcp.json", ".claude.json"];
/// Files and directories of a project that make swarm or Claude Code run programs. Commands cannot
/// change them; file tools can write some of what is below `.claude`.
pub(crate) const PROJECT_CONFIGURATION: [&str; 2] = [".mcp.json", ".claude"];
/// Directories of a project with settings, plugins and hooks of other agent programs, which run what
/// is named there when the user starts them in the project.
pub(crate) const PROGRAM_DIRECTORIES: [&str; 4] = [".codex", ".gemini", ".opencode", ".qwen"];
/// Files of a project with such settings.
pub(crate) const PROGRAM_FILES: [&str; 2] = ["opencode.json", "opencode.jsonc"];
/// Entry of such a directory in the user's home that contains projects.
const PROGRAM_WORKTREES: &str = "worktrees";
/// The directory of scratchpads in the state directory.
const SCRATCHPAD: &str = "scratchpad";
/// The append-only log in a scratchpad.
const DECISIONS: &str = "decisions.md";
/// Files and directories of the state directory with secrets: the API's credentials, the password and
/// the data of a hub that runs on this machine, and the records of sessions with the keys that others
/// send with their messages.
const SECRETS: [&str; 4] = [".credentials.json", "sessions", "swarm/hub", "swarm/peers"];
/// Files of a process that expose its secrets.
const PROCESS_SECRETS: [&str; 2] = ["environ", "mem"];

/// Paths that file tools must not write, and paths that they must not read.
///
/// The teams, tasks, transcripts, settings, definitions and hooks in the state directory are
/// protected, and the files of a repository that configure agents and programs: `.claude` settings,
/// definitions and hooks, `.mcp.json`, settings of other agent programs, and the git directory. Paths
/// are checked with symbolic links resolved, whether or not they exist.
#[derive(Clone, Default)]
pub struct ProtectedPaths {
    /// The state directory, as given and with links resolved.
    roots: Vec<PathBuf>,
    hidden: HashSet<PathBuf>,
    filter: Option<Arc<PathTest>>,
}

type PathTest = dyn Fn(&Path) -> bool + Send + Sync;

impl ProtectedPaths {
    /// Protects the state directory `root` and the agent configuration of all repositories.
    pub fn new(root: &Path) -> Self {
        let mut roots = vec![root.to_owned()];
        roots.extend(resolve(root).filter(|real| real != root));
        let hidden = roots
            .iter()
            .flat_map(|root| SECRETS.map(|secret| root.join(secret)))
            .collect();
        Self {
            roots,
            hidden,
            filter: None,
        }
    }

    /// Also forbids reading `path` and everything below it, for files that contain secrets.
    #[must_use]
    pub fn hide(mut self, path: &Path) -> Self {
        self.hidden.insert(path.to_owned());
        self.hidden.extend(resolve(path));
        self
    }

    /// Also excludes every path for which `test` returns true from searches and reading.
    #[must_use]
    pub fn hide_where(mut self, test: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        let before = self.filter.take();
        self.filter = Some(Arc::new(move |path| {
            test(path) || before.as_ref().is_some_and(|before| before(path))
        }));
        self
    }

    pub(crate) fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Returns the reason why a resolved path must not be written, or `None` if it may.
    pub fn write_refusal(&self, real: &Path) -> Option<String> {
        if self.hides(real) {
            return Some(format!(
                "{} is protected: file tools neither read nor write it in any permission mode. A deny rule or `sandbox.hide` covers it, or it contains secrets of swarm. If the task needs it, ask the user.",
                real.display()
            ));
        }
        let names: Vec<&str> = real.components().map(name).collect();
        let under_root = self
            .first_under_root(real)
            .is_some_and(|first| is_one_of(first, &PROTECTED_STATE) || is_settings(first))
            && !self.is_in_worktree_of_node(real);
        let in_repository = names.windows(2).any(|pair| {
            same(pair[0], ".claude")
                && (is_one_of(pair[1], &PROTECTED_CONFIG) || is_settings(pair[1]))
        });
        let anywhere = names
            .iter()
            .any(|name| is_one_of(name, &PROTECTED_NAMES) || is_one_of(name, &PROGRAM_FILES));
        let of_program = names.iter().enumerate().any(|(at, name)| {
            let next = names.get(at + 1);
            is_one_of(name, &PROGRAM_DIRECTORIES)
                && next.is_none_or(|next| !same(next, PROGRAM_WORKTREES))
        });
        let is_root = self.roots.iter().any(|root| real == root);
        if part_of_git_directory(real) {
            return Some(format!(
                "{} is protected: with this file git would treat the directory as a repository and run the programs in its configuration. File tools do not write it in any permission mode. Use git.",
                real.display()
            ));
        }
        (under_root || in_repository || anywhere || of_program || is_root).then(|| {
            format!(
                "{} is protected: it belongs to the team's state, to settings, definitions or hooks, or to git. File tools do not change it in any permission mode. Ask the user to change it.",
                real.display()
            )
        })
    }

    /// Returns whether this resolved path is a team's log of decisions, which only grows.
    pub(crate) fn is_decision_log(&self, real: &Path) -> bool {
        self.roots.iter().any(|root| {
            let below = real.strip_prefix(root.join(SCRATCHPAD)).ok();
            below.is_some_and(|below| {
                let mut parts = below.components().skip(1).map(name);
                parts.next() == Some(DECISIONS) && parts.next().is_none()
            })
        })
    }

    /// Returns the reason why a change of a resolved path is refused, or `None` if it is not: lines
    /// of a team's log of decisions stay as they are.
    pub(crate) fn change_refusal(
        &self,
        real: &Path,
        before: &[u8],
        after: &[u8],
    ) -> Option<String> {
        (self.is_decision_log(real) && !after.starts_with(before)).then(|| {
            format!(
                "{} is the team's log of decisions: only add lines at its end. To change a decision, add a new one that names it.",
                real.display()
            )
        })
    }

    /// Returns the name that makes other programs execute or obey the content of this resolved path
    /// later, and whether it is in the state directory. `None` for ordinary files.
    pub fn runs_later(&self, real: &Path) -> Option<(&'static str, bool)> {
        let first = self.first_under_root(real);
        let instruction = INSTRUCTION_FILES
            .into_iter()
            .find(|known| first.is_some_and(|first| same(first, known)));
        match instruction {
            Some(name) => Some((name, true)),
            None => executed_later(real).map(|name| (name, false)),
        }
    }

    /// Whether a path is in a worktree that a node has created for a member, where the member works.
    fn is_in_worktree_of_node(&self, real: &Path) -> bool {
        self.roots.iter().any(|root| {
            let Ok(rest) = real.strip_prefix(root.join(NODE_REPOSITORIES)) else {
                return false;
            };
            let names: Vec<&str> = rest.components().map(name).collect();
            matches!(
                names[..],
                [_repository, ".claude", "worktrees", _slug, _, ..]
            )
        })
    }

    /// Returns the first path component below the state directory.
    fn first_under_root<'p>(&self, real: &'p Path) -> Option<&'p str> {
        self.roots.iter().find_map(|root| {
            let rest = real.strip_prefix(root).ok()?;
            rest.components().next().map(name)
        })
    }

    /// Whether rules forbid reading some files, so that a file with several hard links may be one
    /// of them.
    pub(crate) fn restricts_reading(&self) -> bool {
        self.filter.is_some()
    }

    /// Returns the reason why a resolved path must not be read, or `None` if it may.
    pub fn read_refusal(&self, real: &Path) -> Option<String> {
        self.hides(real)
            .then(|| format!("{} is protected: it must not be read. A deny rule or `sandbox.hide` covers it, or it contains secrets of swarm. If the task needs it, ask the user.", real.display()))
    }

    /// Returns the existing paths below this resolved directory that must not be read because they
    /// contain secrets.
    pub fn secrets_below(&self, real: &Path) -> Vec<PathBuf> {
        let keys = self.roots.iter().flat_map(|root| signing_keys(root, real));
        let below = self.hidden.iter().filter(|hidden| hidden.starts_with(real));
        below
            .filter(|hidden| hidden.symlink_metadata().is_ok())
            .cloned()
            .chain(keys)
            .collect()
    }

    /// Whether a path is in the directory of a team's signing key, `teams/<team>/swarm/keys`.
    fn is_signing_key(&self, real: &Path) -> bool {
        self.roots.iter().any(|root| {
            let Ok(rest) = real.strip_prefix(root) else {
                return false;
            };
            let names: Vec<&str> = rest.components().take(4).map(name).collect();
            matches!(names[..], [teams, _, own, keys]
                if same(teams, "teams") && same(own, "swarm") && same(keys, "keys"))
        })
    }

    /// Whether searches exclude this resolved path.
    pub(crate) fn hides(&self, real: &Path) -> bool {
        // There are dozens, and searches check every file.
        real.ancestors().any(|above| self.hidden.contains(above))
            || self.is_signing_key(real)
            || shows_process_secrets(real)
            || self.filter.as_ref().is_some_and(|test| test(real))
    }
}

/// Returns the directories of signing keys in a state directory that are below `real`.
fn signing_keys(root: &Path, real: &Path) -> Vec<PathBuf> {
    let teams = root.join("teams");
    if !teams.starts_with(real) && !real.starts_with(&teams) {
        return Vec::new();
    }
    let Ok(entries) = std::fs::read_dir(&teams) else {
        return Vec::new();
    };
    let keys = entries.filter_map(|entry| Some(entry.ok()?.path().join("swarm").join("keys")));
    keys.filter(|keys| keys.starts_with(real) && keys.is_dir())
        .collect()
}

fn shows_process_secrets(real: &Path) -> bool {
    let last = real.file_name().and_then(OsStr::to_str).unwrap_or_default();
    real.starts_with("/proc") && PROCESS_SECRETS.contains(&last)
}

fn is_settings(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("settings") && Path::new(&name).extension() == Some(OsStr::new("json"))
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| same(name, known))
}

/// Compares names ignoring case, because some file systems are case-insensitive.
fn same(one: &str, two: &str) -> bool {
    one.eq_ignore_ascii_case(two)
}

fn name(component: Component<'_>) -> &str {
    component.as_os_str().to_str().unwrap_or_default()
}

impl fmt::Debug for ProtectedPaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProtectedPaths")
            .field("roots", &self.roots)
            .field("hidden", &self.hidden)
            .field("filtered", &self.filter.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_of_decisions_only_grows() {
        let protected = ProtectedPaths::new(Path::new("/home/dev/.claude"));
        let refusal = |path: &str, before: &str, after: &str| {
            protected.change_refusal(Path::new(path), before.as_bytes(), after.as_bytes())
        };
        let log = "/home/dev/.claude/scratchpad/crew/decisions.md";
        assert_eq!(refusal(log, "", "one\n"), None);
        assert_eq!(refusal(log, "one\n", "one\ntwo\n"), None);
        for after in ["", "two\n", "zero\none\n"] {
            let why = refusal(log, "one\n", after).expect("a refusal");
            assert!(why.contains("only add lines at its end"), "{why}");
        }
        for other in [
            "/home/dev/.claude/scratchpad/crew/notes.md",
            "/home/dev/.claude/scratchpad/crew/sub/decisions.md",
            "/repo/decisions.md",
        ] {
            assert_eq!(refusal(other, "one\n", "two\n"), None, "{other}");
        }
    }

    #[test]
    fn agent_configuration_is_never_written() {
        let protected = ProtectedPaths::new(Path::new("/home/dev/.claude"));
        for path in [
            "/home/dev/.claude",
            "/home/dev/.claude/teams/t/config.json",
            "/home/dev/.claude/tasks/t/1.json",
            "/home/dev/.claude/settings.json",
            "/home/dev/.claude/settings.local.json",
            "/home/dev/.claude/swarm.toml",
            "/home/dev/.claude/swarm/trust.json",
            "/home/dev/.claude/agents/a.md",
            "/home/dev/.claude/projects/p/s.jsonl",
            "/home/dev/.claude/hooks/h.sh",
            "/repo/.claude/agents/a.md",
            "/repo/.claude/settings.json",
            "/repo/.claude/settings.local.json",
            "/repo/.claude/swarm.toml",
            "/repo/.claude/hooks/x",
            "/repo/sub/.mcp.json",
            "/repo/.codex/config.toml",
            "/repo/.gemini/settings.json",
            "/repo/.opencode/plugin/x.js",
            "/repo/sub/.qwen",
            "/repo/opencode.json",
            "/repo/opencode.jsonc",
            "/repo/.git/config",
            "/repo/.git/hooks/pre-commit",
            "/repo/.git",
            "/repo/.GIT/config",
            "/repo/.Claude/Settings.json",
            "/repo/vendor/x/.git/hooks/y",
            "/home/dev/.claude.json",
            "/home/dev/.claude/swarm/node/repositories/0a/src/lib.rs",
            "/home/dev/.claude/swarm/node/repositories/0a/.git/config",
            "/home/dev/.claude/swarm/node/repositories/0a/.claude/worktrees/bob",
            "/home/dev/.claude/swarm/node/repositories/0a/.claude/worktrees/bob/.git",
            "/home/dev/.claude/swarm/node/repositories/0a/.claude/worktrees/bob/.claude/settings.json",
            "/home/dev/.claude/swarm/repositories/0a/.claude/worktrees/bob/src/lib.rs",
        ] {
            assert!(protected.write_refusal(Path::new(path)).is_some(), "{path}");
        }
        for path in [
            "/repo/src/lib.rs",
            "/repo/.claude/worktrees/x/src/a.rs",
            "/repo/.gitignore",
            "/repo/.github/x.yml",
            "/repo/settings.json",
            "/repo/teams/a",
            "/home/dev/.claude/notes.md",
            "/repo/agents/a.md",
            "/home/dev/.codex/worktrees/a/repo/src/lib.rs",
            "/repo/gemini/settings.json",
            "/home/dev/.claude2/teams/x",
            "/repo/.claude/commands/x.md",
            "/home/dev/.claude/swarm/node/repositories/0a/.claude/worktrees/bob/src/lib.rs",
        ] {
            assert_eq!(protected.write_refusal(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn signing_keys_are_never_read() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let protected = ProtectedPaths::new(&root);
        let keys = root.join("teams/crew/swarm/keys");
        std::fs::create_dir_all(&keys).unwrap();
        for path in [keys.clone(), keys.join("signing.key")] {
            assert!(
                protected.read_refusal(&path).is_some(),
                "{}",
                path.display()
            );
        }
        for path in [
            "teams/crew/swarm/journal.jsonl",
            "teams/crew/keys/x",
            "keys",
        ] {
            assert_eq!(protected.read_refusal(&root.join(path)), None, "{path}");
        }
        for above in [root.clone(), root.join("teams"), root.join("teams/crew")] {
            assert_eq!(protected.secrets_below(&above), std::slice::from_ref(&keys));
        }
        assert!(protected.secrets_below(&root.join("projects")).is_empty());
    }

    #[test]
    fn instructions_of_the_state_directory_and_of_a_project_are_distinguished() {
        let protected = ProtectedPaths::new(Path::new("/home/dev/.claude"));
        for (path, found) in [
            ("/home/dev/.claude/CLAUDE.md", Some(("CLAUDE.md", true))),
            (
                "/home/dev/.claude/skills/a/SKILL.md",
                Some(("skills", true)),
            ),
            ("/home/dev/.claude/rules/a.md", Some(("rules", true))),
            ("/repo/.claude/skills/a/SKILL.md", Some(("skills", false))),
            ("/repo/CLAUDE.md", None),
            ("/home/dev/.claude/notes.md", None),
        ] {
            assert_eq!(protected.runs_later(Path::new(path)), found, "{path}");
        }
    }

    #[test]
    fn existing_secrets_are_found_from_every_parent_directory() {
        let scratch = tempfile::tempdir().unwrap();
        let top = resolve(scratch.path()).unwrap();
        let root = top.join("home/.claude");
        std::fs::create_dir_all(&root).unwrap();
        let protected = ProtectedPaths::new(&root).hide(&top.join("spawns"));
        assert!(protected.secrets_below(&top).is_empty());
        crate::files::replace::create(&root.join(".credentials.json"), b"{}").unwrap();
        for above in [Path::new("/"), &top, &root] {
            assert_eq!(
                protected.secrets_below(above),
                [root.join(".credentials.json")],
                "{}",
                above.display()
            );
        }
        assert!(protected.secrets_below(&top.join("home/work")).is_empty());
    }

    #[test]
    fn secrets_are_neither_read_nor_written() {
        let protected = ProtectedPaths::new(Path::new("/r"))
            .hide(Path::new("/run/spawn"))
            .hide_where(|path| path.ends_with("id_rsa"))
            .hide_where(|_| false);
        for path in [
            "/run/spawn/x",
            "/run/spawn",
            "/proc/1/environ",
            "/proc/self/mem",
            "/k/id_rsa",
            "/r/.credentials.json",
            "/r/swarm/hub/credentials",
            "/r/swarm/hub/nats.conf",
            "/r/swarm/peers/0a.json",
            "/r/sessions/12.json",
            "/r/sessions/12.0a.key",
        ] {
            assert!(protected.read_refusal(Path::new(path)).is_some(), "{path}");
            assert!(protected.write_refusal(Path::new(path)).is_some(), "{path}");
        }
        for path in [
            "/run/spawn2",
            "/proc/cpuinfo",
            "/r/teams/t/config.json",
            "/r/swarm/bin",
            "/repo/.git/config",
        ] {
            assert_eq!(protected.read_refusal(Path::new(path)), None, "{path}");
        }
    }
}
