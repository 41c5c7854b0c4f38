//! One configured server, whether it is up or not.

use std::sync::Arc;

use serde_json::{Map, Value};
use swarm_permissions::{McpServer, McpServerConfig, McpToolSpec};
use swarm_tools::ToolContext;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::link::{Link, connect};
use crate::sdk::{Answer, CallTerms};
use crate::{McpError, McpHost};

/// How often a server that has ended by itself is started again.
const RESTARTS: u32 = 1;

/// A server. It starts when it is needed first; whoever needs it meanwhile waits for the same start.
#[derive(Debug)]
pub(crate) struct Server {
    /// Its name as it is configured.
    pub(crate) name: String,
    /// The part it has in the names of its tools.
    pub(crate) part: String,
    /// Where it is configured.
    pub(crate) origin: String,
    config: McpServerConfig,
    host: Arc<McpHost>,
    state: Mutex<State>,
    ended: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    link: Option<Arc<Link>>,
    /// As they were listed last, by this process or the one that handed them over.
    tools: Option<Vec<McpToolSpec>>,
    /// Whether it offers resources, known with its tools.
    resources: bool,
    /// Why it did not start. It is not tried again.
    failed: Option<McpError>,
    crashes: u32,
    last_words: String,
}

impl Server {
    pub(crate) fn new(
        name: String,
        part: String,
        origin: String,
        config: McpServerConfig,
        host: Arc<McpHost>,
    ) -> Self {
        Self {
            name,
            part,
            origin,
            config,
            host,
            state: Mutex::default(),
            ended: CancellationToken::new(),
        }
    }

    /// The same with what another process has listed of it.
    pub(crate) fn listed(mut self, entry: &McpServer) -> Self {
        let state = self.state.get_mut();
        state.tools.clone_from(&entry.tools);
        state.resources = entry.resources;
        self
    }

    /// Its tools: as they were listed, else as it lists them once it is up.
    pub(crate) async fn tools(&self) -> Result<Vec<McpToolSpec>, McpError> {
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

    /// Starts it, whether its tools are known or not.
    pub(crate) async fn start(&self) -> Result<(), McpError> {
        self.link(&mut *self.state.lock().await).await.map(drop)
    }

    /// The tools that are known without starting it.
    pub(crate) async fn known_tools(&self) -> Option<Vec<McpToolSpec>> {
        self.state.lock().await.tools.clone()
    }

    /// Calls one of its tools.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        ctx: &ToolContext,
    ) -> Result<Answer, McpError> {
        let terms = self.terms(ctx);
        let link = self.up(&terms).await?;
        let called = link.connection().call(tool, arguments, &terms);
        self.until_ended(called).await
    }

    /// Its resources, as it lists them.
    pub(crate) async fn resources(&self, ctx: &ToolContext) -> Result<Vec<Value>, McpError> {
        let link = self.up(&self.terms(ctx)).await?;
        let listed = link.connection().resources(self.host.limits.call);
        self.until_ended(listed).await
    }

    /// Reads one of its resources.
    pub(crate) async fn read_resource(
        &self,
        uri: &str,
        ctx: &ToolContext,
    ) -> Result<Answer, McpError> {
        let terms = self.terms(ctx);
        let link = self.up(&terms).await?;
        let read = link.connection().read_resource(uri, &terms);
        self.until_ended(read).await
    }

    /// The text of one of its prompts, asked for by a person.
    pub(crate) async fn prompt(
        &self,
        fits: impl Fn(&str) -> bool,
        words: &str,
    ) -> Result<String, McpError> {
        let terms = CallTerms {
            server: self.name.clone(),
            within: self.host.limits.call,
            cancel: CancellationToken::new(),
            host: None,
        };
        let link = self.up(&terms).await?;
        let asked = link.connection().prompt(fits, words, &terms);
        self.until_ended(asked).await
    }

    /// Whether it offers resources, as far as is known without starting it.
    pub(crate) async fn offers_resources(&self) -> bool {
        self.state.lock().await.resources
    }

    fn terms(&self, ctx: &ToolContext) -> CallTerms {
        CallTerms {
            server: self.name.clone(),
            within: self.host.limits.call,
            cancel: ctx.cancel.clone(),
            host: ctx.host.clone(),
        }
    }

    /// The way to it, unless the call is given up before.
    async fn up(&self, terms: &CallTerms) -> Result<Arc<Link>, McpError> {
        let link = async { self.link(&mut *self.state.lock().await).await };
        tokio::select! {
            link = link => link,
            () = terms.cancel.cancelled() => Err(McpError::Cancelled),
        }
    }

    async fn until_ended<T>(
        &self,
        call: impl Future<Output = Result<T, McpError>>,
    ) -> Result<T, McpError> {
        tokio::select! {
            answer = call => answer,
            () = self.ended.cancelled() => Err(McpError::Closed),
        }
    }

    pub(crate) fn host(&self) -> &McpHost {
        &self.host
    }

    /// The way to it, made if there is none.
    async fn link(&self, state: &mut State) -> Result<Arc<Link>, McpError> {
        if self.ended.is_cancelled() {
            return Err(McpError::Closed);
        }
        if let Some(link) = &state.link {
            if !link.is_closed() {
                return Ok(Arc::clone(link));
            }
            tracing::warn!(server = self.name, "an MCP server has ended by itself");
            state.crashes += 1;
            state.last_words = link.stderr();
            // What it has left behind goes with it.
            link.end(self.host.limits.grace).await;
            state.link = None;
        }
        if state.crashes > RESTARTS {
            return Err(McpError::Crashed {
                times: state.crashes,
                stderr: state.last_words.clone(),
            });
        }
        if let Some(error) = &state.failed {
            return Err(error.clone());
        }
        match Box::pin(connect(&self.part, &self.config, &self.host, &self.ended)).await {
            Ok((link, tools)) => {
                let link = Arc::new(link);
                state.resources = link.connection().offers_resources();
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

    /// Ends it, also when it is just starting. It does not come back.
    pub(crate) async fn end(&self) {
        self.ended.cancel();
        let link = self.state.lock().await.link.take();
        if let Some(link) = link {
            link.end(self.host.limits.grace).await;
        }
    }

    /// As [`Server::end`], without waiting.
    pub(crate) fn end_now(&self) {
        self.ended.cancel();
        // Who holds the state is starting it, and sees the token.
        if let Ok(mut state) = self.state.try_lock()
            && let Some(link) = state.link.take()
        {
            link.end_now();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end_now();
    }
}
