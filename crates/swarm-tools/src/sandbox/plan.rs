//! What a command may write and read, and the arguments of its helper.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use swarm_os::namespaces::{MountView, Replacement};
use swarm_os::repository_top;
use swarm_protocol::{SandboxKind, SandboxNetwork, SandboxUse, word_list};

use super::arguments::{HelperArguments, HelperTask};
use super::fixed::fixed_entries;
use super::host::Joining;
use super::launcher::Launcher;
use crate::files::{resolve, resolve_where};
use crate::{Confinement, ToolContext};

/// Devices that programs may write to.
const DEVICES: [&str; 9] = word_list(
    "/dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /dev/ptmx /dev/pts /dev/shm",
);

/// Directories for temporary files, in addition to `TMPDIR`.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// Entries that all worktrees of a repository share and that git writes when it commits, creates
/// branches and fetches. Excludes `config` and `hooks`, which make git run programs, and
/// `packed-refs`, whose lock file is in the same directory.
const SHARED_BY_GIT: [&str; 4] = ["objects", "refs", "logs", "reftable"];

/// Directory for temporary files in the git directory of one worktree, removed with the worktree, or
/// in the agent's directory for long output.
const OWN_TEMPORARY: &str = "swarm-tmp";

/// How to start a command through the helper.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Arguments before the command.
    pub(crate) words: Vec<OsString>,
    /// Starts shell commands in the same way, but faster.
    pub(crate) launcher: Option<Arc<Launcher>>,
    pub(crate) sandboxed: bool,
    /// Directory for temporary files, if the default one is not writable.
    pub(crate) temporary: Option<PathBuf>,
    /// Port of the proxy to the network on the loopback address, if there is one.
    pub(crate) proxy: Option<u16>,
}

/// Returns how to start a command of this agent: in its own session, and in the sandbox if the
/// settings require one. An agent program sees `program` in the place of other files. Returns `None` if
/// there is no helper.
///
/// # Errors
/// Fails if a sandbox is required and does not work.
pub(crate) fn plan(
    ctx: &ToolContext,
    program: Option<&[Replacement]>,
) -> Result<Option<Plan>, String> {
    let guards = &ctx.guards;
    let confine = confinement(ctx)?;
    if guards.helper.is_empty() {
        return Ok(None);
    }
    let mut plan = Plan {
        words: guards.helper.iter().map(OsString::from).collect(),
        launcher: None,
        sandboxed: confine.is_some(),
        temporary: None,
        proxy: None,
    };
    let arguments = match confine {
        None => HelperArguments::default().words(),
        Some((backend, confine)) => {
            let paths = WritablePaths::of(&confine, ctx);
            plan.temporary.clone_from(&paths.temporary);
            create_temporary(paths.temporary.as_deref())?;
            let mut view = paths.view(&confine, ctx);
            if let Some(replaced) = program {
                show_to_program(&mut view, replaced);
            }
            let joining = confined(backend, view, ctx)?;
            plan.proxy = joining.proxy;
            plan.launcher = joining.launcher;
            joining.words
        }
    };
    plan.words.extend(arguments);
    Ok(Some(plan))
}

/// Changes a view to that of an agent program.
fn show_to_program(view: &mut MountView, replaced: &[Replacement]) {
    view.replaced = replaced.to_vec();
    // In the home directory, a program's settings are also those of a project.
    let is_replaced = |path: &Path| replaced.iter().any(|other| other.path == path);
    view.fixed.retain(|entry| !is_replaced(&entry.path));
}

/// Returns the backend and the writable directories, if the settings confine this agent.
fn confinement(ctx: &ToolContext) -> Result<Option<(SandboxKind, Confinement)>, String> {
    let guards = &ctx.guards;
    let confine = match (guards.sandbox, &ctx.confine) {
        (SandboxUse::Off, _) | (SandboxUse::Worktree, None) => return Ok(None),
        (_, Some(confine)) => Confinement::clone(confine),
        // The path of the working directory contains no links; one created since then is not
        // followed.
        (_, None) => Confinement::resolved(ctx.cwd.clone()),
    };
    match guards.backend.filter(|_| !guards.helper.is_empty()) {
        Some(backend) => Ok(Some((backend, confine))),
        None if guards.required || guards.sandbox == SandboxUse::Always => Err(
            "The command was not run: `sandbox.bash` or `sandbox.required` requires a sandbox, and none works on this machine. `swarm doctor` says why.".into(),
        ),
        None => Ok(None),
    }
}

/// Returns the directories, without symbolic links, in which this agent's commands can write, or those
/// of other agents in the repositories of the agent and of `cwd`. `None` if its commands are not
/// confined.
///
/// # Errors
/// Fails if a sandbox is required and does not work.
pub(super) fn writable_by_agents(
    ctx: &ToolContext,
    cwd: &Path,
) -> Result<Option<Vec<PathBuf>>, String> {
    let Some((_, confine)) = confinement(ctx)? else {
        return Ok(None);
    };
    let mut writable = WritablePaths::of(&confine, ctx).writable;
    // Programs are not run from devices.
    writable.retain(|path| !path.starts_with("/dev") || path.starts_with("/dev/shm"));
    let repositories = [cwd, &ctx.cwd].map(repository_top);
    let repositories = repositories.into_iter().chain(confine.main_checkout());
    writable.extend(repositories.filter_map(resolve));
    Ok(Some(writable))
}

/// Returns the arguments that confine a command to a view.
fn confined(backend: SandboxKind, view: MountView, ctx: &ToolContext) -> Result<Joining, String> {
    let guards = &ctx.guards;
    let mut arguments = HelperArguments {
        task: HelperTask::Landlock,
        view,
        unix_sockets: guards.unix_sockets,
        network: guards.network,
        ..HelperArguments::default()
    };
    let slot = ctx.shell.sandbox();
    let access = slot.access(&guards.hosts);
    // A hook has none, and runs next to a call.
    if guards.asks_for_hosts && ctx.host.is_some() {
        access.set_call(ctx.host.clone());
    }
    let joined = match (backend, guards.network) {
        (SandboxKind::Namespaces, _) => slot.join(&guards.helper, arguments, access),
        (SandboxKind::Landlock, SandboxNetwork::Proxy) => slot.proxy_outside(access).map(|proxy| {
            arguments.proxy_port = proxy;
            restricted(&arguments)
        }),
        (SandboxKind::Landlock, SandboxNetwork::Open | SandboxNetwork::None) => {
            Ok(restricted(&arguments))
        }
    };
    joined.map_err(|why| format!("The command was not run: its sandbox failed: {why}."))
}

/// Returns how a command restricts itself without namespaces. No helper is shared: commands could
/// signal it and change its limits, which later ones would inherit.
fn restricted(arguments: &HelperArguments) -> Joining {
    Joining {
        words: arguments.words(),
        launcher: None,
        proxy: arguments.proxy_port,
    }
}

fn create_temporary(directory: Option<&Path>) -> Result<(), String> {
    let Some(directory) = directory else {
        return Ok(());
    };
    let created = std::fs::create_dir_all(directory);
    created.map_err(|error| {
        let directory = directory.display();
        format!("Cannot create the temporary directory {directory}: {error}.")
    })
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
        let temporary = match confine.git() {
            Some(git) => Some(git.own.join(OWN_TEMPORARY)),
            None => ctx
                .scratch
                .as_ref()
                .map(|scratch| scratch.join(OWN_TEMPORARY)),
        };
        let temporary = temporary.filter(|_| !has_usual);
        writable.extend(temporary.clone());
        writable.extend(DEVICES.iter().filter_map(|path| found(Path::new(path))));
        writable.extend(others.iter().filter_map(|path| found(path)));
        writable.extend(all_temporary.filter_map(found).filter(safe));
        Self {
            writable,
            temporary,
        }
    }

    /// Returns the complete view of the file system.
    fn view(self, confine: &Confinement, ctx: &ToolContext) -> MountView {
        let guards = &ctx.guards;
        let mut view = MountView {
            fixed: fixed_entries(confine, &self.writable),
            writable: self.writable,
            hidden: guards.hide.clone(),
            shown: guards.show.clone(),
            replaced: Vec::new(),
        };
        view.shown
            .extend(ctx.scratch.as_deref().map(Path::to_owned));
        view
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
            (SandboxUse::Auto, false, true),
            (SandboxUse::Always, false, true),
        ] {
            let mut guards = ShellGuards {
                sandbox,
                backend: Some(SandboxKind::Landlock),
                helper: vec!["/helper".into(), "__sandbox".into()],
                ..ShellGuards::default()
            };
            let ctx = context(base.path(), guards.clone(), confined);
            let planned = plan(&ctx, None).unwrap().unwrap();
            assert_eq!(planned.sandboxed, expected, "{sandbox} {confined}");
            assert_eq!(planned.words[2..].len() == 1, !expected, "{planned:?}");
            // Without a backend a command runs without a sandbox, unless the sandbox is required.
            guards.backend = None;
            let ctx = context(base.path(), guards.clone(), confined);
            let refused = sandbox == SandboxUse::Always;
            assert_eq!(plan(&ctx, None).is_err(), refused, "{sandbox} {confined}");
            assert!(plan(&ctx, None).is_ok_and(|plan| !plan.unwrap().sandboxed) || refused);
            guards.required = true;
            let ctx = context(base.path(), guards, confined);
            assert_eq!(plan(&ctx, None).is_err(), expected, "{sandbox} {confined}");
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
            backend: Some(SandboxKind::Landlock),
            helper: vec!["/helper".into()],
            write: vec![of_the_user.clone(), of_the_user.join("inner")],
            ..ShellGuards::default()
        };
        let ctx = context(&base, guards, true);
        let secret = base.join("secret");
        symlink(&secret, base.join("disk/cache/inner")).unwrap();
        let words = plan(&ctx, None).unwrap().unwrap().words;
        let has = |path: &Path| words.iter().any(|word| word == path);
        assert!(has(&base.join("disk/cache")), "{words:?}");
        assert!(!has(&secret) && !has(&of_the_user), "{words:?}");
    }

    #[test]
    fn a_temporary_directory_that_contains_protected_paths_is_not_writable() {
        let base = tempfile::tempdir_in("/tmp").unwrap();
        let guards = ShellGuards {
            backend: Some(SandboxKind::Landlock),
            helper: vec!["/helper".into()],
            write: vec!["/caches".into()],
            ..ShellGuards::default()
        };
        let words = plan(&context(base.path(), guards, true), None)
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
