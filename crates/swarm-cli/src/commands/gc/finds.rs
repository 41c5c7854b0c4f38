//! Leftovers that `gc` found, and the result for each.

use serde_json::{Value, json};

use crate::app::App;
use crate::failure::{Failure, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GcAction {
    /// Move the team's tasks, journal, roster and mail to the archive.
    Archive,
    Remove,
    Close,
    Keep,
}

impl GcAction {
    fn words(self) -> (&'static str, &'static str) {
        match self {
            GcAction::Archive => ("archived", "would archive"),
            GcAction::Remove => ("removed", "would remove"),
            GcAction::Close => ("closed", "would close"),
            GcAction::Keep => ("kept", "would keep"),
        }
    }
}

#[derive(Debug)]
pub(super) struct Find {
    pub(super) action: GcAction,
    /// Team, path or pane.
    pub(super) what: String,
    /// Reason for the action.
    pub(super) why: String,
    pub(super) failure: Option<Failure>,
}

pub(super) fn find(action: GcAction, what: String, why: String) -> Find {
    Find {
        action,
        what,
        why,
        failure: None,
    }
}

/// Prints the leftovers and returns the worst failure.
pub(super) fn report(app: &App, finds: Vec<Find>, dry_run: bool) -> Result<()> {
    let mut records = Vec::new();
    let mut failures = Vec::new();
    let nothing = finds.iter().all(|find| find.action == GcAction::Keep);
    for find in finds {
        let (done, would) = find.action.words();
        records.push(record(&find, done, dry_run));
        if let Some(mut failure) = find.failure {
            failure.message = format!("{} was not {done}: {}", find.what, failure.message);
            failures.push(failure);
        } else if !app.out.json {
            let verb = if dry_run { would } else { done };
            let line = swarm_ui::clean_line(&format!("{verb} {}: {}", find.what, find.why));
            if find.action == GcAction::Keep {
                app.out.say(&line);
            } else {
                app.out.data(&line)?;
            }
        }
    }
    if app.out.json {
        app.out.json(&records)?;
    } else if nothing {
        app.out.say("nothing to clean up");
    }
    Failure::worst(failures).map_or(Ok(()), Err)
}

fn record(find: &Find, done: &str, dry_run: bool) -> Value {
    let cleared = find.action != GcAction::Keep && find.failure.is_none() && !dry_run;
    json!({
        "action": done, "what": find.what, "reason": find.why, "done": cleared,
        "error": find.failure.as_ref().map(|failure| failure.message.as_str()),
    })
}
