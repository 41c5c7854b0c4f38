//! What to do next.

use swarm_fs::FsError;

use super::{StoreError, list};

impl StoreError {
    /// What to do next, where there is something to do.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::TeamNotFound { known, .. } if known.is_empty() => {
                "there are no teams; make one with `swarm team create NAME`".to_owned()
            }
            Self::TeamNotFound { known, .. } => format!("teams: {}", list(known)),
            Self::TeamExists { team, .. } => format!(
                "use it with `--team {team}`, or delete it first with `swarm team delete {team}`"
            ),
            Self::TeamCollides { .. } => "choose a name that differs in more than that".to_owned(),
            Self::TasksInTheWay { path } => {
                format!("choose another name, or move {} away", path.display())
            }
            Self::TeamBusy { .. } => {
                "end them first with `swarm shutdown --all`, or delete with `--force`".to_owned()
            }
            Self::ForeignTeam { .. } => {
                "make a team of your own with `swarm team create NAME`".to_owned()
            }
            Self::LeadAlive { pid, .. } => {
                format!("end process {pid} first, or make another team")
            }
            Self::MemberNotFound { known, .. } => format!("members: {}", list(known)),
            Self::NameTaken { name, .. } => format!(
                "choose another name, or end it first with `swarm shutdown {name}` or `swarm spawn {name} --replace`"
            ),
            Self::SpawnGone { .. } => "spawn it again".to_owned(),
            Self::InboxFull { name, .. } => format!(
                "see what it is doing with `swarm status`, read its mail with `swarm inbox {name} --unread`, and send again later"
            ),
            Self::TaskNotFound { .. } => "see `swarm task list`".to_owned(),
            Self::Taken { .. } => {
                "take the next free one with `swarm task claim --next`".to_owned()
            }
            Self::NotYours { id, .. } => {
                format!(
                    "a person can insist with `--force`, or give task {id} back with `swarm task release {id}`"
                )
            }
            Self::Blocked { by, .. } => format!("complete {} first", list(by)),
            Self::TaskFailed { id, .. } => {
                format!("`swarm task release {id}` lets it be tried again")
            }
            Self::TaskResolved { id } => {
                format!("`swarm task update {id} --status pending` opens it again")
            }
            Self::Cycle { .. } => "leave out one of these edges; nothing was written".to_owned(),
            Self::ReservedKey { .. } => "use another key".to_owned(),
            Self::RequestNotFound { open, .. } if open.is_empty() => {
                "no request waits for an answer".to_owned()
            }
            Self::RequestNotFound { open, .. } => format!("requests that wait: {}", list(open)),
            Self::BadRequestId { .. } => "use an id that `swarm requests` shows".to_owned(),
            Self::Damaged { path, .. } => format!(
                "look at {}, repair it or move it away, and try again",
                path.display()
            ),
            Self::Unwritable { .. } => "use a folder whose name is UTF-8".to_owned(),
            Self::Fs(FsError::LockTimeout { .. } | FsError::LockLost { .. }) => {
                "try again".to_owned()
            }
            Self::RequestExists { .. } | Self::RequestAnswered { .. } | Self::Fs(_) => return None,
        })
    }
}
