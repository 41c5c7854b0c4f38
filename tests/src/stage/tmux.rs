//! tmux on private sockets: swarm's own servers, and one with a simulated user.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::world::World;
use crate::wait::wait_for;

/// A tmux server on a socket of this world.
#[derive(Debug, Clone)]
pub struct Tmux {
    socket: PathBuf,
    environment: Vec<(String, String)>,
}

/// A pane as printed by `list-panes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneLine {
    /// `%N`.
    pub id: String,
    /// `session:window`.
    pub window: String,
    /// Title: a member's name, then ` · ` and its state.
    pub title: String,
    /// Width in columns.
    pub width: u32,
    /// Height in rows.
    pub height: u32,
    /// Pid of its process.
    pub pid: u32,
    /// Whether the process has exited.
    pub is_dead: bool,
    /// Whether it is the active pane of the active window.
    pub is_active: bool,
}

/// Format for [`Tmux::panes`]; texts chosen by programs come last.
const PANE_FORMAT: &str = "#{pane_id}\t#{session_name}:#{window_name}\t#{pane_width}\t#{pane_height}\t#{pane_pid}\t#{pane_dead}\t#{&&:#{pane_active},#{window_active}}\t#{pane_title}";

impl Tmux {
    pub(super) fn new(socket: PathBuf, environment: Vec<(String, String)>) -> Self {
        Self {
            socket,
            environment,
        }
    }

    /// Returns its socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .arg("-S")
            .arg(&self.socket)
            .args(["-f", "/dev/null"])
            .stdin(Stdio::null());
        command
    }

    /// Runs a tmux command and returns its output.
    ///
    /// # Errors
    /// The error message of tmux.
    ///
    /// # Panics
    /// If tmux cannot be started.
    pub fn try_run(&self, arguments: &[&str]) -> Result<String, String> {
        let output = self
            .command()
            .args(arguments)
            .output()
            .expect("tmux can be started");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        if output.status.success() {
            Ok(text(&output.stdout))
        } else {
            Err(text(&output.stderr))
        }
    }

    /// Runs a tmux command that must succeed.
    ///
    /// # Panics
    /// If it fails.
    #[track_caller]
    pub fn run(&self, arguments: &[&str]) -> String {
        match self.try_run(arguments) {
            Ok(output) => output,
            Err(error) => panic!("tmux {arguments:?}: {error}"),
        }
    }

    /// Returns every pane of the server; empty if it does not run.
    pub fn panes(&self) -> Vec<PaneLine> {
        let lines = self.try_run(&["list-panes", "-a", "-F", PANE_FORMAT]);
        lines
            .unwrap_or_default()
            .lines()
            .filter_map(pane_line)
            .collect()
    }

    /// Returns the pane whose title contains this text.
    pub fn pane_titled(&self, part: &str) -> Option<PaneLine> {
        self.panes()
            .into_iter()
            .find(|pane| pane.title.contains(part))
    }

    /// Returns the visible text of a pane.
    pub fn screen(&self, pane: &str) -> String {
        self.try_run(&["capture-pane", "-p", "-t", pane])
            .unwrap_or_default()
    }

    /// Returns the text of a pane including scrollback, with wrapped lines joined.
    pub fn whole_text(&self, pane: &str) -> String {
        let capture = ["capture-pane", "-p", "-J", "-S", "-", "-t", pane];
        self.try_run(&capture).unwrap_or_default()
    }

    /// Waits until a pane shows this text.
    ///
    /// # Panics
    /// On timeout; shows every pane.
    #[track_caller]
    pub fn wait_for_text(&self, pane: &str, text: &str) {
        let shown = || self.whole_text(pane).contains(text).then_some(());
        wait_for(
            &format!("pane {pane} shows {text:?}"),
            || self.picture(),
            shown,
        );
    }

    /// Returns every pane with its content, for messages.
    pub fn picture(&self) -> String {
        let mut picture = format!("tmux server {}\n", self.socket.display());
        for pane in self.panes() {
            let state = if pane.is_dead { ", dead" } else { "" };
            // Writing into a String cannot fail.
            let _infallible = writeln!(
                picture,
                "--- {} {} {:?} {}x{}{state}\n{}",
                pane.id,
                pane.window,
                pane.title,
                pane.width,
                pane.height,
                self.screen(&pane.id)
            );
        }
        picture
    }

    /// Kills the server if it is running.
    pub fn end(&self) {
        // The server may be gone already.
        drop(self.try_run(&["kill-server"]));
    }
}

fn pane_line(line: &str) -> Option<PaneLine> {
    let mut fields = line.splitn(8, '\t');
    Some(PaneLine {
        id: fields.next()?.to_owned(),
        window: fields.next()?.to_owned(),
        width: fields.next()?.parse().ok()?,
        height: fields.next()?.parse().ok()?,
        pid: fields.next()?.parse().ok()?,
        is_dead: fields.next()? == "1",
        is_active: fields.next()? == "1",
        title: fields.next()?.to_owned(),
    })
}

/// A user's tmux server: one window with one pane, and an attached client.
#[derive(Debug)]
pub struct InsideTmux {
    tmux: Tmux,
    pane: String,
    variables: [(String, String); 2],
    client: Child,
}

impl InsideTmux {
    /// Starts the server with a client whose windows have this size. The client has a separate
    /// terminal by script(1): control mode would need none, but crashes tmux if the last two panes
    /// of a window close simultaneously (`control_notify_window_pane_changed`, up to 3.6).
    ///
    /// # Panics
    /// If tmux does not start.
    pub fn start(world: &World, columns: u32, rows: u32) -> Self {
        let tmux = world.tmux_at(&world.directory().join("user.sock"));
        let (width, height) = (columns.to_string(), rows.to_string());
        // The user's pane runs a program that reads its terminal like a shell, without output.
        let started = tmux.run(&[
            "new-session",
            "-d",
            "-s",
            "user",
            "-n",
            "work",
            "-x",
            &width,
            "-y",
            &height,
            "-P",
            "-F",
            "#{pane_id} #{pid} #{session_id}",
            "cat",
        ]);
        let words: Vec<&str> = started.split(' ').collect();
        let [pane, server, session] = words.as_slice() else {
            panic!("tmux named no pane: {started}");
        };
        let session = session.trim_start_matches('$');
        let attach = format!(
            "stty cols {columns} rows {}; exec tmux -u -S '{}' attach-session -t user",
            // The last line is the status line.
            rows + 1,
            tmux.socket.display()
        );
        let client = Command::new("script")
            .env_clear()
            .envs(tmux.environment.iter().map(|(name, value)| (name, value)))
            .env("SHELL", "/bin/sh")
            .env("TERM", "screen")
            .args(["-q", "-c", &attach, "/dev/null"])
            // A pipe that stays open: the person types nothing and does not detach.
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("script(1) can be started");
        let inside = Self {
            variables: [
                (
                    "TMUX".to_owned(),
                    format!("{},{server},{session}", tmux.socket.display()),
                ),
                ("TMUX_PANE".to_owned(), (*pane).to_owned()),
            ],
            pane: (*pane).to_owned(),
            tmux,
            client,
        };
        wait_for(
            "the client is attached",
            || inside.tmux.picture(),
            || (inside.tmux.run(&["list-clients"]).lines().count() == 1).then_some(()),
        );
        let size = format!("{width}x{height}");
        wait_for(
            "its window has its size",
            || inside.tmux.picture(),
            || {
                let sizes = ["list-windows", "-F", "#{window_width}x#{window_height}"];
                (inside.tmux.run(&sizes) == size).then_some(())
            },
        );
        inside
    }

    /// Returns the server.
    pub fn tmux(&self) -> &Tmux {
        &self.tmux
    }

    /// Returns the user's pane.
    pub fn pane(&self) -> &str {
        &self.pane
    }

    /// Returns the environment variables of a program in that pane.
    pub fn variables(&self) -> &[(String, String)] {
        &self.variables
    }
    /// Returns everything on the server that belongs to its user: options, hooks, keys, buffers,
    /// sessions, windows and panes.
    ///
    /// # Panics
    /// If the server is gone.
    pub fn belongings(&self) -> String {
        let windows =
            "#{window_id} #{window_name} #{window_layout} #{window_active} #{automatic-rename}";
        let panes = "#{pane_id} #{pane_index} #{pane_active} #{pane_title} #{pane_pid} #{pane_width}x#{pane_height}";
        [
            &["show-options", "-s"][..],
            &["show-options", "-g"],
            &["show-options", "-gw"],
            &["show-options", "-t", "user"],
            &["show-options", "-w", "-t", self.pane()],
            &["show-options", "-p", "-t", self.pane()],
            &["show-hooks", "-g"],
            &["show-hooks", "-gw"],
            &["show-hooks", "-t", "user"],
            &["list-keys"],
            &["show-environment", "-g"],
            &["show-environment", "-t", "user"],
            &["list-buffers"],
            &[
                "list-sessions",
                "-F",
                "#{session_id} #{session_name} #{session_windows}",
            ],
            &["list-windows", "-a", "-F", windows],
            &["list-panes", "-a", "-F", panes],
        ]
        .map(|words| format!("--- {words:?}\n{}", self.tmux.run(words)))
        .join("\n")
    }
}

impl Drop for InsideTmux {
    fn drop(&mut self) {
        self.tmux.end();
        // Without its server the client exits.
        drop(self.client.kill());
        drop(self.client.wait());
    }
}
