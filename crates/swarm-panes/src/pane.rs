//! What is asked of a pane and what is known of it.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use swarm_protocol::{Color, MemberName, PaneId, SpawnId, TeamName};

use crate::PaneError;

/// A pane to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneSpec {
    /// The team of the member.
    pub team: TeamName,
    /// The member that will live there.
    pub member: MemberName,
    /// This spawn of it; only who knows it can close the pane.
    pub spawn_id: SpawnId,
    /// The config directory of the team's files: another one may have a team of the same name on the same server.
    pub root: PathBuf,
    /// What the pane's border says. Any text; what a terminal would act on is taken out, the rest cut at 60
    /// characters.
    pub title: String,
    /// Colour of border and title; none where no colours are wanted.
    pub color: Option<Color>,
}

/// A pane that exists.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pane {
    /// `%7` in tmux, `headless:<spawn id>` without a terminal.
    pub id: PaneId,
    /// Socket of the tmux server that holds it.
    pub socket: Option<PathBuf>,
    /// Where a person finds it, in words for the one who opened it: `beside the lead`. A person may move it later.
    pub spot: Option<String>,
}

/// What is run in a pane. The words reach the program byte for byte, without any shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneCommand {
    /// Absolute path of the program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its environment. Nothing secret: tmux gets these as arguments, which other processes can read. A process
    /// without a terminal, or on swarm's own server, gets exactly these (and what describes its terminal); in the
    /// user's tmux they come on top of what that server holds.
    pub env: Vec<(String, String)>,
    /// Its working directory; must exist.
    pub cwd: PathBuf,
    /// File that gets everything the program prints, appended; made with mode 0600 if it is not there. Without one
    /// a pane keeps no copy, and a process without a terminal writes to a file beside its record.
    pub log: Option<PathBuf>,
}

/// The bits of a file's mode that let somebody run it.
const ANY_EXECUTE: u32 = 0o111;

impl PaneCommand {
    /// Looks at what a backend could only report by a process that ends at once: tmux falls back to the home directory
    /// where the working directory is missing, and says nothing of a program that is not there.
    ///
    /// # Errors
    /// [`PaneError::Invalid`] when the program or the directory cannot be used.
    pub(crate) fn check(&self) -> Result<(), PaneError> {
        let refuse = |what, path: &Path, why| {
            Err(PaneError::Invalid {
                what,
                given: path.display().to_string(),
                why,
            })
        };
        if !self.program.is_absolute() || !self.program.is_file() {
            return refuse(
                "program",
                &self.program,
                "it is not the absolute path of a file",
            );
        }
        let mode = std::fs::metadata(&self.program).map_or(0, |file| file.permissions().mode());
        if mode & ANY_EXECUTE == 0 {
            return refuse("program", &self.program, "it is not executable");
        }
        if !self.cwd.is_absolute() || !self.cwd.is_dir() {
            return refuse(
                "working directory",
                &self.cwd,
                "it is not the absolute path of a directory",
            );
        }
        let holds_nul = |word: &OsString| word.as_bytes().contains(&0);
        if self.args.iter().any(holds_nul) {
            return refuse("argument for", &self.program, "it holds a NUL byte");
        }
        Ok(())
    }
}

/// A program runs in the pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started {
    /// Its pid, unless it ended too soon to be seen.
    pub pid: Option<u32>,
}

/// What a pane's process is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaneStatus {
    /// Opened; nothing was started in it yet.
    Empty,
    /// A process runs.
    Running {
        /// The process.
        pid: u32,
    },
    /// The process has ended and the pane still shows what it left.
    Dead {
        /// Exit status, where it ended by itself and that is known.
        code: Option<i32>,
        /// Name or number of the signal that ended it.
        signal: Option<String>,
    },
    /// There is no such pane (any more): its process ended without failure, or somebody closed it.
    Gone,
}

/// A pane as found by its tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaggedPane {
    /// The pane.
    pub pane: Pane,
    /// Whose team.
    pub team: TeamName,
    /// Which member.
    pub member: MemberName,
    /// Which spawn of it.
    pub spawn_id: SpawnId,
    /// The config directory of the team's files; none where the pane does not say.
    pub root: Option<PathBuf>,
    /// Its title as shown.
    pub title: String,
    /// What its process is doing.
    pub status: PaneStatus,
}

impl TaggedPane {
    /// Whether it says of itself that it belongs to another config directory that is there. Ids and names are copied with a root
    /// directory, and then it is the other one's pane that bears them. `root` is without symbolic links.
    pub fn is_of_another(&self, root: &Path) -> bool {
        let theirs = self.root.as_deref();
        theirs.is_some_and(|theirs| theirs != root && theirs.is_dir())
    }
}
