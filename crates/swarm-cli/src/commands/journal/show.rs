//! Prints matching events once or continuously.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use swarm_permissions::nearest;
use swarm_protocol::{Event, JournalEntry, SYSTEM_SENDER, word_list};
use swarm_store::{BlockOn as _, Events, Team, Topic};

use super::text;
use crate::app::App;
use crate::commands::outage::read_on;
use crate::commands::watch::Watch;
use crate::failure::{Failure, Result};
use crate::nearest::offer;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  swarm log --from alice --to bob
  swarm log --type task --follow")]
pub(crate) struct LogArgs {
    /// Only events caused by this member.
    #[arg(long, value_name = "NAME")]
    pub(crate) from: Option<String>,
    /// Only events addressed to this member.
    #[arg(long, value_name = "NAME")]
    pub(crate) to: Option<String>,
    /// Only events of this type (such as `queued` or `task_changed`) or kind (such as `task`).
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// Keep printing new events.
    #[arg(long)]
    pub(crate) follow: bool,
}

struct Shown {
    entry: JournalEntry,
    record: Value,
}

pub(in crate::commands) fn run(app: &App, args: &LogArgs) -> Result<()> {
    let team = app.team()?;
    let mut watch = Watch::new()?;
    watch.topic(&*team, Topic::Journal);
    refuse_unknown_type(args.kind.as_deref())?;
    let events = team.events().block_on()?;
    let mut position = events.next;
    begin(app, args, &*team, events)?;
    while args.follow && app.out.is_wanted() {
        watch.wait(None);
        let read = || Ok(team.events_from(position).block_on()?);
        let events = read_on(app.out, &*team, read)?;
        position = events.next;
        warn_of_broken(app, &*team, &events);
        let (shown, _) = select(events, args)?;
        print(app, args, &shown)?;
    }
    Ok(())
}

fn begin(app: &App, args: &LogArgs, team: &dyn Team, events: Events) -> Result<()> {
    warn_of_broken(app, team, &events);
    let (shown, names) = select(events, args)?;
    if shown.is_empty() {
        refuse_unknown_names(args, team, names)?;
        app.out.say("no matching events");
    }
    print(app, args, &shown)
}

fn warn_of_broken(app: &App, team: &dyn Team, events: &Events) {
    if !events.broken.is_empty() {
        app.out.say(&format!(
            "swarm: the journal in {} is damaged: skipped {} that cannot be read",
            team.location(),
            swarm_ui::print::counted(events.broken.len() as u64, "line")
        ));
    }
}

/// Returns the matching events and the names of all senders and recipients.
fn select(events: Events, args: &LogArgs) -> Result<(Vec<Shown>, BTreeSet<String>)> {
    let mut shown = Vec::new();
    let mut names = BTreeSet::new();
    for entry in events.entries {
        let record = serde_json::to_value(&entry)?;
        names.extend(actors(&record).chain(receivers(&record)));
        if is_wanted(&record, text::word(&entry.event), args) {
            shown.push(Shown { entry, record });
        }
    }
    Ok((shown, names))
}

/// Returns the fields that name who caused an event. Events of the program itself have no member as
/// sender.
fn actors(record: &Value) -> impl Iterator<Item = String> {
    let by_program = (record["kind"] == "system").then(|| SYSTEM_SENDER.to_owned());
    let keys: &[_] = match record["type"].as_str() {
        _ if by_program.is_some() => &[],
        // `from` is a task state here.
        Some("task_changed") => &["by", "member"],
        _ => &["from", "by", "member"],
    };
    let named: Vec<String> = texts(record, keys).collect();
    by_program.into_iter().chain(named)
}

/// Returns the fields that name the recipient; for tasks, the owner.
fn receivers(record: &Value) -> impl Iterator<Item = String> {
    let keys: &[_] = match record["type"].as_str() {
        // `to` is a task state here.
        Some("task_changed") => &["owner"],
        _ => &["to", "owner"],
    };
    texts(record, keys)
}

fn texts<'a>(record: &'a Value, keys: &'a [&str]) -> impl Iterator<Item = String> + use<'a> {
    keys.iter()
        .filter_map(|key| record[*key].as_str().map(str::to_owned))
}

/// Returns whether a record matches the filters.
fn is_wanted(record: &Value, word: &str, args: &LogArgs) -> bool {
    let passes = |wanted: &Option<String>, mut among: Box<dyn Iterator<Item = String> + '_>| {
        let Some(wanted) = wanted else { return true };
        among.any(|name| name == *wanted)
    };
    passes(&args.from, Box::new(actors(record)))
        && passes(&args.to, Box::new(receivers(record)))
        && args
            .kind
            .as_deref()
            .is_none_or(|kind| record["type"] == kind || word == kind)
}

/// Event types that are suggested to the user.
const EXAMPLES: [&str; 7] =
    word_list("queued delivered task_created task_changed member_died member_stopped turn_ended");

/// Rejects an unknown type. An event of a known type either lacks fields or can be parsed.
fn refuse_unknown_type(kind: Option<&str>) -> Result<()> {
    let Some(kind) = kind.filter(|kind| !text::WORDS.contains(kind)) else {
        return Ok(());
    };
    match serde_json::from_value(json!({ "type": kind })) {
        Ok(Event::Unknown) => {
            let message = format!("event type `{}` not found", kind.escape_debug());
            let hint = match nearest(kind, EXAMPLES.into_iter().chain(text::WORDS)) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!(
                    "types: {}, and for example {}",
                    text::WORDS.join(", "),
                    EXAMPLES.join(", ")
                ),
            };
            Err(Failure::usage(message).with_hint(hint))
        }
        _ => Ok(()),
    }
}

/// Rejects a name that is neither in the roster nor in the journal.
fn refuse_unknown_names(
    args: &LogArgs,
    team: &dyn Team,
    mut known: BTreeSet<String>,
) -> Result<()> {
    let members = team.config().block_on()?.names();
    known.extend(members.iter().map(ToString::to_string));
    let mut asked = args.from.iter().chain(&args.to);
    let Some(unknown) = asked.find(|name| !known.contains(*name)) else {
        return Ok(());
    };
    let message = format!(
        "no member `{}` in the journal of {}",
        unknown.escape_debug(),
        team.name()
    );
    Err(Failure::not_found(message).with_hint(offer(
        unknown,
        "known names",
        known.iter().map(String::as_str),
    )))
}

fn print(app: &App, args: &LogArgs, shown: &[Shown]) -> Result<()> {
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
    use swarm_protocol::ErrorKind;

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
    fn unknown_event_type_is_rejected() {
        for kind in ["queud", "unknown", "", "x\u{1b}[2J"] {
            assert_eq!(
                refuse_unknown_type(Some(kind)).unwrap_err().kind,
                ErrorKind::Usage
            );
        }
        for kind in [
            "queued",
            "task_changed",
            "team_created",
            "task",
            "mail",
            "member",
        ] {
            refuse_unknown_type(Some(kind)).unwrap();
        }
    }

    #[test]
    fn filters_match_sender_recipient_and_type() {
        let mail = json!({"type": "queued", "from": "bob", "to": "ann"});
        let task = json!({"type": "task_changed", "by": "bob", "owner": "ann"});
        let died = json!({"type": "member_died", "member": "bob"});
        let all = [&mail, &task, &died];
        let found = |args: &LogArgs| all.map(|record| is_wanted(record, "x", args));
        assert_eq!(found(&args(None, None, None)), [true, true, true]);
        assert_eq!(found(&args(Some("bob"), None, None)), [true, true, true]);
        assert_eq!(found(&args(None, Some("ann"), None)), [true, true, false]);
        assert_eq!(found(&args(Some("ann"), None, None)), [false, false, false]);
        assert!(is_wanted(&task, "task", &args(None, None, Some("task"))));
        assert!(!is_wanted(&task, "task", &args(None, None, Some("mail"))));
        let program = json!({"type": "queued", "from": "bob", "to": "ann", "kind": "system"});
        assert!(!is_wanted(&program, "mail", &args(Some("bob"), None, None)));
        assert!(is_wanted(
            &program,
            "mail",
            &args(Some("system"), None, None)
        ));
        assert_eq!(
            found(&args(Some("bob"), None, Some("queued"))),
            [true, false, false]
        );
    }
}
