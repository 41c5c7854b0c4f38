//! What was decided about the calls of one turn.

/// Decisions of this turn that later requests refer to.
#[derive(Debug, Default)]
pub(super) struct Decisions {
    /// Paths and contents of approved file changes, which the agent may write once.
    pub(super) approved_writes: Vec<(String, String)>,
    /// What a person said, for the next prompt.
    pub(super) notes: Vec<String>,
}
