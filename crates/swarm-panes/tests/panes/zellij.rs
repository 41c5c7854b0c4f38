//! A real zellij session, if zellij is installed, and what the contract does not say about it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use swarm_panes::{
    ExternalBackend, PaneBackend as _, PaneError, PaneProgram, PaneStatus, PaneText,
};

use crate::rig::{Directory, PATH, UserServer, open_sleeper, sh, spec, until, within};

const CONFIG: &str =
    "show_startup_tips false\nshow_release_notes false\nsession_serialization false\n";

const SESSION: &str = "work";

/// A session with one pane, the lead's, in a window of a tmux server. Killed on drop.
pub(crate) struct ZellijSession {
    program: PathBuf,
    /// Environment of the session's panes.
    env: Vec<(String, String)>,
    server: UserServer,
}

impl ZellijSession {
    /// Starts a session of this size; `None` without zellij 0.45 or newer.
    pub(crate) async fn start(columns: u16, rows: u16) -> Option<Self> {
        let program = installed()?;
        let server = UserServer::start(columns, rows);
        let home = server.directory.path("home");
        std::fs::create_dir(&home).unwrap();
        std::fs::write(home.join("config.kdl"), CONFIG).unwrap();
        let layout = home.join("layout.kdl");
        // Actions before the first pane has started may never be answered.
        let ready = home.join("ready");
        let script = format!("touch {}; exec sleep 1000000", ready.display());
        let pane = format!("pane command=\"/bin/sh\" {{ args \"-c\" \"{script}\"; }}");
        std::fs::write(&layout, format!("layout {{ {pane}; }}")).unwrap();
        let home = home.to_str().unwrap();
        let above = program.parent().unwrap().display();
        let path = format!("{above}:{PATH}");
        let env = [
            ("PATH", path.as_str()),
            ("HOME", home),
            ("SHELL", "/bin/sh"),
            ("ZELLIJ_CONFIG_DIR", home),
            ("ZELLIJ_SOCKET_DIR", home),
            ("ZELLIJ_SESSION_NAME", SESSION),
            ("ZELLIJ_PANE_ID", "0"),
        ];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let session = Self {
            program,
            env: env.into(),
            server,
        };
        let ours = session.env.iter().take(5);
        let variables: Vec<String> = ours
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let mut words = vec!["new-window"];
        words.extend(variables.iter().flat_map(|variable| ["-e", variable]));
        words.extend([
            "--",
            session.program.to_str().unwrap(),
            "--session",
            SESSION,
        ]);
        words.extend(["--new-session-with-layout", layout.to_str().unwrap()]);
        session.server.run(&words);
        until("the first pane has started", || ready.exists()).await;
        Some(session)
    }

    /// Runs an action of zellij and returns its output.
    fn run(&self, words: &[&str]) -> String {
        let mut command = Command::new(&self.program);
        command.env_clear().envs(self.env.iter().cloned());
        let output = command.arg("action").args(words).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns the backend of the lead in the session.
    pub(crate) fn backend(&self) -> ExternalBackend {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
        let driver = PaneProgram {
            program: root.unwrap().join("config/backends/zellij"),
            env: self.env.clone(),
        };
        let records = self.server.directory.path("members");
        ExternalBackend::new(&records, Arc::new(driver))
    }

    pub(crate) fn directory(&self) -> &Directory {
        &self.server.directory
    }

    /// Kills the session with everything in it.
    fn kill(&self) {
        let mut command = Command::new(&self.program);
        command.env_clear().envs(self.env.iter().cloned());
        command.args(["kill-session", SESSION]).output().ok();
    }
}

impl Drop for ZellijSession {
    fn drop(&mut self) {
        self.kill();
    }
}

#[expect(
    clippy::print_stderr,
    reason = "a test that passes in silence would look like a proof"
)]
fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut programs = std::env::split_paths(&path).map(|above| above.join("zellij"));
    let program = programs.find(|program| program.is_file());
    let version = program.as_ref().and_then(|program| {
        let said = Command::new(program).arg("--version").output().ok()?;
        let said = String::from_utf8(said.stdout).ok()?;
        said.trim()
            .strip_prefix("zellij 0.")?
            .split('.')
            .next()?
            .parse::<u32>()
            .ok()
    });
    if version.is_none_or(|version| version < 45) {
        eprintln!("NOT PROVEN HERE: zellij 0.45 is not installed, so no pane was opened in it");
        return None;
    }
    program
}

#[tokio::test]
async fn r1_members_are_a_stack_next_to_the_lead_which_keeps_the_focus() {
    let Some(session) = ZellijSession::start(80, 24).await else {
        return;
    };
    let backend = session.backend();
    let mut opened = Vec::new();
    for member in ["ada", "bob", "eve", "joe"] {
        opened.push(open_sleeper(&backend, member).await);
    }
    let columns = session.run(&["list-panes", "--geometry", "--state"]);
    let places = |name: &str| {
        let row = columns.lines().find(|row| row.contains(name)).unwrap();
        let words: Vec<&str> = row.split_whitespace().skip(3).collect();
        words.join(" ")
    };
    // FOCUSED FLOATING EXITED X Y ROWS COLS
    for member in ["ada", "bob", "eve", "joe"] {
        assert_eq!(places(member), "false false false 40 0 24 40", "{columns}");
    }
    assert!(
        columns.contains("true  false  false  0  0  24  40"),
        "{columns}"
    );
    let (spec, pane) = &opened[1];
    session.run(&["close-pane", "--pane-id", "terminal_2"]);
    let status = within("the end is seen", backend.exited(pane))
        .await
        .unwrap();
    let hung_up = PaneStatus::Dead {
        code: None,
        signal: Some("1".to_owned()),
    };
    assert_eq!(status, hung_up);
    let gone = backend
        .capture(pane, PaneText::default())
        .await
        .unwrap_err();
    assert!(matches!(gone, PaneError::Gone(_)), "{gone}");
    backend.close(pane, &spec.spawn_id).await.unwrap();
    session.kill();
    for (spec, pane) in &opened {
        within("all have ended", backend.exited(pane))
            .await
            .unwrap();
        backend.close(pane, &spec.spawn_id).await.unwrap();
    }
}

#[tokio::test]
async fn a_member_without_room_for_its_pane_is_not_started() {
    let Some(session) = ZellijSession::start(20, 5).await else {
        return;
    };
    let backend = session.backend();
    let refused = loop {
        let sleeper = sh("exec sleep 1000000", &[]);
        match backend.launch(&spec("ada"), &sleeper).await {
            Ok(_) => {}
            Err(refused) => break refused,
        }
    };
    assert!(refused.to_string().contains("no room"), "{refused}");
}
