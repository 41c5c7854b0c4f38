//! Teams of real programs with models simulated by a server.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use parking_lot::Mutex;

use crate::bench::order::Order;
use crate::fake_api::{Ask, FakeApi, Recorded, Reply};
use crate::stage::{World, spawn_args};

/// Disables compaction.
const WINDOWS: &str = "anthropic/=1000000000";

/// The name of every team.
pub(crate) const TEAM: &str = "bench";
/// Timeout of every wait.
const LONGEST: Duration = Duration::from_mins(2);

/// A world, the server of its models, and the names of the requesting agents.
pub(crate) struct Played {
    // Dropped in this order: the world's processes exit before their server.
    pub(crate) world: World,
    pub(crate) api: FakeApi,
    asked: Receiver<String>,
}

impl Played {
    /// Creates a world with the programs to measure.
    pub(crate) fn new(
        order: &Order,
        brain: impl Fn(&Ask) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let (sender, asked): (Sender<String>, _) = channel();
        let sender = Mutex::new(sender);
        let api = FakeApi::forgetful(move |ask: &Ask| {
            // The receiver may be gone at the end.
            sender.lock().send(ask.agent.clone()).ok();
            brain(ask)
        });
        // On the file system of the world, so that programs are linked and not copied.
        let world = World::new(&order.program("swarm"), &order.programs)
            .with_teammate(&order.program("swarm-teammate"))
            .with_api(&api)
            .with_variable("SWARM_MODEL_WINDOWS", WINDOWS);
        Self { world, api, asked }
    }

    /// Returns `host:port` of the server.
    pub(crate) fn address(&self) -> String {
        self.api.base_url().trim_start_matches("http://").to_owned()
    }

    /// Waits for the next request of an agent, and returns its time.
    pub(crate) fn next_request(&self, agent: &str) -> Result<Recorded> {
        while self.next()? != agent {}
        self.api.last_of(agent).context("the recorded request")
    }

    /// Returns the next agent that sends a request.
    pub(crate) fn next(&self) -> Result<String> {
        match self.asked.recv_timeout(LONGEST) {
            Ok(agent) => Ok(agent),
            Err(RecvTimeoutError::Timeout) => bail!("no request\n{}", self.world.report()),
            Err(RecvTimeoutError::Disconnected) => bail!("the server is gone"),
        }
    }

    /// Discards requests that no test waited for.
    pub(crate) fn forget(&self) {
        while self.asked.try_recv().is_ok() {}
    }

    /// Spawns a headless member in bypass mode.
    pub(crate) fn spawn(&self, name: &str) {
        let prompt = "Hello. Wait for mail.";
        let more = ["--mode", "bypassPermissions", "--prompt", prompt];
        self.world.swarm(&spawn_args(name, "headless", &more)).ok();
    }

    /// Creates the team with idle members; returns their names and processes.
    pub(crate) fn idle_mates(&self, count: usize) -> Result<(Vec<String>, Vec<u32>)> {
        self.world.swarm(&["team", "create", TEAM]).ok();
        let names: Vec<String> = (0..count).map(|number| format!("mate-{number}")).collect();
        for name in &names {
            self.spawn(name);
        }
        for name in &names {
            self.wait_for_idle(name);
        }
        let pids = names.iter().map(|name| self.pid(name));
        let pids = pids.collect::<Result<_>>()?;
        Ok((names, pids))
    }

    /// Waits until a member reports that it is idle.
    pub(crate) fn wait_for_idle(&self, name: &str) {
        let team = self.world.team(TEAM);
        self.world.wait_for("the member is idle", || {
            // It reports its work after its request is sent, and before its messages count as read.
            let is_idle = !team.has_unread(name) && team.state(name)["state"] == "idle";
            is_idle.then_some(())
        });
    }

    /// Returns the process of a member.
    pub(crate) fn pid(&self, name: &str) -> Result<u32> {
        let pid = self.world.team(TEAM).hello(name)["pid"].as_u64();
        Ok(u32::try_from(pid.context("a pid")?)?)
    }
}

impl Drop for Played {
    fn drop(&mut self) {
        self.world.end_all();
        for server in self.world.own_servers() {
            server.end();
        }
    }
}

/// Waits until the machine is idle before the next measurement.
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}
