//! The panes of a server at one moment.
//!
//! Existence and status are always read from a list of panes: `display-message` on a missing pane
//! returns the data of another pane.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use swarm_protocol::{Color, MemberName, PaneId, SpawnId, TeamName};
use tmux_interface::{ListPanes, TmuxCommand};

use super::batch::Batch;
use super::server::Server;
use crate::{PaneError, PaneSpec, PaneStatus, Size, text};
use swarm_os::process::{Process, program_name};

/// Fields of one line, in the order of [`PaneRow::parse`]. Options that any program may set to any
/// value come last.
const FIELDS: [&str; 31] = [
    "pane_id",
    "window_id",
    "session_id",
    "session_attached",
    "pid",
    "window_zoomed_flag",
    "pane_active",
    "window_width",
    "window_height",
    "pane_index",
    "pane_left",
    "pane_top",
    "pane_width",
    "pane_height",
    "pane_dead",
    "pane_pid",
    "pane_dead_status",
    "pane_dead_signal",
    "@swarm_team",
    "@swarm_member",
    "@swarm_spawn",
    "@swarm_started",
    "@swarm_color",
    "session_name",
    "window_name",
    "pane-border-status",
    "pane_title",
    "@swarm_set",
    "@swarm_signed",
    "@swarm_root",
    "@swarm_title",
];

/// Separator between the name and the state in a terminal title.
pub(crate) const TITLE_SEPARATOR: &str = " · ";

/// Pauses between snapshots while tmux reaps a process, in milliseconds.
const REAP_PAUSES: [u64; 9] = [1, 2, 5, 10, 20, 50, 100, 300, 500];

/// Sends SIGCHLD to a tmux server again. The signal has no effect if no child has exited.
fn resend_sigchld(server_pid: u32) {
    let server = i32::try_from(server_pid).ok().and_then(Pid::from_raw);
    if let Some(server) = server
        && let Err(error) = kill_process(server, Signal::CHILD)
    {
        tracing::debug!(server_pid, %error, "tmux server not reminded");
    }
}

/// Returns whether this pid is a tmux server here. A server in another container that shares the
/// socket has another PID namespace, and its processes cannot be inspected.
fn is_local_server(pid: u32) -> bool {
    program_name(pid).is_some_and(|name| name.starts_with("tmux"))
}

/// Tag that marks a pane of swarm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) team: TeamName,
    pub(crate) member: MemberName,
    pub(crate) spawn_id: SpawnId,
}

impl Tag {
    /// Returns the tag for a pane with this specification.
    pub(crate) fn of(spec: &PaneSpec) -> Self {
        Self {
            team: spec.team.clone(),
            member: spec.member.clone(),
            spawn_id: spec.spawn_id,
        }
    }
}

/// Zoom state of a pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Zoom {
    /// No pane of the window is zoomed.
    Off,
    /// Another pane is zoomed.
    Hidden,
    /// This pane is zoomed.
    Zoomed,
}

/// One pane.
#[derive(Debug, Clone)]
pub(crate) struct PaneRow {
    pub(crate) id: PaneId,
    pub(crate) window: String,
    pub(crate) session: String,
    /// Whether a client is attached to the session.
    pub(crate) attached: bool,
    pub(crate) zoom: Zoom,
    pub(crate) window_size: Size,
    pub(crate) index: u32,
    pub(crate) left: u16,
    pub(crate) top: u16,
    pub(crate) size: Size,
    /// Tag; `None` for panes that swarm did not create.
    pub(crate) tag: Option<Tag>,
    pub(crate) status: PaneStatus,
    /// Whether tmux has closed the terminal: all output has been read and passed on by then.
    pub(crate) closed: bool,
    /// Process id of the tmux server.
    pub(crate) server_pid: u32,
    pub(crate) color: Option<Color>,
    /// Window options that swarm has set on its window, by name.
    pub(crate) options_set: String,
    /// Position of titles in its window: `off`, `top` or `bottom`.
    pub(crate) border_status: String,
    /// Pane options that swarm has set on a pane of others, by name.
    pub(crate) signed: String,
    /// Config directory of its team; empty if not set.
    pub(crate) root: String,
    pub(crate) title: String,
    /// Terminal title set by its program.
    pub(crate) terminal_title: String,
    pub(crate) window_name: String,
    pub(crate) session_name: String,
}

impl PaneRow {
    fn parse(line: &str) -> Result<Self, PaneError> {
        let unreadable = |what| PaneError::Unreadable {
            what,
            line: line.to_owned(),
        };
        let mut fields = line.splitn(FIELDS.len(), '\t');
        let mut next = || fields.next().ok_or_else(|| unreadable("a pane"));
        let number = |text: &str| text.parse::<u16>().map_err(|_| unreadable("a number"));

        let id = PaneId::new(next()?);
        let (window, session) = (next()?.to_owned(), next()?.to_owned());
        let attached = next()? != "0";
        let server_pid = next()?.parse().unwrap_or(0);
        let zoom = match (next()?, next()?) {
            ("1", "1") => Zoom::Zoomed,
            ("1", _) => Zoom::Hidden,
            _ => Zoom::Off,
        };
        let window_size = Size::new(number(next()?)?, number(next()?)?);
        let index = next()?.parse().map_err(|_| unreadable("a pane index"))?;
        let (left, top) = (number(next()?)?, number(next()?)?);
        let size = Size::new(number(next()?)?, number(next()?)?);
        let closed = next()? == "1";
        let pid = next()?.parse().unwrap_or(0);
        let (code, signal) = (next()?, next()?);
        let tag = tag(next()?, next()?, next()?);
        let started = next()? == "1";
        let status = if !code.is_empty() || !signal.is_empty() {
            PaneStatus::Dead {
                code: code.parse().ok(),
                signal: (!signal.is_empty()).then(|| signal.to_owned()),
            }
        } else if pid == 0 || (tag.is_some() && !started) {
            PaneStatus::Empty
        } else {
            PaneStatus::Running { pid }
        };
        Ok(Self {
            id,
            window,
            session,
            attached,
            zoom,
            window_size,
            index,
            left,
            top,
            size,
            tag,
            status,
            closed,
            server_pid,
            color: next()?.parse().ok(),
            session_name: next()?.to_owned(),
            window_name: next()?.to_owned(),
            border_status: next()?.to_owned(),
            terminal_title: next()?.to_owned(),
            options_set: fields.next().unwrap_or_default().to_owned(),
            signed: fields.next().unwrap_or_default().to_owned(),
            root: fields.next().unwrap_or_default().to_owned(),
            title: text::undo_doubling(fields.next().unwrap_or_default()),
        })
    }

    /// Returns whether swarm created it: it is tagged, or too new to be tagged; only swarm creates
    /// panes without a process.
    pub(crate) fn is_ours(&self) -> bool {
        self.tag.is_some() || self.status == PaneStatus::Empty
    }

    /// Returns the state after the title on its border: the exit status of its program, or else the
    /// state from the terminal title.
    pub(crate) fn state(&self) -> String {
        match &self.status {
            PaneStatus::Dead {
                signal: Some(signal),
                ..
            } => format!("exited on signal {signal}"),
            PaneStatus::Dead {
                code: Some(code), ..
            } => format!("exited with status {code}"),
            PaneStatus::Dead { .. } => "exited".to_owned(),
            _ => match self.terminal_title.split_once(TITLE_SEPARATOR) {
                Some((_, state)) => state.to_owned(),
                None => String::new(),
            },
        }
    }

    /// Returns whether a pane of its window is zoomed.
    pub(crate) fn is_zoomed(&self) -> bool {
        self.zoom != Zoom::Off
    }

    /// Returns the number in its id: a later pane has a higher one.
    pub(crate) fn number(&self) -> u32 {
        self.id
            .as_str()
            .trim_start_matches('%')
            .parse()
            .unwrap_or(u32::MAX)
    }

    /// Returns whether the pane's process has exited but tmux has not noticed it yet.
    fn is_ending(&self) -> bool {
        match self.status {
            PaneStatus::Running { pid } => {
                Process::running(pid).is_none() && is_local_server(self.server_pid)
            }
            PaneStatus::Dead { .. } => !self.closed,
            PaneStatus::Empty | PaneStatus::Gone => false,
        }
    }
}

fn tag(team: &str, member: &str, spawn_id: &str) -> Option<Tag> {
    Some(Tag {
        team: team.parse().ok()?,
        member: member.parse().ok()?,
        spawn_id: spawn_id.parse().ok()?,
    })
}

/// All panes of a server, in the order of sessions, windows and panes. As in tmux, a window shared
/// by several sessions is listed once for each.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    pub(crate) rows: Vec<PaneRow>,
}

impl Snapshot {
    /// Returns the command whose output [`Snapshot::parse`] reads.
    pub(crate) fn command() -> TmuxCommand<'static> {
        let fields: Vec<_> = FIELDS.iter().map(|field| format!("#{{{field}}}")).collect();
        ListPanes::new().all().format(fields.join("\t")).build()
    }

    /// Parses the output of [`Snapshot::command`].
    pub(crate) fn parse(output: &str) -> Result<Self, PaneError> {
        let rows = output
            .lines()
            // An option value with several lines continues in lines that are not panes.
            .filter(|line| line.starts_with('%'))
            .map(PaneRow::parse)
            .collect::<Result<_, _>>()?;
        Ok(Self { rows })
    }

    /// Takes a snapshot. A server that has exited has no panes.
    pub(crate) async fn take(server: &Server) -> Result<Self, PaneError> {
        if !server.socket().exists() {
            return Ok(Self::default());
        }
        match server.run(&Batch::new().then(&Self::command())).await {
            Ok(output) => Self::parse(&output),
            Err(PaneError::ServerGone(_)) => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// Takes a snapshot in which the processes of swarm's panes have the same state as in the
    /// kernel.
    ///
    /// tmux learns of an exit by SIGCHLD and may miss it: while it records a new pane with
    /// libutempter (as on Debian), that library blocks the signal, and an exit within those
    /// milliseconds is noticed only with the next signal. So if a process has exited and tmux does
    /// not report it, the signal is sent again.
    pub(crate) async fn take_current(server: &Server) -> Result<Self, PaneError> {
        let mut snapshot = Self::take(server).await?;
        let mut before = Self::default();
        for pause in REAP_PAUSES {
            let ending = |row: &&PaneRow| row.tag.is_some() && row.is_ending();
            let Some(row) = snapshot.rows.iter().find(ending) else {
                return Ok(snapshot);
            };
            resend_sigchld(row.server_pid);
            tokio::time::sleep(Duration::from_millis(pause)).await;
            before = std::mem::replace(&mut snapshot, Self::take(server).await?);
        }
        for row in snapshot.rows.iter_mut().filter(|row| row.tag.is_some()) {
            // If it is a different process than before, it was restarted repeatedly and tmux has
            // noticed each exit.
            let is_same = before
                .pane(&row.id)
                .is_some_and(|old| old.status == row.status);
            if is_same && matches!(row.status, PaneStatus::Running { .. }) && row.is_ending() {
                tracing::warn!(pane = %row.id, "tmux has not noticed the exit of a process");
                row.status = PaneStatus::Dead {
                    code: None,
                    signal: None,
                };
            }
        }
        Ok(snapshot)
    }

    /// Returns the pane with this id.
    pub(crate) fn pane(&self, id: &PaneId) -> Option<&PaneRow> {
        self.rows.iter().find(|row| row.id == *id)
    }

    /// Sets the tag of a pane that was just created and will be tagged.
    pub(crate) fn set_tag(&mut self, id: &PaneId, tag: &Tag) {
        for row in self.rows.iter_mut().filter(|row| row.id == *id) {
            row.tag = Some(tag.clone());
            row.status = PaneStatus::Empty;
        }
    }

    /// Returns the panes of one window in one session, in order.
    pub(crate) fn window(&self, session: &str, window: &str) -> Vec<&PaneRow> {
        let mut panes: Vec<_> = self
            .rows
            .iter()
            .filter(|row| row.session == session && row.window == window)
            .collect();
        panes.sort_by_key(|row| row.index);
        panes
    }

    /// Returns the windows of one session, each with its panes.
    pub(crate) fn windows(&self, session: &str) -> Vec<Vec<&PaneRow>> {
        let mut ids: Vec<&str> = Vec::new();
        for row in self.rows.iter().filter(|row| row.session == session) {
            if !ids.contains(&row.window.as_str()) {
                ids.push(&row.window);
            }
        }
        ids.into_iter().map(|id| self.window(session, id)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_with_several_lines_hides_no_pane() {
        let first = line(&[("pane_id", "%1"), ("@swarm_set", "a\nb\n")]);
        let output = format!("{first}\n{}\n", line(&[("pane_id", "%2")]));
        let snapshot = Snapshot::parse(&output).unwrap();
        let ids: Vec<_> = snapshot.rows.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(ids, ["%1", "%2"]);
        assert_eq!(snapshot.rows[0].options_set, "a");
    }

    fn line(changes: &[(&str, &str)]) -> String {
        let value = |field: &&str| {
            let given = changes.iter().find(|(name, _)| name == field);
            given.map_or("0", |(_, value)| *value).to_owned()
        };
        FIELDS.iter().map(value).collect::<Vec<_>>().join("\t")
    }

    #[test]
    fn a_pane_with_a_damaged_tag_is_foreign() {
        let snapshot = Snapshot::parse(&line(&[
            ("pane_id", "%1"),
            ("@swarm_team", "t"),
            ("@swarm_member", "m"),
            ("@swarm_spawn", "not a uuid"),
        ]));
        assert_eq!(snapshot.unwrap().rows[0].tag, None);
    }

    #[test]
    fn an_exit_status_is_read_while_other_processes_keep_the_terminal_open() {
        let snapshot = Snapshot::parse(&line(&[
            ("pane_id", "%1"),
            ("pane_pid", "77"),
            ("pane_dead_status", "7"),
            ("pane_dead_signal", ""),
        ]));
        let expected = PaneStatus::exited(7);
        assert_eq!(snapshot.unwrap().rows[0].status, expected);
    }

    #[test]
    fn pending_output_is_awaited() {
        let dead = |closed| {
            let fields = [
                ("pane_id", "%1"),
                ("pane_dead_status", "7"),
                ("pane_dead", closed),
            ];
            Snapshot::parse(&line(&fields)).unwrap().rows.remove(0)
        };
        assert!(dead("0").is_ending());
        assert!(!dead("1").is_ending());
    }

    #[test]
    fn processes_of_a_server_in_another_container_do_not_count_as_exited() {
        let gone = i32::MAX.to_string();
        let here = std::process::id().to_string();
        let fields = [
            ("pane_id", "%1"),
            ("pane_pid", gone.as_str()),
            ("pane_dead_status", ""),
            ("pane_dead_signal", ""),
            ("pid", here.as_str()),
        ];
        let row = Snapshot::parse(&line(&fields)).unwrap().rows.remove(0);
        assert!(matches!(row.status, PaneStatus::Running { .. }), "{row:?}");
        assert_eq!(row.server_pid, std::process::id());
        assert!(!row.is_ending());
    }

    #[test]
    fn a_short_line_is_an_error_and_does_not_panic() {
        assert!(matches!(
            Snapshot::parse("%1\t@1"),
            Err(PaneError::Unreadable { .. })
        ));
    }
}
