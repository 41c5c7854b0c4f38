//! The MCP servers shared by the agents of a process.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::{join_all, try_join_all};
use swarm_permissions::{McpServer, McpServerConfig, McpSettings, McpUse};
use swarm_tools::Tool;

use crate::name::server_part;
use crate::resource_tools::resource_tools;
use crate::server::Server;
use crate::tool::tools_of;
use crate::{McpError, McpHost, McpProblem, Result};

/// The result of testing one server.
#[derive(Debug)]
pub struct ServerReport {
    /// The server's name.
    pub server: String,
    /// Where the server is configured.
    pub origin: String,
    /// The names of its tools as used in rules, or the error.
    pub tools: Result<Vec<String>>,
    /// How long the test took.
    pub took: Duration,
    /// Whether the sandbox of the agent's commands confines its program.
    pub is_sandboxed: bool,
}

/// The shared servers of a process. Each starts when its unknown tools are requested, or at its
/// first call; all agents use one connection.
#[derive(Debug)]
pub struct McpServers {
    pub(crate) servers: BTreeMap<String, Arc<Server>>,
    refused: Vec<McpProblem>,
    settings: McpSettings,
    host: Arc<McpHost>,
}

impl McpServers {
    /// Creates the servers of these settings without starting any.
    pub fn new(settings: McpSettings, host: McpHost) -> Self {
        let host = Arc::new(host);
        let (mut servers, mut refused) = (BTreeMap::new(), Vec::new());
        let mut parts = BTreeSet::new();
        for (name, entry) in &settings.servers {
            let part = server_part(name).and_then(|part| {
                if parts.insert(part.clone()) {
                    return Ok(part);
                }
                Err(format!(
                    "another server's tools also use the prefix `mcp__{part}__`"
                ))
            });
            match part {
                Ok(part) => {
                    let server = Arc::new(Server::new(name, part, entry, &host));
                    servers.insert(name.clone(), server);
                }
                Err(why) => refused.push(McpProblem::new(name, &entry.origin, why)),
            }
        }
        Self {
            servers,
            refused,
            settings,
            host,
        }
    }

    /// Returns the tools of an agent: those of all shared servers and of its private servers, which
    /// are started now, concurrently. Waits until each server has listed its tools or failed. A
    /// private server replaces a shared one with the same name. With an empty `uses`, it returns
    /// what all agents of the process share.
    pub async fn for_agent(&self, uses: &[McpUse], origin: &str) -> AgentServers {
        let mut agent = AgentServers::default();
        agent.problems.clone_from(&self.refused);
        let mut servers = self.servers.clone();
        for wanted in uses {
            match wanted {
                McpUse::Shared(name) if self.settings.servers.contains_key(name) => {}
                McpUse::Shared(name) => {
                    let why = McpError::Unknown(self.names());
                    agent.problems.push(McpProblem::new(name, origin, why));
                }
                McpUse::Own(name, config) => {
                    match self.private_server(name, config, origin, &servers) {
                        Ok(server) => {
                            agent.own.push(Arc::clone(&server));
                            servers.insert(name.clone(), server);
                        }
                        Err(why) => agent.problems.push(McpProblem::new(name, origin, why)),
                    }
                }
            }
        }
        let listings = servers.values().map(|server| async move {
            let listed = server.tools().await;
            (server, listed)
        });
        let mut with_resources = Vec::new();
        for (server, listed) in join_all(listings).await {
            let problem = |why| McpProblem::new(&server.name, &server.origin, why);
            match listed {
                Ok(specs) => {
                    let (tools, refused) = tools_of(server, &specs);
                    agent.tools.extend(tools);
                    agent.problems.extend(refused.into_iter().map(problem));
                    if server.offers_resources().await {
                        with_resources.push(Arc::clone(server));
                    }
                }
                Err(error) => agent.problems.push(problem(error.to_string())),
            }
        }
        agent.tools.extend(resource_tools(with_resources));
        agent
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.servers.keys().cloned().collect()
    }

    fn private_server(
        &self,
        name: &str,
        config: &McpServerConfig,
        origin: &str,
        others: &BTreeMap<String, Arc<Server>>,
    ) -> Result<Arc<Server>, String> {
        let part = server_part(name)?;
        let same = |server: &&Arc<Server>| server.part == part && server.name != name;
        if let Some(other) = others.values().find(same) {
            let other = &other.name;
            return Err(format!(
                "its tools would have the same names as those of `{other}`"
            ));
        }
        let entry = McpServer {
            config: config.clone(),
            origin: origin.to_owned(),
            tools: None,
            resources: false,
        };
        Ok(Arc::new(Server::new(name, part, &entry, &self.host)))
    }

    /// Waits until the servers whose names contain these parts, ignoring case, have listed tools.
    ///
    /// # Errors
    /// The first server that fails, or a part that no server's name contains.
    pub async fn require(&self, parts: &[String]) -> Result<(), McpProblem> {
        let needed = parts.iter().map(|part| async move {
            let folded = part.to_lowercase();
            let matches_part = |server: &&Arc<Server>| server.name.to_lowercase().contains(&folded);
            let missing = |why: String| McpProblem::new(part, "required", why);
            let mut last = None;
            for server in self.servers.values().filter(matches_part) {
                match server.tools().await {
                    Ok(tools) if !tools.is_empty() => return Ok(()),
                    Ok(_) => last = Some(missing("the server has no tools".to_owned())),
                    Err(error) => last = Some(missing(error.to_string())),
                }
            }
            Err(last.unwrap_or_else(|| missing(McpError::Unknown(self.names()).to_string())))
        });
        try_join_all(needed).await.map(drop)
    }

    /// Returns the settings with the tools of each server, so that another process need not start a
    /// server to list its tools. An unusable server has no tools there, so that other processes do
    /// not wait for it again.
    pub async fn listed(&self) -> McpSettings {
        let mut settings = self.settings.clone();
        for (name, entry) in &mut settings.servers {
            let known = match self.servers.get(name) {
                Some(server) => {
                    entry.resources = server.offers_resources().await;
                    server.known_tools().await
                }
                None => None,
            };
            entry.tools = Some(known.unwrap_or_default());
        }
        settings
    }

    /// Starts every server and reports the results.
    pub async fn try_all(&self) -> Vec<ServerReport> {
        let tries = self.servers.values().map(|server| async move {
            let begun = Instant::now();
            let listed = async {
                server.start().await?;
                server.tools().await
            };
            let tools = listed.await.map(|specs| {
                let (tools, _) = tools_of(server, &specs);
                tools
                    .iter()
                    .map(|tool: &Arc<dyn Tool>| tool.name().to_owned())
                    .collect()
            });
            ServerReport {
                server: server.name.clone(),
                origin: server.origin.clone(),
                tools,
                took: begun.elapsed(),
                is_sandboxed: server.is_sandboxed().await,
            }
        });
        join_all(tries).await
    }

    /// Returns the servers rejected because of their names.
    pub fn refused(&self) -> &[McpProblem] {
        &self.refused
    }

    /// Stops every shared server, including those that are starting. A stopped server is not
    /// restarted.
    pub async fn close(&self) {
        join_all(self.servers.values().map(|server| server.stop())).await;
    }
}

/// Maximum characters per unavailable server in the system prompt.
const PROBLEM_CHARS: usize = 300;

/// The MCP tools of one agent: those of all shared servers and of its private servers, which stop
/// with this value.
#[derive(Debug, Default)]
pub struct AgentServers {
    /// The tools in a stable order: by server, then in the server's order.
    pub tools: Vec<Arc<dyn Tool>>,
    /// The unavailable servers and tools.
    pub problems: Vec<McpProblem>,
    pub(crate) own: Vec<Arc<Server>>,
}

impl AgentServers {
    /// Returns the problems as a block of the system prompt, so that the model can report missing
    /// tools.
    pub fn prompt_block(&self) -> Option<String> {
        if self.problems.is_empty() {
            return None;
        }
        let lines = self.problems.iter().map(|problem| {
            let line = problem.to_string();
            let line: String = line.chars().take(PROBLEM_CHARS).collect();
            format!("\n- {}", line.replace('\n', " "))
        });
        let lines: String = lines.collect();
        Some(format!(
            "# Unavailable MCP servers\nTheir tools are not available in this session. If you need one, say so.{lines}\n"
        ))
    }

    /// Stops the agent's private servers; shared ones keep running.
    pub async fn close(mut self) {
        let own = std::mem::take(&mut self.own);
        join_all(own.iter().map(|server| server.stop())).await;
    }
}

impl Drop for AgentServers {
    fn drop(&mut self) {
        for server in &self.own {
            server.kill();
        }
    }
}
