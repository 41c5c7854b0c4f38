//! How a teammate ends.

/// How a teammate stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It agreed to a shutdown request.
    ShutDown,
    /// The process was asked to stop.
    Terminated,
    /// Its spawn was cancelled before it began.
    NotWanted,
    /// The process that led its team is gone, and the member was configured to stop then.
    LeadLost,
    /// Its team or its roster entry is gone.
    Removed,
}

impl Ending {
    /// Returns the reason for `SessionEnd` hooks.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::ShutDown => "shutdown",
            Self::Terminated => "terminated",
            Self::LeadLost => "lead_lost",
            Self::Removed | Self::NotWanted => "removed",
        }
    }
}
