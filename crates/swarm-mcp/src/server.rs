//! A configured server, running or not.

use std::sync::Arc;

use serde_json::{Map, Value};
use swarm_permissions::{McpServer, McpServerConfig, McpToolSpec};
use swarm_tools::{CallHost, ToolContext};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::link::{Link, connect, restrictions};
use crate::sdk::{Answer, CallOptions};
use crate::{McpError, McpHost, Result};

/// Maximum number of restarts after an unexpected exit.
const RESTARTS: u32 = 1;

/// A server. It starts on first use; concurrent users wait for the same start.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) name: String,
    /// The part of its tools' names.
    pub(crate) part: String,
    /// Where the server is configured.
    pub(crate) origin: String,
    config: McpServerConfig,
    pub(crate) host: Arc<McpHost>,
    state: Mutex<State>,
    stopped: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    link: Option<Arc<Link>>,
    /// The last list of tools, from this process or the one that passed it on.
    tools: Option<Vec<McpToolSpec>>,
    /// Whether the server offers resources; valid once its tools are known.
    resources: bool,
    /// Why the start failed. It is not retried.
    failed: Option<McpError>,
    crashes: u32,
    last_stderr: String,
}

impl Server {
    /// Creates a server, with its tools if another process has listed them.
    pub(crate) fn new(name: &str, part: String, entry: &McpServer, host: &Arc<McpHost>) -> Self {
        Self {
            name: name.to_owned(),
            part,
            origin: entry.origin.clone(),
            config: entry.config.clone(),
            host: Arc::clone(host),
            state: Mutex::new(State {
                tools: entry.tools.clone(),
                resources: entry.resources,
                ..State::default()
            }),
            stopped: CancellationToken::new(),
        }
    }

    /// Returns the tools as last listed; starts the server if they are unknown.
    pub(crate) async fn tools(&self) -> Result<Vec<McpToolSpec>> {
        let mut state = self.state.lock().await;
        if let Some(link) = state.link.clone()
            && let Some(changed) = link.changed_tools(self.host.limits.start).await
        {
            state.tools = Some(changed);
        }
        if state.tools.is_none() {
            self.link(&mut state).await?;
        }
        Ok(state.tools.clone().unwrap_or_default())
    }

    /// Starts the server even if its tools are known.
    pub(crate) async fn start(&self) -> Result<()> {
        self.link(&mut *self.state.lock().await).await.map(drop)
    }

    /// Returns whether the sandbox confines its program.
    pub(crate) async fn is_sandboxed(&self) -> bool {
        let launch = restrictions(&self.config, &self.host).await;
        launch.is_ok_and(|launch| launch.is_some_and(|launch| launch.is_sandboxed()))
    }

    /// Returns the tools known without starting the server.
    pub(crate) async fn known_tools(&self) -> Option<Vec<McpToolSpec>> {
        self.state.lock().await.tools.clone()
    }

    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        ctx: &ToolContext,
    ) -> Result<Answer> {
        let options = self.options(ctx.cancel.clone(), ctx.host.clone());
        let link = self.up(&options).await?;
        let called = link.connection.call(tool, arguments, &options);
        self.until_stopped(called).await
    }

    pub(crate) async fn resources(&self, ctx: &ToolContext) -> Result<Vec<Value>> {
        let link = self
            .up(&self.options(ctx.cancel.clone(), ctx.host.clone()))
            .await?;
        let listed = link.connection.resources(self.host.limits.call);
        self.until_stopped(listed).await
    }

    pub(crate) async fn read_resource(&self, uri: &str, ctx: &ToolContext) -> Result<Answer> {
        let options = self.options(ctx.cancel.clone(), ctx.host.clone());
        let link = self.up(&options).await?;
        let read = link.connection.read_resource(uri, &options);
        self.until_stopped(read).await
    }

    /// Returns the text of a prompt requested by a person.
    pub(crate) async fn prompt(&self, fits: impl Fn(&str) -> bool, words: &str) -> Result<String> {
        let options = self.options(CancellationToken::new(), None);
        let link = self.up(&options).await?;
        let asked = link.connection.prompt(fits, words, &options);
        self.until_stopped(asked).await
    }

    /// Returns whether the server offers resources, as far as known without starting it.
    pub(crate) async fn offers_resources(&self) -> bool {
        self.state.lock().await.resources
    }

    fn options(&self, cancel: CancellationToken, host: Option<Arc<dyn CallHost>>) -> CallOptions {
        CallOptions {
            server: self.name.clone(),
            within: self.host.limits.call,
            cancel,
            host,
        }
    }

    /// Connects if necessary, until the call is cancelled.
    async fn up(&self, options: &CallOptions) -> Result<Arc<Link>> {
        let link = async { self.link(&mut *self.state.lock().await).await };
        tokio::select! {
            link = link => link,
            () = options.cancel.cancelled() => Err(McpError::Cancelled),
        }
    }

    async fn until_stopped<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::select! {
            answer = call => answer,
            () = self.stopped.cancelled() => Err(McpError::Closed),
        }
    }

    /// Returns the connection, starting the server if necessary.
    async fn link(&self, state: &mut State) -> Result<Arc<Link>> {
        if self.stopped.is_cancelled() {
            return Err(McpError::Closed);
        }
        if let Some(link) = &state.link {
            if !link.connection.is_closed() {
                return Ok(Arc::clone(link));
            }
            tracing::warn!(server = self.name, "an MCP server exited unexpectedly");
            state.crashes += 1;
            state.last_stderr = link.stderr.text();
            // Terminate its remaining processes.
            link.stop(self.host.limits.grace).await;
            state.link = None;
        }
        if state.crashes > RESTARTS {
            return Err(McpError::Crashed {
                times: state.crashes,
                stderr: state.last_stderr.clone(),
            });
        }
        if let Some(error) = &state.failed {
            return Err(error.clone());
        }
        match Box::pin(connect(&self.part, &self.config, &self.host, &self.stopped)).await {
            Ok((link, tools)) => {
                let link = Arc::new(link);
                state.resources = link.connection.offers_resources();
                state.link = Some(Arc::clone(&link));
                state.tools = Some(tools);
                Ok(link)
            }
            Err(error) => {
                state.failed = Some(error.clone());
                Err(error)
            }
        }
    }

    /// Stops the server, even while it is starting. It is not restarted.
    pub(crate) async fn stop(&self) {
        self.stopped.cancel();
        let link = self.state.lock().await.link.take();
        if let Some(link) = link {
            link.stop(self.host.limits.grace).await;
        }
    }

    /// Stops the server like [`Server::stop`], without waiting.
    pub(crate) fn kill(&self) {
        self.stopped.cancel();
        // If the lock is held, the holder is starting the server and observes the token.
        if let Ok(mut state) = self.state.try_lock()
            && let Some(link) = state.link.take()
        {
            link.kill();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}
