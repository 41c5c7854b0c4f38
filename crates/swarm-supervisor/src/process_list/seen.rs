//! A process in the process list.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use swarm_protocol::{MemberState, SpawnId, named_enum};

named_enum! {
    /// Role of a process.
    pub enum ProcessKind {
        /// A lead.
        Lead = "lead",
        /// The process of a teammate.
        Teammate = "teammate",
        /// A process started by a member.
        Child = "child",
    }
}

/// Reason why a process is orphaned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orphan {
    /// The team does not exist.
    TeamGone,
    /// The member is not in the roster.
    NotInRoster,
    /// The roster contains another spawn of the member.
    EarlierSpawn,
    /// The member that started it died.
    MemberDead,
    /// The lead that started it exited.
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

/// Status of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessStatus {
    /// Belongs to a lead or a member in the roster.
    Placed {
        /// State of its member.
        state: MemberState,
        /// Whether the team lost its lead, so that the member parks.
        lead_lost: bool,
    },
    /// Orphaned; may be terminated.
    Orphan(Orphan),
    /// Belongs to another config directory, user or container.
    Elsewhere(Option<PathBuf>),
    /// Unknown, because files cannot be read; must not be treated as orphaned.
    Unknown,
}

/// A process of swarm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenProcess {
    /// Team, as given at its start.
    pub team: Option<String>,
    /// Name of its member.
    pub member: Option<String>,
    /// Spawn id from its environment; a lead has none.
    pub spawn_id: Option<SpawnId>,
    /// Role.
    pub kind: ProcessKind,
    /// Process id.
    pub pid: i32,
    /// Start time in clock ticks since boot.
    pub start: u64,
    /// Time since its start, if known.
    pub age: Option<Duration>,
    /// Command line arguments.
    pub command: String,
    /// Whether it was stopped by a signal.
    pub frozen: bool,
    /// Status.
    pub standing: ProcessStatus,
}
