//! What to do next.

use std::io::ErrorKind;

use swarm_os::OsError;

use super::{StoreError, list, tasks};

impl StoreError {
    /// What to do next, where there is something to do.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::TeamNotFound {
                team,
                remains: Some(directory),
                ..
            } => format!(
                "{} is there without its roster: put `config.json` back, or take down what is left with \
                 `swarm team delete {team} --force`",
                directory.display()
            ),
            Self::TeamNotFound { known, .. } if known.is_empty() => {
                "there are no teams; make one with `swarm team create NAME`".to_owned()
            }
            Self::TeamNotFound { known, .. } => format!("teams: {}", list(known)),
            Self::TeamExists { team, .. } => format!(
                "choose another name, or delete it with `swarm team delete {team} --force`"
            ),
            Self::TeamCollides { .. } => "choose a name that differs in more than these".to_owned(),
            Self::TasksInTheWay { path } => {
                format!("choose another name, or move {} away", path.display())
            }
            Self::TeamBusy { team, .. } => {
                format!(
                    "end them first with `swarm shutdown --all --team {team}`, or delete with `--force`"
                )
            }
            Self::ForeignTeam { .. } => {
                "use the program that made it, or create a team of your own with `swarm team create NAME`"
                    .to_owned()
            }
            Self::LeadAlive { pid, .. } => {
                format!("end process {pid} first, or make another team")
            }
            Self::MemberNotFound { known, .. } => format!("members: {}", list(known)),
            Self::NameTaken { name, team, .. } => format!(
                "give it work with `swarm send {name} TEXT --team {team}`, end it first with `--replace`, or choose another name"
            ),
            Self::TeamFull { team, .. } => format!(
                "end one with `swarm shutdown NAME --team {team}`, or raise `max_members` under `[spawn]` in swarm.toml"
            ),
            Self::SpawnGone { .. } => "spawn it again".to_owned(),
            Self::InboxFull { name, .. } => format!(
                "`swarm inbox {name} --unread` shows what waits there; send again when it has read some of it"
            ),
            Self::ReadByProgram { .. } => "leave `--ack` out, or end it first".to_owned(),
            Self::MessageTooLarge { .. } => {
                "write it into a file and send the file's path; `[inbox] max_message_bytes` sets the limit"
                    .to_owned()
            }
            Self::TaskNotFound { team, .. } => {
                format!("`swarm task list --team {team}` shows the tasks")
            },
            Self::Taken { .. } => {
                "claim the next free one with `swarm task claim --next`".to_owned()
            }
            Self::NotYours { id, .. } => {
                format!(
                    "a person can insist with `--force`, or release it with `swarm task release {id}`"
                )
            }
            Self::Blocked { by, .. } => format!("complete {} first", tasks(by)),
            Self::TaskFailed { id, .. } => {
                format!("`swarm task release {id}` lets somebody try again")
            }
            Self::TaskResolved { id } => {
                format!("`swarm task update {id} --status pending` opens it again")
            }
            Self::Cycle { .. } => "nothing was written; leave one of these out".to_owned(),
            Self::NumbersUsedUp { directory, highest } => format!(
                "write the highest number of the other tasks into {}, and move {} away if it is there",
                directory.join(".highwatermark").display(),
                directory.join(format!("{highest}.json")).display()
            ),
            Self::ReservedKey { .. } => "use another key".to_owned(),
            Self::RequestNotFound { open, .. } if open.is_empty() => {
                "no request waits for an answer".to_owned()
            }
            Self::RequestNotFound { open, .. } => format!("requests that wait: {}", list(open)),
            Self::RequestChanged { .. } => {
                "`swarm requests` shows what it is about now".to_owned()
            }
            Self::BadRequestId { .. } => "use an id that `swarm requests` shows".to_owned(),
            Self::Damaged { path, .. } => format!(
                "look at {}, repair it or move it away, and try again",
                path.display()
            ),
            Self::Unwritable { .. } => "use a directory whose name is UTF-8".to_owned(),
            Self::Fs(OsError::LockTimeout { .. } | OsError::LockLost { .. }) => {
                "try again".to_owned()
            }
            Self::Fs(OsError::Io { source, .. })
                if matches!(
                    source.kind(),
                    ErrorKind::StorageFull | ErrorKind::QuotaExceeded
                ) =>
            {
                "make room on that disk, then try again".to_owned()
            }
            Self::RequestExists { .. } | Self::RequestAnswered { .. } | Self::Fs(_) => return None,
        })
    }
}
