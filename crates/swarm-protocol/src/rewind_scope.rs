//! What returns to an earlier prompt.

/// What a rewind returns to its state before a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewindScope {
    /// The conversation and the files that the agent changed.
    All,
    /// The conversation.
    Conversation,
    /// The files that the agent changed.
    Files,
}

impl RewindScope {
    /// Returns whether the conversation returns.
    pub fn has_conversation(self) -> bool {
        matches!(self, Self::All | Self::Conversation)
    }

    /// Returns whether the files return.
    pub fn has_files(self) -> bool {
        matches!(self, Self::All | Self::Files)
    }
}
