//! The output file of a member.

use std::path::{Path, PathBuf};

use swarm_agent::transcript_path;
use swarm_protocol::{MemberName, SessionId};
use swarm_store::{BlockOn as _, StoreError, Team};

use super::seen::seen;
use crate::app::App;
use crate::failure::{Failure, Result};
use crate::output::plain;
use crate::sgr::colored;

/// Returns the output file of the detached runs of a conversation in `cwd`.
pub(in crate::commands) fn lead_log(root: &Path, cwd: &Path, session: SessionId) -> PathBuf {
    let directory = transcript_path(root, cwd, session).with_extension("");
    directory.join("output.log")
}

/// Returns the path of the output file. A lead has one if its run was detached, next to its
/// transcript.
pub(super) fn path(app: &App, team: &dyn Team, name: &MemberName) -> Result<PathBuf> {
    if !name.is_lead() {
        return Ok(team.local_directory(name).join("output.log"));
    }
    let config = team.config().block_on()?;
    let session = config.lead_session_id.as_deref().unwrap_or_default();
    let lead = config.member(name);
    let log = session.parse().ok().zip(lead);
    log.map(|(session, lead)| lead_log(&app.root, &lead.cwd, session))
        .filter(|log| log.exists())
        .ok_or_else(|| {
            let message = format!("the lead of {} prints to its own terminal", team.name());
            Failure::not_found(message).with_hint(
                "only runs started with `swarm run --detach` have a log; `swarm log` prints the team's journal",
            )
        })
}

/// Returns the output as displayed; `None` if the file does not exist.
pub(super) fn read(path: &Path) -> Result<Option<String>> {
    let bytes = swarm_os::read_optional(path).map_err(StoreError::from)?;
    Ok(bytes.map(|bytes| seen(&String::from_utf8_lossy(&bytes))))
}

/// Sanitizes the text for output, with or without colors.
pub(super) fn shown(app: &App, text: &str) -> String {
    if app.out.theme.color {
        colored(text)
    } else {
        plain(text)
    }
}

/// Returns the last lines of a text, without trailing blank lines.
pub(in crate::commands) fn last_lines(text: &str, count: usize) -> &str {
    let text = text.trim_end();
    let breaks = text.rmatch_indices('\n').map(|(at, _)| at + 1);
    match (count, breaks.take(count).nth(count.saturating_sub(1))) {
        (0, _) => "",
        (_, Some(start)) => &text[start..],
        (_, None) => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_lines_ignore_trailing_blank_lines() {
        let text = "one\ntwo\n\nthree\n\n";
        assert_eq!(last_lines(text, 0), "");
        assert_eq!(last_lines(text, 1), "three");
        assert_eq!(last_lines(text, 2), "\nthree");
        assert_eq!(last_lines(text, 3), "two\n\nthree");
        assert_eq!(last_lines(text, 9), "one\ntwo\n\nthree");
    }
}
