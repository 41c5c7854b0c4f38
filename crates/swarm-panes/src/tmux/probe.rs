//! What the installed tmux can do and whether the lead's pane is there. Asked once, when the backend is chosen.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::PaneError;

/// The first version with `remain-on-exit failed`, filters of lists and styles that are expanded for each pane.
const NEEDED: (u32, u32) = (3, 2);
const NEEDED_TEXT: &str = "3.2";

/// Checks the version of a tmux program.
///
/// # Errors
/// [`PaneError::TmuxMissing`] or [`PaneError::TmuxTooOld`].
pub(crate) fn check_version(program: &Path) -> Result<(), PaneError> {
    let output = ask(Command::new(program).arg("-V")).ok_or(PaneError::TmuxMissing)?;
    let text = String::from_utf8_lossy(&output.stdout);
    if is_new_enough(&text) {
        return Ok(());
    }
    Err(PaneError::TmuxTooOld {
        program: program.to_owned(),
        found: text.trim().to_owned(),
        needed: NEEDED_TEXT,
    })
}

/// Whether `tmux 3.3a`, `tmux next-3.7` or `tmux master` will do.
fn is_new_enough(version: &str) -> bool {
    let Some(word) = version.split_ascii_whitespace().nth(1) else {
        return false;
    };
    let mut numbers = word
        .trim_start_matches("next-")
        .split('.')
        .map(|part| part.trim_end_matches(|c: char| !c.is_ascii_digit()).parse());
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= NEEDED,
        // A build from the repository calls itself master; OpenBSD's has the system's version.
        _ => word == "master" || word.starts_with("openbsd"),
    }
}

/// Whether the server at `socket` has the pane `lead`.
pub(crate) fn lead_pane_answers(program: &Path, socket: &Path, lead: &str) -> bool {
    let mut command = Command::new(program);
    command
        .args(["-u", "-S"])
        .arg(socket)
        .args(["list-panes", "-a", "-F", "#{pane_id}"]);
    ask(&mut command).is_some_and(|output| {
        output.status.success()
            && String::from_utf8_lossy(&output.stdout)
                .lines()
                .any(|line| line == lead)
    })
}

fn ask(command: &mut Command) -> Option<Output> {
    command
        .env_remove("TMUX")
        .env_remove("TMUX_PANE")
        .stdin(Stdio::null())
        .output()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        for good in [
            "tmux 3.2",
            "tmux 3.3a",
            "tmux 3.10",
            "tmux next-3.7",
            "tmux 4.0-rc",
            "tmux master",
        ] {
            assert!(is_new_enough(good), "{good}");
        }
        for bad in ["tmux 3.1c", "tmux 2.9a", "", "tmux", "3.3a"] {
            assert!(!is_new_enough(bad), "{bad}");
        }
    }
}
