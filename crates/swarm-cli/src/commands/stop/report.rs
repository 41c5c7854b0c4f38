//! Report of stopped members.

use serde_json::{Value, json};
use swarm_protocol::MemberName;
use swarm_supervisor::{LeadError, StopOutcome, StopReport};

use crate::app::App;
use crate::commands::node::Relayed;
use crate::failure::{Failure, Result};
use crate::output::plain;

/// Prints one line, or one object, per stopped member and returns the worst failure. JSON is a list
/// if several members were given. `on_nodes` are members that nodes have stopped.
pub(super) fn report(
    app: &App,
    results: impl Iterator<Item = (MemberName, Result<StopReport, LeadError>)>,
    on_nodes: Vec<(MemberName, Result<Relayed>)>,
    is_list: bool,
) -> Result<()> {
    let mut records = Vec::new();
    let mut failures = Vec::new();
    let failed = |name: MemberName, failure: &Failure| {
        let mut record = failure.to_json();
        record["member"] = json!(name);
        record["outcome"] = json!("failed");
        record
    };
    for (name, result) in on_nodes {
        let shown = result.and_then(|relayed| {
            if app.out.json {
                return relayed.json().map(Some);
            }
            relayed
                .show(app, &format!(" on {}", relayed.node))
                .map(|()| None)
        });
        match shown {
            Ok(record) => records.extend(record),
            Err(failure) => {
                records.push(failed(name, &failure));
                failures.push(failure);
            }
        }
    }
    for (name, result) in results {
        match result {
            Ok(stopped) => {
                tell_left(app, &stopped);
                tell_conversation(app, &stopped);
                records.push(serde_json::to_value(&stopped)?);
                match refusal(&stopped) {
                    Some(failure) => failures.push(failure),
                    None if !app.out.json => app.out.data(&stopped.sentence())?,
                    None => {}
                }
            }
            Err(LeadError::Unrecorded {
                member,
                outcome,
                sentence,
                why,
            }) => {
                records.push(json!({
                    "member": member, "outcome": outcome, "released": [], "unrecorded": why.to_string(),
                }));
                if !app.out.json {
                    app.out.data(&sentence)?;
                }
                app.out.warn(&plain(&format!(
                    "swarm: {member} has stopped, but is still in the roster: {why}; `swarm kill {member}` removes it later"
                )));
            }
            Err(error) => {
                let failure = Failure::from(error);
                records.push(failed(name, &failure));
                failures.push(failure);
            }
        }
    }
    if app.out.json {
        show(app, &records, is_list)?;
    }
    Failure::worst(failures).map_or(Ok(()), Err)
}

/// Reports what remains of a stopped member: its pane and processes of its shell.
pub(in crate::commands) fn tell_left(app: &App, stopped: &StopReport) {
    if stopped.processes_left > 0 {
        app.out.say(&format!(
            "{} of the processes started by {} could not be terminated: run `swarm ps` to list them",
            stopped.processes_left, stopped.member,
        ));
    }
    if let Some(left) = &stopped.worktree {
        app.out.say(&plain(&left.sentence()));
    }
    if let Some(why) = &stopped.pane_left {
        app.out.say(&format!(
            "the pane of {} is still there: {}",
            stopped.member,
            plain(why)
        ));
    }
}

/// Reports where the conversation of a dead member is kept and how to continue it.
fn tell_conversation(app: &App, stopped: &StopReport) {
    if let Some(path) = &stopped.transcript {
        let name = &stopped.member;
        app.out.say(&plain(&format!(
            "{name} has left the team; `swarm spawn {name}` continues its conversation, which is kept in {}",
            path.display()
        )));
    }
}

fn show(app: &App, records: &[Value], is_list: bool) -> Result<()> {
    match records {
        [one] if !is_list => app.out.json(one),
        records => app.out.json(&records),
    }
}

fn refusal(stopped: &StopReport) -> Option<Failure> {
    let StopOutcome::Refused { reason } = &stopped.outcome else {
        return None;
    };
    let message = format!("{} refused to shut down: {}", stopped.member, plain(reason));
    let hint = format!(
        "`swarm shutdown {} --force` stops it anyway",
        stopped.member
    );
    Some(Failure::refused(message).with_hint(hint))
}
