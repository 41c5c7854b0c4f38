//! The shell script that runs a member's program in a pane and records its process and exit status.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use swarm_os::{DirectoryWatcher, NameFilter};
use swarm_protocol::SpawnId;
use tokio::time::Instant;

use crate::record::{End, remove_files};
use crate::{PaneCommand, PaneError, text};

/// Maximum time between the request for a pane and the start of the program in it.
const START: Duration = Duration::from_secs(20);

/// Exit statuses above this one are those of signals, which a shell adds to it.
const SIGNALS: i32 = 128;

/// Variables that describe the terminal of a pane; the program gets them from there.
const TERMINAL: [&str; 4] = ["TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION"];

/// The files of one runner.
#[derive(Debug)]
pub(super) struct Runner {
    directory: PathBuf,
    /// The script.
    pub(super) script: PathBuf,
    /// Lines `pane PID`, `runner PID`, `program PID` and `end STATUS`, as the script appends them.
    progress: PathBuf,
}

/// Content of the progress file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// Process ids of the shells.
    pub(super) shells: Vec<u32>,
    /// Process id of the shell that records the exit status, and then exits.
    pub(super) recorder: Option<u32>,
    /// Process id of the program.
    pub(super) program: Option<u32>,
    /// Exit status of the program.
    pub(super) end: Option<i32>,
}

impl Runner {
    /// Names the files of a spawn in a directory.
    pub(super) fn of(directory: &Path, spawn_id: SpawnId) -> Self {
        Self {
            directory: directory.to_owned(),
            script: directory.join(format!("{spawn_id}.sh")),
            progress: directory.join(format!("{spawn_id}.progress")),
        }
    }

    /// Writes the script and an empty progress file.
    ///
    /// # Errors
    /// [`PaneError`] for an unusable environment variable, and if a file cannot be written.
    pub(super) fn write(&self, command: &PaneCommand) -> Result<(), PaneError> {
        let script = script(&self.progress, command)?;
        swarm_os::replace_alone(&self.progress, b"")?;
        swarm_os::replace_alone(&self.script, script.as_bytes())?;
        Ok(())
    }

    /// Removes the files.
    ///
    /// # Errors
    /// [`PaneError`] if one cannot be removed.
    pub(super) fn remove(&self) -> Result<(), PaneError> {
        remove_files([&self.script, &self.progress].into_iter())
    }

    /// Reads the progress.
    ///
    /// # Errors
    /// [`PaneError`] if the file cannot be read; a missing one is empty.
    pub(super) fn progress(&self) -> Result<Progress, PaneError> {
        let bytes = swarm_os::read_optional(&self.progress)?.unwrap_or_default();
        Ok(Progress::parse(&String::from_utf8_lossy(&bytes)))
    }

    /// Waits until the program was started, or for a limited time.
    ///
    /// # Errors
    /// As for [`Runner::progress`].
    pub(super) async fn started(&self) -> Result<Progress, PaneError> {
        let deadline = Instant::now() + START;
        self.reached(|progress| progress.program.is_some() || Instant::now() >= deadline)
            .await
    }

    async fn reached(
        &self,
        condition: impl Fn(&Progress) -> bool + Send,
    ) -> Result<Progress, PaneError> {
        let watcher = DirectoryWatcher::in_runtime(&tokio::runtime::Handle::current());
        let names = self
            .progress
            .file_name()
            .map(OsStr::to_owned)
            .into_iter()
            .collect();
        let mut changes = watcher.subscribe(&self.directory, NameFilter::Exact(names));
        loop {
            let progress = self.progress()?;
            if condition(&progress) {
                return Ok(progress);
            }
            changes.changed().await;
        }
    }
}

impl Progress {
    fn parse(text: &str) -> Self {
        let mut progress = Self::default();
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("pane", pid)) => progress.shells.extend(pid.parse::<u32>()),
                Some(("runner", pid)) => {
                    progress.recorder = pid.parse().ok();
                    progress.shells.extend(progress.recorder);
                }
                Some(("program", pid)) => progress.program = pid.parse().ok(),
                Some(("end", status)) => progress.end = status.parse().ok(),
                _ => {}
            }
        }
        progress
    }

    /// Returns the exit status of the program.
    pub(super) fn end(&self) -> Option<End> {
        self.end.map(|status| {
            let signal = (status > SIGNALS).then(|| status - SIGNALS);
            End {
                code: signal.is_none().then_some(status),
                signal,
            }
        })
    }
}

/// Quotes a word for a shell.
pub(super) fn quoted(word: &OsStr) -> OsString {
    let mut bytes = vec![b'\''];
    for byte in word.as_bytes() {
        match byte {
            b'\'' => bytes.extend_from_slice(b"'\\''"),
            other => bytes.push(*other),
        }
    }
    bytes.push(b'\'');
    OsString::from_vec(bytes)
}

/// Three shells: the first keeps the pane open after a failure until the user presses Enter; the
/// second waits for the program and records its status; the third becomes the program. Closing the
/// pane must end the first, since the kernel tells only the first process of a terminal, and the
/// others when that one ends. `@1@`, `@2@` and `@3@`
/// stand for the progress file, the working directory and the command.
const SCRIPT: &str = r#"# Runs a member of a swarm team in a pane.
note() { printf '%s %s\n' "$1" "$2" >>@1@; }
case ${1-} in
program)
    note program $$
    cd @2@ && exec env -i @3@
    ;;
runner)
    note runner $$
    trap : INT QUIT TERM HUP
    /bin/sh "$0" program
    status=$?
    note end $status
    exit $status
    ;;
*)
    note pane $$
    trap : INT QUIT
    /bin/sh "$0" runner
    status=$?
    [ $status = 0 ] && exit
    printf '\nThe teammate exited with status %s. Press Enter to close this pane. ' $status
    read -r _
    ;;
esac
"#;

fn script(progress: &Path, command: &PaneCommand) -> Result<OsString, PaneError> {
    let mut program: Vec<OsString> = Vec::new();
    for name in TERMINAL {
        program.push(format!("${{{name}+\"{name}=${name}\"}}").into());
    }
    for (name, value) in &command.env {
        program.push(quoted(&text::environment_word(name, value)?));
    }
    program.push(quoted(command.program.as_os_str()));
    program.extend(command.args.iter().map(|word| quoted(word)));
    let program = program.join(OsStr::new(" "));
    let mut script = OsString::new();
    for part in SCRIPT.split('@') {
        match part {
            "1" => script.push(quoted(progress.as_os_str())),
            "2" => script.push(quoted(command.cwd.as_os_str())),
            "3" => script.push(&program),
            text => script.push(text),
        }
    }
    Ok(script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_word_is_one_word_for_the_shell() {
        assert_eq!(quoted("it's a $x".as_ref()), "'it'\\''s a $x'");
    }

    #[test]
    fn progress_is_read_as_the_script_writes_it() {
        let progress = Progress::parse("pane 7\nrunner 8\nprogram 9\nend 143\nend");
        assert_eq!(
            (&progress.shells[..], progress.recorder),
            (&[7, 8][..], Some(8))
        );
        assert_eq!(progress.program, Some(9));
        let end = progress.end().unwrap();
        assert_eq!((end.code, end.signal), (None, Some(15)));
        assert_eq!(Progress::parse("").end(), None);
    }
}
