//! Restrictions of agents' shells: the sandbox and the wrapper programs.

use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::thread::{self, JoinHandle};

use swarm_config::{Environment, RuntimePresets, Settings};
use swarm_protocol::{
    SANDBOX_HELPER, SandboxKind, SandboxNetwork, SandboxUse, ShellGuards, word_list,
};
use swarm_supervisor::FindSandbox;
use swarm_tools::sandbox::{SandboxProbe, probe_sandbox};

use crate::app::App;
use crate::config_directory;
use crate::failure::{Failure, Result};
use crate::hub_credentials::credentials_files;
use crate::output::Output;

/// Entries of the config directory that sandboxed commands can read.
const SHOWN: [&str; 8] =
    word_list("CLAUDE.md agents commands output-styles plugins rules skills swarm/bin");

/// Entries of the setting `sandbox.hide` with sockets instead of secrets. File tools cannot read
/// sockets, and these directories are next to ordinary files.
const SOCKETS: [&str; 5] =
    word_list("/run/dbus /run/docker.sock /run/podman /run/containerd /tmp/.X11-unix");

/// Returns the shell restrictions that apply, without a backend.
pub(crate) fn shell_guards(app: &App, program: &Path) -> Result<ShellGuards> {
    Ok(ShellGuards {
        helper: sandbox_helper(program),
        shims: Some(shims(&app.root, program)?),
        ..written_guards(&app.env, &app.settings, &app.root)
    })
}

/// Returns the restrictions for programs that `swarm doctor` tries.
pub(crate) fn guards_here(env: &Environment, settings: &Settings, root: &Path) -> ShellGuards {
    let own = std::env::current_exe().unwrap_or_default();
    ShellGuards {
        backend: find_sandbox().backend,
        helper: sandbox_helper(&own),
        ..written_guards(env, settings, root)
    }
}

/// Returns the restrictions as the settings have them, without a backend.
fn written_guards(env: &Environment, settings: &Settings, root: &Path) -> ShellGuards {
    let path = |text: &String| env.path_of(text);
    let paths = |texts: &[String]| texts.iter().filter_map(path).collect::<Vec<PathBuf>>();
    let (sockets, mut secrets): (Vec<PathBuf>, Vec<PathBuf>) = paths(&settings.sandbox_hide)
        .into_iter()
        .partition(|path| SOCKETS.iter().any(|socket| path == Path::new(socket)));
    // Variables may move them, so that the setting cannot name them.
    let presets = RuntimePresets::built_in();
    secrets.extend(presets.into_iter().flat_map(|presets| presets.secrets(env)));
    secrets.extend(credentials_files(env, settings, root));
    let mut hide = sockets;
    hide.push(root.to_owned());
    hide.extend(secrets.iter().cloned());
    ShellGuards {
        sandbox: settings.sandbox,
        required: settings.sandbox_required,
        write: paths(&settings.sandbox_write),
        hide,
        secrets,
        show: SHOWN.iter().map(|name| root.join(name)).collect(),
        mcp_servers: settings.sandbox_mcp_servers.clone(),
        unix_sockets: settings.sandbox_unix_sockets,
        network: settings.sandbox_network,
        hosts: hosts(settings),
        ..ShellGuards::default()
    }
}

/// Package registries that sandboxed commands reach by default.
const REGISTRIES: [&str; 22] = word_list(
    "registry.npmjs.org registry.yarnpkg.com nodejs.org pypi.org files.pythonhosted.org crates.io
    index.crates.io static.crates.io static.rust-lang.org proxy.golang.org sum.golang.org
    rubygems.org index.rubygems.org repo.maven.apache.org repo1.maven.org plugins.gradle.org
    services.gradle.org packagist.org repo.packagist.org api.nuget.org repo.hex.pm pub.dev",
);

/// Returns the hosts that the sandbox's proxy permits.
fn hosts(settings: &Settings) -> Vec<String> {
    let mut hosts = settings.sandbox_hosts.clone();
    if settings.sandbox_registries {
        hosts.extend(REGISTRIES.map(str::to_owned));
    }
    hosts
}

/// Tries which sandbox works, with this program as the helper.
pub(crate) fn find_sandbox() -> SandboxProbe {
    let own = std::env::current_exe().unwrap_or_default();
    probe_sandbox(&sandbox_helper(&own))
}

fn sandbox_helper(program: &Path) -> Vec<String> {
    let program = program.to_str();
    let words = program.map(|program| vec![program.to_owned(), SANDBOX_HELPER.to_owned()]);
    words.unwrap_or_default()
}

/// Finds out how commands can be confined, if the settings ask for that.
pub(crate) fn sandbox_backend(app: &App) -> Result<Option<SandboxKind>> {
    Ok(search_sandbox(app)?())
}

/// Begins to find out how commands can be confined, if the settings ask for that. The first call of
/// the result waits for the end of the search on another thread, and warns if they cannot be confined.
/// If the settings require that, the search ends here, and fails.
pub(crate) fn search_sandbox(app: &App) -> Result<Arc<FindSandbox>> {
    let (settings, out) = (&app.settings, app.out);
    let asks_for_proxy = settings.sandbox_network == SandboxNetwork::Proxy;
    let backend_of = move |probe: &SandboxProbe| {
        warn_of_limits(out, probe, asks_for_proxy);
        probe.backend
    };
    if settings.sandbox == SandboxUse::Off {
        return Ok(Arc::new(|| None));
    }
    if settings.sandbox_required || settings.sandbox == SandboxUse::Always {
        let probe = find_sandbox();
        require_backend(&probe)?;
        let backend = backend_of(&probe);
        return Ok(Arc::new(move || backend));
    }
    let search = SandboxSearch::begin()?;
    let found = LazyLock::new(move || backend_of(&search.end()));
    Ok(Arc::new(move || *found))
}

/// A thread that tries which sandbox works. Its processes do not outlive this value.
struct SandboxSearch(Option<JoinHandle<SandboxProbe>>);

impl SandboxSearch {
    fn begin() -> io::Result<Self> {
        let search = thread::Builder::new().name("tries the sandbox".to_owned());
        Ok(Self(Some(search.spawn(find_sandbox)?)))
    }

    fn end(mut self) -> SandboxProbe {
        let search = self.0.take().map(JoinHandle::join);
        search.and_then(Result::ok).unwrap_or_default()
    }
}

impl Drop for SandboxSearch {
    fn drop(&mut self) {
        drop(self.0.take().map(JoinHandle::join));
    }
}

fn require_backend(probe: &SandboxProbe) -> Result<()> {
    if probe.backend.is_some() {
        return Ok(());
    }
    let reasons = missing_backends(probe);
    let message = format!("the settings require a sandbox, and none works here: {reasons}");
    Err(Failure::environment(message).with_hint(
        "see `swarm doctor`, or set `sandbox.bash` to auto and `sandbox.required` to false",
    ))
}

/// Warns if commands cannot be confined, or only without a network.
fn warn_of_limits(out: Output, probe: &SandboxProbe, asks_for_proxy: bool) {
    if probe.backend.is_none() {
        let reasons = missing_backends(probe);
        out.warn(&format!(
            "swarm: agents' shell commands run without a sandbox: {reasons}"
        ));
    } else if !probe.has_proxy && asks_for_proxy {
        out.warn(
            "swarm: agents' shell commands have no network: limiting them to a proxy requires user namespaces or \
             Linux 6.7; set `sandbox.network` to open if they need it",
        );
    }
}

/// Returns why stronger backends do not work.
pub(crate) fn missing_backends(probe: &SandboxProbe) -> String {
    let reasons = probe.missing.iter();
    let reasons = reasons.map(|(kind, why)| format!("{} ({why})", kind.name()));
    reasons.collect::<Vec<_>>().join(", ")
}

/// Creates the directory that comes first in the search path of agents' shells. Its entries link to
/// this program, which selects its role by the name it was called with.
fn shims(root: &Path, program: &Path) -> Result<PathBuf> {
    // Tried each time: a directory that was copied to another disk has the link too.
    config_directory::make(root)?;
    let directory = root.join("swarm").join("bin");
    let is_linked = |to: PathBuf| to == program;
    if !std::fs::read_link(directory.join(GIT)).is_ok_and(is_linked) {
        link_shims(&directory, program).map_err(|error| {
            let message = format!(
                "cannot create the agent programs directory {}: {error}",
                directory.display()
            );
            Failure::environment(message).with_hint("make that directory writable")
        })?;
    }
    Ok(directory)
}

/// Name of the only entry.
const GIT: &str = "git";

fn link_shims(directory: &Path, program: &Path) -> io::Result<()> {
    std::fs::create_dir_all(directory)?;
    // Replaced atomically, because another process's shell may be reading it.
    let fresh = directory.join(format!(".git-{}", std::process::id()));
    swarm_os::remove_if_present(&fresh)?;
    symlink(program, &fresh)?;
    std::fs::rename(&fresh, directory.join(GIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_are_permitted_unless_the_settings_say_otherwise() {
        let mut settings = Settings::built_in().unwrap();
        settings.sandbox_hosts = vec!["own.example".to_owned()];
        let permitted = hosts(&settings);
        assert!(permitted.iter().any(|host| host == "crates.io"));
        settings.sandbox_registries = false;
        assert_eq!(hosts(&settings), ["own.example"]);
    }

    #[test]
    fn file_tools_read_nothing_that_is_hidden_from_commands_but_sockets() {
        let env = Environment::new([("HOME", "/home/ann")], Path::new("/work"));
        let settings = Settings::built_in().unwrap();
        let guards = written_guards(&env, &settings, Path::new("/home/ann/.claude"));
        for path in ["/home/ann/.ssh", "/home/ann/.npmrc", "/run/user"] {
            assert!(guards.secrets.contains(&PathBuf::from(path)), "{path}");
        }
        assert!(
            (guards.secrets.iter()).all(|secret| guards.hide.contains(secret)),
            "{guards:?}"
        );
        for socket in SOCKETS.map(PathBuf::from) {
            assert!(guards.hide.contains(&socket), "{}", socket.display());
            assert!(!guards.secrets.contains(&socket), "{}", socket.display());
        }
    }
}
