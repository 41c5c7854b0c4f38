//! The tmux server of the demo, on a socket in its temporary directory.

use std::ffi::OsString;
use std::future::pending;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use swarm_os::process::Process;
use swarm_panes::TmuxBackend;

use super::stage::Stage;
use crate::app::App;
use crate::failure::{Failure, Result};
use crate::output::{terminal_height, terminal_width};

/// Columns and rows of the window while no terminal is attached.
const COLUMNS: &str = "176";
const ROWS: &str = "44";

/// The first window of a session.
pub(super) struct Window<'a> {
    pub(super) session: &'a str,
    pub(super) name: &'a str,
    pub(super) directory: &'a Path,
    pub(super) words: &'a [OsString],
}

/// A running server with the pane of the lead. Stopped on drop.
#[derive(Debug)]
pub(super) struct DemoServer {
    program: PathBuf,
    socket: PathBuf,
    pub(super) lead_pane: String,
    session: String,
    pid: String,
}

impl DemoServer {
    /// Starts the server with a program in its first pane.
    pub(super) async fn start(app: &App, stage: &Stage, first: &Window<'_>) -> Result<Self> {
        let program = app.env.find_program("tmux").ok_or_else(|| {
            Failure::environment("tmux not found on the PATH")
                .with_hint("install tmux, for example with `apt-get install tmux`")
        })?;
        swarm_panes::check_tmux(&program).await?;
        // Panes inherit the environment of the server, whichever client creates them.
        let mut command = stage.first.command(app, &program);
        command
            .arg("-S")
            .arg(stage.socket())
            .args(["-f", "/dev/null"]);
        for name in ["NO_COLOR", "COLORTERM"] {
            if let Some(value) = app.env.get(name) {
                command.env(name, value);
            }
        }
        let (first_pane, pid) = new_session(command, first)?;
        let server = Self {
            program,
            socket: stage.socket(),
            lead_pane: first_pane,
            session: first.session.to_owned(),
            pid,
        };
        for (name, value) in [
            ("status-style", "bg=default,fg=colour244"),
            ("status-right", ""),
            ("status-right-length", "40"),
            ("mouse", "on"),
        ] {
            server.tmux(&["set-option", "-g", name, value])?;
        }
        // Otherwise it would interrupt the member whose pane is shown.
        server.tmux(&["bind-key", "-n", "C-c", "detach-client"])?;
        Ok(server)
    }

    /// Opens the session of the lead, which takes the place of the first one.
    pub(super) fn open_lead(&mut self, lead: &Window<'_>) -> Result<()> {
        // The end of the lead's session shows the node.
        self.tmux(&["set-option", "-g", "detach-on-destroy", "off"])?;
        let opened = new_session(self.command(), lead)?;
        self.lead_pane = opened.0;
        lead.session.clone_into(&mut self.session);
        Ok(())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg("-S")
            .arg(&self.socket)
            .env_remove("TMUX")
            .env_remove("TMUX_PANE");
        command
    }

    fn tmux(&self, args: &[&str]) -> Result<()> {
        self.command()
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        Ok(())
    }

    pub(super) async fn ended(&self) {
        let server = self.pid.parse().ok().and_then(Process::running);
        if let Some(server) = server
            && let Err(error) = server.ended().await
        {
            tracing::debug!(%error, "the end of the tmux server is not noticed");
            pending::<()>().await;
        }
    }

    /// Shows a text in the status line.
    pub(super) fn show(&self, text: &str) {
        let text = text.replace('#', "##");
        self.try_tmux(&["set-option", "-g", "status-right", &text]);
    }

    /// Shows the window of a pane.
    pub(super) fn select(&self, pane: &str) {
        self.try_tmux(&["select-window", "-t", pane]);
        // It may be in another session.
        self.try_tmux(&["switch-client", "-t", pane]);
    }

    /// Ends all programs in the panes.
    pub(super) fn stop(&self) {
        // It exits with its last pane, so this may fail.
        self.try_tmux(&["kill-server"]);
    }

    /// Runs a tmux command that is not essential. It fails when the server has ended.
    fn try_tmux(&self, args: &[&str]) {
        if let Err(failure) = self.tmux(args) {
            tracing::debug!(message = failure.message, "tmux command not run");
        }
    }

    /// Attaches this terminal until the session ends or the person detaches.
    pub(super) async fn attach(&self) -> Result<()> {
        let mut command = self.command();
        command.args(["attach-session", "-t", &self.session]);
        tokio::process::Command::from(command).status().await?;
        Ok(())
    }

    /// Returns the panes as they are displayed.
    pub(super) fn backend(&self) -> Result<TmuxBackend> {
        let place = swarm_panes::PanePlacement::default();
        Ok(TmuxBackend::inside(
            self.program.clone(),
            &self.address(),
            &self.lead_pane,
            place,
        )?)
    }

    /// The variables of a program in the lead's pane.
    pub(super) fn variables(&self) -> [(&'static str, String); 2] {
        [
            ("TMUX", self.address()),
            ("TMUX_PANE", self.lead_pane.clone()),
        ]
    }

    fn address(&self) -> String {
        format!("{},{},0", self.socket.display(), self.pid)
    }
}

/// Opens a session in the size of this terminal; returns its first pane and the PID of the server.
fn new_session(mut tmux: Command, window: &Window<'_>) -> Result<(String, String)> {
    let stdout = std::io::stdout();
    let columns = terminal_width(&stdout).map(|columns| columns.to_string());
    // Without the status line.
    let rows = terminal_height(&stdout).map(|rows| rows.saturating_sub(1).to_string());
    let (columns, rows) = columns.zip(rows).unzip();
    tmux.args(["new-session", "-d"])
        .args(["-x", columns.as_deref().unwrap_or(COLUMNS)])
        .args(["-y", rows.as_deref().unwrap_or(ROWS)])
        .args(["-s", window.session, "-n", window.name])
        .args(["-P", "-F", "#{pane_id} #{pid}", "-c"])
        .arg(window.directory)
        .arg("--")
        .args(window.words)
        .stdin(Stdio::null());
    let started = tmux.output()?;
    if !started.status.success() {
        let said = String::from_utf8_lossy(&started.stderr);
        let message = format!("tmux did not start: {}", said.trim());
        return Err(Failure::environment(message));
    }
    let answer = String::from_utf8_lossy(&started.stdout).into_owned();
    let (pane, pid) = answer
        .trim()
        .split_once(' ')
        .ok_or_else(|| Failure::environment(format!("tmux answered `{}`", answer.trim())))?;
    Ok((pane.to_owned(), pid.to_owned()))
}

impl Drop for DemoServer {
    fn drop(&mut self) {
        self.stop();
    }
}
