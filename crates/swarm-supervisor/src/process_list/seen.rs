//! A process as the process list sees it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use swarm_protocol::{MemberState, SpawnId};

/// What a process is in its team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessKind {
    /// A lead.
    Lead,
    /// A teammate's own process.
    Teammate,
    /// Something that a member started.
    Child,
}

impl ProcessKind {
    /// The word for lists.
    pub fn word(self) -> &'static str {
        match self {
            ProcessKind::Lead => "lead",
            ProcessKind::Teammate => "teammate",
            ProcessKind::Child => "child",
        }
    }
}

/// Why a process belongs nowhere any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orphan {
    /// There is no team of its name.
    TeamGone,
    /// The team's roster does not have its member.
    NotInRoster,
    /// The roster has another spawn of its member.
    EarlierSpawn,
    /// The member that started it has died.
    MemberDead,
    /// The lead that started it has ended.
    LeadGone,
}

impl fmt::Display for Orphan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Orphan::TeamGone => "its team no longer exists",
            Orphan::NotInRoster => "its member is no longer in the roster",
            Orphan::EarlierSpawn => "its member has been spawned again",
            Orphan::MemberDead => "the member that started it has died",
            Orphan::LeadGone => "the lead that started it has exited",
        })
    }
}

/// Where a process belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessStatus {
    /// It has its place: a lead, a member in its roster, or what one of them started.
    Placed {
        /// What its member is doing.
        state: MemberState,
        /// Whether the team's lead was lost, so that the member parks or is about to.
        lead_lost: bool,
    },
    /// It belongs nowhere any more and may be ended.
    Orphan(Orphan),
    /// It is of a team below another config directory, or of another user or container, and none of our business.
    Elsewhere(Option<PathBuf>),
    /// What the files say of it cannot be read; nobody may conclude that it is a stray.
    Unknown,
}

/// One process of swarm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenProcess {
    /// Its team, as it was told at its start.
    pub team: Option<String>,
    /// Its member's name.
    pub member: Option<String>,
    /// The spawn that marks it; a lead is marked by none itself.
    pub spawn_id: Option<SpawnId>,
    /// What it is.
    pub kind: ProcessKind,
    /// Its pid.
    pub pid: i32,
    /// When it was started, in clock ticks since boot.
    pub start: u64,
    /// How long it has been running, where that is known.
    pub age: Option<Duration>,
    /// Its arguments.
    pub command: String,
    /// Whether it stands still by a signal.
    pub frozen: bool,
    /// Where it belongs.
    pub standing: ProcessStatus,
}
