//! Servers for one test, and what calls their tools.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use swarm_mcp::{AgentServers, McpHost, McpLimits, McpServers};
use swarm_permissions::{McpBounds, McpServer, McpServerConfig, McpSettings};
use swarm_protocol::MemberName;
use swarm_tests::wait_for;
use swarm_tools::{CallHost, Caller, ToolContext, ToolOutput};
use tokio_util::sync::CancellationToken;

/// The server of the harness.
pub(super) const PROGRAM: &str = env!("CARGO_BIN_EXE_serves-mcp");

/// A directory, and servers in it.
pub(super) struct Bench {
    pub(super) directory: tempfile::TempDir,
    settings: McpSettings,
    limits: McpLimits,
}

impl Bench {
    pub(super) fn new() -> Self {
        let mut limits = McpLimits::from(McpBounds::default());
        // A loaded machine may be slow, and no test waits for this.
        limits.start = Duration::from_hours(1);
        limits.call = Duration::from_hours(1);
        limits.grace = Duration::from_millis(100);
        Self {
            directory: tempfile::tempdir().unwrap(),
            settings: McpSettings::default(),
            limits,
        }
    }

    /// Adds a program that is a server of this mode, under this name.
    pub(super) fn with(mut self, name: &str, mode: &str) -> Self {
        let config = self.stdio(name, mode);
        self.add(name, config);
        self
    }

    pub(super) fn with_limits(mut self, change: impl FnOnce(&mut McpLimits)) -> Self {
        change(&mut self.limits);
        self
    }

    pub(super) fn add(&mut self, name: &str, config: McpServerConfig) {
        let server = McpServer {
            config,
            origin: "the test".to_owned(),
            tools: None,
            resources: false,
        };
        self.settings.servers.insert(name.to_owned(), server);
    }

    pub(super) fn stdio(&self, name: &str, mode: &str) -> McpServerConfig {
        let starts = self.starts_file(name).display().to_string();
        McpServerConfig::Stdio {
            command: PROGRAM.to_owned(),
            args: ["--mode", mode, "--starts", &starts]
                .map(str::to_owned)
                .to_vec(),
            env: BTreeMap::new(),
            sandboxed: false,
        }
    }

    pub(super) fn servers(&self) -> McpServers {
        self.servers_of(self.settings.clone())
    }

    /// The servers, and those of an agent that names none.
    pub(super) async fn serve(&self) -> (McpServers, AgentServers) {
        let servers = self.servers();
        let agent = servers.for_agent(&[], "").await;
        (servers, agent)
    }

    pub(super) fn servers_of(&self, settings: McpSettings) -> McpServers {
        let path = std::env::var("PATH").unwrap_or_default();
        McpServers::new(
            settings,
            McpHost {
                cwd: self.directory.path().to_owned(),
                env: BTreeMap::from([("PATH".to_owned(), path)]),
                logs: Some(self.directory.path().to_owned()),
                limits: self.limits,
                sandbox: None,
            },
        )
    }

    fn starts_file(&self, name: &str) -> PathBuf {
        self.directory.path().join(format!("{name}.starts"))
    }

    /// The pids of what runs in the directory: servers, and what they were given no other directory for.
    pub(super) fn processes(&self) -> Vec<u32> {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| {
            std::fs::read_link(format!("/proc/{pid}/cwd"))
                .is_ok_and(|cwd| cwd == self.directory.path())
        })
        .collect()
    }

    /// The pids of every start of a server, in their order.
    pub(super) fn starts(&self, name: &str) -> Vec<u32> {
        let text = std::fs::read_to_string(self.starts_file(name)).unwrap_or_default();
        text.lines().map(|line| line.parse().unwrap()).collect()
    }
}

/// A separately started server, over HTTP.
pub(super) struct Foreign {
    child: Child,
    pub(super) url: String,
}

impl Foreign {
    pub(super) fn start(directory: &Path) -> Self {
        Self::start_as(directory, "well")
    }

    pub(super) fn start_as(directory: &Path, mode: &str) -> Self {
        let port = directory.join("port");
        let child = Command::new(PROGRAM)
            .args(["--mode", mode, "--http", &port.display().to_string()])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let port = wait_for(
            "the port",
            || "it was not written".to_owned(),
            || std::fs::read_to_string(&port).ok(),
        );
        Self {
            child,
            url: format!("http://127.0.0.1:{port}/mcp"),
        }
    }

    pub(super) fn config(&self) -> McpServerConfig {
        McpServerConfig::Http {
            url: self.url.clone(),
            headers: BTreeMap::from([("x-kit".to_owned(), "yes".to_owned())]),
        }
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Calls a tool with a text, as the engine does.
pub(super) async fn call(agent: &AgentServers, name: &str, text: &str) -> ToolOutput {
    call_until(agent, name, text, &CancellationToken::new()).await
}

pub(super) async fn call_until(
    agent: &AgentServers,
    name: &str,
    text: &str,
    cancel: &CancellationToken,
) -> ToolOutput {
    call_with(agent, name, json!({"text": text}), cancel, None).await
}

/// The same with any input, and an agent around the call.
pub(super) async fn call_with(
    agent: &AgentServers,
    name: &str,
    input: Value,
    cancel: &CancellationToken,
    host: Option<Arc<dyn CallHost>>,
) -> ToolOutput {
    let tool = agent.tools.iter().find(|tool| tool.name() == name);
    let tool = tool.unwrap_or_else(|| panic!("no {name}: {:?}", agent.problems));
    let context = ToolContext {
        host,
        cancel: cancel.clone(),
        tool_use_id: "one".to_owned(),
        ..ToolContext::new("/".into(), Caller::new(MemberName::lead()))
    };
    tool.call(input, &context).await
}

/// Whether a process runs; one that has ended and was not waited for does not.
pub(super) fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}
