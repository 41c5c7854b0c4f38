//! What file tools leave alone in every mode.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::{of_any_directory, part_of_git_directory, resolve};

/// What stands directly under the state directory and is never written by a file tool.
const OF_ROOT: [&str; 10] = [
    "teams",
    "plans",
    "tasks",
    "swarm",
    "projects",
    "agents",
    "hooks",
    "plugins",
    "swarm.toml",
    ".credentials.json",
];
/// What stands directly under the state directory and is written by a file tool only when somebody agrees: it instructs
/// every agent of the user.
const INSTRUCTIONS: [&str; 4] = ["CLAUDE.md", "commands", "rules", "skills"];
/// What stands in a repository's `.claude` directory and is never written by a file tool.
const OF_REPOSITORY: [&str; 3] = ["agents", "hooks", "swarm.toml"];
/// Names that are never written by a file tool wherever they stand.
const ANYWHERE: [&str; 3] = [".git", ".mcp.json", ".claude.json"];
/// Files of a process that show its secrets.
const OF_PROCESSES: [&str; 2] = ["environ", "mem"];

/// Paths that no file tool writes to, and those that none reads.
///
/// Protected are the teams, tasks, transcripts, settings, definitions and hooks under the state directory, and what
/// steers agents and programs from within a repository: `.claude` settings, definitions and hooks, `.mcp.json`, and
/// git's own directory. Paths are judged with their symbolic links resolved, whether or not they exist.
#[derive(Clone, Default)]
pub struct ProtectedPaths {
    /// The state directory, as given and resolved.
    roots: Vec<PathBuf>,
    hidden: Vec<PathBuf>,
    filter: Option<Arc<PathTest>>,
}

type PathTest = dyn Fn(&Path) -> bool + Send + Sync;

impl ProtectedPaths {
    /// Protects what the state directory `root` holds, and what any repository holds that steers agents.
    pub fn new(root: &Path) -> Self {
        let mut roots = vec![root.to_owned()];
        roots.extend(resolve(root).filter(|real| real != root));
        let hidden = roots
            .iter()
            .map(|root| root.join(".credentials.json"))
            .collect();
        Self {
            roots,
            hidden,
            filter: None,
        }
    }

    /// Also forbids reading `path` and everything under it: files that carry secrets.
    #[must_use]
    pub fn hide(mut self, path: &Path) -> Self {
        self.hidden.push(path.to_owned());
        self.hidden
            .extend(resolve(path).filter(|real| real != path));
        self
    }

    /// Also leaves out of searches, and refuses to read, every path for which `test` says yes.
    #[must_use]
    pub fn hide_where(mut self, test: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        let before = self.filter.take();
        self.filter = Some(Arc::new(move |path| {
            test(path) || before.as_ref().is_some_and(|before| before(path))
        }));
        self
    }

    /// The state directory, as given and resolved.
    pub(crate) fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Why this resolved path may not be written, if so.
    pub fn write_refusal(&self, real: &Path) -> Option<String> {
        if let Some(why) = self.read_refusal(real) {
            return Some(why);
        }
        let names: Vec<&str> = real.components().map(name).collect();
        let under_root = self
            .first_under_root(real)
            .is_some_and(|first| is_one_of(first, &OF_ROOT) || is_settings(first));
        let in_repository = names.windows(2).any(|pair| {
            same(pair[0], ".claude") && (is_one_of(pair[1], &OF_REPOSITORY) || is_settings(pair[1]))
        });
        let anywhere = names.iter().any(|name| is_one_of(name, &ANYWHERE));
        let is_root = self.roots.iter().any(|root| real == root);
        if part_of_git_directory(real) {
            return Some(format!(
                "{} is protected: with this file git would take its directory for a repository and run the programs \
                 that its configuration names. No file tool writes it in any permission mode. Use git itself.",
                real.display()
            ));
        }
        (under_root || in_repository || anywhere || is_root).then(|| {
            format!(
                "{} is protected: it belongs to the team's records, to settings, definitions or hooks, or to git \
                 itself, and no file tool changes it in any permission mode. Ask the person to change it.",
                real.display()
            )
        })
    }

    /// What makes other programs run or obey the content of this resolved path later, if anything does: the name they
    /// look for, and whether it is one of the state directory.
    pub fn runs_later(&self, real: &Path) -> Option<(&'static str, bool)> {
        let first = self.first_under_root(real);
        let instruction = INSTRUCTIONS
            .into_iter()
            .find(|known| first.is_some_and(|first| same(first, known)));
        match instruction {
            Some(name) => Some((name, true)),
            None => of_any_directory(real).map(|name| (name, false)),
        }
    }

    /// The component of a path that comes right after the state directory.
    fn first_under_root<'p>(&self, real: &'p Path) -> Option<&'p str> {
        self.roots.iter().find_map(|root| {
            let rest = real.strip_prefix(root).ok()?;
            rest.components().next().map(name)
        })
    }

    /// Whether rules forbid reading some files, so that a file with several names may be one of them.
    pub(crate) fn restricts_reading(&self) -> bool {
        self.filter.is_some()
    }

    /// Why this resolved path may not be read, if so.
    pub fn read_refusal(&self, real: &Path) -> Option<String> {
        self.hides(real)
            .then(|| format!("{} is protected: it must not be read.", real.display()))
    }

    /// What is there in this resolved directory, however deep, that may not be read because it carries secrets.
    pub fn secrets_below(&self, real: &Path) -> Vec<PathBuf> {
        let below = self.hidden.iter().filter(|hidden| hidden.starts_with(real));
        below
            .filter(|hidden| hidden.symlink_metadata().is_ok())
            .cloned()
            .collect()
    }

    /// Whether a search leaves this resolved path out.
    pub(crate) fn hides(&self, real: &Path) -> bool {
        self.hidden.iter().any(|hidden| real.starts_with(hidden))
            || shows_process_secrets(real)
            || self.filter.as_ref().is_some_and(|test| test(real))
    }
}

fn shows_process_secrets(real: &Path) -> bool {
    let last = real.file_name().and_then(OsStr::to_str).unwrap_or_default();
    real.starts_with("/proc") && OF_PROCESSES.contains(&last)
}

fn is_settings(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("settings") && Path::new(&name).extension() == Some(OsStr::new("json"))
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| same(name, known))
}

/// Some file systems do not tell capitals from small letters.
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
    fn what_steers_agents_is_never_written() {
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
            "/repo/.git/config",
            "/repo/.git/hooks/pre-commit",
            "/repo/.git",
            "/repo/.GIT/config",
            "/repo/.Claude/Settings.json",
            "/repo/vendor/x/.git/hooks/y",
            "/home/dev/.claude.json",
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
            "/home/dev/.claude2/teams/x",
            "/repo/.claude/commands/x.md",
        ] {
            assert_eq!(protected.write_refusal(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn instructions_of_the_state_directory_are_told_from_those_of_a_project() {
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
    fn secrets_that_are_there_are_found_from_every_directory_above_them() {
        let scratch = tempfile::tempdir().unwrap();
        let top = resolve(scratch.path()).unwrap();
        let root = top.join("home/.claude");
        std::fs::create_dir_all(&root).unwrap();
        let protected = ProtectedPaths::new(&root).hide(&top.join("spawns"));
        assert!(protected.secrets_below(&top).is_empty());
        crate::files::create(&root.join(".credentials.json"), b"{}").unwrap();
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
    fn secrets_are_not_read_either() {
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
        ] {
            assert!(protected.read_refusal(Path::new(path)).is_some(), "{path}");
            assert!(protected.write_refusal(Path::new(path)).is_some(), "{path}");
        }
        for path in [
            "/run/spawn2",
            "/proc/cpuinfo",
            "/r/teams/t/config.json",
            "/repo/.git/config",
        ] {
            assert_eq!(protected.read_refusal(Path::new(path)), None, "{path}");
        }
    }
}
