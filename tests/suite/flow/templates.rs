//! Team templates with real programs.

use serde_json::json;
use swarm_tests::fake_api::{Ask, Reply};

use crate::scene::{MODEL, column, world, world_with};

const TEMPLATE: &str = r#"
name = "crew"
description = "two at work"
budget = "1M-tokens"

[[member]]
name = "alice"
prompt = "--hello"
model = "MODEL"
budget = "500k-tokens"

[[member]]
name = "bob"
mode = "acceptEdits"
model = "MODEL"

[[task]]
subject = "Use it"
blocked_by = ["make"]
owner = "bob"

[[task]]
ref = "make"
subject = "Make it"
owner = "alice"
checks = ["true"]
budget = "9$"
"#;

#[test]
fn a_template_starts_a_team_once_and_completes_it_later() {
    let (_api, world) = world_with(|_: &Ask| Reply::text("hi"));
    let text = TEMPLATE.replace("MODEL", MODEL);
    world.write("project/crew.toml", &text);
    let up = || {
        world
            .swarm(&["team", "up", "crew.toml", "--backend", "headless", "--json"])
            .json()
    };
    let first = up();
    assert_eq!(
        first,
        json!({"team": "crew", "created": true, "started": ["alice", "bob"], "tasks": ["1", "2"]})
    );
    let team = world.team("crew");
    assert_eq!(team.names(), ["team-lead", "alice", "bob"]);
    assert_eq!(team.hello("bob")["mode"], "acceptEdits");
    assert_eq!(team.task(1)["blockedBy"], json!(["2"]));
    assert_eq!(
        team.task(2)["metadata"]["swarm"]["checks"][0]["by"],
        "person"
    );
    let budgets = std::fs::read_to_string(team.directory().join("swarm/budgets.json")).unwrap();
    let budgets: serde_json::Value = serde_json::from_str(&budgets).unwrap();
    assert_eq!(
        budgets,
        json!({"team": "1000000-tokens", "members": {"alice": "500000-tokens"}, "tasks": {"2": "9$"}})
    );
    assert_eq!(team.frames("alice", "task_assignment").len(), 1);
    // Nothing is started or created twice.
    let second = up();
    assert_eq!(second["started"], json!([]));
    assert_eq!(second["tasks"], json!([]));
    // A stopped member returns, and a new task of the template is added.
    world.swarm(&["kill", "bob", "--team", "crew"]).ok();
    let more = format!("{text}\n[[task]]\nsubject = \"Sell it\"\nblocked_by = [\"make\"]\n");
    world.write("project/crew.toml", &more);
    let third = up();
    assert_eq!(third["started"], json!(["bob"]));
    assert_eq!(third["tasks"], json!(["3"]));
    assert_eq!(team.task(3)["blockedBy"], json!(["2"]));
    let down = world.swarm(&["team", "down", "crew.toml"]);
    assert!(
        down.ok().stdout.ends_with("team crew is down\n"),
        "{}",
        down.story()
    );
    assert!(!team.directory().exists());
    let again = world
        .swarm(&["team", "down", "crew.toml"])
        .ok()
        .stdout
        .clone();
    assert_eq!(again, "team crew was not up\n");
    // Not a template: the name may be a typo.
    let unknown = world.swarm(&["team", "down", "crew"]).code(3);
    assert!(
        unknown.stderr.contains("team `crew` not found"),
        "{}",
        unknown.story()
    );
    // Where they run is the same for all of them.
    let printed = world.swarm(&["team", "up", "crew.toml", "--backend", "headless"]);
    let told = printed.ok().stderr.matches("running headless").count();
    assert_eq!(told, 1, "{}", printed.story());
    world.swarm(&["team", "down", "crew.toml"]).ok();
    assert_eq!(
        column(&world.swarm(&["team", "list", "--json"]).json(), "name"),
        Vec::<String>::new()
    );
}

#[test]
fn a_wrong_template_creates_nothing_and_names_the_line() {
    let world = world();
    world.write("project/crew.toml", &TEMPLATE.replace("mode = ", "mod = "));
    let refused = world.swarm(&["team", "up", "crew.toml"]);
    let error = refused.code(2).stderr.clone();
    assert!(
        error.contains("crew.toml:14: unknown field `mod`"),
        "{error}"
    );
    let missing = world
        .swarm(&["team", "up", "nothing"])
        .code(2)
        .stderr
        .clone();
    assert!(
        missing.contains("built-in templates bugfix, feature, review"),
        "{missing}"
    );
    assert!(!world.team("crew").directory().exists());
}
