//! The tested operations with their preconditions, and a description of the resulting state.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};
use swarm_protocol::{
    Answer, AnsweredBy, BackendType, Event, Member, PaneId, RequestId, RequestKind, RequestRecord,
    RequestState, SpawnId, TaskId, TaskStatus, UnixMs,
};
use swarm_store::{
    Actor, BlockOn as _, Draft, FileStore, Result, StoppedSpawn, StoreError, TaskChange, TeamStore,
};

use crate::faults::ground::{Locking, TeamFixture, name, new_member, new_task};
use crate::faults::worker::READER;

/// The task owner.
const OWNER: &str = "owner";

/// Number of acknowledged entries that an inbox keeps; one more is moved to its archive.
const KEPT: usize = 200;

/// An operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Sends a message to a member.
    Send,
    /// Takes and acknowledges three messages.
    Acknowledge,
    /// Acknowledges with an inbox that is full of old messages.
    Archive,
    /// Claims the next task.
    Claim,
    /// Completes a task that blocks another.
    Complete,
    /// Creates three blocked tasks.
    CreateTasks,
    /// Deletes a task that blocks another.
    DeleteTask,
    /// Creates a team.
    CreateTeam,
    /// Reserves a member with a prompt.
    Reserve,
    /// Commits a reserved member.
    CommitSpawn,
    /// Aborts a reservation.
    AbortSpawn,
    /// Removes a member that has a task.
    Remove,
    /// Reconciles a death.
    Reconcile,
    /// Answers a request.
    Answer,
    /// Deletes a team and keeps its tasks.
    Delete,
    /// Deletes a team completely.
    Purge,
}

impl Operation {
    /// All operations.
    pub const ALL: [Self; 16] = [
        Self::Send,
        Self::Acknowledge,
        Self::Archive,
        Self::Claim,
        Self::Complete,
        Self::CreateTasks,
        Self::DeleteTask,
        Self::CreateTeam,
        Self::Reserve,
        Self::CommitSpawn,
        Self::AbortSpawn,
        Self::Remove,
        Self::Reconcile,
        Self::Answer,
        Self::Delete,
        Self::Purge,
    ];

    /// Parses the word of [`Self::word`].
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.word() == word)
    }

    /// Returns a word for command lines.
    pub fn word(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// Returns whether it changes files with several readers one after the other, so that an
    /// intermediate state may be visible. Repeating it completes it.
    pub fn may_be_seen_half_done(self) -> bool {
        matches!(
            self,
            Self::Complete
                | Self::Reserve
                | Self::AbortSpawn
                | Self::Remove
                | Self::Reconcile
                | Self::Delete
                | Self::Purge
        )
    }

    /// Returns whether the remains of a killed operation are removed by `swarm gc` and not by
    /// repeating it.
    pub fn is_finished_by_sweep(self) -> bool {
        matches!(self, Self::Delete | Self::Purge)
    }

    /// Creates the preconditions.
    ///
    /// # Panics
    /// If the store fails.
    pub fn prepare(self, ground: &TeamFixture) {
        let (store, team) = (&ground.store, &ground.team);
        if self == Self::CreateTeam {
            store
                .team(team)
                .delete(true, false)
                .block_on()
                .expect("a team to delete");
            return;
        }
        let lead = Actor::person(team);
        match self {
            Self::Send => drop(ground.join(READER)),
            Self::Acknowledge => {
                ground.join(READER);
                for text in ["one", "two", "three"] {
                    store
                        .team(team)
                        .send(&name(READER), Draft::new("a", text))
                        .block_on()
                        .expect("sent");
                }
            }
            Self::Archive => {
                ground.join(READER);
                fs::write(ground.inbox(READER), full_inbox().to_string()).expect("an inbox");
            }
            Self::Claim => {
                ground.task("first", &[]);
                ground.task("second", &[1]);
            }
            Self::Complete | Self::DeleteTask => {
                ground.task("first", &[]);
                ground.task("second", &[1]);
                if self == Self::Complete {
                    store
                        .team(team)
                        .claim(&TaskId::new(1), &owner(ground))
                        .block_on()
                        .expect("a claim");
                }
            }
            Self::CreateTasks => drop(ground.task("first", &[])),
            Self::CommitSpawn | Self::AbortSpawn => {
                let mut new = new_member(OWNER);
                new.prompt = Some(Draft::new("team-lead", "begin"));
                store.team(team).reserve(new).block_on().expect("a place");
            }
            Self::Remove | Self::Reconcile => {
                let spawn = ground.join(OWNER);
                drop(ground.live(OWNER, spawn).expect("a life"));
                ground.task("first", &[]);
                let actor = Actor::member(team, name(OWNER), Some(spawn));
                store
                    .team(team)
                    .claim_next(&actor)
                    .block_on()
                    .expect("a claim");
            }
            Self::Answer => {
                ground.join(OWNER);
                store
                    .team(team)
                    .open_request(request(), None)
                    .block_on()
                    .expect("a request");
            }
            Self::Delete | Self::Purge => {
                ground.task("first", &[]);
                store
                    .team(team)
                    .update_task(&TaskId::new(1), done(), &lead)
                    .block_on()
                    .expect("done");
            }
            Self::Reserve | Self::CreateTeam => {}
        }
    }

    /// Performs it once.
    pub fn perform(self, store: &FileStore, ground: &TeamFixture) -> Result<()> {
        let team = &ground.team;
        match self {
            Self::Send => store
                .team(team)
                .send(&name(READER), Draft::new("a", "hello"))
                .block_on()
                .map(drop),
            Self::Acknowledge | Self::Archive => {
                let unread = store.team(team).take_unread(&name(READER)).block_on()?;
                let ids: Vec<_> = unread
                    .into_iter()
                    .filter_map(|entry| entry.msg_id)
                    .collect();
                store
                    .team(team)
                    .delivered(&name(READER), &ids)
                    .block_on()
                    .map(drop)
            }
            Self::Claim => store
                .team(team)
                .claim_next(&owner(ground))
                .block_on()
                .map(drop),
            Self::Complete => store
                .team(team)
                .update_task(&TaskId::new(1), done(), &owner(ground))
                .block_on()
                .map(drop),
            Self::CreateTasks => {
                let new = [
                    new_task("a", &[1]),
                    new_task("b", &[1]),
                    new_task("c", &[1]),
                ];
                store
                    .team(team)
                    .create_tasks(&new, &Actor::person(team))
                    .block_on()
                    .map(drop)
            }
            Self::DeleteTask => store
                .team(team)
                .delete_task(&TaskId::new(1), &Actor::person(team))
                .block_on()
                .map(drop),
            Self::CreateTeam => TeamFixture::at(&ground.root, Locking::Both).create_team(),
            Self::Reserve => {
                let mut new = new_member(OWNER);
                // Expires immediately: it lapses with its spawner.
                new.reservation.deadline = UnixMs(1);
                new.prompt = Some(Draft::new("team-lead", "begin"));
                store.team(team).reserve(new).block_on().map(drop)
            }
            Self::CommitSpawn => {
                let (pane, backend) = (PaneId::new("%1"), BackendType::Tmux);
                store
                    .team(team)
                    .commit_spawn(&spawn_of_owner(store, ground)?, pane, backend, None)
                    .block_on()
                    .map(drop)
            }
            Self::AbortSpawn => {
                match spawn_of_owner(store, ground) {
                    // The member is gone: the spawn was undone.
                    Err(StoreError::MemberNotFound { .. }) => Ok(()),
                    spawn => store
                        .team(team)
                        .abort_spawn(&spawn?, "a test")
                        .block_on()
                        .map(drop),
                }
            }
            Self::Remove => {
                let stopped = match spawn_of_owner(store, ground) {
                    // It was removed before.
                    Err(StoreError::MemberNotFound { .. }) => return Ok(()),
                    spawn => StoppedSpawn::new(spawn?, "killed"),
                };
                store
                    .team(team)
                    .remove_member(&name(OWNER), Some(&stopped))
                    .block_on()
                    .map(drop)
            }
            Self::Reconcile => store.team(team).reconcile().block_on().map(drop),
            Self::Answer => {
                let answer = Answer::once();
                store
                    .team(team)
                    .answer_request(&request().id, None, answer, AnsweredBy::default())
                    .block_on()
                    .map(drop)
            }
            Self::Delete => store.team(team).delete(false, true).block_on().map(drop),
            Self::Purge => store.team(team).delete(true, true).block_on().map(drop),
        }
    }

    /// Describes the visible state of the team, without ids and times.
    ///
    /// # Panics
    /// If something cannot be read.
    pub fn picture(ground: &TeamFixture) -> String {
        let store = ground.hurried();
        let team = &ground.team;
        let mut picture = String::new();
        if let Ok(config) = store.team(team).config().block_on() {
            for member in &config.members {
                let mark = member.swarm.as_ref();
                let reserved = mark.is_some_and(|mark| mark.reservation.is_some());
                let died = mark.is_some_and(|mark| mark.died_at.is_some());
                let _infallible = writeln!(
                    picture,
                    "member {} reserved {reserved} died {died}",
                    member.name
                );
                let inbox = store
                    .team(team)
                    .inbox(&member.name)
                    .block_on()
                    .expect("an inbox");
                for entry in inbox.unread() {
                    let text = entry.text.split('\n').next().unwrap_or_default();
                    let _infallible = writeln!(picture, "  unread {} {text:.40}", entry.from);
                }
                let in_file = inbox.entries.iter().filter(|entry| entry.read);
                let mut read: BTreeSet<String> = in_file.map(|entry| entry.text.clone()).collect();
                read.extend(archived(ground, member.name.as_str()));
                let _infallible = writeln!(picture, "  read {}", read.len());
            }
            let list = store.team(team).tasks().block_on().expect("the tasks");
            assert!(list.broken.is_empty(), "{:?}", list.broken);
            // By title: an interrupted call may have used numbers up.
            let titles = |ids: &[TaskId]| -> Vec<String> {
                let title = |id: &TaskId| list.get(*id).map(|task| task.subject.clone());
                ids.iter().map(|id| title(id).unwrap_or_default()).collect()
            };
            for task in &list.tasks {
                let _infallible = writeln!(
                    picture,
                    "task {} {:?} of {:?} after {:?} before {:?} attempt {}",
                    task.subject,
                    task.status,
                    task.owner,
                    titles(&task.blocked_by),
                    titles(&task.blocks),
                    task.swarm().attempt,
                );
            }
            for request in store
                .team(team)
                .requests()
                .block_on()
                .expect("the requests")
                .requests
            {
                let open = request.state == RequestState::Open;
                let _infallible = writeln!(picture, "request {} open {open}", request.id);
            }
            let events = store
                .team(team)
                .events()
                .block_on()
                .expect("the journal")
                .entries;
            let is_end = |event: &Event| {
                matches!(
                    event,
                    Event::MemberDied { .. } | Event::MemberStopped { .. }
                )
            };
            let ends = events.iter().filter(|entry| is_end(&entry.event));
            let _infallible = writeln!(picture, "ends {}", ends.count());
        }
        let archives = ground.root.join("swarm/archive");
        let kept = ground
            .paths()
            .into_iter()
            .filter(|path| path.starts_with(&archives));
        let kept: BTreeSet<_> = kept
            .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
            .filter(|name| ["journal.jsonl", "1.json", "config.json"].contains(&name.as_str()))
            .collect();
        let _infallible = writeln!(picture, "kept {kept:?}");
        picture
    }
}

fn done() -> TaskChange {
    TaskChange::from(TaskStatus::Completed)
}

fn owner(ground: &TeamFixture) -> Actor {
    Actor::member(&ground.team, name(OWNER), None)
}

fn spawn_of_owner(store: &FileStore, ground: &TeamFixture) -> Result<SpawnId> {
    let config = store.team(&ground.team).config().block_on()?;
    let member = config.member(&name(OWNER)).and_then(Member::spawn_id);
    member.ok_or_else(|| StoreError::MemberNotFound {
        team: ground.team.clone(),
        name: name(OWNER),
        known: config.names(),
    })
}

fn request() -> RequestRecord {
    RequestRecord {
        spawn_id: Some(SpawnId::random()),
        description: "run make".to_owned(),
        deadline: Some(UnixMs(u64::MAX)),
        ..RequestRecord::open(
            RequestId::new("perm-1-abcdefg"),
            name(OWNER),
            RequestKind::Permission {
                tool: "Bash".to_owned(),
                tool_use_id: "toolu_1".to_owned(),
                input: json!({"command": "make"}),
                digest: "d".to_owned(),
                suggestions: Vec::new(),
            },
            UnixMs(1),
        )
    }
}

/// Returns as many acknowledged messages as are kept, and one unread.
fn full_inbox() -> Value {
    let entry = |number: usize, read: bool| {
        json!({
            "from": "a", "text": format!("old {number}"), "timestamp": "2026-11-20T10:00:00.000Z", "msgV": 1,
            "msg_id": format!("old-{number}"), "type": "message", "read": read, "swarm": {},
        })
    };
    (0..=KEPT)
        .map(|number| entry(number, number < KEPT))
        .collect()
}

fn archived(ground: &TeamFixture, member: &str) -> Vec<String> {
    let text = fs::read_to_string(ground.archive(member)).unwrap_or_default();
    let entries = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    entries
        .filter_map(|entry| Some(entry["text"].as_str()?.to_owned()))
        .collect()
}
