//! A tmux server, addressed by its socket.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use tokio::process::Command;

use super::batch::Batch;
use crate::PaneError;

/// Timeout for an answer. tmux answers within milliseconds unless the server is stopped.
pub(super) const ANSWER_DEADLINE: Duration = Duration::from_secs(10);

/// Maximum length of a Unix socket path, without the terminating NUL (`sockaddr_un`).
const MAX_SOCKET_PATH: usize = 107;

/// A tmux server.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    program: PathBuf,
    socket: PathBuf,
    /// Environment of a server that swarm starts, and of all its panes; `None` for a server that
    /// swarm must not start.
    birth_environment: Option<Vec<(String, String)>>,
}

impl Server {
    /// A server run by others.
    pub(crate) fn existing(program: PathBuf, socket: PathBuf) -> Self {
        Self {
            program,
            socket,
            birth_environment: None,
        }
    }

    /// swarm's own server, started on demand without configuration and with exactly this
    /// environment.
    ///
    /// # Errors
    /// [`PaneError::Invalid`] if the socket path exceeds the limit of the system.
    pub(crate) fn own(
        program: PathBuf,
        socket: PathBuf,
        environment: Vec<(String, String)>,
    ) -> Result<Self, PaneError> {
        if socket.as_os_str().len() > MAX_SOCKET_PATH {
            return Err(PaneError::Invalid {
                what: "socket path",
                given: socket.display().to_string(),
                why: "a Unix socket path is limited to 107 bytes; choose a shorter directory",
            });
        }
        Ok(Self {
            program,
            socket,
            birth_environment: Some(environment),
        })
    }

    /// Returns the socket.
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Returns the tmux program.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// Runs commands and returns their output.
    ///
    /// # Errors
    /// [`PaneError::ServerGone`], [`PaneError::Refused`], [`PaneError::Unresponsive`], or
    /// [`PaneError::Io`] if the program cannot be run.
    pub(crate) async fn run(&self, batch: &Batch) -> Result<String, PaneError> {
        let running = self.command(batch).output();
        let output = match tokio::time::timeout(ANSWER_DEADLINE, running).await {
            Ok(output) => output.map_err(|e| PaneError::io("run", &self.program, e))?,
            Err(_) => {
                return Err(PaneError::Unresponsive {
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
            // Without -u tmux replaces every non-ASCII character in its output, including tabs.
            .arg("-u")
            .arg("-S")
            .arg(&self.socket)
            .args(batch.arguments())
            // Targets are always explicit; the caller's own pane must not be the default.
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
            // Its last session is gone; it is exiting.
            "no current target",
        ];
        if gone.iter().any(|start| message.starts_with(start)) {
            return Err(PaneError::ServerGone(self.socket.clone()));
        }
        Err(PaneError::Refused {
            socket: self.socket.clone(),
            command: batch.names(),
            message,
        })
    }
}

/// Returns the socket from a value of `TMUX`: its first field, `socket,pid,session`.
///
/// # Errors
/// [`PaneError::Invalid`] if that is not an absolute path.
pub(crate) fn socket_of(tmux_env: &str) -> Result<PathBuf, PaneError> {
    // The path may contain commas, the two fields after it may not.
    let path = Path::new(tmux_env.rsplitn(3, ',').last().unwrap_or_default());
    if path.is_absolute() {
        Ok(path.to_owned())
    } else {
        Err(PaneError::Invalid {
            what: "TMUX",
            given: tmux_env.to_owned(),
            why: "it does not start with a socket path",
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
