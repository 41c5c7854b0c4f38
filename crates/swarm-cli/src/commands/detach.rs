//! `swarm run --detach`: a run that continues without its terminal.
//!
//! The command starts itself again with the same arguments. The second process checks everything
//! while it still has the user's terminal. Then it leaves it: it gets its own session and no input,
//! and its output goes to a file next to the transcript. Through a pipe it reports that file, and
//! later the beginning of the first turn, at which the first process exits.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Lines, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{getppid, setsid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use serde::{Deserialize, Serialize};
use swarm_agent::EventSink;
use swarm_member::LeadParts;
use swarm_protocol::{AgentEvent, ErrorKind, SessionId, TeamName};
use swarm_store::StoreError;
use tokio::signal::unix::{SignalKind, signal};

use super::pane::{last_lines, lead_log};
use super::runtime;
use crate::app::App;
use crate::event_tap::tapped;
use crate::failure::Result;
use crate::output::{plain, say};

/// Set for the second process only: the PID of the first one.
const STARTED_BY: &str = "SWARM_DETACHED_BY";

/// Lines of output that are shown of a run that ended before its first turn.
const SHOWN: usize = 20;

/// Where a detached run is found.
#[derive(Debug, Serialize, Deserialize)]
struct DetachedRun {
    team: TeamName,
    session: SessionId,
    pid: u32,
    log: PathBuf,
}

/// Returns whether this process is the second one. Meaningful until the first one exits.
pub(super) fn is_background(app: &App) -> bool {
    let started_by = app.env.get(STARTED_BY).and_then(|pid| pid.parse().ok());
    let parent = getppid().map(rustix::process::Pid::as_raw_nonzero);
    started_by.is_some() && started_by == parent
}

/// Starts the run in the background and reports how to follow it. A run that fails before its first
/// turn is reported as if it were not detached.
pub(super) fn start(app: &App, reads_stdin: bool) -> Result<ExitCode> {
    let runtime = runtime()?;
    // Ctrl-C reaches both processes until the second one has left the terminal. Only that one acts.
    let _ctrl_c = runtime.block_on(async { signal(SignalKind::interrupt()) })?;
    let mut child = Command::new(std::env::current_exe()?)
        .args(std::env::args_os().skip(1))
        .env(STARTED_BY, std::process::id().to_string())
        // Panes next to this one would end with the terminal.
        .env_remove("TMUX")
        .env_remove("TMUX_PANE")
        .stdin(if reads_stdin {
            Stdio::inherit()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .spawn()?;
    let mut reports = child.stdout.take().map(|pipe| BufReader::new(pipe).lines());
    let Some(run) = next_report(&mut reports)? else {
        return ended(&mut child);
    };
    let run: DetachedRun = serde_json::from_str(&run)?;
    if next_report(&mut reports)?.is_none() {
        let output = std::fs::read(&run.log).unwrap_or_default();
        let output = plain(&String::from_utf8_lossy(&output));
        say(last_lines(&output, SHOWN));
        say("swarm: the run ended before its first turn");
        return ended(&mut child);
    }
    show(app, &run)?;
    Ok(ExitCode::SUCCESS)
}

fn next_report(reports: &mut Option<Lines<BufReader<ChildStdout>>>) -> Result<Option<String>> {
    Ok(reports.as_mut().and_then(Iterator::next).transpose()?)
}

/// Waits for the second process and returns its exit code as a shell would.
fn ended(child: &mut Child) -> Result<ExitCode> {
    let status = child.wait()?;
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    let code = code.and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(
        code.unwrap_or(ErrorKind::Internal.exit_code().0),
    ))
}

fn show(app: &App, run: &DetachedRun) -> Result<()> {
    if app.out.json {
        return app.out.json(run);
    }
    let (team, pid) = (&run.team, run.pid);
    app.out.say(&format!(
        "swarm: running in the background as process {pid}, with its team:"
    ));
    app.out.data(team.as_str())?;
    let commands = [
        ("logs --follow", "the lead's output"),
        ("attach", "the teammates' panes"),
        ("requests", "what waits for you"),
        ("shutdown team-lead", "stop the run"),
    ];
    let commands =
        commands.map(|(command, effect)| (format!("swarm {command} --team {team}"), effect));
    for row in command_rows(&commands, app.out.theme.width) {
        app.out.say(&row);
    }
    Ok(())
}

/// Returns rows with commands and their effects. In a narrow terminal the effects are below the
/// commands, which stay whole.
fn command_rows(commands: &[(String, &str)], width: Option<usize>) -> Vec<String> {
    let longest = commands.iter().map(|(command, _)| command.len()).max();
    let longest = longest.unwrap_or_default();
    let in_columns = commands
        .iter()
        .map(|(command, effect)| format!("  {command:<longest$}  {effect}"));
    let in_columns: Vec<String> = in_columns.collect();
    if width.is_none_or(|width| in_columns.iter().all(|row| row.len() <= width)) {
        return in_columns;
    }
    let below =
        |(command, effect): &(String, &str)| [format!("  {command}"), format!("      {effect}")];
    commands.iter().flat_map(below).collect()
}

/// The second process after it has left the terminal.
#[derive(Debug)]
pub(super) struct Detached {
    reports: File,
}

impl Detached {
    /// Leaves the terminal if this process was started for that.
    pub(super) fn leave_terminal(app: &App, parts: &LeadParts) -> Result<Option<Self>> {
        let Some(team) = parts.team.clone().filter(|_| is_background(app)) else {
            return Ok(None);
        };
        let run = DetachedRun {
            team,
            session: parts.session,
            pid: std::process::id(),
            log: lead_log(&app.root, &parts.spawn_context.workspace.cwd, parts.session),
        };
        if let Some(directory) = run.log.parent() {
            swarm_os::ensure_private_dir(directory).map_err(StoreError::from)?;
        }
        let log = swarm_os::open_for_appending(&run.log).map_err(StoreError::from)?;
        let reports = fcntl_dupfd_cloexec(io::stdout().as_fd(), 3).map_err(io::Error::from)?;
        let mut reports = File::from(reports);
        setsid().map_err(io::Error::from)?;
        dup2_stdin(File::open("/dev/null")?).map_err(io::Error::from)?;
        dup2_stdout(&log).map_err(io::Error::from)?;
        dup2_stderr(&log).map_err(io::Error::from)?;
        writeln!(reports, "{}", serde_json::to_string(&run)?)?;
        Ok(Some(Self { reports }))
    }

    /// Returns a sink that also reports the first turn.
    pub(super) fn reporting(self, inner: Arc<dyn EventSink>) -> Arc<dyn EventSink> {
        let reports = Mutex::new(Some(self.reports));
        tapped(inner, move |event| {
            if matches!(event, AgentEvent::TurnStarted)
                && let Some(mut reports) = reports.lock().take()
            {
                // The first process may have been killed; the run continues.
                let _unread = writeln!(reports, "started");
            }
            true
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_narrow_terminal_effects_are_below_their_commands() {
        let commands = [
            (
                "swarm logs --follow --team demo".to_owned(),
                "the lead's output",
            ),
            (
                "swarm shutdown team-lead --team demo".to_owned(),
                "stop the run",
            ),
        ];
        let wide = [
            "  swarm logs --follow --team demo       the lead's output",
            "  swarm shutdown team-lead --team demo  stop the run",
        ];
        assert_eq!(command_rows(&commands, Some(60)), wide);
        assert_eq!(command_rows(&commands, None), wide);
        let narrow = [
            "  swarm logs --follow --team demo",
            "      the lead's output",
            "  swarm shutdown team-lead --team demo",
            "      stop the run",
        ];
        assert_eq!(command_rows(&commands, Some(50)), narrow);
    }
}
