//! Reading an inbox, once or as it fills.

use std::collections::HashSet;
use std::process::ExitCode;

use serde_json::{Value, json};
use swarm_fs::Liveness;
use swarm_protocol::{ErrorKind, Event, InboxEntry, MemberName, MessageId, TeamName};
use swarm_store::Inbox;

use super::text;
use crate::app::App;
use crate::args::InboxArgs;
use crate::commands::watch::Watch;
use crate::commands::{acting, members};
use crate::failure::Failure;

/// An inbox that is being looked at.
struct Reading<'a> {
    app: &'a App,
    args: &'a InboxArgs,
    team: TeamName,
    shown: HashSet<String>,
}

pub(in crate::commands) fn run(app: &App, args: &InboxArgs) -> Result<ExitCode, Failure> {
    let party = acting::party(app, "inbox")?;
    if party.name != args.name {
        party.require_person(&format!("inbox {}", args.name))?;
    }
    if args.ack {
        party.require_person("--ack")?;
        refuse_if_read_by_program(app, &party.team, &args.name)?;
    }
    let mut watch = Watch::new()?;
    let path = app
        .store
        .inbox_folder(&party.team)
        .join(format!("{}.json", args.name));
    if args.follow {
        watch.file(&path);
    }
    let mut reading = Reading {
        app,
        args,
        team: party.team,
        shown: HashSet::new(),
    };
    reading.begin()?;
    while args.follow && app.out.is_wanted() {
        watch.wait(None);
        reading.go_on()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A message that a living member has not read would be lost if somebody else acknowledged it.
fn refuse_if_read_by_program(app: &App, team: &TeamName, name: &MemberName) -> Result<(), Failure> {
    members::known(&app.store.config(team)?, name)?;
    if app.store.liveness(team, name)? != Liveness::Alive {
        return Ok(());
    }
    let message = format!("{name} is at work and acknowledges its own mail");
    Err(Failure::new(ErrorKind::Conflict, message).with_hint("leave `--ack` out, or end it first"))
}

impl Reading<'_> {
    /// Shows what there is.
    fn begin(&mut self) -> Result<(), Failure> {
        let inbox = self.read()?;
        let entries = self.take_new(inbox);
        let states = self.states(&entries)?;
        let out = self.app.out;
        if out.json && !self.args.follow {
            out.json(&records(&entries, &states)?)?;
        } else if entries.is_empty() && !self.args.follow {
            let which = if self.args.unread { "unread " } else { "" };
            out.say(&format!("{} has no {which}messages", self.args.name));
        } else {
            self.print(&entries, &states)?;
        }
        self.acknowledge(&entries)
    }

    /// Shows what has come.
    fn go_on(&mut self) -> Result<(), Failure> {
        let inbox = self.read()?;
        let entries = self.take_new(inbox);
        if entries.is_empty() {
            return Ok(());
        }
        let states = self.states(&entries)?;
        self.print(&entries, &states)?;
        self.acknowledge(&entries)
    }

    fn read(&self) -> Result<Inbox, Failure> {
        let (store, name) = (&self.app.store, &self.args.name);
        if self.args.ack {
            // Gives ids to entries without one and sets aside what is none, so that all can be acknowledged.
            store.take_unread(&self.team, name)?;
        }
        let inbox = store.inbox(&self.team, name)?;
        if !inbox.malformed.is_empty() {
            self.app.out.say(&format!(
                "swarm: {} of the elements in {name}'s inbox are no messages; whoever reads it sets them aside",
                inbox.malformed.len()
            ));
        }
        Ok(inbox)
    }

    /// The entries that are asked for and were not shown yet.
    fn take_new(&mut self, inbox: Inbox) -> Vec<InboxEntry> {
        let unread_only = self.args.unread;
        inbox
            .entries
            .into_iter()
            .filter(|entry| !unread_only || !entry.read)
            .filter(|entry| self.shown.insert(key(entry)))
            .collect()
    }

    fn states(&self, entries: &[InboxEntry]) -> Result<Vec<&'static str>, Failure> {
        let delivered = if entries.iter().all(|entry| entry.read) {
            HashSet::new()
        } else {
            self.delivered()?
        };
        let state = |entry: &InboxEntry| match &entry.msg_id {
            _ if entry.read => "acked",
            Some(id) if delivered.contains(id) => "delivered",
            _ => "queued",
        };
        Ok(entries.iter().map(state).collect())
    }

    fn delivered(&self) -> Result<HashSet<MessageId>, Failure> {
        let events = self.app.store.events(&self.team)?.entries;
        let delivered = events.into_iter().filter_map(|entry| match entry.event {
            Event::Delivered { msg_id, to } if to == self.args.name => Some(msg_id),
            _ => None,
        });
        Ok(delivered.collect())
    }

    fn print(&self, entries: &[InboxEntry], states: &[&str]) -> Result<(), Failure> {
        let out = self.app.out;
        if out.json {
            for record in records(entries, states)? {
                out.json_line(&record)?;
            }
            return Ok(());
        }
        let now = self.app.clock.now();
        for (entry, state) in entries.iter().zip(states) {
            out.data(&text::message(entry, state, now))?;
        }
        Ok(())
    }

    /// After printing: what nobody has seen is not acknowledged.
    fn acknowledge(&self, entries: &[InboxEntry]) -> Result<(), Failure> {
        if !self.args.ack {
            return Ok(());
        }
        let unread = entries.iter().filter(|entry| !entry.read);
        let ids: Vec<MessageId> = unread.filter_map(|entry| entry.msg_id.clone()).collect();
        let acked = self.app.store.ack(&self.team, &self.args.name, &ids)?;
        if !acked.is_empty() {
            let count = swarm_ui::print::counted(acked.len() as u64, "message");
            self.app.out.say(&format!("acknowledged {count}"));
        }
        Ok(())
    }
}

/// Entries as they stand on disk, with their states.
fn records(entries: &[InboxEntry], states: &[&str]) -> Result<Vec<Value>, Failure> {
    entries
        .iter()
        .zip(states)
        .map(|(entry, state)| {
            let mut record = serde_json::to_value(entry).map_err(anyhow::Error::from)?;
            record["state"] = json!(state);
            Ok(record)
        })
        .collect()
}

/// What tells entries apart, also those of programs that give them no id.
fn key(entry: &InboxEntry) -> String {
    match &entry.msg_id {
        Some(id) => id.to_string(),
        None => format!("{} {} {}", entry.timestamp, entry.from, entry.text),
    }
}
