//! Facts about the terminal and the machine.

use std::path::PathBuf;

use crate::InProcessHost;
use crate::tmux::is_own_socket;

/// Facts about the terminal and the machine. Supplied by the program because libraries do not read
/// the environment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TerminalFacts {
    /// Value of `TMUX` if set and not empty.
    pub tmux_env: Option<String>,
    /// Value of `TMUX_PANE` if set and not empty.
    pub tmux_pane: Option<String>,
    /// Absolute path of the tmux program, if installed.
    pub tmux_program: Option<PathBuf>,
    /// Value of `ITERM_SESSION_ID` if set and not empty.
    pub iterm_session: Option<String>,
    /// Absolute path of the `it2` program, if installed.
    pub it2_program: Option<PathBuf>,
    /// The setting `spawn.pane_program`.
    pub pane_program: Option<PathBuf>,
    /// Where a lead runs teammates in its own process; `None` in other processes.
    pub in_process: Option<InProcessHost>,
    /// Private directory of the user for sockets and for records of headless members, created on
    /// demand. All processes that access such a member must use the same one.
    pub own_socket_dir: PathBuf,
    /// Number in the socket name of swarm's own server: [`crate::server_number`] of the team.
    pub server_number: u32,
    /// Socket of a running server that the roster already names. A server of swarm's own replaces
    /// the one named after `server_number`; the user's server is never mistaken for swarm's.
    pub own_socket: Option<PathBuf>,
    /// Environment of swarm's own server and of every pane on it: at least `PATH` and `HOME`, no
    /// secrets.
    pub server_env: Vec<(String, String)>,
    /// Environment of programs that control other terminals: all variables that describe the
    /// terminal, no secrets.
    pub control_env: Vec<(String, String)>,
}

impl TerminalFacts {
    /// Returns the server of the other members of the team.
    pub(crate) fn shared_socket(&self) -> Option<PathBuf> {
        self.own_socket
            .clone()
            .filter(|socket| is_own_socket(socket))
    }
}
