//! A server that is up: its connection, and its program where we started it.

use std::future::Future;
use std::time::Duration;

use parking_lot::Mutex;
use swarm_permissions::{McpServerConfig, McpToolSpec};
use tokio_util::sync::CancellationToken;

use crate::launch::{Launched, Program, launch};
use crate::sdk::{Connection, Protocol};
use crate::stderr_log::StderrTail;
use crate::{McpError, McpHost};

/// A connection that has listed its tools. Dropped, its program is killed.
#[derive(Debug)]
pub(crate) struct Link {
    connection: Connection,
    program: Mutex<Option<Program>>,
    stderr: StderrTail,
}

/// Starts or reaches a server and asks for its tools, within the host's time and until `stop` falls. When it returns an
/// error, nothing is left; given up on the way, its program is killed.
pub(crate) async fn connect(
    server: &str,
    config: &McpServerConfig,
    host: &McpHost,
    stop: &CancellationToken,
) -> Result<(Link, Vec<McpToolSpec>), McpError> {
    match config {
        McpServerConfig::Stdio { command, args, env } => {
            let log = host.logs.as_ref();
            let log = log.map(|directory| directory.join(format!("mcp-{server}.log")));
            let start = || launch(command, args, env, host, log.clone());
            let connected = match shake_hands(start()?, Protocol::Either, host, stop).await {
                Err(ConnectFailure {
                    other_protocol: Some(protocol),
                    ..
                }) => shake_hands(start()?, protocol, host, stop).await,
                connected => connected,
            };
            connected.map_err(|failure| failure.error)
        }
        McpServerConfig::Http { url, headers } => {
            let steps = async {
                let connection = Connection::over_http(url, headers, host).await?;
                let tools = connection.tools().await.map_err(unusable)?;
                Ok((connection, tools))
            };
            let (connection, tools) = bounded(steps, host, stop).await?;
            let link = Link {
                connection,
                program: Mutex::default(),
                stderr: StderrTail::default(),
            };
            Ok((link, tools))
        }
    }
}

/// A program that could not be used.
struct ConnectFailure {
    error: McpError,
    /// The protocol to start it again with.
    other_protocol: Option<Protocol>,
}

/// Speaks to a program that was just started.
async fn shake_hands(
    launched: Launched,
    protocol: Protocol,
    host: &McpHost,
    stop: &CancellationToken,
) -> Result<(Link, Vec<McpToolSpec>), ConnectFailure> {
    let Launched {
        program,
        stdin,
        stdout,
        stderr,
    } = launched;
    let mut other_protocol = None;
    let steps = async {
        let connection = Connection::over_stdio(stdout, stdin, protocol).await;
        let connection = connection.map_err(|failure| {
            other_protocol = failure.other_protocol;
            unusable(failure.why)
        })?;
        let tools = connection.tools().await.map_err(unusable)?;
        Ok((connection, tools))
    };
    match bounded(steps, host, stop).await {
        Ok((connection, tools)) => {
            let link = Link {
                connection,
                program: Mutex::new(Some(program)),
                stderr,
            };
            Ok((link, tools))
        }
        Err(error) => {
            // Its last words come before its end.
            program.end(host.limits.grace).await;
            let error = error.with_stderr(stderr.text());
            Err(ConnectFailure {
                error,
                other_protocol,
            })
        }
    }
}

async fn bounded<T>(
    steps: impl Future<Output = Result<T, McpError>>,
    host: &McpHost,
    stop: &CancellationToken,
) -> Result<T, McpError> {
    let within = host.limits.start;
    tokio::select! {
        done = tokio::time::timeout(within, steps) => done.unwrap_or_else(|_| {
            let stderr = String::new();
            Err(McpError::Late { within, stderr })
        }),
        () = stop.cancelled() => Err(McpError::Closed),
    }
}

fn unusable(why: String) -> McpError {
    let stderr = String::new();
    McpError::Connect { why, stderr }
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

    /// The connection, for calls.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
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
        let mut program = self.program.lock();
        program.take()
    }
}
