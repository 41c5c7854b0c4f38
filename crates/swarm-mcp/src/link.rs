//! A running server: its connection and, for stdio, its program.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use parking_lot::Mutex;
use swarm_permissions::{McpServerConfig, McpToolSpec};
use swarm_tools::ProgramLaunch;
use swarm_tools::sandbox::{UserCommand, UserProgram};
use tokio_util::sync::CancellationToken;

use crate::launch::{Launched, Program, launch};
use crate::sdk::{Connection, HandshakeError, Protocol};
use crate::stderr_log::StderrTail;
use crate::{McpError, McpHost, Result};

/// A connection whose tools have been listed. Dropping it kills its program.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) connection: Connection,
    program: Mutex<Option<Program>>,
    pub(crate) stderr: StderrTail,
}

/// Starts or reaches a server and lists its tools, within the host's timeout and until `stop` is
/// cancelled. After an error no process remains; dropping the future kills the program.
pub(crate) async fn connect(
    server: &str,
    config: &McpServerConfig,
    host: &McpHost,
    stop: &CancellationToken,
) -> Result<(Link, Vec<McpToolSpec>)> {
    match config {
        McpServerConfig::Stdio {
            command, args, env, ..
        } => {
            let sandbox = restrictions(config, host).await?;
            let log = host.logs.as_ref();
            let log = log.map(|directory| directory.join(format!("mcp-{server}.log")));
            let start = || launch(command, args, env, host, sandbox.as_ref(), log.clone());
            let connected = match handshake(start()?, Protocol::Either, host, stop).await {
                Err(HandshakeError {
                    other_protocol: Some(protocol),
                    ..
                }) => handshake(start()?, protocol, host, stop).await,
                connected => connected,
            };
            connected.map_err(|failure| failure.error)
        }
        McpServerConfig::Http { url, headers } => {
            let connecting = Box::pin(Connection::over_http(url, headers, host));
            let (connection, tools) = with_tools(connecting, host, stop).await?;
            let link = Link {
                connection,
                program: Mutex::default(),
                stderr: StderrTail::default(),
            };
            Ok((link, tools))
        }
    }
}

/// Plans the start of a server's program. `None` for a server that is reached over HTTP, and if there
/// is no agent.
pub(crate) async fn restrictions(
    config: &McpServerConfig,
    host: &McpHost,
) -> Result<Option<ProgramLaunch>> {
    let McpServerConfig::Stdio {
        command,
        args,
        env,
        sandboxed,
    } = config
    else {
        return Ok(None);
    };
    let Some(agent) = &host.sandbox else {
        return Ok(None);
    };
    let prepared = if *sandboxed {
        ProgramLaunch::prepare(agent).await
    } else {
        let program = user_program(command, args, env, host);
        ProgramLaunch::prepare_user_program(agent, program).await
    };
    let command = command.clone();
    let prepared = prepared.map_err(|why| McpError::Program { command, why })?;
    Ok(Some(prepared))
}

/// Returns the program of a server. Variables such as `PYTHONPATH` also decide what runs.
fn user_program(
    command: &str,
    args: &[String],
    env: &BTreeMap<String, String>,
    host: &McpHost,
) -> UserProgram {
    let (mut words, mut variables) = (vec![command.to_owned()], host.env.clone());
    words.extend_from_slice(args);
    variables.extend(env.clone());
    UserProgram {
        command: UserCommand::Words(words),
        cwd: host.cwd.clone(),
        env: variables,
        configured_values: env.values().cloned().collect(),
    }
}

/// Connects to a program that was just started.
async fn handshake(
    launched: Launched,
    protocol: Protocol,
    host: &McpHost,
    stop: &CancellationToken,
) -> Result<(Link, Vec<McpToolSpec>), HandshakeError> {
    let Launched {
        program,
        stdin,
        stdout,
        stderr,
    } = launched;
    let connecting = Box::pin(Connection::over_stdio(stdout, stdin, protocol));
    match with_tools(connecting, host, stop).await {
        Ok((connection, tools)) => {
            let link = Link {
                connection,
                program: Mutex::new(Some(program)),
                stderr,
            };
            Ok((link, tools))
        }
        Err(mut failure) => {
            // Stopping the program first completes its standard error.
            program.stop(host.limits.grace).await;
            failure.error = failure.error.with_stderr(stderr.text());
            Err(failure)
        }
    }
}

/// Connects and lists the tools, within the host's timeout and until `stop` is cancelled.
async fn with_tools<E: From<McpError>>(
    connecting: impl Future<Output = Result<Connection, E>>,
    host: &McpHost,
    stop: &CancellationToken,
) -> Result<(Connection, Vec<McpToolSpec>), E> {
    let within = host.limits.start;
    let steps = async {
        let connection = connecting.await?;
        let tools = Box::pin(connection.tools()).await;
        let tools = tools.map_err(McpError::connect)?;
        Ok::<_, E>((connection, tools))
    };
    tokio::select! {
        done = tokio::time::timeout(within, steps) => done.unwrap_or_else(|_| {
            let stderr = String::new();
            Err(McpError::Late { within, stderr }.into())
        }),
        () = stop.cancelled() => Err(McpError::Closed.into()),
    }
}

impl Link {
    /// Lists the tools again if the server reported a change.
    pub(crate) async fn changed_tools(&self, within: Duration) -> Option<Vec<McpToolSpec>> {
        if !self.connection.took_list_changed() {
            return None;
        }
        let listed = tokio::time::timeout(within, self.connection.tools()).await;
        listed.ok()?.ok()
    }

    /// Stops gracefully: closes the connection, which is the program's input, then the program.
    pub(crate) async fn stop(&self, grace: Duration) {
        self.connection.close(grace).await;
        if let Some(program) = self.take_program() {
            program.stop(grace).await;
        }
    }

    /// Kills the program without waiting.
    pub(crate) fn kill(&self) {
        drop(self.take_program());
    }

    fn take_program(&self) -> Option<Program> {
        let mut program = self.program.lock();
        program.take()
    }
}
