//! Notifications for a person who may not be looking at the terminal.

use crate::sanitize::clean_line;
use crate::width::fit;

/// The terminal bell.
pub(crate) const BELL: char = '\u{7}';

/// Maximum width of a notification in columns.
const MAX_LENGTH: usize = 100;

/// How to notify a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alert {
    /// Whether to ring the terminal's bell; tmux then marks the window.
    pub bell: bool,
    /// Whether to request a desktop notification (OSC 9), if the terminal supports it.
    pub osc: bool,
    /// Whether the terminal is a tmux pane, which passes such a sequence on only inside a wrapper.
    pub in_tmux: bool,
}

impl Default for Alert {
    fn default() -> Self {
        Self {
            bell: true,
            osc: false,
            in_tmux: false,
        }
    }
}

impl Alert {
    /// Returns the sequence that notifies the person with a short reason. It does not change the
    /// text on the screen.
    pub fn sequence(self, why: &str) -> String {
        let mut sequence = String::new();
        if self.osc {
            let why = fit(&clean_line(why), MAX_LENGTH, "…");
            sequence = if self.in_tmux {
                format!("\u{1b}Ptmux;\u{1b}\u{1b}]9;{why}\u{7}\u{1b}\\")
            } else {
                format!("\u{1b}]9;{why}\u{7}")
            };
        }
        if self.bell {
            sequence.push(BELL);
        }
        sequence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_follows_the_settings_and_the_terminal() {
        let all = Alert {
            bell: true,
            osc: true,
            in_tmux: false,
        };
        let why = "bob\u{1b} asks";
        assert_eq!(all.sequence(why), "\u{1b}]9;bob␛ asks\u{7}\u{7}");
        let in_tmux = Alert {
            in_tmux: true,
            bell: false,
            ..all
        };
        assert_eq!(
            in_tmux.sequence(why),
            "\u{1b}Ptmux;\u{1b}\u{1b}]9;bob␛ asks\u{7}\u{1b}\\"
        );
        let none = Alert {
            bell: false,
            osc: false,
            in_tmux: true,
        };
        assert_eq!(none.sequence(why), "");
    }
}
