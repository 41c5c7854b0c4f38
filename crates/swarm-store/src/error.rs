//! What can go wrong with a team's state, and what to do next.

mod hint;

use std::io;
use std::path::PathBuf;

use swarm_os::OsError;
use swarm_protocol::{Answer, ErrorKind, MemberName, RequestId, SpawnId, TaskId, TeamName};

/// What every method of the store returns.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// An error of this crate. Every kind names the team, the id or the path that it is about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such team.
    #[error("there is no team `{team}`")]
    TeamNotFound {
        /// What was asked for.
        team: TeamName,
        /// The teams that exist.
        known: Vec<TeamName>,
        /// The directory of a team of this name that has lost its roster.
        remains: Option<PathBuf>,
    },
    /// A team of this name exists.
    #[error("team `{team}` exists already: {state}")]
    TeamExists {
        /// Its name.
        team: TeamName,
        /// What it is at, as half a sentence.
        state: String,
    },
    /// Two teams would share a directory.
    #[error(
        "team `{team}` would share its directories with team `{other}`, from which it differs only in case, `_` and `-`"
    )]
    TeamCollides {
        /// The name that was asked for.
        team: TeamName,
        /// The one that exists.
        other: String,
    },
    /// A task list of this name exists without a team.
    #[error("{} already holds tasks, but not of a swarm team", path.display())]
    TasksInTheWay {
        /// The directory.
        path: PathBuf,
    },
    /// A team cannot be deleted under its members.
    #[error("team `{team}` still has members: {}", reasons.join(", "))]
    TeamBusy {
        /// Which team.
        team: TeamName,
        /// Members that live, are being spawned, or of which nothing is known.
        members: Vec<MemberName>,
        /// For each of them why it stands in the way, beginning with its name.
        reasons: Vec<String>,
    },
    /// A team that another program made has no locks of ours.
    #[error("{} was created by another program: swarm has no locks in it and does not write to it", path.display())]
    ForeignTeam {
        /// The team's directory.
        path: PathBuf,
    },
    /// Another process leads the team.
    #[error("team `{team}` is led by process {pid}")]
    LeadAlive {
        /// Which team.
        team: TeamName,
        /// The process that leads it.
        pid: u32,
    },
    /// The team has no such member.
    #[error("team `{team}` has no member `{name}`")]
    MemberNotFound {
        /// Which team.
        team: TeamName,
        /// Who was looked for.
        name: MemberName,
        /// Who is there.
        known: Vec<MemberName>,
    },
    /// The name is in use.
    #[error("`{name}` cannot join team `{team}`: {holder}")]
    NameTaken {
        /// Which team.
        team: TeamName,
        /// The name that was asked for.
        name: MemberName,
        /// Who has it, as half a sentence.
        holder: String,
    },
    /// The team has as many members as it may have.
    #[error("`{name}` cannot join team `{team}`: the limit is {limit} teammates and it has {}: {}", holders.len(), list(holders))]
    TeamFull {
        /// Which team.
        team: TeamName,
        /// Who was to join.
        name: MemberName,
        /// How many teammates it may have.
        limit: usize,
        /// Who has a place. The dead have none.
        holders: Vec<MemberName>,
    },
    /// A spawn is not, or no longer, in the roster.
    #[error(
        "spawn {spawn_id} is no longer in team `{team}`: its reservation lapsed or was undone"
    )]
    SpawnGone {
        /// Which team.
        team: TeamName,
        /// Which spawn.
        spawn_id: SpawnId,
    },
    /// The receiver does not keep up.
    #[error("`{name}` has {unread} unread messages, the limit is {limit}: nothing was sent")]
    InboxFull {
        /// Whose inbox.
        name: MemberName,
        /// How many wait.
        unread: usize,
        /// How many may.
        limit: usize,
    },
    /// A program reads this inbox, so nobody else acknowledges what is in it.
    #[error("{name} is running and acknowledges its own mail")]
    ReadByProgram {
        /// Whose inbox.
        name: MemberName,
    },
    /// The message is longer than messages may be.
    #[error("the message to `{name}` has {bytes} bytes, the limit is {limit}: nothing was sent")]
    MessageTooLarge {
        /// To whom.
        name: MemberName,
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// There is no such task.
    #[error("team `{team}` has no task {id}")]
    TaskNotFound {
        /// Which team.
        team: TeamName,
        /// Which task.
        id: TaskId,
    },
    /// Somebody else has the task.
    #[error("task {id} is taken by {owner}")]
    Taken {
        /// Which task.
        id: TaskId,
        /// Who has it.
        owner: String,
    },
    /// The task is another member's.
    #[error("task {id} is {owner}'s, not yours")]
    NotYours {
        /// Which task.
        id: TaskId,
        /// Whose it is.
        owner: String,
    },
    /// The task waits for others.
    #[error("task {id} is blocked by {}", tasks(by))]
    Blocked {
        /// Which task.
        id: TaskId,
        /// The tasks that are not completed.
        by: Vec<TaskId>,
    },
    /// The task was given up.
    #[error("task {id} failed after {attempts} attempts: {reason}")]
    TaskFailed {
        /// Which task.
        id: TaskId,
        /// How many owners died over it.
        attempts: u32,
        /// The last reason.
        reason: String,
    },
    /// The task is completed.
    #[error("task {id} is completed")]
    TaskResolved {
        /// Which task.
        id: TaskId,
    },
    /// The edges would wait for each other for ever.
    #[error("task {} would wait for itself: {}", path.first().map_or(0, |id| id.number()), chain(path))]
    Cycle {
        /// The tasks on the way, each waiting for the next; the first is also the last.
        path: Vec<TaskId>,
    },
    /// There is no number left for another task.
    #[error("no task can be created in {}: number {highest} is used there, and there are no higher numbers left", directory.display())]
    NumbersUsedUp {
        /// The task list.
        directory: PathBuf,
        /// The highest number, of `.highwatermark` or of a file.
        highest: TaskId,
    },
    /// A key of the metadata is not the caller's to set.
    #[error("metadata key `{key}` of task {id} is reserved for swarm")]
    ReservedKey {
        /// Which task; for one that is being made, the number that it would have had.
        id: TaskId,
        /// The key.
        key: &'static str,
    },
    /// There is no such request.
    #[error("team `{team}` has no request `{id}`")]
    RequestNotFound {
        /// Which team.
        team: TeamName,
        /// Which request.
        id: RequestId,
        /// The ones that wait.
        open: Vec<RequestId>,
    },
    /// The request exists.
    #[error("request `{id}` exists already")]
    RequestExists {
        /// Which request.
        id: RequestId,
    },
    /// The request has its one answer.
    #[error("request `{id}` is already {}", answered(answer))]
    RequestAnswered {
        /// Which request.
        id: RequestId,
        /// The answer that won.
        answer: Answer,
    },
    /// The request on file is about another call than the one that was shown.
    #[error("request `{id}` has changed since it was shown, so it was not answered")]
    RequestChanged {
        /// Which request.
        id: RequestId,
    },
    /// A text is not the id of a request.
    #[error("`{}` is not a request id", id.as_str().escape_debug())]
    BadRequestId {
        /// What was given.
        id: RequestId,
    },
    /// A file is not what it should be. It was not overwritten.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// The file, or the place where it is kept.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A record cannot be written as JSON, because a path in it is not UTF-8.
    #[error("{} cannot be written", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// The disk.
    #[error(transparent)]
    Fs(#[from] OsError),
}

impl StoreError {
    /// What kind of failure it is, which also gives the exit code.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::TeamNotFound { .. }
            | Self::MemberNotFound { .. }
            | Self::TaskNotFound { .. }
            | Self::RequestNotFound { .. } => ErrorKind::NotFound,
            Self::TeamExists { .. }
            | Self::TeamCollides { .. }
            | Self::TasksInTheWay { .. }
            | Self::TeamBusy { .. }
            | Self::ForeignTeam { .. }
            | Self::LeadAlive { .. }
            | Self::NameTaken { .. }
            | Self::SpawnGone { .. }
            | Self::Taken { .. }
            | Self::NotYours { .. }
            | Self::Blocked { .. }
            | Self::TaskFailed { .. }
            | Self::TaskResolved { .. }
            | Self::Cycle { .. }
            | Self::RequestExists { .. }
            | Self::RequestAnswered { .. }
            | Self::RequestChanged { .. }
            | Self::ReadByProgram { .. } => ErrorKind::Conflict,
            Self::TeamFull { .. } | Self::InboxFull { .. } | Self::MessageTooLarge { .. } => {
                ErrorKind::Refused
            }
            Self::ReservedKey { .. } | Self::BadRequestId { .. } | Self::Unwritable { .. } => {
                ErrorKind::Usage
            }
            Self::Damaged { .. } | Self::NumbersUsedUp { .. } => ErrorKind::Damaged,
            Self::Fs(error) => fs_kind(error),
        }
    }
}

impl StoreError {
    /// Whether the disk takes nothing more, so that what is there can still be read and nothing can be changed.
    pub fn is_for_want_of_room(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        let Self::Fs(OsError::Io { source, .. }) = self else {
            return false;
        };
        matches!(
            source.kind(),
            StorageFull | QuotaExceeded | ReadOnlyFilesystem
        )
    }
}

fn fs_kind(error: &OsError) -> ErrorKind {
    match error {
        OsError::Gone { .. } => ErrorKind::NotFound,
        OsError::LockTimeout { .. } => ErrorKind::TimedOut,
        OsError::Exists { .. } => ErrorKind::Conflict,
        OsError::NotOurs { .. } => ErrorKind::Refused,
        OsError::Io { source, .. } if is_of_the_machine(source) => ErrorKind::Environment,
        _ => ErrorKind::Internal,
    }
}

/// Whether a disk refuses for a reason that somebody can mend: rights, room, a file where a directory is expected.
fn is_of_the_machine(error: &io::Error) -> bool {
    use io::ErrorKind::{
        IsADirectory, NotADirectory, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem,
        StorageFull,
    };
    matches!(
        error.kind(),
        IsADirectory
            | NotADirectory
            | PermissionDenied
            | QuotaExceeded
            | ReadOnlyFilesystem
            | StorageFull
    )
}

/// The word for an answer, as the journal has it.
pub(crate) fn answered(answer: &Answer) -> &'static str {
    match answer {
        Answer::Approved { .. } => "approved",
        Answer::Answered { .. } => "answered",
        Answer::Denied { .. } => "denied",
        Answer::Expired => "expired",
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
