//! Classification of errors of the store.

use std::io;

use swarm_os::OsError;
use swarm_protocol::ErrorKind;

use super::StoreError;

impl StoreError {
    /// Returns the kind of failure, which determines the exit code.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::TeamNotFound { .. }
            | Self::NotOnHub { .. }
            | Self::MemberNotFound { .. }
            | Self::TaskNotFound { .. }
            | Self::RequestNotFound { .. } => ErrorKind::NotFound,
            Self::TeamExists { .. }
            | Self::TeamOnHub { .. }
            | Self::TeamCollides { .. }
            | Self::TasksInTheWay(_)
            | Self::TeamBusy { .. }
            | Self::ForeignTeam(_)
            | Self::LeadAlive { .. }
            | Self::NameTaken { .. }
            | Self::SpawnOrdered { .. }
            | Self::NodeTaken { .. }
            | Self::SpawnGone { .. }
            | Self::Taken { .. }
            | Self::NotYours { .. }
            | Self::Blocked { .. }
            | Self::TaskFailed { .. }
            | Self::Unchecked(_)
            | Self::ChecksOfOther { .. }
            | Self::TaskResolved(_)
            | Self::Cycle(_)
            | Self::RequestExists(_)
            | Self::RequestAnswered { .. }
            | Self::RequestChanged(_)
            | Self::ReadByProgram(_) => ErrorKind::Conflict,
            Self::TeamFull { .. }
            | Self::InboxFull { .. }
            | Self::MessageTooLarge { .. }
            | Self::BlobTooLarge { .. } => ErrorKind::Refused,
            Self::ReservedKey { .. } | Self::BadRequestId(_) | Self::Unwritable { .. } => {
                ErrorKind::Usage
            }
            Self::Damaged { .. } | Self::NumbersUsedUp { .. } | Self::SigningKey { .. } => {
                ErrorKind::Damaged
            }
            Self::HubUnreachable { .. }
            | Self::HubLost(_)
            | Self::HubLogin { .. }
            | Self::HubCertificate { .. }
            | Self::HubFull { .. }
            | Self::HubRefused { .. }
            | Self::HubForbidden { .. }
            | Self::LeaseLost { .. } => ErrorKind::Environment,
            Self::LeaseHeld { .. } | Self::Contended { .. } | Self::HubSilent(_) => {
                ErrorKind::TimedOut
            }
            Self::RuleNotAdded { source, .. } => source.kind(),
            Self::Fs(error) => fs_kind(error),
        }
    }

    /// Returns whether the team's hub cannot be used, or does not have the team.
    pub fn is_of_hub(&self) -> bool {
        matches!(
            self,
            Self::HubUnreachable { .. }
                | Self::HubLost(_)
                | Self::HubLogin { .. }
                | Self::HubCertificate { .. }
                | Self::HubSilent(_)
                | Self::HubFull { .. }
                | Self::HubRefused { .. }
                | Self::HubForbidden { .. }
                | Self::NotOnHub { .. }
        )
    }

    /// Returns whether the hub does not answer at present, although it could be connected.
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::HubLost(_) | Self::HubSilent(_))
    }

    /// Returns whether what is stored can be read but not changed: the disk or the hub is full, or
    /// another process did not release a lock in time.
    pub fn prevents_only_changes(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        match self {
            Self::Fs(OsError::Io { source, .. }) => matches!(
                source.kind(),
                StorageFull | QuotaExceeded | ReadOnlyFilesystem
            ),
            Self::Fs(OsError::LockTimeout { .. }) | Self::HubFull { .. } => true,
            _ => false,
        }
    }
}

fn fs_kind(error: &OsError) -> ErrorKind {
    match error {
        OsError::Gone(_) => ErrorKind::NotFound,
        OsError::LockTimeout { .. } => ErrorKind::TimedOut,
        OsError::Exists(_) => ErrorKind::Conflict,
        OsError::NotOurs { .. } => ErrorKind::Refused,
        OsError::Io { source, .. } if is_environment_error(source) => ErrorKind::Environment,
        _ => ErrorKind::Internal,
    }
}

/// Returns whether the cause is one that the user can fix: permissions, disk space, or a file in
/// place of a directory.
fn is_environment_error(error: &io::Error) -> bool {
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
