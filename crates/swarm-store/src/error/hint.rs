//! Hints for errors of the store.

use std::io::ErrorKind;

use swarm_os::OsError;

use super::{StoreError, list, tasks};

impl StoreError {
    /// Returns a suggestion for fixing the error, if there is one.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::TeamNotFound {
                team,
                remains: Some(directory),
                ..
            } => format!(
                "{} is there without its roster: put `config.json` back, or delete the remaining files with \
                 `swarm team delete {team} --force`",
                directory.display()
            ),
            Self::TeamNotFound { known, .. } if known.is_empty() => {
                "there are no teams; create one with `swarm team create NAME`".to_owned()
            }
            Self::TeamNotFound { known, .. } => format!("teams: {}", list(known)),
            Self::TeamExists { team, .. } => format!(
                "choose another name, or delete it with `swarm team delete {team} --force`"
            ),
            Self::TeamCollides { .. } => "choose a name that differs in other characters".to_owned(),
            Self::TasksInTheWay(path) => {
                format!("choose another name, or move {} away", path.display())
            }
            Self::TeamBusy { team, .. } => format!(
                "stop them first with `swarm shutdown --all --team {team}`, or delete with `--force`"
            ),
            Self::ForeignTeam(_) => {
                "use the program that created it, or create a new team with `swarm team create NAME`; `swarm send`, `spawn` and `task` work in it while its lead runs"
                    .to_owned()
            }
            Self::LeadAlive { pid, .. } => {
                format!("stop process {pid} first, or create another team")
            }
            Self::MemberNotFound { known, .. } => format!("members: {}", list(known)),
            Self::NameTaken { name, team, .. } => format!(
                "give it work with `swarm send {name} TEXT --team {team}`, stop it first with `--replace`, or choose another name"
            ),
            Self::TeamFull { team, .. } => format!(
                "stop one with `swarm shutdown NAME --team {team}`, or raise `max_members` under `[spawn]` in swarm.toml"
            ),
            Self::SpawnGone { .. } => "spawn it again".to_owned(),
            Self::InboxFull { name, .. } => format!(
                "`swarm inbox {name} --unread` shows them; send again after it has read some"
            ),
            Self::ReadByProgram(_) => "omit `--ack`, or stop the member first".to_owned(),
            Self::MessageTooLarge { .. } => {
                "write it to a file and send the file's path; `[inbox] max_message_bytes` sets the limit"
                    .to_owned()
            }
            Self::TaskNotFound { team, .. } => format!("`swarm task list --team {team}` shows the tasks"),
            Self::Taken { .. } => {
                "claim the next free one with `swarm task claim --next`".to_owned()
            }
            Self::NotYours { id, .. } => format!(
                "a person can insist with `--force`, or release it with `swarm task release {id}`"
            ),
            Self::Blocked { by, .. } => format!("complete {} first", tasks(by)),
            Self::Unchecked(_) | Self::ChecksOfOther { .. } => return self.hint_of_checks(),
            Self::TaskFailed { id, .. } => {
                format!("`swarm task release {id}` makes it available again")
            }
            Self::TaskResolved(id) => {
                format!("`swarm task update {id} --status pending` reopens it")
            }
            Self::Cycle(_) => "nothing was written; omit one of these dependencies".to_owned(),
            Self::NumbersUsedUp { directory, highest } => format!(
                "write the highest number of the other tasks into {}, and move {} away if it is there",
                directory.join(".highwatermark").display(),
                directory.join(format!("{highest}.json")).display()
            ),
            Self::ReservedKey { .. } => "use another key".to_owned(),
            Self::RequestNotFound { .. }
            | Self::RequestChanged(_)
            | Self::RuleNotAdded { .. }
            | Self::BadRequestId(_) => return self.hint_of_requests(),
            Self::Damaged { path, .. } => format!(
                "inspect {}, repair it or move it away, and retry",
                path.display()
            ),
            Self::Unwritable { .. } => "use a directory whose name is UTF-8".to_owned(),
            Self::TeamOnHub { .. }
            | Self::SpawnOrdered { .. }
            | Self::NodeTaken { .. }
            | Self::BlobTooLarge { .. }
            | Self::LeaseLost { .. }
            | Self::HubUnreachable { .. }
            | Self::HubLost(_)
            | Self::HubLogin { .. }
            | Self::HubCertificate { .. }
            | Self::HubFull { .. }
            | Self::HubRefused { .. }
            | Self::HubForbidden { .. }
            | Self::NotOnHub { .. } => return self.hint_of_hub(),
            Self::LeaseHeld { .. } | Self::Contended { .. } | Self::HubSilent(_) => "try again".to_owned(),
            Self::Fs(error) => return hint_of_os(error).map(str::to_owned),
            Self::SigningKey { .. } => "restore the file, or create a new team".to_owned(),
            Self::RequestExists(_) | Self::RequestAnswered { .. } => return None,
        })
    }

    fn hint_of_hub(&self) -> Option<String> {
        Some(match self {
            Self::TeamOnHub {
                team,
                is_joined: true,
                ..
            } => {
                format!("use it with `--team {team}`, or choose another name")
            }
            Self::TeamOnHub { team, hub, .. } => format!(
                "add this machine to it with `swarm team join {team} --hub {hub}`, or choose another name"
            ),
            Self::SpawnOrdered { is_replaceable: true, .. } => {
                "withdraw it with `--replace`, or choose another name".to_owned()
            }
            Self::SpawnOrdered { .. } => {
                "wait until it is carried out or expires, or choose another name".to_owned()
            }
            Self::NodeTaken { .. } => {
                "choose another name with `--name`; if that process is gone, try again in 12 seconds".to_owned()
            }
            Self::LeaseLost { team, name } if name.is_lead() => {
                format!("its members wait for another lead: `swarm resume {team}` continues")
            }
            Self::LeaseLost { name, .. } => {
                format!("spawn `{name}` again to continue its conversation")
            }
            Self::NotOnHub { team, .. } => format!(
                "if it was deleted there, `swarm team delete {team} --force` removes its files here"
            ),
            Self::BlobTooLarge { .. } => {
                "push the commits to a git remote that both machines reach, and fetch them there"
                    .to_owned()
            }
            Self::HubLogin { hub, .. } => format!(
                "pass `--credentials FILE`; for a team that this machine has, with `swarm team join TEAM --hub {hub}`"
            ),
            Self::HubCertificate { hub, .. } => format!(
                "pass `--ca FILE` with the certificate of the authority that signed the hub's, in PEM; for a team that this machine has, with `swarm team join TEAM --hub {hub}`"
            ),
            Self::HubForbidden { .. } => {
                "docs/hub.md lists the permissions of a user of the hub, under Security".to_owned()
            }
            Self::HubFull { .. } => {
                "delete finished teams on it with `swarm team delete TEAM --force`, or raise `max_file` in your server's configuration (`swarm hub start`: free space on its disk, and restart it); nothing that was stored is lost".to_owned()
            }
            Self::HubUnreachable { .. } | Self::HubLost(_) | Self::HubRefused { .. } => {
                "check that it runs, its address and its credentials; `swarm doctor` checks the hubs of your teams and settings".to_owned()
            }
            _ => return None,
        })
    }

    fn hint_of_requests(&self) -> Option<String> {
        Some(match self {
            Self::RequestNotFound { open, .. } if open.is_empty() => {
                "no requests are open".to_owned()
            }
            Self::RequestNotFound { open, .. } => format!("open requests: {}", list(open)),
            Self::RequestChanged(_) => "`swarm requests` shows its current call".to_owned(),
            Self::RuleNotAdded { .. } => "add it with `swarm allow RULE`".to_owned(),
            Self::BadRequestId(_) => "use an id that `swarm requests` shows".to_owned(),
            _ => return None,
        })
    }

    fn hint_of_checks(&self) -> Option<String> {
        Some(match self {
            Self::Unchecked(id) => format!(
                "complete it with `swarm task update {id} --status completed`, which runs them"
            ),
            Self::ChecksOfOther { .. } => "a person or the lead can delete it".to_owned(),
            _ => return None,
        })
    }
}

fn hint_of_os(error: &OsError) -> Option<&'static str> {
    match error {
        OsError::LockTimeout { .. } => {
            Some("try again, or terminate the process that holds the lock if it hangs")
        }
        OsError::LockLost(_) => Some("try again"),
        OsError::Io { source, .. }
            if matches!(
                source.kind(),
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded
            ) =>
        {
            Some("free space on that disk, then retry")
        }
        _ => None,
    }
}
