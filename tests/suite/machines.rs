//! Two machines and a hub: worlds with a home and a config directory each.

use std::net::{TcpListener, TcpStream};

use rustix::process::Signal;
use serde_json::Value;
use swarm_hubkit::{NatsServer, has_server};
use swarm_tests::fake_api::FakeApi;
use swarm_tests::stage::{Finished, Running, World};

use crate::pains::worktrees::git;
use crate::scene::{column, not_proven, spawn_args, wait_for_no_process, world};

/// Two machines and a hub, with the team `demo` of the first one.
pub(crate) struct Machines {
    pub(crate) first: World,
    pub(crate) second: World,
    /// The server, which the first machine runs.
    pub(crate) hub: Running,
    pub(crate) url: String,
    pub(crate) credentials: String,
}

impl Machines {
    pub(crate) fn start(second: World) -> Option<Self> {
        Self::with(world(), second)
    }

    /// Returns `None` if no server is installed, and says so.
    pub(crate) fn with(first: World, second: World) -> Option<Self> {
        let Some(port) = free_port_of_a_server(&first) else {
            not_proven("nats-server is not installed");
            return None;
        };
        let hub = first.start(&["hub", "start", "--port", &port.to_string()]);
        first.wait_until("the hub listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        let credentials = first.root().join("swarm/hub/credentials");
        let machines = Self {
            url: format!("nats://127.0.0.1:{port}"),
            credentials: credentials.to_str().unwrap().to_owned(),
            first,
            second,
            hub,
        };
        machines.on_hub(&machines.first, &["team", "create", "demo"]);
        Some(machines)
    }

    /// The project of the first machine is a repository with the file `song.txt`.
    pub(crate) fn with_repository(second: World) -> Option<Self> {
        let machines = Self::start(second)?;
        machines.first.write("project/song.txt", "one\n");
        machines.first.commit_project();
        Some(machines)
    }

    /// Both machines have a clone of a repository and have joined the team.
    pub(crate) fn with_clones(api: &FakeApi) -> Option<Self> {
        let (first, second) = (world().with_api(api), world().with_api(api));
        first.write("project/song.txt", "one\ntwo\nthree\n");
        first.commit_project();
        let origin = first.project();
        git(&second, &second.project(), &["init", "-q", "-b", "main"]);
        let pull = ["pull", "-q", origin.to_str().unwrap(), "HEAD"];
        git(&second, &second.project(), &pull);
        let machines = Self::with(first, second)?;
        machines.on_hub(&machines.second, &["team", "join", "demo"]);
        Some(machines)
    }

    /// The options that name the hub.
    pub(crate) fn hub_options(&self) -> [&str; 4] {
        ["--hub", &self.url, "--credentials", &self.credentials]
    }

    /// Runs a command with the options that name the hub.
    #[track_caller]
    pub(crate) fn on_hub(&self, machine: &World, words: &[&str]) {
        machine.swarm(&[words, &self.hub_options()].concat()).ok();
    }

    /// The arguments of a node with this name.
    pub(crate) fn node_args<'a>(&'a self, name: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let [_, url, credentials, file] = self.hub_options();
        let fixed = ["node", "join", url, credentials, file, "--name", name];
        [&fixed, more].concat()
    }

    /// Starts the node `box` on the second machine.
    pub(crate) fn node(&self, more: &[&str]) -> Running {
        let node = self.second.start(&self.node_args("box", more));
        self.first
            .wait_until("the node has joined", || self.state_of_node() == "ready");
        node
    }

    pub(crate) fn nodes(&self) -> Value {
        self.first.swarm(&["node", "list", "--json"]).json()
    }

    pub(crate) fn state_of_node(&self) -> String {
        column(&self.nodes(), "state").concat()
    }

    pub(crate) fn members(&self) -> Vec<String> {
        let status = self.first.swarm(&["status", "--json"]).json();
        column(&status["members"], "name")
    }

    /// Ends the hub, and proves that nothing is left running.
    pub(crate) fn end(self) {
        wait_for_no_process(&self.second);
        self.hub.signal(Signal::INT);
        self.hub.wait();
        wait_for_no_process(&self.first);
    }

    /// Drains the node first. Returns how it ended.
    #[track_caller]
    pub(crate) fn end_with_node(self, node: Running) -> Finished {
        self.first.swarm(&["node", "drain", "box"]).ok();
        let ended = node.wait();
        ended.ok();
        self.end();
        ended
    }

    /// Deletes the team on both machines first.
    pub(crate) fn end_with_team(self) {
        for machine in [&self.second, &self.first] {
            machine.swarm(&["team", "delete", "demo", "--force"]).ok();
        }
        self.end();
    }
}

/// The arguments of a headless spawn in mode `bypassPermissions` with the prompt `hello`.
pub(crate) fn hello_args<'a>(name: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fixed = ["--mode", "bypassPermissions", "--prompt", "hello"];
    spawn_args(name, "headless", &[&fixed, more].concat())
}

/// The record of a member in `swarm status`, as a machine sees it; null if there is none.
pub(crate) fn member(machine: &World, name: &str) -> Value {
    let status = machine.swarm(&["status", "--json"]).json();
    let members = status["members"].as_array().unwrap();
    let found = members.iter().find(|member| member["name"] == name);
    found.cloned().unwrap_or_default()
}

/// The record of bob.
pub(crate) fn bob(machine: &World) -> Value {
    member(machine, "bob")
}

/// A server without users, with the team `demo` of a machine. Returns `None` if none is installed, and
/// says so.
pub(crate) fn server_of(machine: &World, config: Option<&str>) -> Option<NatsServer> {
    if !has_server() {
        not_proven("nats-server is not installed");
        return None;
    }
    let directory = machine.directory().join("nats");
    let server = match config {
        Some(config) => NatsServer::with_config(&directory, config),
        None => NatsServer::start(&directory, &[]),
    };
    let create = ["team", "create", "demo", "--hub", &server.url()];
    machine.swarm(&create).ok();
    Some(server)
}

/// A port for a server; `None` if none is installed.
pub(crate) fn free_port_of_a_server(world: &World) -> Option<u16> {
    let look = "PATH=\"$PATH:/usr/sbin:/usr/local/sbin\" command -v nats-server";
    let found = world.command("sh").args(["-c", look]).output().unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    found
        .status
        .success()
        .then(|| free.local_addr().unwrap().port())
}
