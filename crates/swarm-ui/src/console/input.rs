//! Keys, and what they mean to a pane.

use swarm_protocol::{PermissionMode, RewindScope};

use super::dialog::FormAnswer;

/// Input from a person at a pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaneInput {
    /// A line of text; several lines if they were pasted.
    Line(String),
    /// A line to send now, although lines are queued; empty for those that are queued.
    SendNow(String),
    /// The last queued line should return to the input line.
    TakeBack,
    /// A prompt that is never a command.
    Prompt {
        /// Its text.
        text: String,
        /// Rules that allow calls in the turn that reads it.
        allowed: Vec<String>,
        /// Where the rules are from.
        origin: String,
    },
    /// Interrupts the current turn.
    Interrupt,
    /// Moves the sub-agents of the current turn to the background.
    Background,
    /// Expands the last folded result.
    Expand,
    /// Adds context that the agent sees with its next prompt.
    Context(String),
    /// Returns to the state before a line of the transcript.
    Rewind {
        /// Id of the line.
        line: String,
        /// What returns.
        scope: RewindScope,
    },
    /// Opens the text in an editor.
    Edit(String),
    /// Attaches the image in the clipboard.
    PasteImage,
    /// Switches to the next permission mode.
    CycleMode,
    /// Switches to a permission mode, or to the next one.
    Mode {
        /// The requested mode.
        mode: Option<PermissionMode>,
        /// Whether it may exceed the mode with which the session started. Only if no other process
        /// can type.
        may_raise: bool,
    },
    /// Stops the member.
    Shutdown,
    /// A message to a member, typed after [`PanelAction::Write`].
    Message {
        /// Name of the member.
        to: String,
        /// Text of the message.
        text: String,
    },
    /// The team panel was opened: it should show the present state.
    TeamPanel,
    /// An action of the team panel.
    Panel {
        /// The action.
        action: PanelAction,
        /// Name of the member, or id of the task.
        subject: String,
    },
    /// The end of a picker.
    Picked {
        /// Name of the picker.
        list: String,
        /// Id of the item; `None` if there is none.
        item: Option<String>,
    },
    /// Answers a dialog.
    Choice {
        /// Id of the dialog.
        dialog: String,
        /// Key of the choice; ESC for none.
        key: char,
        /// The reason; empty if there is none.
        text: String,
    },
    /// Answers the form of a dialog.
    Form {
        /// Id of the dialog.
        dialog: String,
        /// An answer to each question.
        answers: Vec<FormAnswer>,
    },
}

/// An action on the selected member or task of the team panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PanelAction {
    /// Shows the conversation of a member.
    Look,
    /// Starts a message to a member.
    Write,
    /// Interrupts a member's turn.
    Interrupt,
    /// Pauses a member, or lets it continue.
    Pause,
    /// Changes a member's permission mode.
    Mode,
    /// Shuts a member down.
    ShutDown,
    /// Shows the pane of a member.
    Attach,
    /// Shows a task.
    ShowTask,
}

/// Splits a slash command into its name and arguments. `None` if the line does not start with a
/// slash and a word, or is a path.
pub fn command_in(line: &str) -> Option<(&str, &str)> {
    let words = line.trim().strip_prefix('/')?;
    let (name, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let is_name = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c));
    (is_name && !name.ends_with(':') && !words.contains('\n')).then_some((name, rest.trim()))
}

/// A key, or pasted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    Text(String),
    /// Pasted text, which never is a key of a dialog, panel or mode, however short it is.
    Pasted(String),
    Enter,
    /// Ctrl-S, and Ctrl-Enter in terminals that report it.
    SendNow,
    Backspace,
    Delete,
    Left,
    Right,
    Home,
    End,
    /// Moves to the previous line.
    Up,
    /// Moves to the next line.
    Down,
    PageUp,
    PageDown,
    /// Inserts a line break: Alt-Enter.
    LineEnd,
    /// Ctrl-U.
    ClearBefore,
    /// Ctrl-W.
    DeleteWord,
    /// Esc and Ctrl-C.
    Interrupt,
    /// Ctrl-X: the command `/compact`, regardless of the input line.
    Compact,
    /// Ctrl-B.
    Background,
    /// Ctrl-R.
    Search,
    /// Ctrl-G.
    Editor,
    /// Tab.
    Complete,
    /// Ctrl-O.
    Expand,
    /// Ctrl-T.
    Team,
    /// Ctrl-V.
    PasteImage,
    /// Shift-Tab.
    CycleMode,
    /// Ctrl-D.
    EndOfInput,
    /// The terminal was resized.
    Resized,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_and_a_word_are_a_command_and_a_path_is_not() {
        for (line, command) in [
            ("/status", Some(("status", ""))),
            ("  /task list --json ", Some(("task", "list --json"))),
            ("/", Some(("", ""))),
            ("/usr/bin/env is missing", None),
            ("what is /status?", None),
            ("/git:fix it", Some(("git:fix", "it"))),
            ("/etc: what is it for?", None),
            ("/send bob a\nb", None),
        ] {
            assert_eq!(command_in(line), command, "{line}");
        }
    }
}
