//! A world with the team `demo`, a user's tmux, and helpers to inspect its members.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::super::ground::{Locking, TeamFixture};
use super::super::workers::Programs;
use crate::fake_api::{Ask, Brain, FakeApi, Reply};
use crate::stage::{Finished, InsideTmux, Running, Tmux, World, spawn_args};

/// Backend of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In a pane next to the person, in their tmux.
    Split,
    /// On swarm's own tmux server.
    Own,
    /// Headless.
    Headless,
}

impl Place {
    /// All backends.
    pub const ALL: [Self; 3] = [Self::Split, Self::Own, Self::Headless];
}

/// A process that runs a member.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Teammate {
    /// Name of the member.
    pub name: String,
    /// Spawn id.
    pub spawn_id: String,
    /// Process id.
    pub pid: i32,
}

/// A world for fault tests. Fields are dropped in this order.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) inside: InsideTmux,
    pub(super) world: World,
    pub(super) api: FakeApi,
}

impl Scene {
    /// Creates a scene in which every model answers immediately and has nothing to do.
    pub(super) fn new(programs: &Programs) -> Self {
        Self::over(programs, |_: &Ask| Reply::text("done"))
    }

    /// Creates a scene with these answers.
    pub(super) fn over(programs: &Programs, brain: impl Brain + 'static) -> Self {
        let api = FakeApi::start(brain);
        let world = World::new(&programs.swarm, &programs.links).with_api(&api);
        let inside = InsideTmux::start(&world, 200, 50);
        Self { inside, world, api }
    }

    /// Creates the team.
    pub(super) fn with_team(self) -> Self {
        self.world.swarm(&["team", "create", "demo"]).ok();
        self
    }

    /// Returns the environment variables of a command for a backend.
    pub(super) fn variables(&self, place: Place) -> &[(String, String)] {
        match place {
            Place::Split => self.inside.variables(),
            Place::Own | Place::Headless => &[],
        }
    }

    /// Starts a spawn.
    pub(super) fn spawn(&self, name: &str, place: Place, more: &[&str]) -> Running {
        let arguments = [&spawn_words(name, place)[..], more].concat();
        self.world.start_with(&arguments, self.variables(place))
    }

    /// Returns the processes of members, identified by environment and name.
    pub(super) fn teammates(&self) -> Vec<Teammate> {
        let mut found = Vec::new();
        for (pid, command) in self.world.processes() {
            let variables = variables_of(pid);
            let program = command.split(' ').next().unwrap_or_default();
            if let (Some(name), Some(spawn_id)) =
                (variables.get("SWARM_NAME"), variables.get("SWARM_SPAWN_ID"))
                && Path::new(program).ends_with("swarm-teammate")
            {
                found.push(Teammate {
                    name: name.clone(),
                    spawn_id: spawn_id.clone(),
                    pid,
                });
            }
        }
        found.sort();
        found
    }

    /// Returns all processes with the mark of a spawn.
    fn marked(&self) -> Vec<(i32, String)> {
        let mut found = self.world.processes();
        found.retain(|(pid, _)| variables_of(*pid).contains_key("SWARM_SPAWN_ID"));
        found
    }

    /// Returns the panes of members on every server.
    fn tagged_panes(&self) -> Vec<String> {
        let list = |tmux: &Tmux| {
            let panes = tmux.try_run(&["list-panes", "-a", "-F", "#{@swarm_spawn} #{pane_id}"]);
            let panes = panes.unwrap_or_default();
            let tagged = panes.lines().filter(|line| !line.starts_with(' '));
            tagged.map(str::to_owned).collect::<Vec<_>>()
        };
        let mut panes = list(self.inside.tmux());
        for server in self.world.own_servers() {
            if server.socket() != self.inside.tmux().socket() {
                panes.extend(list(&server));
            }
        }
        panes
    }

    /// Asserts that the state is complete: the next command succeeds, and every file is a document.
    #[track_caller]
    pub(super) fn assert_whole(&self) -> Value {
        let status = self
            .world
            .swarm(&["status", "--team", "demo", "--json"])
            .json();
        self.ground().assert_whole();
        status
    }

    /// Returns the files of the team, as seen by the store.
    pub(super) fn ground(&self) -> TeamFixture {
        let mut ground = TeamFixture::at(&self.world.root(), Locking::Both);
        ground.team = "demo".parse().expect("a sound name");
        ground
    }

    /// Waits until the roster matches the processes of members one to one, after cleanup by the
    /// next commands. An interrupted spawn is undone when it expires.
    #[track_caller]
    pub(super) fn assert_roster_is_true(&self) {
        self.world
            .wait_for("processes and roster are the same", || {
                self.assert_whole();
                let config = self.world.team("demo").config();
                let mut listed = Vec::new();
                for member in config["members"].as_array()? {
                    let mark = &member["swarm"];
                    if member["name"] == "team-lead" || !mark["diedAt"].is_null() {
                        continue;
                    }
                    if !mark["reservation"].is_null() {
                        return None;
                    }
                    let word = |value: &Value| value.as_str().map(str::to_owned);
                    listed.push((word(&member["name"])?, word(&mark["spawnId"])?));
                }
                listed.sort();
                let living = self.teammates().into_iter();
                let living: Vec<_> = living.map(|one| (one.name, one.spawn_id)).collect();
                (living == listed).then_some(())
            });
    }

    /// Deletes the team by force and asserts that nothing is left: no process, pane, directory,
    /// lock or record.
    #[track_caller]
    pub(super) fn delete(&self, place: Place, more: &[&str]) -> Finished {
        let arguments = [&["team", "delete", "demo", "--force"][..], more].concat();
        let variables = self.variables(place);
        let deleted = self.world.start_with(&arguments, variables).wait();
        deleted.ok();
        assert!(!self.world.team("demo").directory().exists());
        assert!(!self.world.team("demo").tasks_directory().exists());
        deleted
    }

    /// Asserts that nothing is left of the team once all its commands have finished.
    #[track_caller]
    pub(super) fn assert_nothing_left(&self) {
        self.world
            .wait_for("no process bears the mark of a spawn", || {
                self.marked().is_empty().then_some(())
            });
        self.world.wait_for("no pane bears the tag of a spawn", || {
            self.tagged_panes().is_empty().then_some(())
        });
        assert!(!self.world.team("demo").directory().exists());
        assert!(!self.world.team("demo").tasks_directory().exists());
        let ground = self.ground();
        ground.age_temporaries();
        self.world.swarm(&["gc"]).ok();
        let litter = ground.litter();
        assert!(litter.is_empty(), "{litter:?}");
    }
}

/// Returns the arguments of a spawn.
pub(super) fn spawn_words(name: &str, place: Place) -> Vec<&str> {
    let backend = match place {
        Place::Split | Place::Own => "tmux",
        Place::Headless => "headless",
    };
    let more = [
        "--team",
        "demo",
        "--mode",
        "bypassPermissions",
        "--prompt",
        "hello",
    ];
    spawn_args(name, backend, &more)
}

/// Returns the initial environment of a process.
fn variables_of(pid: i32) -> BTreeMap<String, String> {
    let bytes = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let pairs = text.split('\0').filter_map(|entry| entry.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}
