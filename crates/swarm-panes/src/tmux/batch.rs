//! Several tmux commands in one call: starting the tmux program costs 2 ms, each command within it 20 µs.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use tmux_interface::TmuxCommand;

use crate::text;

/// tmux commands that are run one after the other; the first that fails ends the row.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batch {
    commands: Vec<Vec<OsString>>,
}

impl Batch {
    /// No command yet.
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

    /// Adds a command with words at its end that the builder of `tmux_interface` cannot hold: it knows one `-e`
    /// only, takes a program as one string for a shell, and no path that is not UTF-8.
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

    /// Adds the commands of another row.
    #[must_use]
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.commands.extend(other.commands);
        self
    }

    /// Whether there is nothing to run.
    pub(crate) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// The arguments for the tmux program, each through the door of [`text::argument`].
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

    /// Names of the commands, for errors: their arguments may be long or private.
    pub(crate) fn names(&self) -> String {
        let names: Vec<_> = self
            .commands
            .iter()
            .filter_map(|words| words.first())
            .map(|name| name.to_string_lossy())
            .collect();
        names.join(" ; ")
    }

    /// Bytes that tmux counts against its limit for one call.
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
    fn only_the_separators_between_commands_separate() {
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
