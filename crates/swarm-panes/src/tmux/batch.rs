//! Batches of tmux commands: starting the tmux program takes 2 ms, each command within it 20 µs.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use tmux_interface::TmuxCommand;

use crate::text;

/// tmux commands that run in sequence; the first failure stops the sequence.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batch {
    commands: Vec<Vec<OsString>>,
}

impl Batch {
    /// Creates an empty batch.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a command.
    #[must_use]
    pub(crate) fn then(self, command: &TmuxCommand<'_>) -> Self {
        self.then_with(command, [])
    }

    /// Adds several commands.
    #[must_use]
    pub(crate) fn then_all<'a>(self, commands: impl IntoIterator<Item = TmuxCommand<'a>>) -> Self {
        commands
            .into_iter()
            .fold(self, |batch, command| batch.then(&command))
    }

    /// Adds a command with trailing words that the builder of `tmux_interface` does not support: it
    /// allows a single `-e`, takes a program as one string for a shell, and rejects paths that are
    /// not UTF-8.
    #[must_use]
    pub(crate) fn then_with(
        mut self,
        command: &TmuxCommand<'_>,
        tail: impl IntoIterator<Item = OsString>,
    ) -> Self {
        let head = command.to_vec();
        let mut words: Vec<OsString> = head.iter().map(|word| OsString::from(&**word)).collect();
        words.extend(tail);
        self.commands.push(words);
        self
    }

    /// Appends another batch.
    #[must_use]
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.commands.extend(other.commands);
        self
    }

    /// Returns whether the batch is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Returns the arguments for the tmux program, each escaped by [`text::argument`].
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let mut arguments = Vec::new();
        for (at, command) in self.commands.iter().enumerate() {
            if at > 0 {
                arguments.push(OsString::from(";"));
            }
            arguments.extend(command.iter().map(|word| text::argument(word)));
        }
        arguments
    }

    /// Returns the names of the commands for errors: their arguments may be long or private.
    pub(crate) fn names(&self) -> String {
        let names: Vec<_> = self
            .commands
            .iter()
            .filter_map(|words| words.first())
            .map(|name| name.to_string_lossy())
            .collect();
        names.join(" ; ")
    }

    /// Returns the number of bytes that count towards tmux's limit for one call.
    pub(crate) fn bytes(&self) -> usize {
        self.arguments()
            .iter()
            .map(|word: &OsString| OsStr::as_bytes(word).len() + 1)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use tmux_interface::{KillPane, SelectPane};

    use super::*;

    #[test]
    fn only_separators_between_commands_are_interpreted() {
        let batch = Batch::new()
            .then(&SelectPane::new().target_pane("%1").title("evil;").build())
            .then_with(
                &KillPane::new().target_pane("%2").build(),
                [";".into(), "\\;".into()],
            );
        let words = batch.arguments();
        let expected = [
            "select-pane",
            "-T",
            "evil\\;",
            "-t",
            "%1",
            ";",
            "kill-pane",
            "-t",
            "%2",
            "\\;",
            "\\\\;",
        ];
        assert_eq!(words, expected.map(OsString::from));
        assert_eq!(batch.names(), "select-pane ; kill-pane");
    }
}
