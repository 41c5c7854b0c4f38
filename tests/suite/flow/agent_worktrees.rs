//! Sub-agents in worktrees of their own.

use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, FakeApi, Reply};
use swarm_tests::stage::World;

use super::agents::{errand, result, run, start};

use crate::scene::world_with;

/// A lead whose sub-agent works in its own worktree and does there what `work` says, for which it gives results.
fn in_a_worktree(work: &'static [(&'static str, &'static str)]) -> (World, FakeApi, Value) {
    let (api, world) = world_with(move |ask: &Ask| {
        if errand(ask).contains("errand") {
            let next = work.iter().find(|(id, _)| ask.result_of(id).is_none());
            match next {
                Some((id, command)) => Reply::tool(*id, "Bash", json!({"command": command})),
                None => Reply::text("done there"),
            }
        } else if ask.result_of("a").is_some() {
            Reply::text("done")
        } else {
            Reply::blocks([start("a", "errand", &json!({"isolation": "worktree"}))])
        }
    });
    world.write("project/greet.txt", "hello\n");
    world.commit_project();
    let report = run(&world, "headless").json();
    (world, api, report)
}

#[test]
fn a_sub_agent_with_a_worktree_changes_nothing_else_and_reports_its_path() {
    let work = &[("edit", "echo changed > greet.txt && pwd")];
    let (world, api, report) = in_a_worktree(work);
    assert_eq!(report["result"], "done");
    let (result, failed) = result(&api, "a");
    assert!(!failed && result.starts_with("done there"), "{result}");
    let said = |key: &str| {
        let line = result.lines().find_map(|line| line.strip_prefix(key));
        line.unwrap_or_else(|| panic!("{key} {result}")).to_owned()
    };
    let path = std::path::PathBuf::from(said("worktreePath: "));
    assert!(path.starts_with(world.project()), "{}", path.display());
    let branch = said("worktreeBranch: ");
    assert!(branch.starts_with("worktree-agent-"));
    assert_eq!(said("worktreeHolds: "), "uncommitted changes of greet.txt");
    let merged = format!("Your caller merges them with `git merge {branch}`");
    let mut requests = api.requests().into_iter();
    let asked = requests.any(|request| request.ask.has_seen(&merged));
    assert!(asked, "{merged}");
    let read = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap();
    assert_eq!(read(path.join("greet.txt")), "changed\n");
    assert_eq!(read(world.project().join("greet.txt")), "hello\n");
}

#[test]
fn a_worktree_of_a_dirty_checkout_is_refused_with_advice_that_a_model_can_follow() {
    let (api, world) = world_with(move |ask: &Ask| {
        if errand(ask).contains("errand") {
            Reply::text("never started")
        } else if ask.result_of("a").is_some() {
            Reply::text("done")
        } else {
            Reply::blocks([start("a", "errand", &json!({"isolation": "worktree"}))])
        }
    });
    world.write("project/greet.txt", "hello\n");
    world.commit_project();
    world.write("project/greet.txt", "changed\n");
    run(&world, "headless").json();
    let (result, failed) = result(&api, "a");
    assert!(failed && result.contains("greet.txt"), "{result}");
    assert!(!result.contains("--"), "a model has no flags: {result}");
    assert!(result.contains("commit"), "{result}");
}

#[test]
fn an_unchanged_worktree_of_a_sub_agent_is_removed() {
    let (world, api, _) = in_a_worktree(&[("look", "pwd")]);
    let (place, _) = result(&api, "look");
    assert!(place.contains("worktrees/agent-"), "{place}");
    let (result, failed) = result(&api, "a");
    assert!(!failed && !result.contains("worktreePath"), "{result}");
    let place = std::path::Path::new(place.trim());
    assert!(!place.exists(), "{}", place.display());
    let listed = world.swarm(&["worktree", "list", "--json"]).json();
    assert_eq!(listed, json!([]));
}
