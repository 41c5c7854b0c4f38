//! Descriptions of panes and their state.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use swarm_protocol::{Color, MemberName, PaneId, SpawnId, TeamName};

use crate::{PaneError, Size};

/// A pane to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneSpec {
    /// Team of the member.
    pub team: TeamName,
    /// Member to run in the pane.
    pub member: MemberName,
    /// Spawn of the member; required to close the pane.
    pub spawn_id: SpawnId,
    /// Config directory of the team: another one may have a team of the same name on the same
    /// server.
    pub root: PathBuf,
    /// Title in the border. Control sequences are removed and the text is truncated to 60
    /// characters.
    pub title: String,
    /// Colour of border and title; `None` disables colours.
    pub color: Option<Color>,
}

/// An existing pane.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pane {
    /// `%7` in tmux, `headless:<spawn id>` and `in-process:<spawn id>` without a terminal.
    pub id: PaneId,
    /// Socket of the tmux server that contains it.
    pub socket: Option<PathBuf>,
    /// Position for display to the person who opened it, such as `next to the lead`. A person may
    /// move it later.
    pub position: Option<String>,
}

impl Pane {
    /// Returns a pane whose position is not displayed.
    pub fn new(id: PaneId, socket: Option<PathBuf>) -> Self {
        Self {
            id,
            socket,
            position: None,
        }
    }
}

/// Command to run in a pane. The arguments reach the program byte for byte, without a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneCommand {
    /// Absolute path of the program.
    pub program: PathBuf,
    /// Arguments.
    pub args: Vec<OsString>,
    /// Environment variables. Must not contain secrets: tmux receives them as arguments, which
    /// other processes can read. A headless process, or one on swarm's own server, gets exactly
    /// these (and the variables that describe its terminal); in the user's tmux they are added to
    /// the server's environment.
    pub env: Vec<(String, String)>,
    /// Working directory; must exist.
    pub cwd: PathBuf,
    /// File to which all output is appended, created with mode 0600 if missing. Without it, a pane
    /// keeps no copy, and a headless process writes to a file next to its record.
    pub log: Option<PathBuf>,
}

/// Execute bits of a file mode.
const ANY_EXECUTE: u32 = 0o111;

impl PaneCommand {
    /// Checks conditions that a backend could otherwise report only through a process that exits
    /// immediately: tmux falls back to the home directory if the working directory is missing and
    /// does not report a missing program.
    ///
    /// # Errors
    /// [`PaneError::Invalid`] if the program or the directory cannot be used.
    pub(crate) fn check(&self) -> Result<(), PaneError> {
        let refuse = |what, path: &Path, why| {
            Err(PaneError::Invalid {
                what,
                given: path.display().to_string(),
                why,
            })
        };
        if !self.program.is_absolute() || !self.program.is_file() {
            return refuse("program", &self.program, "not the absolute path of a file");
        }
        let mode = std::fs::metadata(&self.program).map_or(0, |file| file.permissions().mode());
        if mode & ANY_EXECUTE == 0 {
            return refuse("program", &self.program, "not executable");
        }
        if !self.cwd.is_absolute() || !self.cwd.is_dir() {
            return refuse(
                "working directory",
                &self.cwd,
                "not the absolute path of a directory",
            );
        }
        let holds_nul = |word: &OsString| word.as_bytes().contains(&0);
        if self.args.iter().any(holds_nul) {
            return refuse("argument for", &self.program, "contains a NUL byte");
        }
        Ok(())
    }
}

/// A program was started in the pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started {
    /// Process id, unless the program exited before it could be read.
    pub pid: Option<u32>,
}

/// Status of a pane's process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaneStatus {
    /// Opened; no program was started.
    Empty,
    /// A process is running.
    Running {
        /// Process id.
        pid: u32,
    },
    /// The process exited and the pane remains open.
    Dead {
        /// Exit status, if the process exited by itself and it is known.
        code: Option<i32>,
        /// Name or number of the signal that terminated the process.
        signal: Option<String>,
    },
    /// The pane does not exist (any more): its process exited successfully, or a person closed it.
    Gone,
}

impl PaneStatus {
    /// The status after the process exited with this code.
    pub fn exited(code: i32) -> Self {
        Self::Dead {
            code: Some(code),
            signal: None,
        }
    }
}

/// A pane found by its tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaggedPane {
    /// The pane.
    pub pane: Pane,
    /// Team of the member.
    pub team: TeamName,
    /// Member in the pane.
    pub member: MemberName,
    /// Spawn of the member.
    pub spawn_id: SpawnId,
    /// Config directory of the team; `None` if the pane has no such tag.
    pub root: Option<PathBuf>,
    /// Title as displayed.
    pub title: String,
    /// Status of its process.
    pub status: PaneStatus,
}

impl TaggedPane {
    /// Returns whether the pane belongs to another existing config directory. A copied config
    /// directory contains the same ids and names as the original. `root` must have symbolic links
    /// resolved.
    pub fn is_of_another(&self, root: &Path) -> bool {
        let theirs = self.root.as_deref();
        theirs.is_some_and(|theirs| theirs != root && theirs.is_dir())
    }
}

/// A window with all its panes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowView {
    /// Name of the window.
    pub name: String,
    /// Size of the whole window.
    pub size: Size,
    /// Panes, from top to bottom and left to right.
    pub panes: Vec<CapturedPane>,
}

/// The text of a pane to capture.
#[derive(Debug, Clone, Copy, Default)]
pub struct PaneText {
    /// Number of last lines, including scrollback; `None` for the visible part.
    pub lines: Option<usize>,
    /// Whether colours are preserved as SGR sequences.
    pub escapes: bool,
}

impl PaneText {
    /// The last lines, without colours.
    pub fn last(lines: usize) -> Self {
        Self {
            lines: Some(lines),
            escapes: false,
        }
    }
}

/// A pane of a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedPane {
    /// Id of the pane.
    pub id: PaneId,
    /// Member in the pane; `None` for the lead's pane and panes of others.
    pub member: Option<MemberName>,
    /// Title as displayed; empty for panes of others.
    pub title: String,
    /// State from the terminal title, or the exit status; may be empty.
    pub state: String,
    /// Colour of title and border of a member's pane.
    pub color: Option<Color>,
    /// Number of columns to the left of it in the window.
    pub left: u16,
    /// Number of rows above it in the window, including its title row.
    pub top: u16,
    /// Size of the pane.
    pub size: Size,
    /// Visible content, one line per row, colours as SGR sequences. Empty for panes other than the
    /// lead's and members', which are private.
    pub content: String,
}
