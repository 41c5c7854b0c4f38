//! Git commands that complete an operation, in the sandbox.
//!
//! When git deletes a ref, even a per-worktree ref such as `CHERRY_PICK_HEAD`, it locks
//! `packed-refs`. The lock is next to the repository's configuration, which the sandbox protects,
//! and the kernel cannot distinguish the files. Git then prints an error and keeps the ref, so that
//! a completed cherry-pick looks unfinished. This module removes the ref.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use swarm_protocol::word_list;

use super::here::Here;
use crate::output::say;

/// The commands that delete such refs on success.
const CONCLUDING: [&str; 10] =
    word_list("am checkout cherry-pick commit merge pull rebase reset revert switch");

/// Per-worktree refs of operations in progress, see gitrevisions(7).
const UNDER_WAY: [&str; 4] = word_list("AUTO_MERGE CHERRY_PICK_HEAD REVERT_HEAD REBASE_HEAD");

/// How long background processes of git may still write output.
const AFTERWARDS: Duration = Duration::from_secs(1);

pub(super) fn concludes(command: &str) -> bool {
    CONCLUDING.contains(&command)
}

/// Runs git, suppresses its error about the lock and removes the remaining refs.
pub(super) fn run(program: &Path, words: &[OsString], here: &Here<'_>) -> ExitCode {
    let started = Command::new(program)
        .args(words)
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) => {
            say(&format!(
                "git: {} cannot be started: {error}",
                program.display()
            ));
            return ExitCode::from(126);
        }
    };
    let (tell, told) = mpsc::channel();
    if let Some(pipe) = child.stderr.take() {
        std::thread::spawn(move || {
            // The receiver stopped waiting if this fails.
            let _gone = tell.send(pass_on(pipe));
        });
    }
    let Ok(status) = child.wait() else {
        return ExitCode::from(126);
    };
    let complained = told.recv_timeout(AFTERWARDS).unwrap_or(true);
    if complained
        && status.success()
        && let Some(own) = here.ask(&["rev-parse", "--absolute-git-dir"])
    {
        clear(&PathBuf::from(own));
    }
    // A process terminated by a signal gets the status that shells use.
    let code = status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}

/// Forwards git's stderr without the error. Returns whether it contained the error.
fn pass_on(pipe: impl Read) -> bool {
    let mut said = BufReader::new(pipe);
    let (mut complained, mut line) = (false, Vec::new());
    while said.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        if is_complaint(&String::from_utf8_lossy(&line)) {
            complained = true;
        } else if std::io::stderr().write_all(&line).is_err() {
            break;
        }
        line.clear();
    }
    complained
}

fn is_complaint(line: &str) -> bool {
    line.starts_with("error: ") && line.contains("/packed-refs.lock'")
}

/// Removes the refs of a completed operation.
fn clear(own: &Path) {
    let rebases = ["rebase-merge", "rebase-apply"]
        .iter()
        .any(|directory| own.join(directory).exists());
    // A rebase in progress keeps its refs.
    for name in &UNDER_WAY[..if rebases { 3 } else { 4 }] {
        if let Err(error) = swarm_os::remove_if_present(&own.join(name)) {
            say(&format!("git: {name} cannot be removed: {error}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lock_error_is_suppressed() {
        let complaint = "error: Unable to create '/r/.git/packed-refs.lock': Permission denied\n";
        assert!(is_complaint(complaint));
        assert!(!is_complaint(
            "error: could not apply 1234567... packed-refs.lock\n"
        ));
        assert!(!is_complaint(
            "fatal: Unable to create '/r/.git/index.lock': File exists\n"
        ));
    }
}
