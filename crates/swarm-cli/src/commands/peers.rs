//! `swarm peers`.

use std::path::{Path, PathBuf};

use swarm_protocol::{Clock as _, PeerSession, SystemClock};
use swarm_store::StoreError;
use swarm_team::PeerPlaces;
use swarm_ui::print::{Cell, Table, short_duration};

use crate::app::App;
use crate::commands::runtime;
use crate::failure::Result;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each running lead and each session of Claude Code accepts messages at an address that begins with `uds:`, and a lead \
also from other machines, through the hub of its team, at one that begins with `bridge:`. The setting `peers.inbound` of the receiving session decides whether they \
reach its model. A message never grants a permission.

Examples:
  swarm peers
  swarm send uds:/tmp/tmux-1000/peer-1a2b3c4d.sock \"The schema changed\"
  swarm send bridge:1a2b3c4d \"The schema changed\"")]
pub(crate) struct PeersArgs {}

/// Directory of the records of sessions.
pub(in crate::commands) fn peer_directory(root: &Path) -> PathBuf {
    root.join("swarm").join("peers")
}

/// Directory of the records of Claude Code's sessions.
pub(in crate::commands) fn claude_sessions(root: &Path) -> PathBuf {
    root.join("sessions")
}

pub(super) fn run(app: &App, _args: &PeersArgs) -> Result<()> {
    let (sessions, errors) = runtime()?.block_on(peer_places(app)?.sessions());
    for error in errors {
        app.out.remark(&format!("left out: {error}"));
    }
    let none = "no session accepts messages: start one with `swarm lead` or `swarm run`";
    app.out.list(&sessions, &table(&sessions), none)
}

/// Returns where sessions are found: on this machine, and on the hubs of its teams.
pub(in crate::commands) fn peer_places(app: &App) -> Result<PeerPlaces> {
    let hubs = app.hubs.hubs()?.into_iter();
    let hubs = hubs.map(|hub| Ok(app.hubs.nodes(hub)?.sessions()));
    Ok(PeerPlaces {
        directory: peer_directory(&app.root),
        claude_sessions: claude_sessions(&app.root),
        hubs: hubs.collect::<Result<_, StoreError>>()?,
    })
}

fn table(sessions: &[PeerSession]) -> Table {
    let now = SystemClock.now();
    let headings = ["ADDRESS", "TEAM", "PID", "AGE", "HOST", "DIRECTORY"];
    let mut table = Table::new(headings)
        .right([2, 3])
        .whole(0)
        .spare([4, 3, 2, 5]);
    for session in sessions {
        let team = session.team.as_ref().map(ToString::to_string);
        let team = team.or_else(|| {
            session
                .program
                .as_ref()
                .map(|program| format!("({program})"))
        });
        let age = short_duration(now.since(session.started_at));
        table.row([
            Cell::new(&session.address),
            Cell::new(team.as_deref().unwrap_or("-")),
            Cell::new(session.pid.to_string()),
            Cell::new(age),
            Cell::new(session.host.as_deref().unwrap_or("-")),
            Cell::new(session.cwd.display().to_string()),
        ]);
    }
    table
}
