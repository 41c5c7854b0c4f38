//! What there is to reach: a home with credentials, a config directory, a repository, a process, a
//! terminal and sockets.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;

use swarm_protocol::{
    MemberName, SANDBOX_HELPER, SandboxKind, SandboxNetwork, SandboxUse, ShellGuards,
};
use swarm_tools::{AgentShell, Caller, Confinement, ProtectedPaths, ToolContext};
use tempfile::TempDir;

use super::rebinding::RebindingResolver;

/// Everything that attempts try to reach.
#[derive(Debug)]
pub(super) struct Place {
    directory: TempDir,
    victim: Child,
    abstract_name: String,
    helper: PathBuf,
    terminal: std::os::fd::OwnedFd,
    listener: TcpListener,
    _listeners: [UnixListener; 2],
}

impl Drop for Place {
    fn drop(&mut self) {
        self.victim.kill().expect("the victim");
        self.victim.wait().expect("the victim");
    }
}

impl Place {
    /// `helper` is a program with the role of the sandbox helper. With `repository`, the directory
    /// `project` is one, and `tree` its worktree.
    pub(super) fn new(helper: &Path, repository: bool) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let base = directory.path();
        for path in [
            "outside/file",
            "home/.ssh/id",
            "home/.netrc",
            "root/settings.json",
            "root/agents/a.md",
            "root/swarm/bin/x",
            "root/teams/t/config.json",
            "root/teams/t/inboxes/alice.json",
            "root/teams/t/swarm/requests/p1.json",
            "root/teams/t/swarm/members/alice/life",
            "project/a.txt",
        ] {
            let path = base.join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            std::fs::write(path, "SECRET").expect("a file");
        }
        if repository {
            create_repository(base);
        }
        let victim = Command::new("sleep")
            .arg("9999")
            .env("KEY", "SECRET")
            .spawn()
            .expect("a process");
        let unique = base.file_name().unwrap_or_default().to_string_lossy();
        let abstract_name = format!("escapes-{unique}");
        let address = SocketAddr::from_abstract_name(&abstract_name).expect("an address");
        let listeners = [
            UnixListener::bind(base.join("outside/socket")).expect("a socket"),
            UnixListener::bind_addr(&address).expect("a socket"),
        ];
        let flags = rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY;
        let terminal = rustix::pty::openpt(flags).expect("a terminal");
        rustix::pty::unlockpt(&terminal).expect("a terminal");
        Self {
            directory,
            victim,
            abstract_name,
            helper: helper.to_owned(),
            terminal,
            listener: TcpListener::bind("127.0.0.1:0").expect("a port"),
            _listeners: listeners,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Context of an agent in the main checkout or in a worktree.
    pub(super) fn context(&self, backend: SandboxKind, worktree: bool, mark: &str) -> ToolContext {
        let text = |name: &str| self.path(name).display().to_string();
        let port = self.listener.local_addr().expect("an address").port();
        let terminal = rustix::pty::ptsname(&self.terminal, Vec::new()).expect("a name");
        let env = BTreeMap::from(
            [
                (
                    "PATH",
                    "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".to_owned(),
                ),
                ("HOME", text("home")),
                ("OUT", text("outside")),
                ("ROOT", text("root")),
                ("COMMON", text("project/.git")),
                ("SOCKET", text("outside/socket")),
                ("ABSTRACT", self.abstract_name.clone()),
                ("VICTIM", self.victim.id().to_string()),
                ("TTY", terminal.to_string_lossy().into_owned()),
                ("PORT", port.to_string()),
                ("MARK", mark.to_owned()),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        let directory = self.path(if worktree { "tree" } else { "project" });
        let root = self.path("root");
        ToolContext {
            confine: worktree.then(|| Arc::new(Confinement::new(&directory))),
            env: Arc::new(env),
            protected: Arc::new(ProtectedPaths::new(&root)),
            scratch: Some(root.join("projects/x/output").into()),
            guards: Arc::new(ShellGuards {
                sandbox: SandboxUse::Always,
                backend: Some(backend),
                helper: self.helper(),
                hide: vec![
                    self.path("home/.ssh"),
                    self.path("home/.netrc"),
                    root.clone(),
                ],
                network: SandboxNetwork::Proxy,
                // Any name, which excludes local addresses.
                hosts: vec![format!("*.rebinding.example:{port}")],
                show: vec![root.join("agents"), root.join("swarm/bin")],
                ..ShellGuards::default()
            }),
            shell: Arc::new(AgentShell::with_resolver(
                Arc::<RebindingResolver>::default(),
            )),
            ..ToolContext::new(directory, Caller::new(MemberName::lead()))
        }
    }

    pub(super) fn helper(&self) -> Vec<String> {
        let program = self.helper.display().to_string();
        vec![program, SANDBOX_HELPER.to_owned()]
    }
}

fn create_repository(base: &Path) {
    let script = "git init -q && git add . && git -c user.name=x -c user.email=x@x commit -q -m x && git worktree add -q ../tree";
    let made = Command::new("sh")
        .args(["-c", script])
        .env("HOME", base.join("home"))
        .current_dir(base.join("project"))
        .status();
    assert!(made.expect("sh").success());
}
