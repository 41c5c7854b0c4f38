//! Waits for the child's hello, its early exit or the timeout.

use std::path::Path;
use std::time::Duration;

use swarm_os::read_ending;
use swarm_panes::{Pane, PaneBackend, PaneStatus, PaneText};
use swarm_protocol::{Hello, SpawnId};
use swarm_store::{Changes, StoreError, Topic};
use tokio_util::sync::CancellationToken;

use crate::{LeadError, SpawnError, SupervisedMember};

/// Start of the line that tmux prints after the output of an exited process.
const DEAD: &str = "Pane is dead";

/// Number of output lines in the report of a failed child.
const LAST_LINES: usize = 20;

pub(super) fn watch_hello(member: SupervisedMember<'_>) -> Changes {
    let hello = Topic::Hello(member.name.clone());
    member.files().watch(&member.team.context.watcher, &hello)
}

pub(super) struct Expected<'a> {
    pub(super) member: SupervisedMember<'a>,
    pub(super) spawn_id: SpawnId,
    /// Output file.
    pub(super) output: &'a Path,
    pub(super) timeout: Duration,
    pub(super) cancel: &'a CancellationToken,
}

pub(super) async fn await_hello(
    backend: &dyn PaneBackend,
    pane: &Pane,
    expected: &Expected<'_>,
    hello: &mut Changes,
) -> Result<Hello, LeadError> {
    let deadline = tokio::time::sleep(expected.timeout);
    let ended = backend.exited(pane);
    tokio::pin!(deadline, ended);
    loop {
        let member = expected.member;
        let said = match member.files().hello(member.name).await {
            // After a power failure the file may contain a partial hello of an earlier spawn; the
            // child replaces the whole file.
            Err(StoreError::Damaged { .. }) => None,
            said => said?,
        };
        if let Some(said) = said.filter(|said| said.spawn_id == expected.spawn_id) {
            return Ok(said);
        }
        tokio::select! {
            () = hello.changed() => {}
            status = &mut ended => {
                let how = describe(&status?);
                let output = last_lines(backend, pane).await;
                return Err(SpawnError::EarlyExit { how, output }.of(member.name));
            }
            () = &mut deadline => {
                return Err(late(backend, pane, expected).await.of(member.name));
            }
            () = expected.cancel.cancelled() => {
                return Err(SpawnError::Interrupted.of(member.name));
            }
        }
    }
}

/// Returns the error for a running child without a hello: waiting for input, or slow.
async fn late(backend: &dyn PaneBackend, pane: &Pane, expected: &Expected<'_>) -> SpawnError {
    let waited = expected.timeout;
    let output = last_lines(backend, pane).await;
    let lives = matches!(backend.status(pane).await, Ok(PaneStatus::Running { .. }));
    if lives && ends_in_a_prompt(expected.output) {
        SpawnError::NeedsPerson { waited, output }
    } else {
        SpawnError::NoHello { waited, output }
    }
}

/// Number of bytes at the end of the output in which the last line is searched.
const TAIL: u64 = 4096;

/// Returns whether the output ends in an unterminated line, as prompts do.
fn ends_in_a_prompt(output: &Path) -> bool {
    // Without output there is no prompt either.
    let tail = read_ending(output, TAIL).ok().flatten().unwrap_or_default();
    let last = tail.rsplit(|byte| *byte == b'\n').next();
    last.is_some_and(|line| line.iter().any(u8::is_ascii_graphic))
}

async fn last_lines(backend: &dyn PaneBackend, pane: &Pane) -> String {
    // The pane may be closed with its process; then there is no output.
    let captured = backend.capture(pane, PaneText::last(LAST_LINES)).await;
    let output = captured.unwrap_or_default();
    match output.rsplit_once('\n') {
        _ if output.starts_with(DEAD) => String::new(),
        Some((output, last)) if last.starts_with(DEAD) => output.to_owned(),
        _ => output,
    }
}

/// Describes how a pane's process exited.
pub(crate) fn describe(status: &PaneStatus) -> String {
    match status {
        PaneStatus::Dead {
            signal: Some(signal),
            ..
        } => format!("signal {signal}"),
        PaneStatus::Dead {
            code: Some(code), ..
        } => format!("exit status {code}"),
        PaneStatus::Gone => "its pane is gone".to_owned(),
        _ => "for an unknown reason".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_is_an_unterminated_line() {
        let directory = tempfile::tempdir().unwrap();
        let output = directory.path().join("output.log");
        assert!(!ends_in_a_prompt(&output), "there is none");
        for (text, asks) in [("", false), ("told\n", false), ("told\nWhich one? ", true)] {
            let spoken = swarm_os::replace_alone(&output, text.as_bytes());
            spoken.unwrap();
            assert_eq!(ends_in_a_prompt(&output), asks, "{text:?}");
        }
        let pipe = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        assert!(!ends_in_a_prompt(&pipe));
    }
}
