//! `swarm peers`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use swarm_protocol::{Clock as _, PeerRecord, SystemClock};
use swarm_team::peer_records;
use swarm_ui::print::{Cell, Table, short_duration};

use crate::app::App;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each running lead accepts messages at an address that begins with `uds:`. The setting `peers.inbound` of the receiving \
session decides whether they reach its model. A message never grants a permission.

Examples:
  swarm peers
  swarm send uds:/tmp/tmux-1000/peer-1a2b3c4d.sock \"The schema changed\"")]
pub(crate) struct PeersArgs {}

/// Directory of the records of sessions.
pub(in crate::commands) fn peer_directory(root: &Path) -> PathBuf {
    root.join("swarm").join("peers")
}

pub(super) fn run(app: &App, _args: &PeersArgs) -> Result<(), Failure> {
    let records = peer_records(&peer_directory(&app.root));
    let document: Vec<Value> = records.iter().map(public).collect();
    let none = "no session accepts messages: start one with `swarm lead` or `swarm run`";
    app.out
        .list(&document, &table(&records).spare([3, 2, 1]), none)
}

/// A record without its token.
fn public(record: &PeerRecord) -> Value {
    json!({
        "address": record.address(),
        "session": record.session,
        "team": record.team,
        "cwd": record.cwd,
        "pid": record.pid,
        "startedAt": record.started_at,
    })
}

fn table(records: &[PeerRecord]) -> Table {
    let now = SystemClock.now();
    let mut table = Table::new(["ADDRESS", "TEAM", "PID", "AGE", "DIRECTORY"]).right([2, 3]);
    for record in records {
        let team = record
            .team
            .as_ref()
            .map_or_else(|| "-".to_owned(), ToString::to_string);
        let age = short_duration(now.since(record.started_at));
        table.row([
            Cell::new(record.address()),
            Cell::new(team),
            Cell::new(record.pid.to_string()),
            Cell::new(age),
            Cell::new(record.cwd.display().to_string()),
        ]);
    }
    table
}
