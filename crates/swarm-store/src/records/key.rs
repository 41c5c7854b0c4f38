//! Names in the key space of a team.

use std::fmt;

use swarm_protocol::MemberName;

/// The name of a record, a log or a lease: words of letters, digits, `_` and `-`, joined by `.`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(String);

impl Key {
    pub(crate) fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }

    pub(crate) fn lease(name: &MemberName) -> Self {
        Self(format!("lease.{name}"))
    }

    /// Returns whether it is the log of an inbox.
    pub(crate) fn is_inbox(&self) -> bool {
        self.0.starts_with("log.inbox.")
    }

    /// Returns the words before the last one.
    pub(crate) fn parent(&self) -> Self {
        let words = self.0.rsplit_once('.').map_or("", |(words, _)| words);
        Self(words.to_owned())
    }

    pub(crate) fn last_word(&self) -> &str {
        self.0.rsplit_once('.').map_or(&self.0, |(_, word)| word)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
