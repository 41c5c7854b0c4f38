//! Teams of real programs whose models a server plays.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use parking_lot::Mutex;

use crate::bench::order::Order;
use crate::fake_api::{Ask, FakeApi, Recorded, Reply};
use crate::stage::World;

/// What is measured is not compacted.
const WINDOWS: &str = "anthropic/=1000000000";

/// A model whose answers come from the server.
pub(crate) const MODEL: &str = "anthropic/claude-sonnet-4-6";
/// The name of every team here.
pub(crate) const TEAM: &str = "bench";
/// Longest wait for anything.
const LONGEST: Duration = Duration::from_mins(2);

/// A world, the server behind its models, and the names of who asked it.
pub(crate) struct Played {
    // Dropped in this order: the world's processes end before their server.
    pub(crate) world: World,
    pub(crate) api: FakeApi,
    asked: Receiver<String>,
}

impl Played {
    /// Makes a world with the programs under measurement.
    pub(crate) fn new(
        order: &Order,
        brain: impl Fn(&Ask) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let (tell, asked): (Sender<String>, _) = channel();
        let tell = Mutex::new(tell);
        let api = FakeApi::forgetful(move |ask: &Ask| {
            // Nobody listens at the end.
            tell.lock().send(ask.agent.clone()).ok();
            brain(ask)
        });
        // On the file system of the world, so that programs are linked and not copied.
        let world = World::new(&order.program("swarm"), &order.programs)
            .with_teammate(&order.program("swarm-teammate"))
            .with_api(&api)
            .with_variable("SWARM_MODEL_WINDOWS", WINDOWS);
        Self { world, api, asked }
    }

    /// `host:port` of the server.
    pub(crate) fn address(&self) -> String {
        self.api.base_url().trim_start_matches("http://").to_owned()
    }

    /// Waits for the next request of an agent, and tells when it had come in.
    ///
    /// # Errors
    /// When none comes.
    pub(crate) fn next_request(&self, agent: &str) -> Result<Recorded> {
        while self.next()? != agent {}
        self.api.last_of(agent).context("the request that was told")
    }

    /// The next agent that asks.
    ///
    /// # Errors
    /// When none does.
    pub(crate) fn next(&self) -> Result<String> {
        match self.asked.recv_timeout(LONGEST) {
            Ok(agent) => Ok(agent),
            Err(RecvTimeoutError::Timeout) => bail!("nobody asked\n{}", self.world.report()),
            Err(RecvTimeoutError::Disconnected) => bail!("the server is gone"),
        }
    }

    /// Forgets requests that nobody waited for.
    pub(crate) fn forget(&self) {
        while self.asked.try_recv().is_ok() {}
    }

    /// Spawns a member without a terminal, which may do everything.
    pub(crate) fn spawn(&self, name: &str) {
        self.world
            .swarm(&[
                "spawn",
                name,
                "--model",
                MODEL,
                "--backend",
                "headless",
                "--mode",
                "bypassPermissions",
                "--prompt",
                "Hello. Wait for mail.",
            ])
            .ok();
    }

    /// Makes the team with members that have nothing to do; their names, and their processes.
    ///
    /// # Errors
    /// When one has said no hello.
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

    /// Waits until a member says that it is idle.
    pub(crate) fn wait_for_idle(&self, name: &str) {
        let team = self.world.team(TEAM);
        self.world.wait_for("the member is idle", || {
            // It says that it works once its request is out, and before its mail counts as read.
            let is_idle = !team.has_unread(name) && team.state(name)["state"] == "idle";
            is_idle.then_some(())
        });
    }

    /// The process of a member.
    ///
    /// # Errors
    /// When it has said no hello.
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

/// Lets the machine come to rest: what is measured next begins from there.
pub(crate) fn settle(time: Duration) {
    std::thread::sleep(time);
}
