//! The events that are asked for, once or as they come.

use std::collections::BTreeSet;
use std::process::ExitCode;

use serde_json::Value;
use swarm_protocol::{JournalEntry, TeamName};
use swarm_store::Events;

use super::text;
use crate::app::App;
use crate::args::LogArgs;
use crate::commands::watch::Watch;
use crate::failure::Failure;

/// An event with its record on disk.
struct Shown {
    entry: JournalEntry,
    record: Value,
}

pub(in crate::commands) fn run(app: &App, args: &LogArgs) -> Result<ExitCode, Failure> {
    let team = app.team()?;
    let mut watch = Watch::new()?;
    watch.file(&app.store.journal_path(&team));
    let events = app.store.events(&team)?;
    let mut position = events.next;
    begin(app, args, &team, events)?;
    while args.follow && app.out.is_wanted() {
        watch.wait(None);
        let events = app.store.events_from(&team, position)?;
        position = events.next;
        warn_of_broken(app, &team, &events);
        let (shown, _) = select(events, args)?;
        print(app, args, &shown)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn begin(app: &App, args: &LogArgs, team: &TeamName, events: Events) -> Result<(), Failure> {
    warn_of_broken(app, team, &events);
    let (shown, types) = select(events, args)?;
    if shown.is_empty() && !args.follow {
        say_why_empty(app, args, &types);
    }
    print(app, args, &shown)
}

fn warn_of_broken(app: &App, team: &TeamName, events: &Events) {
    if !events.broken.is_empty() {
        app.out.say(&format!(
            "swarm: {} is damaged: {} left out, which cannot be read",
            app.store.journal_path(team).display(),
            swarm_ui::print::counted(events.broken.len() as u64, "line")
        ));
    }
}

/// The events that are asked for, and the types that there are.
fn select(events: Events, args: &LogArgs) -> Result<(Vec<Shown>, BTreeSet<String>), Failure> {
    let mut shown = Vec::new();
    let mut types = BTreeSet::new();
    for entry in events.entries {
        let record = serde_json::to_value(&entry).map_err(anyhow::Error::from)?;
        types.extend(record["type"].as_str().map(str::to_owned));
        if is_wanted(&record, args) {
            shown.push(Shown { entry, record });
        }
    }
    Ok((shown, types))
}

/// Whether a record passes the filters. Who acts stands in `from`, `by` or `member`; who receives in `to` or, for
/// tasks, in `owner`.
fn is_wanted(record: &Value, args: &LogArgs) -> bool {
    let is_in = |keys: &[&str], wanted: &Option<String>| {
        wanted
            .as_deref()
            .is_none_or(|wanted| keys.iter().any(|key| record[*key] == wanted))
    };
    is_in(&["from", "by", "member"], &args.from)
        && is_in(&["to", "owner"], &args.to)
        && is_in(&["type"], &args.kind)
}

fn say_why_empty(app: &App, args: &LogArgs, types: &BTreeSet<String>) {
    let unknown = args.kind.as_ref().filter(|kind| !types.contains(*kind));
    let types: Vec<&str> = types.iter().map(String::as_str).collect();
    app.out.say(&match unknown {
        Some(kind) => format!(
            "no event is of type {kind}; the journal has {}",
            types.join(", ")
        ),
        None => "no event is like that".to_owned(),
    });
}

fn print(app: &App, args: &LogArgs, shown: &[Shown]) -> Result<(), Failure> {
    if app.out.json && !args.follow {
        let records: Vec<&Value> = shown.iter().map(|shown| &shown.record).collect();
        return app.out.json(&records);
    }
    for one in shown {
        if app.out.json {
            app.out.json_line(&one.record)?;
        } else {
            app.out.data(&text::line(&one.entry))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn args(from: Option<&str>, to: Option<&str>, kind: Option<&str>) -> LogArgs {
        LogArgs {
            from: from.map(str::to_owned),
            to: to.map(str::to_owned),
            kind: kind.map(str::to_owned),
            follow: false,
        }
    }

    #[test]
    fn filters_find_who_acts_who_receives_and_what_it_is() {
        let mail = json!({"type": "queued", "from": "bob", "to": "ann"});
        let task = json!({"type": "task_changed", "by": "bob", "owner": "ann"});
        let died = json!({"type": "member_died", "member": "bob"});
        let all = [&mail, &task, &died];
        let found = |args: &LogArgs| all.map(|record| is_wanted(record, args));
        assert_eq!(found(&args(None, None, None)), [true, true, true]);
        assert_eq!(found(&args(Some("bob"), None, None)), [true, true, true]);
        assert_eq!(found(&args(None, Some("ann"), None)), [true, true, false]);
        assert_eq!(found(&args(Some("ann"), None, None)), [false, false, false]);
        assert_eq!(
            found(&args(Some("bob"), None, Some("queued"))),
            [true, false, false]
        );
    }
}
