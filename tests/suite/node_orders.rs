//! Orders for nodes: refused, cancelled, replaced, and those of a node whose teams do not answer.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use swarm_hubkit::{Link, NatsServer};
use swarm_protocol::{SpawnId, SystemClock, TeamName};
use swarm_store::{BlockOn as _, HubSettings, HubStore, TeamStore as _};
use swarm_tests::fake_api::FakeApi;
use swarm_tests::stage::{Running, World};

use crate::machines::{Machines, hello_args, server_of};
use crate::nodes::says_done;
use crate::scene::{spawn_args, wait_for_no_process, world};

/// A machine whose teammates never say hello. Their program is in the scratch world.
fn world_with_silent_teammate(scratch: &World) -> World {
    let silent = scratch.write("silent", "#!/bin/sh\nexec sleep 1000\n");
    std::fs::set_permissions(&silent, PermissionsExt::from_mode(0o755)).unwrap();
    world().with_teammate(&silent)
}

#[test]
fn a_second_spawn_of_a_name_is_refused_before_its_repository_is_looked_at() {
    let (scratch, api) = (world(), says_done());
    let silent = world_with_silent_teammate(&scratch).with_api(&api);
    let Some(machines) = Machines::with_repository(silent) else {
        return;
    };
    let first = &machines.first;
    let node = machines.node(&["--slots", "2"]);
    let words = spawn_args("bob", "headless", &["--on", "box", "--json"]);
    let spawning = first.start(&words);
    first.wait_until("the node spawns", || node.stdout().contains("spawn bob"));
    // A checkout with changes is refused as well, but later.
    first.write("project/song.txt", "two\n");
    // The node has taken the order.
    for more in [vec![], vec!["--replace"]] {
        let refused = first.swarm(&[&words[..], &more].concat()).error(4);
        let told = refused["message"].as_str().unwrap();
        assert!(told.contains("a node has an order to spawn"), "{refused}");
        let hint = refused["hint"].as_str().unwrap();
        assert!(
            hint.starts_with("wait until it is carried out"),
            "{refused}"
        );
    }
    spawning.signal(Signal::INT);
    spawning.wait().error(130);
    assert_eq!(machines.members(), ["team-lead"]);
    node.signal(Signal::INT);
    node.wait().ok();
    machines.end();
}

#[test]
fn an_order_is_cancelled_with_its_command_and_fails_with_its_node() {
    let scratch = world();
    let Some(machines) = Machines::start(world_with_silent_teammate(&scratch)) else {
        return;
    };
    let (first, second) = (&machines.first, &machines.second);
    let node = machines.node(&["--slots", "1"]);
    let began = |node: &Running, times| {
        first.wait_until("the node spawns", || {
            node.stdout().matches("spawn bob").count() == times
        });
    };
    let words = spawn_args("bob", "headless", &["--on", "box", "--json"]);
    let interrupted = first.start(&words);
    began(&node, 1);
    interrupted.signal(Signal::INT);
    let said = interrupted.wait().error(130);
    assert!(
        said["message"].as_str().unwrap().starts_with("on box: "),
        "{said}"
    );
    assert_eq!(machines.members(), ["team-lead"]);

    let failing = first.start(&words);
    began(&node, 2);
    node.signal(Signal::KILL);
    let said = failing.wait().error(7);
    assert_eq!(
        said["message"],
        "node box was lost while it carried out the order, which is not repeated"
    );
    first.wait_until("the spawn is undone", || {
        machines.members() == ["team-lead"]
    });
    wait_for_no_process(second);
    let removed = first.swarm(&["node", "drain", "box"]);
    assert_eq!(removed.ok().stdout, "box was lost and is removed\n");
    assert_eq!(machines.nodes().as_array().unwrap().len(), 0);
    let node = machines.node(&[]);
    node.signal(Signal::TERM);
    node.wait().ok().stdout_lacks("spawn");
    machines.end();
}

/// Returns how many orders of the team `demo` no node has taken.
fn open_orders(machines: &Machines) -> usize {
    let hub = HubSettings {
        url: machines.url.clone(),
        credentials: Some(machines.credentials.clone().into()),
        ca: None,
    };
    let store = HubStore::new(machines.first.root(), hub, Arc::new(SystemClock)).unwrap();
    let team = store.team(&TeamName::parse("demo").unwrap());
    let orders = team.orders().unwrap();
    let open = orders.open_or_taken(SpawnId::random()).block_on();
    open.unwrap().len()
}

#[test]
fn a_spawn_with_replace_withdraws_an_order_that_no_node_has_taken() {
    let api = says_done();
    let Some(machines) = Machines::start(world().with_api(&api)) else {
        return;
    };
    let first = &machines.first;
    let node = machines.node(&[]);
    // It takes no orders, and continues before its lease ends.
    node.signal(Signal::STOP);
    let spawn = |prompt, more: &[&'static str]| {
        let fixed = ["--mode", "bypassPermissions", "--on", "box", "--json"];
        let words = [&fixed[..], &["--prompt", prompt], more].concat();
        first.start(&spawn_args("bob", "headless", &words))
    };
    let replaced = spawn("the first", &[]);
    first.wait_until("the order is there", || open_orders(&machines) == 1);
    let refused = spawn("the second", &[]).wait().error(4);
    let hint = refused["hint"].as_str().unwrap();
    assert!(hint.contains("`--replace`"), "{refused}");
    let spawned = spawn("the third", &["--replace"]);
    let told = replaced.wait().error(4);
    assert_eq!(
        told["message"],
        "node box had not begun when another command replaced the order: nothing was done"
    );
    node.signal(Signal::CONT);
    spawned.wait().ok();
    let asked = api.wait_for("the prompt", "bob", |ask| ask.news_has("the third"));
    assert!(!asked.ask.has_seen("the first"));
    first.swarm(&["kill", "bob"]).ok();
    machines.end_with_node(node);
}

/// Two teams on a hub. The second machine has joined `two` over a link, by which its node reaches the
/// hub, and runs eve of `two`, who does not use it.
struct TwoTeams {
    first: World,
    second: World,
    link: Link,
    node: Running,
    /// The node reaches the hub as long as it runs.
    _server: NatsServer,
}

impl TwoTeams {
    /// Returns `None` if no server is installed, and says so. `prepare` is done before the node joins.
    fn start(api: &FakeApi, prepare: impl FnOnce(&Link)) -> Option<Self> {
        let (first, second) = (world(), world().with_api(api));
        let server = server_of(&first, None)?;
        let url = server.url();
        first.swarm(&["team", "create", "two", "--hub", &url]).ok();
        let link = Link::to(server.port());
        let join = |url: &str| {
            second.swarm(&["team", "join", "two", "--hub", url]).ok();
        };
        join(&url);
        second.swarm(&hello_args("eve", &["--team", "two"])).ok();
        join(&link.url());
        prepare(&link);
        let node = ["node", "join", &link.url(), "--name", "box", "--slots", "3"];
        let teams = Self {
            node: second.start(&node),
            first,
            second,
            link,
            _server: server,
        };
        teams.first.wait_until("the node has joined", || {
            teams.nodes().as_array().is_some_and(|all| !all.is_empty())
        });
        Some(teams)
    }

    fn nodes(&self) -> Value {
        let nodes = ["node", "list", "--json", "--team", "demo"];
        self.first.swarm(&nodes).json()
    }

    /// Waits until the node has reported these members.
    fn wait_for_members(&self, expected: &Value) {
        let has_reported = || self.nodes()[0]["members"] == *expected;
        self.first.wait_until("its members are known", has_reported);
    }

    /// Lets the node spawn a member of `demo`, which takes less time than a request that is not answered.
    fn spawns_soon(&self, name: &str) {
        let began = Instant::now();
        let options = ["--on", "box", "--team", "demo"];
        self.first.swarm(&hello_args(name, &options)).ok();
        let took = began.elapsed();
        assert!(self.link.has_lost());
        assert!(took + Duration::from_secs(5) < UNANSWERED, "{took:?}");
    }

    /// Drains the node, and ends everything.
    fn end(self, members: &[(&str, &str)]) {
        for (name, team) in members {
            self.first.swarm(&["kill", name, "--team", team]).ok();
        }
        self.first.swarm(&["node", "drain", "box"]).ok();
        self.node.wait().ok();
        for machine in [&self.second, &self.first] {
            wait_for_no_process(machine);
        }
    }
}

/// A request to a hub that does not answer ends after this time.
const UNANSWERED: Duration = Duration::from_secs(20);

#[test]
fn a_node_takes_orders_at_once_although_another_team_does_not_answer() {
    let api = says_done();
    let mute = |link: &Link| link.mute_after("swarm-two");
    let Some(teams) = TwoTeams::start(&api, mute) else {
        return;
    };
    teams.spawns_soon("bob");
    teams.link.heal();
    teams.wait_for_members(&json!(["bob@demo", "eve@two"]));
    // It has answered since.
    mute(&teams.link);
    teams.spawns_soon("carl");
    teams.link.heal();
    teams.end(&[("bob", "demo"), ("carl", "demo"), ("eve", "two")]);
}

#[test]
fn a_drained_node_does_not_wait_for_a_team_that_does_not_answer() {
    let api = says_done();
    let Some(teams) = TwoTeams::start(&api, |_| {}) else {
        return;
    };
    teams.wait_for_members(&json!(["eve@two"]));
    // Messages are read when it is found out whether she is lost, but not to find out who runs.
    teams.link.mute_after("swarm.two.log.inbox");
    let words = ["shutdown", "eve", "--team", "two"];
    teams.first.swarm(&words).ok();
    let is_asked = || teams.link.has_lost();
    teams.first.wait_until("the node asks", is_asked);
    let began = Instant::now();
    teams.first.swarm(&["node", "drain", "box"]).ok();
    let ended = teams.node.wait();
    let took = began.elapsed();
    ended.ok().stdout_has("two: eve has stopped");
    assert!(took < UNANSWERED / 2, "{took:?}");
    teams.link.heal();
    for machine in [&teams.second, &teams.first] {
        wait_for_no_process(machine);
    }
}
