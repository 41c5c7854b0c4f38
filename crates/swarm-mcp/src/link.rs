//! A server that is up: its connection, and its program where we started it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use swarm_policy::{McpServerConfig, McpToolSpec};
use tokio_util::sync::CancellationToken;

use crate::launch::{Launched, Program, launch};
use crate::sdk::{Answer, Connection};
use crate::stderr_log::StderrTail;
use crate::{McpError, McpHost};

/// A connection that has listed its tools. Dropped, its program is killed.
#[derive(Debug)]
pub(crate) struct Link {
    connection: Connection,
    program: Mutex<Option<Program>>,
    stderr: StderrTail,
}

/// Starts or reaches a server and asks for its tools, within the host's time. Given up on the way, nothing is left.
pub(crate) async fn connect(
    server: &str,
    config: &McpServerConfig,
    host: &McpHost,
) -> Result<(Link, Vec<McpToolSpec>), McpError> {
    match config {
        McpServerConfig::Stdio { command, args, env } => {
            let log = host
                .logs
                .as_ref()
                .map(|folder| folder.join(format!("mcp-{server}.log")));
            let Launched {
                program,
                stdin,
                stdout,
                stderr,
            } = launch(command, args, env, host, log)?;
            let steps = async {
                let connection = Connection::over_stdio(stdout, stdin).await?;
                let tools = connection.tools().await?;
                Ok::<_, String>((connection, tools))
            };
            let done = tokio::time::timeout(host.limits.start, steps).await;
            let outcome = match done {
                Ok(Ok(up)) => Ok(up),
                Ok(Err(why)) => Err(Some(why)),
                Err(_) => Err(None),
            };
            match outcome {
                Ok((connection, tools)) => {
                    let link = Link {
                        connection,
                        program: Mutex::new(Some(program)),
                        stderr,
                    };
                    Ok((link, tools))
                }
                Err(why) => {
                    // Its last words come before its end.
                    program.end(host.limits.grace).await;
                    let stderr = stderr.text();
                    Err(match why {
                        Some(why) => McpError::Connect { why, stderr },
                        None => McpError::Late {
                            within: host.limits.start,
                            stderr,
                        },
                    })
                }
            }
        }
        McpServerConfig::Http { url, headers } => {
            let steps = async {
                let connection = Connection::over_http(url, headers, host).await?;
                let stderr = String::new();
                let tools = connection.tools().await;
                let tools = tools.map_err(|why| McpError::Connect { why, stderr })?;
                Ok((connection, tools))
            };
            let done = tokio::time::timeout(host.limits.start, steps).await;
            let (connection, tools) = done.map_err(|_| McpError::Late {
                within: host.limits.start,
                stderr: String::new(),
            })??;
            let link = Link {
                connection,
                program: Mutex::default(),
                stderr: StderrTail::default(),
            };
            Ok((link, tools))
        }
    }
}

impl Link {
    pub(crate) fn is_closed(&self) -> bool {
        self.connection.is_closed()
    }

    pub(crate) fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// The tools as they are now, if the server has said that they have changed.
    pub(crate) async fn changed_tools(&self, within: Duration) -> Option<Vec<McpToolSpec>> {
        if !self.connection.took_list_changed() {
            return None;
        }
        let listed = tokio::time::timeout(within, self.connection.tools()).await;
        listed.ok()?.ok()
    }

    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        within: Duration,
        cancel: &CancellationToken,
    ) -> Result<Answer, McpError> {
        self.connection.call(tool, arguments, within, cancel).await
    }

    /// Ends it in order: the connection first, which is the end of the program's input.
    pub(crate) async fn end(&self, grace: Duration) {
        self.connection.close(grace).await;
        if let Some(program) = self.take_program() {
            program.end(grace).await;
        }
    }

    /// Ends its program at once: for places that cannot wait.
    pub(crate) fn end_now(&self) {
        drop(self.take_program());
    }

    fn take_program(&self) -> Option<Program> {
        // Nothing can panic under this lock.
        let mut program = self.program.lock().unwrap_or_else(PoisonError::into_inner);
        program.take()
    }
}
