//! Writable paths of a command and the arguments of its helper.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use swarm_protocol::SandboxUse;

use super::words::{COMMAND, REQUIRED, SANDBOX, WRITE};
use crate::files::{resolve, resolve_where};
use crate::{Confinement, ToolContext};

/// Devices that programs may write to.
const DEVICES: [&str; 9] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];

/// Directories for temporary files, in addition to `TMPDIR`.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// Entries that all worktrees of a repository share and that git writes when it commits, creates
/// branches and fetches. Excludes `config` and `hooks`, which make git run programs, and
/// `packed-refs`, whose lock file is in the same directory.
const SHARED_BY_GIT: [&str; 4] = ["objects", "refs", "logs", "reftable"];

/// Directory for temporary files in the git directory of one worktree; removed with the worktree.
const WORKTREE_TEMPORARY: &str = "swarm-tmp";

/// How to start a command through the helper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Arguments before the command.
    pub(crate) words: Vec<OsString>,
    /// Whether the command runs in the sandbox.
    pub(crate) sandboxed: bool,
    /// Directory for temporary files, if the default one is not writable.
    pub(crate) temporary: Option<PathBuf>,
}

/// Returns how to start a command of this agent: in its own session, and in the sandbox if the
/// settings require one. Returns `None` if there is no helper.
///
/// # Errors
/// Fails if a sandbox is required and there is no helper to set it up.
pub(crate) fn plan(ctx: &ToolContext) -> Result<Option<Plan>, String> {
    let guards = &ctx.guards;
    let confine = match (guards.sandbox, &ctx.confine) {
        (SandboxUse::Off, _) | (SandboxUse::Worktree, None) => None,
        (_, Some(confine)) => Some(Confinement::clone(confine)),
        // The path of the working directory contains no links; one created since then is not
        // followed.
        (SandboxUse::Always, None) => Some(Confinement::resolved(ctx.cwd.clone())),
    };
    if guards.helper.is_empty() {
        return if guards.required && confine.is_some() {
            Err("The command was not run: `sandbox.required` is set and there is no program to set up the sandbox.".into())
        } else {
            Ok(None)
        };
    }
    let mut plan = Plan {
        words: guards.helper.iter().map(OsString::from).collect(),
        sandboxed: confine.is_some(),
        temporary: None,
    };
    if let Some(confine) = confine {
        let paths = WritablePaths::of(&confine, ctx);
        plan.words.push(SANDBOX.into());
        if guards.required {
            plan.words.push(REQUIRED.into());
        }
        for path in paths.writable {
            plan.words.extend([OsString::from(WRITE), path.into()]);
        }
        plan.temporary = paths.temporary;
    }
    plan.words.push(COMMAND.into());
    Ok(Some(plan))
}

struct WritablePaths {
    writable: Vec<PathBuf>,
    temporary: Option<PathBuf>,
}

impl WritablePaths {
    fn of(confine: &Confinement, ctx: &ToolContext) -> Self {
        let mut writable: Vec<PathBuf> = confine.directories().map(Path::to_owned).collect();
        let mut others: Vec<PathBuf> = ctx.guards.write.clone();
        if let Some(git) = confine.git() {
            writable.push(git.own.clone());
            others.extend(SHARED_BY_GIT.map(|name| git.common.join(name)));
        }
        let usual = ctx.env.get("TMPDIR").map_or("/tmp", String::as_str);
        let protected_paths = protected_paths(confine, ctx);
        let safe = |real: &PathBuf| {
            real != Path::new("/") && !protected_paths.iter().any(|path| path.starts_with(real))
        };
        // A link that a command may have created is not followed. Each directory is granted exactly
        // as resolved here: the helper follows no links.
        let mut reach = writable.clone();
        reach.extend(others.iter().filter_map(|path| resolve(path)));
        let all_temporary = std::iter::once(usual).chain(TEMPORARY).map(Path::new);
        reach.extend(all_temporary.clone().filter_map(resolve).filter(safe));
        let found = |path: &Path| {
            resolve_where(path, |link| {
                !reach.iter().any(|directory| link.starts_with(directory))
            })
        };
        let has_usual = found(Path::new(usual)).as_ref().is_some_and(safe);
        let git = confine.git().filter(|_| !has_usual);
        writable.extend(DEVICES.iter().filter_map(|path| found(Path::new(path))));
        writable.extend(others.iter().filter_map(|path| found(path)));
        writable.extend(all_temporary.filter_map(found).filter(safe));
        Self {
            writable,
            temporary: git.map(|git| git.own.join(WORKTREE_TEMPORARY)),
        }
    }
}

/// Returns paths that must not be writable: a temporary directory that contains one of them is not
/// granted.
fn protected_paths(confine: &Confinement, ctx: &ToolContext) -> Vec<PathBuf> {
    let mut protected_paths: Vec<PathBuf> = ctx.protected.roots().to_vec();
    // Other agents' worktrees are next to this one.
    protected_paths.push(confine.root().to_owned());
    protected_paths.extend(confine.main_checkout().map(Path::to_owned));
    protected_paths.extend(confine.git().map(|git| git.common.clone()));
    protected_paths
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use swarm_protocol::{MemberName, ShellGuards};

    use super::*;
    use crate::{Caller, ProtectedPaths};

    fn context(base: &Path, guards: ShellGuards, confined: bool) -> ToolContext {
        let cwd = base.join("main/.claude/worktrees/a");
        std::fs::create_dir_all(&cwd).unwrap();
        ToolContext {
            confine: confined.then(|| Arc::new(Confinement::new(&cwd))),
            env: Arc::new(BTreeMap::from([("TMPDIR".into(), "/var/tmp".into())])),
            protected: Arc::new(ProtectedPaths::new(Path::new("/no/state"))),
            guards: Arc::new(guards),
            ..ToolContext::new(cwd, Caller::new(MemberName::lead()))
        }
    }

    #[test]
    fn the_settings_decide_which_commands_are_sandboxed() {
        let base = tempfile::tempdir().unwrap();
        for (sandbox, confined, expected) in [
            (SandboxUse::Off, true, false),
            (SandboxUse::Worktree, true, true),
            (SandboxUse::Worktree, false, false),
            (SandboxUse::Always, false, true),
        ] {
            let mut guards = ShellGuards {
                sandbox,
                helper: vec!["/helper".into(), "__sandbox".into()],
                ..ShellGuards::default()
            };
            let ctx = context(base.path(), guards.clone(), confined);
            let planned = plan(&ctx).unwrap().unwrap();
            let has_flag = planned.words.iter().any(|word| word == SANDBOX);
            assert_eq!(
                (planned.sandboxed, has_flag),
                (expected, expected),
                "{sandbox} {confined}"
            );
            assert_eq!(planned.words[1..].len() == 2, !expected, "{planned:?}");
            // Without a helper a command runs without a sandbox, unless the sandbox is required.
            guards.helper.clear();
            let ctx = context(base.path(), guards.clone(), confined);
            assert_eq!(plan(&ctx), Ok(None));
            guards.required = true;
            let ctx = context(base.path(), guards, confined);
            assert_eq!(plan(&ctx).is_err(), expected, "{sandbox} {confined}");
        }
    }

    #[test]
    fn links_that_commands_may_have_created_are_not_followed() {
        use std::os::unix::fs::symlink;
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let of_the_user = base.join("home/cache");
        std::fs::create_dir_all(base.join("disk/cache")).unwrap();
        std::fs::create_dir_all(base.join("home")).unwrap();
        std::fs::create_dir_all(base.join("secret")).unwrap();
        symlink(base.join("disk/cache"), &of_the_user).unwrap();
        let guards = ShellGuards {
            helper: vec!["/helper".into()],
            write: vec![of_the_user.clone(), of_the_user.join("inner")],
            ..ShellGuards::default()
        };
        let ctx = context(&base, guards, true);
        let secret = base.join("secret");
        symlink(&secret, base.join("disk/cache/inner")).unwrap();
        let words = plan(&ctx).unwrap().unwrap().words;
        let has = |path: &Path| words.iter().any(|word| word == path);
        assert!(has(&base.join("disk/cache")), "{words:?}");
        assert!(!has(&secret) && !has(&of_the_user), "{words:?}");
    }

    #[test]
    fn a_temporary_directory_that_contains_protected_paths_is_not_writable() {
        let base = tempfile::tempdir_in("/tmp").unwrap();
        let guards = ShellGuards {
            helper: vec!["/helper".into()],
            write: vec!["/caches".into()],
            ..ShellGuards::default()
        };
        let words = plan(&context(base.path(), guards, true))
            .unwrap()
            .unwrap()
            .words;
        let has = |path: &str| words.iter().any(|word| word == path);
        assert!(
            has("/var/tmp") && has("/caches") && has("/dev/null"),
            "{words:?}"
        );
        assert!(!has("/tmp") && !has("/"), "{words:?}");
    }
}
