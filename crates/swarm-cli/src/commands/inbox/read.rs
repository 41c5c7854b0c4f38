//! Prints an inbox once or continuously.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use swarm_os::Liveness;
use swarm_protocol::{ErrorKind, Event, InboxEntry, MemberName, MessageId};
use swarm_store::{BlockOn as _, Inbox, StoreError, StoreLimits, Team, Topic};
use swarm_ui::print::counted;

use super::text::{self, MessageState};
use crate::app::App;
use crate::commands::outage;
use crate::commands::watch::Watch;
use crate::commands::{acting, members};
use crate::failure::Result;
use crate::output::plain;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Messages stay unread unless `--ack` or `--ack-id` is given, which are for members whose inbox no program reads.

Examples:
  swarm inbox alice --unread                       messages she has not read yet
  swarm inbox alice --all                          archived messages too
  swarm inbox team-lead --unread --follow --ack    read new messages
  swarm inbox team-lead --unread --ack --wait 60   wait up to a minute")]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command")]
pub(crate) struct InboxArgs {
    /// Member whose inbox is shown.
    pub(crate) name: MemberName,
    /// Show only unread messages.
    #[arg(long)]
    pub(crate) unread: bool,
    /// Include archived messages.
    #[arg(long, conflicts_with = "unread")]
    pub(crate) all: bool,
    /// Keep printing new messages.
    #[arg(long)]
    pub(crate) follow: bool,
    /// Mark the shown messages as read.
    #[arg(long)]
    pub(crate) ack: bool,
    /// Show and mark as read only the messages with these ids.
    #[arg(
        long,
        value_name = "ID",
        conflicts_with_all = ["ack", "follow", "all"]
    )]
    pub(crate) ack_id: Vec<String>,
    /// Assign ids to the messages without one, for `--ack-id`.
    #[arg(long, hide = true)]
    pub(crate) assign_ids: bool,
    /// Without messages, wait this many seconds for one.
    #[arg(
        long,
        value_name = "SECONDS",
        requires = "unread",
        conflicts_with = "follow"
    )]
    pub(crate) wait: Option<u64>,
}

impl InboxArgs {
    /// Returns the option by which messages are marked as read, now or later.
    fn change(&self) -> Option<&'static str> {
        let options = [
            (self.ack, "--ack"),
            (!self.ack_id.is_empty(), "--ack-id"),
            (self.assign_ids, "--assign-ids"),
        ];
        let given = options.into_iter().find(|(is_given, _)| *is_given);
        given.map(|(_, option)| option)
    }

    fn shows(&self, entry: &InboxEntry) -> bool {
        let id = entry.msg_id.as_ref().map(MessageId::as_str);
        let is_named = || self.ack_id.iter().any(|named| Some(named.as_str()) == id);
        (!self.unread || !entry.read) && (self.ack_id.is_empty() || is_named())
    }
}

/// An inbox that is displayed.
struct Reading<'a> {
    app: &'a App,
    args: &'a InboxArgs,
    team: Arc<dyn Team>,
    seen: Seen,
    /// Whether the inbox was unreadable at the last read.
    is_damaged: bool,
}

pub(in crate::commands) fn run(app: &App, args: &InboxArgs) -> Result<()> {
    let command_actor = acting::command_actor(app, "inbox")?;
    if command_actor.name != args.name {
        command_actor.require_person(&format!("inbox {}", args.name))?;
    }
    if let Some(option) = args.change() {
        command_actor.require_person(option)?;
        refuse_if_read_by_program(&*command_actor.team, &args.name)?;
    }
    let mut watch = Watch::new()?;
    if args.follow || args.wait.is_some() {
        watch.topic(&*command_actor.team, Topic::Mail(args.name.clone()));
    }
    let mut reading = Reading {
        app,
        args,
        team: command_actor.team,
        seen: Seen::default(),
        is_damaged: false,
    };
    if let Some(seconds) = args.wait {
        let until = Instant::now().checked_add(Duration::from_secs(seconds));
        while !reading.has_unread()? && watch.wait(until) {}
    }
    reading.begin()?;
    while args.follow && app.out.is_wanted() {
        watch.wait(None);
        reading.go_on()?;
    }
    Ok(())
}

/// Refuses to acknowledge messages that a running member has not read; it would lose them.
fn refuse_if_read_by_program(team: &dyn Team, name: &MemberName) -> Result<()> {
    members::known(&team.config().block_on()?, name)?;
    if team.liveness(name).block_on()? != Liveness::Alive {
        return Ok(());
    }
    Err(StoreError::ReadByProgram(name.clone()).into())
}

/// Returns what the journal records about the messages of an inbox.
#[derive(Default)]
struct Past {
    delivered: HashSet<MessageId>,
    superseded: HashMap<MessageId, Vec<MessageId>>,
}

impl Reading<'_> {
    /// Prints the current messages.
    fn begin(&mut self) -> Result<()> {
        let inbox = self.read()?;
        let mut entries = Vec::new();
        if self.args.all {
            entries = self.team.archived_mail(&self.args.name).block_on()?;
        }
        entries.extend(inbox.entries);
        let mut entries = self.seen.take_new(entries);
        entries.retain(|entry| self.args.shows(entry));
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
        self.acknowledge(&entries)?;
        self.tell_archived(&entries);
        Ok(())
    }

    /// Says how to see archived messages if so many are shown that there usually are some. From a hub, all
    /// would have to be read to know how many there are.
    fn tell_archived(&self, entries: &[InboxEntry]) {
        let InboxArgs {
            name, all, follow, ..
        } = self.args;
        let read = entries.iter().filter(|entry| entry.read).count();
        let out = self.app.out;
        if *all || *follow || out.json || read < StoreLimits::default().keep_acked / 2 {
            return;
        }
        let shows = format!("`swarm inbox {name} --all` shows them");
        if self.team.is_remote() {
            out.say(&format!("older messages may be archived: {shows}"));
            return;
        }
        match self
            .team
            .archived_mail(name)
            .block_on()
            .map(|older| older.len())
        {
            Ok(0) => {}
            Ok(older) => out.say(&format!(
                "{} archived: {shows}",
                counted(older as u64, "older message")
            )),
            Err(error) => tracing::debug!(%error, "archive not read"),
        }
    }

    /// Prints new messages in any state: they were unread on arrival.
    fn go_on(&mut self) -> Result<()> {
        let inbox = match self.read_on(|| self.read()) {
            Ok(inbox) => inbox,
            // The next writer recreates a damaged inbox, so following continues.
            Err(failure) if failure.kind == ErrorKind::Damaged => {
                if !std::mem::replace(&mut self.is_damaged, true) {
                    self.app
                        .out
                        .say(&format!("swarm: {}", plain(&failure.message)));
                }
                return Ok(());
            }
            Err(failure) => return Err(failure),
        };
        self.is_damaged = false;
        let entries = self.seen.take_new(inbox.entries);
        if entries.is_empty() {
            return Ok(());
        }
        let states = self.read_on(|| self.states(&entries))?;
        self.print(&entries, &states)?;
        self.read_on(|| self.acknowledge(&entries))
    }

    /// Reads, and waits for a hub that does not answer.
    fn read_on<T>(&self, read: impl FnMut() -> Result<T>) -> Result<T> {
        outage::read_on(self.app.out, &*self.team, read)
    }

    /// Returns whether there is a message that `--unread` prints.
    fn has_unread(&self) -> Result<bool> {
        let inbox = self.read()?;
        Ok(inbox.entries.iter().any(|entry| !entry.read))
    }

    fn read(&self) -> Result<Inbox> {
        let (team, name) = (&self.team, &self.args.name);
        if self.args.change().is_some() {
            // Assigns ids to entries without one and moves invalid elements aside, so that all can
            // be acknowledged.
            team.take_unread(name).block_on()?;
        }
        let mut inbox = team.inbox(name).block_on()?;
        if self.args.change().is_some() {
            // Entries that another program added since have no id yet; that write triggers another
            // read.
            inbox
                .entries
                .retain(|entry| entry.read || entry.msg_id.is_some());
        }
        if !inbox.malformed.is_empty() {
            self.app.out.say(&format!(
                "swarm: {} of the elements in {name}'s inbox are not messages; the next read moves them aside",
                inbox.malformed.len()
            ));
        }
        Ok(inbox)
    }

    fn states(&self, entries: &[InboxEntry]) -> Result<Vec<MessageState>> {
        let told_by_journal = |entry: &InboxEntry| !entry.read || text::key(entry).is_some();
        let past = if entries.iter().any(told_by_journal) {
            self.past()?
        } else {
            Past::default()
        };
        let state = |entry: &InboxEntry| {
            let id = entry.msg_id.as_ref();
            MessageState {
                state: match id {
                    _ if entry.read => "acked",
                    Some(id) if past.delivered.contains(id) => "delivered",
                    _ => "queued",
                },
                superseded: id.and_then(|id| past.superseded.get(id)).cloned(),
            }
        };
        Ok(entries.iter().map(state).collect())
    }

    fn past(&self) -> Result<Past> {
        let mut past = Past::default();
        for entry in self.team.events().block_on()?.entries {
            match entry.event {
                Event::Delivered { msg_id, to } if to == self.args.name => {
                    past.delivered.insert(msg_id);
                }
                Event::Queued {
                    msg_id, superseded, ..
                } if !superseded.is_empty() => {
                    past.superseded.insert(msg_id, superseded);
                }
                _ => {}
            }
        }
        Ok(past)
    }

    fn print(&self, entries: &[InboxEntry], states: &[MessageState]) -> Result<()> {
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

    /// Runs after printing, so that only printed messages are acknowledged.
    fn acknowledge(&self, entries: &[InboxEntry]) -> Result<()> {
        if !self.args.ack && self.args.ack_id.is_empty() {
            return Ok(());
        }
        let unread = entries.iter().filter(|entry| !entry.read);
        let ids: Vec<MessageId> = unread.filter_map(|entry| entry.msg_id.clone()).collect();
        // Refused as soon as a program reads this inbox: the printed messages are then also
        // delivered to it.
        let acked = self.team.ack_on_behalf(&self.args.name, &ids).block_on()?;
        // A follower would read it after each message.
        if !acked.is_empty() && !self.args.follow {
            let count = swarm_ui::print::counted(acked.len() as u64, "message");
            self.app.out.say(&format!("acknowledged {count}"));
        }
        Ok(())
    }
}

/// Returns entries as stored, with their states.
fn records(entries: &[InboxEntry], states: &[MessageState]) -> Result<Vec<Value>> {
    entries
        .iter()
        .zip(states)
        .map(|(entry, state)| {
            let mut record = serde_json::to_value(entry)?;
            record["state"] = json!(state.state);
            if let Some(superseded) = &state.superseded {
                record["superseded"] = json!(superseded);
            }
            Ok(record)
        })
        .collect()
}

/// Printed messages. An entry of another program gets an id only when it is read; until then its
/// content identifies it.
#[derive(Debug, Default)]
struct Seen {
    ids: HashSet<MessageId>,
    nameless: HashSet<String>,
}

impl Seen {
    fn take_new(&mut self, mut entries: Vec<InboxEntry>) -> Vec<InboxEntry> {
        entries.retain(|entry| self.is_new(entry));
        entries
    }

    fn is_new(&mut self, entry: &InboxEntry) -> bool {
        let words = || format!("{} {} {}", entry.timestamp, entry.from, entry.text);
        match &entry.msg_id {
            Some(id) => self.ids.insert(id.clone()) && !self.nameless.remove(&words()),
            None => self.nameless.insert(words()),
        }
    }
}

#[cfg(test)]
mod tests {
    use swarm_protocol::IsoTime;

    use super::*;

    #[test]
    fn message_without_id_is_shown_once() {
        let entry = |text: &str, id: Option<&str>| InboxEntry {
            msg_id: id.map(MessageId::new),
            ..InboxEntry::new("bob", text, IsoTime::new("now"))
        };
        let mut seen = Seen::default();
        let mut new = |entries: &[InboxEntry]| seen.take_new(entries.to_vec()).len();
        assert_eq!(new(&[entry("one", None), entry("two", Some("2"))]), 2);
        assert_eq!(new(&[entry("one", Some("1")), entry("two", Some("2"))]), 0);
        assert_eq!(new(&[entry("one", Some("1")), entry("one", Some("3"))]), 1);
    }
}
