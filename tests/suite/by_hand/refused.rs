//! Settings files with typos, as read-only commands report them.

use serde_json::{Value, json};
use swarm_tests::fake_api::Script;
use swarm_tests::stage::World;

use crate::scene::{spawn_idle, team_with, world};

fn settings(world: &World, content: &Value) {
    world.write("root/settings.json", &content.to_string());
}

#[test]
fn ineffective_rules_are_not_shown_as_effective() {
    let (_api, world) = team_with(Script::new());
    settings(
        &world,
        &json!({"permissions": {"deny": ["WebFecth", "Read(.env)"], "ask": ["WebSearch"]}}),
    );
    spawn_idle(&world, "bob");
    let shown = world.swarm(&["permissions", "bob"]).ok().stdout.clone();
    let line = |word: &str| {
        let found = shown.lines().find(|line| line.contains(word));
        found.unwrap_or_else(|| panic!("{word}: {shown}"))
    };
    assert!(line("Read(.env)").starts_with("refused"), "{shown}");
    assert!(line("WebSearch").starts_with("asked about"), "{shown}");
    let slip = line("WebFecth");
    assert!(
        slip.starts_with("none") && slip.contains("did you mean `WebFetch`?"),
        "{shown}"
    );
    let record = world.swarm(&["permissions", "bob", "--json"]).json();
    assert_eq!(record["deny"][0]["meant"], "WebFetch", "{record}");
    assert!(record["deny"][1].get("meant").is_none(), "{record}");
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn commands_that_show_rules_report_refused_settings_and_why() {
    let (_api, world) = team_with(Script::new());
    spawn_idle(&world, "bob");
    world
        .swarm(&["permissions", "bob"])
        .ok()
        .stderr_lacks("refused");
    world.write("root/settings.json", "{bad");
    let shown = world.swarm(&["permissions", "bob"]);
    let said = &shown.ok().stderr;
    for word in ["invalid JSON in", "fix the file", "bob keeps"] {
        assert!(said.contains(word), "{word}: {}", shown.story());
    }
    world.swarm(&["kill", "bob"]).ok();
}

/// The findings of a name.
fn findings(world: &World, name: &str) -> Vec<Value> {
    let doctor = world.swarm(&["doctor", "--json"]);
    let all: Value = serde_json::from_str(&doctor.stdout).unwrap();
    let all = all.as_array().unwrap().iter();
    all.filter(|one| one["name"] == name).cloned().collect()
}

#[test]
fn doctor_reports_each_typo_once_and_omits_keys_it_could_not_read() {
    let world = world();
    settings(
        &world,
        &json!({
            "permissions": {"allow": ["Bash("], "deny": ["Read()"]},
            "env": {"ANTHROPIC_API_KEY": "sk-test-not-a-key"},
        }),
    );
    let settings_found = findings(&world, "settings");
    let told: Vec<&str> = settings_found
        .iter()
        .map(|one| one["found"].as_str().unwrap())
        .collect();
    let [one, two] = told[..] else {
        panic!("{told:?}");
    };
    assert!(one.contains("`Bash(`") && two.contains("`Read()`"));
    let [model] = &findings(&world, "model")[..] else {
        panic!("one model");
    };
    assert_eq!(model["state"], "warning", "{model}");
    assert!(!model["found"].as_str().unwrap().contains("has no key"));
    let world = world.with_variable("ANTHROPIC_API_KEY", "sk-test-not-a-key");
    assert_eq!(findings(&world, "model")[0]["state"], "ok");
    // The model is named in settings that are refused.
    world.write("root/swarm.toml", "[model]\ndefualt = 1\n");
    let model = &findings(&world, "model")[0];
    assert_eq!(model["state"], "warning", "{model}");
    world.write("root/settings.json", "{}");
    world.write("root/swarm.toml", "");
    assert_eq!(findings(&world, "settings").len(), 1);
}
