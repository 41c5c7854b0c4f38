//! Notifications for a person who may not be looking at the terminal.

use crate::sanitize::clean_line;
use crate::width::fit;

/// The terminal bell.
pub(crate) const BELL: char = '\u{7}';

/// Maximum width of a notification in columns.
const MAX_LENGTH: usize = 100;

/// The sequence by which a terminal shows a desktop notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DesktopAlert {
    /// That of iTerm2, OSC 9, which most terminals know.
    Iterm,
    /// That of rxvt, OSC 777.
    Rxvt,
    /// That of kitty, OSC 99.
    Kitty,
}

impl DesktopAlert {
    fn sequence(self, why: &str) -> String {
        match self {
            Self::Iterm => format!("\u{1b}]9;{why}\u{7}"),
            Self::Rxvt => format!("\u{1b}]777;notify;swarm;{why}\u{7}"),
            Self::Kitty => format!("\u{1b}]99;;{why}\u{1b}\\"),
        }
    }
}

/// How to notify a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alert {
    /// Whether to ring the terminal's bell; tmux then marks the window.
    pub bell: bool,
    /// How to request a desktop notification, if at all.
    pub osc: Option<DesktopAlert>,
    /// Whether the title of the terminal is the question that waits.
    pub sets_title: bool,
    /// Whether the terminal is a tmux pane, which passes such a sequence on only inside a wrapper.
    pub in_tmux: bool,
}

impl Default for Alert {
    fn default() -> Self {
        Self {
            bell: true,
            osc: None,
            sets_title: false,
            in_tmux: false,
        }
    }
}

impl Alert {
    /// Returns the sequence that notifies the person with a short reason. It does not change the
    /// text on the screen.
    pub fn sequence(self, why: &str) -> String {
        let mut sequence = String::new();
        if let Some(osc) = self.osc {
            let why = fit(&clean_line(why), MAX_LENGTH);
            sequence = osc.sequence(&why);
            if self.in_tmux {
                let doubled = sequence.replace('\u{1b}', "\u{1b}\u{1b}");
                sequence = format!("\u{1b}Ptmux;{doubled}\u{1b}\\");
            }
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
    fn o4_a_notification_follows_the_settings_and_the_terminal() {
        let all = Alert {
            bell: true,
            osc: Some(DesktopAlert::Iterm),
            ..Alert::default()
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
        for (osc, sequence) in [
            (DesktopAlert::Rxvt, "\u{1b}]777;notify;swarm;bob\u{7}"),
            (DesktopAlert::Kitty, "\u{1b}]99;;bob\u{1b}\\"),
        ] {
            let alert = Alert {
                bell: false,
                osc: Some(osc),
                ..all
            };
            assert_eq!(alert.sequence("bob"), sequence);
        }
        let none = Alert {
            bell: false,
            in_tmux: true,
            ..Alert::default()
        };
        assert_eq!(none.sequence(why), "");
    }
}
