//! Errors of the store, with hints for the user.

mod hint;
mod kind;

use std::path::PathBuf;
use std::time::Duration;

use swarm_os::OsError;
use swarm_protocol::{
    Answer, MemberName, NodeName, RequestId, SpawnId, TaskId, TeamConfig, TeamName,
};

/// Result of a store operation.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// An error of the store. Each variant names the team, ID or path that it concerns.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The team does not exist.
    #[error("team `{team}` not found")]
    TeamNotFound {
        /// The requested name.
        team: TeamName,
        /// The teams that exist.
        known: Vec<TeamName>,
        /// The directory of a team of this name that has lost its roster.
        remains: Option<PathBuf>,
    },
    /// A team with this name already exists.
    #[error("team `{team}` exists already: {state}")]
    TeamExists {
        /// Name of the team.
        team: TeamName,
        /// State of the existing team, as a clause.
        state: String,
    },
    /// A team with this name is on a hub.
    #[error("team `{team}` exists already: it is on hub {hub}")]
    TeamOnHub {
        /// Name of the team.
        team: TeamName,
        /// URL of the hub.
        hub: String,
        /// Whether this machine takes part in it.
        is_joined: bool,
    },
    /// The name maps to the same directory as that of another team.
    #[error(
        "team `{team}` would share its directories with team `{other}`, from which it differs only in case, `_` and `-`"
    )]
    TeamCollides {
        /// The requested name.
        team: TeamName,
        /// Name of the existing team.
        other: String,
    },
    /// A task list of this name exists in this directory without a team.
    #[error("{} already holds tasks, but not of a swarm team", .0.display())]
    TasksInTheWay(PathBuf),
    /// The team cannot be deleted while it has running members.
    #[error("team `{team}` still has members: {}", reasons.join(", "))]
    TeamBusy {
        /// Name of the team.
        team: TeamName,
        /// Members that are running, are being spawned, or whose state is unknown.
        members: Vec<MemberName>,
        /// For each of them the reason that blocks deletion, starting with its name.
        reasons: Vec<String>,
    },
    /// The team in this directory was created by another program and has none of swarm's locks.
    #[error(
        "{0} was created by another program: swarm has no locks in it and does not write to it"
    )]
    ForeignTeam(String),
    /// Another process leads the team.
    #[error("team `{team}` is led by process {pid}")]
    LeadAlive {
        /// Name of the team.
        team: TeamName,
        /// PID of the lead process.
        pid: u32,
    },
    /// The team has no such member.
    #[error("team `{team}` has no member `{name}`")]
    MemberNotFound {
        /// Name of the team.
        team: TeamName,
        /// The requested member.
        name: MemberName,
        /// Names of the existing members.
        known: Vec<MemberName>,
    },
    /// The name is in use.
    #[error("`{name}` cannot join team `{team}`: {holder}")]
    NameTaken {
        /// Name of the team.
        team: TeamName,
        /// The requested name.
        name: MemberName,
        /// Holder of the name, as a clause.
        holder: String,
    },
    /// An order for a node to spawn a member of this or a colliding name is not over.
    #[error(
        "`{name}` cannot join team `{team}`: a node has an order to spawn `{ordered}`, which expires in {left_s} s"
    )]
    SpawnOrdered {
        /// Name of the team.
        team: TeamName,
        /// The requested name.
        name: MemberName,
        /// The name in the order.
        ordered: MemberName,
        /// Whether an order that replaces the member withdraws it.
        is_replaceable: bool,
        /// Seconds until the order expires.
        left_s: u64,
    },
    /// The team has reached its limit of members.
    #[error("`{name}` cannot join team `{team}`: the limit is {limit} teammates and it has {}: {}", holders.len(), list(holders))]
    TeamFull {
        /// Name of the team.
        team: TeamName,
        /// The member to be added.
        name: MemberName,
        /// Maximum number of teammates.
        limit: usize,
        /// Members that count towards the limit. Dead members do not.
        holders: Vec<MemberName>,
    },
    /// A spawn is not, or no longer, in the roster.
    #[error("spawn {spawn_id} is no longer in team `{team}`: its reservation lapsed or was undone")]
    SpawnGone {
        /// Name of the team.
        team: TeamName,
        /// ID of the spawn.
        spawn_id: SpawnId,
    },
    /// The receiver's inbox is full.
    #[error("`{name}` has {unread} unread messages, the limit is {limit}: nothing was sent")]
    InboxFull {
        /// Owner of the inbox.
        name: MemberName,
        /// Number of unread messages.
        unread: usize,
        /// Maximum number of unread messages.
        limit: usize,
    },
    /// Another process holds a member's lease.
    #[error("{reason}")]
    LeaseHeld {
        /// Name of the team.
        team: TeamName,
        /// The member.
        name: MemberName,
        /// Who holds it, as a sentence.
        reason: String,
    },
    /// Another process is the node of this name.
    #[error("node `{name}` has joined already: process {pid} on {host}")]
    NodeTaken {
        /// The node.
        name: NodeName,
        /// Host of the process.
        host: String,
        /// Its PID.
        pid: u32,
    },
    /// A change was not made within its deadline, because others were changing the same.
    #[error("team `{team}` is being changed by others: gave up after {} ms", waited.as_millis())]
    Contended {
        /// Name of the team.
        team: TeamName,
        /// How long the call waited.
        waited: Duration,
    },
    /// The process held a member's lease and lost it, so it may not write any more.
    #[error(
        "`{name}` lost its lease in team `{team}`: it was not renewed in time, so the member counts as dead"
    )]
    LeaseLost {
        /// Name of the team.
        team: TeamName,
        /// The member.
        name: MemberName,
    },
    /// The hub of a team cannot be reached.
    #[error("hub {hub} cannot be reached: {reason}")]
    HubUnreachable {
        /// URL of the hub.
        hub: String,
        /// The reason.
        reason: String,
    },
    /// The connection to the hub at this URL is lost, and was not made again within the deadline.
    #[error("hub {0} cannot be reached: the connection is lost")]
    HubLost(String),
    /// The hub does not accept a connection with these credentials, or without any, or their file cannot
    /// be used.
    #[error("hub {hub}: {why}")]
    HubLogin {
        /// URL of the hub.
        hub: String,
        /// The reason.
        why: String,
    },
    /// The certificate of the hub cannot be verified: its authority is unknown, or the file with the
    /// certificates of the authority cannot be used.
    #[error("hub {hub}: {why}")]
    HubCertificate {
        /// URL of the hub.
        hub: String,
        /// The reason.
        why: String,
    },
    /// The hub at this URL did not answer a connection or a request within the deadline.
    #[error("hub {0} does not answer in time")]
    HubSilent(String),
    /// The storage of the hub is full, or its limits leave no room: it can be read, but not changed.
    #[error("hub {hub} refused a change of team `{team}`: its storage is full")]
    HubFull {
        /// Name of the team.
        team: TeamName,
        /// URL of the hub.
        hub: String,
    },
    /// The hub refused a request, for example because `JetStream` is off.
    #[error("hub {hub} refused a request for team `{team}`: {reason}")]
    HubRefused {
        /// Name of the team.
        team: TeamName,
        /// URL of the hub.
        hub: String,
        /// The server's words.
        reason: String,
    },
    /// The credentials do not permit what a request needs.
    #[error("the credentials for hub {hub} do not permit {}", may_not(.team, .reason))]
    HubForbidden {
        /// Name of the team, or [`TeamName::nodes`].
        team: TeamName,
        /// URL of the hub.
        hub: String,
        /// The server's words.
        reason: String,
    },
    /// This machine knows the team, but the hub does not, or not any more.
    #[error("team `{team}` is not on hub {hub}")]
    NotOnHub {
        /// Name of the team.
        team: TeamName,
        /// URL of the hub.
        hub: String,
    },
    /// A running process reads the inbox of this member, so other processes cannot acknowledge its
    /// messages.
    #[error("{0} is running and acknowledges its own mail")]
    ReadByProgram(MemberName),
    /// The message exceeds the size limit.
    #[error("the message to `{name}` has {bytes} bytes, the limit is {limit}: nothing was sent")]
    MessageTooLarge {
        /// The receiver.
        name: MemberName,
        /// Size of the message in bytes.
        bytes: usize,
        /// Maximum size in bytes.
        limit: usize,
    },
    /// A large value is too large.
    #[error("{} MB are too much for one transfer: the limit is {} MB", bytes.div_ceil(1_000_000), limit / 1_000_000)]
    BlobTooLarge {
        /// Its size in bytes.
        bytes: u64,
        /// Maximum size in bytes.
        limit: u64,
    },
    /// The task does not exist.
    #[error("team `{team}` has no task {id}")]
    TaskNotFound {
        /// Name of the team.
        team: TeamName,
        /// ID of the task.
        id: TaskId,
    },
    /// The task is claimed by another member.
    #[error("task {id} is taken by {owner}")]
    Taken {
        /// ID of the task.
        id: TaskId,
        /// The current owner.
        owner: String,
    },
    /// The task belongs to another member.
    #[error("task {id} is {owner}'s, not yours")]
    NotYours {
        /// ID of the task.
        id: TaskId,
        /// The current owner.
        owner: String,
    },
    /// The task is blocked by other tasks.
    #[error("task {id} is blocked by {}", tasks(by))]
    Blocked {
        /// ID of the task.
        id: TaskId,
        /// The blocking tasks.
        by: Vec<TaskId>,
    },
    /// The task has checks that did not run or did not pass.
    #[error("task #{0} has checks, and not all of them have passed")]
    Unchecked(TaskId),
    /// Another actor set checks of the task.
    #[error("task #{id} has checks set by {author}")]
    ChecksOfOther {
        /// Number of the task.
        id: TaskId,
        /// Who set them.
        author: String,
    },
    /// The task failed.
    #[error("task {id} failed after {attempts} attempts: {reason}")]
    TaskFailed {
        /// ID of the task.
        id: TaskId,
        /// Number of owners that died while working on it.
        attempts: u32,
        /// Reason of the last failure.
        reason: String,
    },
    /// The task is completed.
    #[error("task {0} is completed")]
    TaskResolved(TaskId),
    /// The dependencies would form this cycle of tasks, each blocked by the next; the first is repeated
    /// at the end.
    #[error("task {} would wait for itself: {}", .0.first().map_or(0, |id| id.number()), chain(.0))]
    Cycle(Vec<TaskId>),
    /// No task number is left.
    #[error("no task can be created in {}: number {highest} is used there, and there are no higher numbers left", directory.display())]
    NumbersUsedUp {
        /// Directory of the task list.
        directory: PathBuf,
        /// The highest number, from `.highwatermark` or from a file name.
        highest: TaskId,
    },
    /// The metadata key is reserved.
    #[error("metadata key `{key}` of task {id} is reserved for swarm")]
    ReservedKey {
        /// ID of the task; for a task being created, the number that it would have got.
        id: TaskId,
        /// The reserved key.
        key: &'static str,
    },
    /// The request does not exist.
    #[error("team `{team}` has no request `{id}`")]
    RequestNotFound {
        /// Name of the team.
        team: TeamName,
        /// ID of the request.
        id: RequestId,
        /// Open requests: the number of each and its requester.
        open: Vec<String>,
    },
    /// A request with this ID already exists.
    #[error("request `{0}` exists already")]
    RequestExists(RequestId),
    /// The request is already answered.
    #[error("request `{id}` is already {}", answered(answer))]
    RequestAnswered {
        /// ID of the request.
        id: RequestId,
        /// The recorded answer.
        answer: Answer,
    },
    /// The stored request is about a different call than the one that was shown.
    #[error("request `{0}` has changed since it was shown, so it was not answered")]
    RequestChanged(RequestId),
    /// The request is approved, but a rule that its approval grants to the team was not added, or not
    /// sent to all members.
    #[error(
        "request `{request}` is approved, but the rule `{rule}` does not apply to the whole team"
    )]
    RuleNotAdded {
        /// Short name of the request.
        request: String,
        /// The rule.
        rule: String,
        /// The cause.
        source: Box<StoreError>,
    },
    /// The text is not a valid request ID.
    #[error("`{}` is not a request id", .0.as_str().escape_debug())]
    BadRequestId(RequestId),
    /// A file has invalid content. It is left unchanged.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Description of the damage.
        reason: String,
    },
    /// A record cannot be serialized because it contains a path that is not UTF-8.
    #[error("{} cannot be written", path.display())]
    Unwritable {
        /// Path of the file.
        path: PathBuf,
        /// The serialization error.
        source: serde_json::Error,
    },
    /// The team's signing key cannot be used.
    #[error("the signing key {} cannot be used: {why}", path.display())]
    SigningKey {
        /// Path of the key.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// A file system operation failed.
    #[error(transparent)]
    Fs(#[from] OsError),
}

impl StoreError {
    /// Returns the error for a member that is not in the roster.
    pub fn member_not_found(team: &TeamName, config: &TeamConfig, name: &MemberName) -> Self {
        Self::MemberNotFound {
            team: team.clone(),
            name: name.clone(),
            known: config.names(),
        }
    }
}

/// Names what credentials do not permit.
fn may_not(team: &TeamName, reason: &str) -> String {
    if *team == TeamName::nodes() {
        return "seeing its nodes".to_owned();
    }
    format!("a request for team `{team}`: {reason}")
}

/// Returns the journal's word for an answer.
pub(crate) fn answered(answer: &Answer) -> &'static str {
    match answer {
        Answer::Approved { .. } => "approved",
        Answer::Answered { .. } => "answered",
        Answer::Denied { .. } => "denied",
        Answer::Expired => "expired",
        Answer::Withdrawn { .. } => "withdrawn",
    }
}

pub(crate) fn list<T: ToString>(items: &[T]) -> String {
    let words: Vec<String> = items.iter().map(ToString::to_string).collect();
    words.join(", ")
}

fn tasks(ids: &[TaskId]) -> String {
    let noun = if ids.len() == 1 { "task" } else { "tasks" };
    format!("{noun} {}", list(ids))
}

fn chain(ids: &[TaskId]) -> String {
    let words: Vec<String> = ids.iter().map(ToString::to_string).collect();
    words.join(" waits for ")
}
