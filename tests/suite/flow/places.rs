//! The same work in three places: on a tmux server of swarm's own, in the user's tmux, and without a terminal.

use serde_json::Value;
use swarm_tests::fake_api::{FakeApi, Gate};
use swarm_tests::stage::{Finished, InsideTmux, PaneLine, Team, Tmux, World};

use super::work::{MATES, PROMPT, SUMMARY, TEAM, prepare, script};
use crate::scene::{MODEL, column, spawn_in_pane, world, world_saying, world_with};

/// A team at work, held before its final answer.
pub(super) struct AtWork {
    pub(super) world: World,
    pub(super) api: FakeApi,
    model: &'static str,
    gate: Gate,
}

impl AtWork {
    pub(super) fn new() -> Self {
        let gate = Gate::closed();
        let (api, world) = world_with(script(&gate));
        Self::in_world(world, api, gate, MODEL)
    }

    /// The same team, whose models are asked through the chat completions API.
    pub(super) fn over_chat() -> Self {
        let gate = Gate::closed();
        let api = FakeApi::start(script(&gate));
        let world = world().with_chat_api(&api);
        Self::in_world(world, api, gate, "openai/gpt-oss:20b")
    }

    fn in_world(world: World, api: FakeApi, gate: Gate, model: &'static str) -> Self {
        prepare(&world);
        Self {
            world,
            api,
            model,
            gate,
        }
    }

    /// Runs the whole work; `look` sees the team while the tester's report is held back.
    pub(super) fn run(
        &self,
        backend: &str,
        variables: &[(String, String)],
        look: impl FnOnce(),
    ) -> Finished {
        let arguments = [
            "run",
            PROMPT,
            "--model",
            self.model,
            "--mode",
            "bypassPermissions",
            "--backend",
            backend,
            "--output",
            "json",
            "--timeout",
            "50",
        ];
        let running = self.world.start_with(&arguments, variables);
        self.world.wait_until(
            &format!("the tester is about to report\n{}", self.api.summary()),
            || self.world.team(TEAM).task(3)["status"] == "completed",
        );
        look();
        // What the others have to say is in the lead's inbox first, so that the tester's report is the last news.
        for mate in &MATES[..2] {
            self.world.wait_until(&format!("the report of {mate}"), || {
                let notices = self
                    .world
                    .team(TEAM)
                    .frames("team-lead", "idle_notification");
                let is_its = |notice: &Value| {
                    let text = notice["result"].as_str().unwrap_or_default();
                    notice["from"] == *mate && text.starts_with("I ")
                };
                notices.iter().any(is_its)
            });
        }
        self.gate.open();
        running.wait()
    }
}

/// What holds wherever the team works.
pub(super) fn assert_done(work: &AtWork, finished: &Finished) {
    let report = finished.json();
    assert_eq!(report["result"], SUMMARY, "{}", finished.story());
    assert_eq!(report["outcome"], "completed");
    assert_eq!(column(&report["tasks"], "state"), ["completed"; 3]);
    let team = work.world.team(TEAM);
    assert_eq!(column(&Value::from(team.tasks()), "owner"), MATES);
    assert_eq!(team.names(), ["team-lead"], "the members were ended");
    assert_eq!(team.events("member_stopped").len(), 3);
    assert_eq!(team.events("member_died").len(), 0);
    let greeting = std::fs::read_to_string(work.world.project().join("greet.sh")).unwrap();
    assert_eq!(greeting, "# Greets.\necho Hello, world\n");
    let leftover =
        std::fs::read_dir(team.directory().join("swarm/requests")).map_or(0, Iterator::count);
    assert_eq!(leftover, 0);
}

/// Every teammate has a pane that shows its work.
fn assert_panes(work: &AtWork, tmux: &Tmux, but: &[&str]) -> Vec<PaneLine> {
    let panes: Vec<PaneLine> = tmux
        .panes()
        .into_iter()
        .filter(|pane| !but.contains(&pane.id.as_str()))
        .collect();
    assert_eq!(panes.len(), 3, "{}", tmux.picture());
    for (mate, sign) in MATES.iter().zip(["Grep", "Edit", "check.sh"]) {
        let pane = panes.iter().find(|pane| pane.title.contains(mate));
        let pane = pane.unwrap_or_else(|| panic!("no pane of {mate}\n{}", tmux.picture()));
        tmux.wait_for_text(&pane.id, sign);
        let text = tmux.whole_text(&pane.id);
        assert!(!text.contains("sk-test"), "{text}");
        assert_eq!(
            work.world.team(TEAM).member(mate).unwrap()["tmuxPaneId"],
            pane.id.as_str()
        );
        assert!(
            !pane.is_dead && pane.width >= 20 && pane.height >= 5,
            "{pane:?}"
        );
    }
    panes
}

#[test]
fn outside_tmux_the_team_works_on_its_own_server() {
    let work = AtWork::new();
    let finished = work.run("auto", &[], || {
        let servers = work.world.own_servers();
        assert_eq!(servers.len(), 1, "{}", work.world.report());
        let panes = assert_panes(&work, &servers[0], &[]);
        assert!(
            panes
                .iter()
                .all(|pane| pane.window == "claude-swarm:swarm-view"),
            "{panes:?}"
        );
        let socket = servers[0].socket().display().to_string();
        assert!(socket.contains("claude-swarm-"), "{socket}");
        assert_eq!(
            work.world.team(TEAM).member("tester").unwrap()["swarm"]["socket"],
            socket.as_str()
        );
    });
    assert_done(&work, &finished);
    let left: Vec<_> = work
        .world
        .own_servers()
        .iter()
        .flat_map(Tmux::panes)
        .collect();
    assert_eq!(left, []);
}

#[test]
fn inside_tmux_the_team_works_next_to_its_lead_and_leaves_nothing() {
    let work = AtWork::new();
    let inside = InsideTmux::start(&work.world, 200, 50);
    let options = || inside.tmux().run(&["show-options", "-g"]);
    let before = options();
    let finished = work.run("auto", inside.variables(), || {
        let panes = assert_panes(&work, inside.tmux(), &[inside.pane()]);
        assert!(
            panes.iter().all(|pane| pane.window == "user:work"),
            "{panes:?}"
        );
        let all = inside.tmux().panes();
        let lead = all.iter().find(|pane| pane.id == inside.pane()).unwrap();
        assert!(lead.is_active, "the keyboard stays where it was: {all:?}");
        assert!(
            (50..=70).contains(&lead.width),
            "about a third for the lead: {all:?}"
        );
        assert!(work.world.own_servers().is_empty());
    });
    assert_done(&work, &finished);
    let left = inside.tmux().panes();
    assert_eq!(left.len(), 1, "{}", inside.tmux().picture());
    assert_eq!(
        (left[0].id.as_str(), left[0].width, left[0].height),
        (inside.pane(), 200, 50)
    );
    assert_eq!(options(), before, "no option of the server has changed");
}

/// Asserts that a member without a pane has logged its work. Returns its entry in the roster.
fn assert_logged(team: &Team, mate: &str, backend: &str) -> Value {
    let member = team.member(mate).unwrap();
    assert_eq!(member["backendType"], backend, "{member}");
    let log = std::fs::read_to_string(team.member_directory(mate).join("output.log")).unwrap();
    assert!(log.contains("TaskUpdate"), "{log}");
    member
}

#[test]
fn without_a_terminal_the_team_works_as_well() {
    let work = AtWork::new();
    let finished = work.run("headless", &[], || {
        let team = work.world.team(TEAM);
        for mate in MATES {
            assert_logged(&team, mate, "headless");
        }
        assert!(work.world.own_servers().is_empty());
    });
    assert_done(&work, &finished);
}

#[test]
fn in_the_process_of_its_lead_the_team_works_as_well() {
    let work = AtWork::new();
    let finished = work.run("in-process", &[], || {
        let team = work.world.team(TEAM);
        let lead = team.life("team-lead");
        for mate in MATES {
            let member = assert_logged(&team, mate, "in-process");
            let life = team.life(mate);
            assert_eq!(life["kind"], "task", "{life}");
            assert_eq!(life["pid"], lead["pid"]);
            let pane = member["tmuxPaneId"].as_str().unwrap();
            assert_eq!(
                pane,
                format!("in-process:{}", life["spawnId"].as_str().unwrap())
            );
        }
        assert!(work.world.own_servers().is_empty());
    });
    assert_done(&work, &finished);
}

#[test]
fn without_a_lead_process_the_oldest_teammate_arranges_the_window_when_it_is_resized() {
    let (_api, world) = world_saying("done");
    let inside = InsideTmux::start(&world, 200, 50);
    for name in ["ada", "bob"] {
        spawn_in_pane(&world, &inside, name, &[]).ok();
    }
    let becomes = |columns: &str, rows: &str, expected: &[&str]| {
        let target = ["resize-window", "-t", inside.pane()];
        let size = ["-x", columns, "-y", rows];
        inside.tmux().run(&[&target[..], &size].concat());
        world.wait_until(&format!("panes of {expected:?} columns"), || {
            let query = ["list-panes", "-t", inside.pane(), "-F", "#{pane_width}"];
            let widths = inside.tmux().run(&query);
            widths.lines().collect::<Vec<_>>() == expected
        });
    };
    becomes("160", "40", &["60", "99", "99"]);
    becomes("100", "40", &["100"]);
    let panes = inside.tmux().panes();
    assert_eq!(panes.len(), 3, "all members have panes: {panes:?}");
    world.swarm(&["kill", "ada", "bob"]).ok();
}
