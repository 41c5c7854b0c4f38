//! Commands that bring something to an end, in the sandbox.
//!
//! When git deletes a ref, even one of a single worktree such as `CHERRY_PICK_HEAD`, it locks `packed-refs`. The lock
//! stands beside the repository's own settings, where the sandbox lets nobody write, and the kernel cannot tell one from
//! the other. Git then complains and leaves the ref behind, so that a cherry-pick that is over looks as if it were not. Here
//! that is made up for.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::here::Here;
use crate::output::say;

/// The commands that delete such refs when they succeed.
const CONCLUDING: [&str; 10] = [
    "am",
    "checkout",
    "cherry-pick",
    "commit",
    "merge",
    "pull",
    "rebase",
    "reset",
    "revert",
    "switch",
];

/// The refs of one worktree that tell of something under way, see gitrevisions(7).
const UNDER_WAY: [&str; 4] = [
    "AUTO_MERGE",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
];

/// How long programs that git has left behind may still say something.
const AFTERWARDS: Duration = Duration::from_secs(1);

/// Whether it is one of those commands.
pub(super) fn concludes(command: &str) -> bool {
    CONCLUDING.contains(&command)
}

/// Runs git, keeps its complaint to itself, and takes away what it could not.
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
            // Nobody waits for it any more if this fails.
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
    // A program that a signal ended has the status that shells give it.
    let code = status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}

/// Passes on what git says but for the complaint. Whether it complained.
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

/// Takes away the refs of what is over.
fn clear(own: &Path) {
    let rebases = ["rebase-merge", "rebase-apply"]
        .iter()
        .any(|directory| own.join(directory).exists());
    // While a rebase goes on, its own mark stays.
    for name in &UNDER_WAY[..if rebases { 3 } else { 4 }] {
        if let Err(error) = std::fs::remove_file(own.join(name))
            && error.kind() != std::io::ErrorKind::NotFound
        {
            say(&format!("git: {name} cannot be removed: {error}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_complaint_about_the_lock_is_kept_back() {
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
