//! One tmux server, reached by its socket.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use tokio::process::Command;

use super::batch::Batch;
use crate::PaneError;

/// Longest wait for an answer. tmux answers in milliseconds; only a server that is stopped does not.
pub(super) const ANSWER_DEADLINE: Duration = Duration::from_secs(10);

/// Longest path of a Unix socket, without its closing NUL (`sockaddr_un`).
const MAX_SOCKET_PATH: usize = 107;

/// A tmux server.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    program: PathBuf,
    socket: PathBuf,
    /// What a server that has to be started gets as its environment, and through it every pane; none for a server
    /// that is not ours to start.
    birth_environment: Option<Vec<(String, String)>>,
}

impl Server {
    /// A server that somebody else runs.
    pub(crate) fn existing(program: PathBuf, socket: PathBuf) -> Self {
        Self {
            program,
            socket,
            birth_environment: None,
        }
    }

    /// A server of our own, started on demand with no configuration and with exactly this environment.
    ///
    /// # Errors
    /// [`PaneError::Invalid`] when the socket's path is longer than the system allows.
    pub(crate) fn own(
        program: PathBuf,
        socket: PathBuf,
        environment: Vec<(String, String)>,
    ) -> Result<Self, PaneError> {
        if socket.as_os_str().len() > MAX_SOCKET_PATH {
            return Err(PaneError::Invalid {
                what: "socket path",
                given: socket.display().to_string(),
                why: "a Unix socket's path may have 107 bytes; choose a shorter directory",
            });
        }
        Ok(Self {
            program,
            socket,
            birth_environment: Some(environment),
        })
    }

    /// The socket.
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// The tmux program.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// Runs commands and returns what they print.
    ///
    /// # Errors
    /// [`PaneError::ServerGone`], [`PaneError::Refused`], [`PaneError::Silent`], or [`PaneError::Io`] when the
    /// program cannot be run.
    pub(crate) async fn run(&self, batch: &Batch) -> Result<String, PaneError> {
        let running = self.command(batch).output();
        let output = match tokio::time::timeout(ANSWER_DEADLINE, running).await {
            Ok(output) => output.map_err(|e| PaneError::io("run", &self.program, e))?,
            Err(_) => {
                return Err(PaneError::Silent {
                    socket: self.socket.clone(),
                    command: batch.names(),
                    waited: ANSWER_DEADLINE,
                });
            }
        };
        tracing::trace!(commands = %batch.names(), status = ?output.status.code(), "tmux answered");
        self.read(batch, &output)
    }

    fn command(&self, batch: &Batch) -> Command {
        let mut command = Command::new(&self.program);
        if let Some(environment) = &self.birth_environment {
            command.args(["-f", "/dev/null"]);
            command.env_clear();
            command.envs(environment.iter().map(|(name, value)| (name, value)));
        }
        command
            // Without -u tmux replaces every character that is not ASCII in what it prints, tabs included.
            .arg("-u")
            .arg("-S")
            .arg(&self.socket)
            .args(batch.arguments())
            // Targets are always explicit; the caller's own pane must not stand in for one.
            .env_remove("TMUX")
            .env_remove("TMUX_PANE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    fn read(&self, batch: &Batch, output: &Output) -> Result<String, PaneError> {
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let gone = [
            "no server running",
            "error connecting",
            "server exited",
            "lost server",
            // Its last session is gone, it is about to end.
            "no current target",
        ];
        if gone.iter().any(|start| message.starts_with(start)) {
            return Err(PaneError::ServerGone {
                socket: self.socket.clone(),
            });
        }
        Err(PaneError::Refused {
            socket: self.socket.clone(),
            command: batch.names(),
            message,
        })
    }
}

/// The socket that a value of the variable `TMUX` names: its first field, `socket,pid,session`.
///
/// # Errors
/// [`PaneError::Invalid`] when that is no absolute path.
pub(crate) fn socket_of(tmux_env: &str) -> Result<PathBuf, PaneError> {
    // The path itself may hold commas, the two fields after it may not.
    let path = Path::new(tmux_env.rsplitn(3, ',').last().unwrap_or_default());
    if path.is_absolute() {
        Ok(path.to_owned())
    } else {
        Err(PaneError::Invalid {
            what: "TMUX",
            given: tmux_env.to_owned(),
            why: "it does not begin with the path of a socket",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_is_the_first_field() {
        assert_eq!(
            socket_of("/tmp/tmux-0/default,123,0").unwrap(),
            Path::new("/tmp/tmux-0/default")
        );
        assert_eq!(socket_of("/tmp/a,b,1,2").unwrap(), Path::new("/tmp/a,b"));
        assert!(socket_of("").is_err());
        assert!(socket_of("default,1,2").is_err());
    }
}
