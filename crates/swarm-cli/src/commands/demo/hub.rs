//! The hub of `swarm demo --hub`, and the node on its second machine.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};
use std::time::Duration;

use swarm_os::{DirectoryWatcher, NameFilter, replace_alone};
use swarm_protocol::ErrorKind;
use swarm_store::{HubSettings, Nodes};
use tokio::time::timeout;

use super::machine::{Machine, TEAM};
use super::server::{DemoServer, Window};
use super::shell::Shell;
use super::stage::Stage;
use crate::app::{App, store_at};
use crate::commands::hub::{HUB_LOG, find_hub_server};
use crate::failure::{Failure, Result};

/// Name of the machine with the lead.
const LAPTOP: &str = "laptop";
/// Name of the other machine, and of its node.
const NODE: &str = "box";

/// How long the hub may take to start, and the node to join and to leave.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running hub, and what works with it. Stopped on drop.
pub(super) struct Hub<'a> {
    app: &'a App,
    stage: &'a Stage,
    second: &'a Machine,
    address: SocketAddr,
    server: Child,
}

/// Returns an address for a hub on this machine. Fails if no server is installed.
pub(super) fn address(app: &App) -> Result<SocketAddr> {
    find_hub_server(app).map_err(|missing| {
        missing.with_hint("install it, for example with `apt-get install nats-server`")
    })?;
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

impl<'a> Hub<'a> {
    pub(super) fn start(
        app: &'a App,
        stage: &'a Stage,
        second: &'a Machine,
        address: SocketAddr,
    ) -> Result<Self> {
        let mut command = stage.first.command(app, &std::env::current_exe()?);
        command
            .args(["hub", "start", "--port", &address.port().to_string()])
            // The members need it until they have ended: it is not ended as one of their machine.
            .env("HOME", stage.directory().join("hub"))
            .process_group(0)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(Self {
            app,
            stage,
            second,
            address,
            server: command.spawn()?,
        })
    }

    /// Creates the team, and opens the windows of the node and of the lead.
    pub(super) async fn open(&self, shell: Shell<'_>, lead: &[OsString]) -> Result<DemoServer> {
        let (first, second) = (&self.stage.first, self.second);
        in_time("the hub did not start", self.is_ready()).await?;
        let credentials = std::fs::read(first.credentials())?;
        replace_alone(&second.credentials(), &credentials).map_err(anyhow::Error::from)?;
        let url = format!("nats://{}", self.address);
        self.app.out.say(&format!(
            "Two config directories stand for two machines: {LAPTOP} and {NODE}.\n\
             The hub that both use is {url}.\n"
        ));
        let created = shell.swarm(first, &["team", "create", TEAM, "--hub"], false);
        let created = created.await?;
        if !created.status.success() {
            let said = String::from_utf8_lossy(&created.stderr);
            return Err(Failure::new(ErrorKind::Environment, said.trim().to_owned()));
        }
        shell.show(
            &format!("person@{NODE}"),
            &format!("swarm node join --name {NODE}"),
        );
        let hub = HubSettings {
            url,
            credentials: Some(first.credentials()),
            ca: None,
        };
        let nodes = store_at(&first.root()).nodes(hub)?;
        let words = self.node_command()?;
        let window = Window {
            session: NODE,
            name: "node",
            directory: &second.repo(),
            words: &words,
        };
        let mut server = DemoServer::start(self.app, self.stage, &window).await?;
        in_time("the node did not join", has_joined(&nodes)).await?;
        server.open_lead(&Window {
            session: LAPTOP,
            name: "team",
            directory: &first.repo(),
            words: lead,
        })?;
        Ok(server)
    }

    /// Lets the node leave, which ends the tmux server.
    pub(super) async fn close(&self, shell: Shell<'_>, server: &DemoServer) -> Result<()> {
        let first = &self.stage.first;
        shell.swarm(first, &["node", "drain", NODE], true).await?;
        if timeout(PATIENCE, server.ended()).await.is_err() {
            server.stop();
        }
        Ok(())
    }

    /// Waits until the server says that it is ready.
    async fn is_ready(&self) -> Result<()> {
        let watcher = DirectoryWatcher::new();
        let credentials = self.stage.first.credentials();
        let directory = credentials.parent().unwrap_or(&credentials);
        let mut log = watcher.subscribe(directory, NameFilter::Exact(vec![HUB_LOG.into()]));
        loop {
            // Before it is started there is no log.
            let said = std::fs::read_to_string(directory.join(HUB_LOG)).unwrap_or_default();
            if said.contains("Server is ready") {
                return Ok(());
            }
            log.changed().await;
        }
    }

    /// Returns the command of the node. A pane of tmux has the environment of its server.
    fn node_command(&self) -> Result<Vec<OsString>> {
        let mut words = vec![OsString::from("env")];
        for (name, value) in self.second.variables() {
            let mut pair = OsString::from(format!("{name}="));
            pair.push(value);
            words.push(pair);
        }
        words.push(std::env::current_exe()?.into());
        words.extend(["node", "join", "--name", NODE].map(OsString::from));
        Ok(words)
    }
}

impl Drop for Hub<'_> {
    fn drop(&mut self) {
        let stopped = self.server.kill().and_then(|()| self.server.wait());
        if let Err(error) = stopped {
            tracing::warn!(%error, "the hub of the demo is still running");
        }
    }
}

async fn in_time(late: &str, work: impl Future<Output = Result<()>>) -> Result<()> {
    timeout(PATIENCE, work).await.map_err(|_| {
        let message = format!("{late} within {} s", PATIENCE.as_secs());
        Failure::new(ErrorKind::Environment, message)
    })?
}

/// Waits until a node has joined.
async fn has_joined(nodes: &Nodes) -> Result<()> {
    let mut changes = nodes.watch();
    while nodes.nodes().await?.is_empty() {
        changes.changed().await;
    }
    Ok(())
}
