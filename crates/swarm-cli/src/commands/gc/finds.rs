//! What `gc` found and what became of each find.

use serde_json::{Value, json};

use crate::app::App;
use crate::failure::Failure;

/// What is done about a find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    /// The team's tasks, journal, roster and mail move to an archive.
    Archive,
    /// It is removed.
    Remove,
    /// A pane is closed.
    Close,
    /// It stays.
    Keep,
}

impl Deed {
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Deed::Archive => ("archived", "would archive"),
            Deed::Remove => ("removed", "would remove"),
            Deed::Close => ("closed", "would close"),
            Deed::Keep => ("kept", "would keep"),
        }
    }
}

/// One find.
#[derive(Debug)]
pub(super) struct Find {
    pub(super) deed: Deed,
    /// The team, path or pane.
    pub(super) what: String,
    /// Why.
    pub(super) why: String,
    /// What went wrong while it was cleared.
    pub(super) failure: Option<Failure>,
}

/// Prints what was found, and fails with the worst of what could not be cleared.
pub(super) fn report(app: &App, finds: Vec<Find>, dry_run: bool) -> Result<(), Failure> {
    let mut records = Vec::new();
    let mut failures = Vec::new();
    let nothing = finds.iter().all(|find| find.deed == Deed::Keep);
    for find in finds {
        let (done, would) = find.deed.words();
        records.push(record(&find, done, dry_run));
        if let Some(mut failure) = find.failure {
            failure.message = format!("{} was not {done}: {}", find.what, failure.message);
            failures.push(failure);
        } else if !app.out.json {
            let verb = if dry_run { would } else { done };
            let line = swarm_ui::clean_line(&format!("{verb} {}: {}", find.what, find.why));
            if find.deed == Deed::Keep {
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
    let cleared = find.deed != Deed::Keep && find.failure.is_none() && !dry_run;
    json!({
        "action": done, "what": find.what, "reason": find.why, "done": cleared,
        "error": find.failure.as_ref().map(|failure| failure.message.as_str()),
    })
}
