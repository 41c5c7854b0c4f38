//! Background commands, and output that is too long for a result.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use swarm_os::process;
use swarm_tools::{BackgroundCommand, BackgroundCommands, CommandState};

use crate::scene::Scene;

/// A scene whose agent may run background commands.
fn scene() -> (Scene, Arc<BackgroundCommands>) {
    let mut scene = Scene::new();
    let mut env = (*scene.ctx.env).clone();
    let mark = format!("test-{}", scene.base().display());
    env.insert("SWARM_SPAWN_ID".into(), mark);
    scene.ctx.env = Arc::new(env);
    scene.ctx.limits.kill_grace = Duration::from_millis(300);
    scene.ctx.scratch = Some(scene.base().join("root/output").into());
    let commands = Arc::<BackgroundCommands>::default();
    scene.ctx.commands = Some(Arc::clone(&commands));
    (scene, commands)
}

fn alive(scene: &Scene) -> usize {
    process::find_by_env("SWARM_SPAWN_ID", &scene.ctx.env["SWARM_SPAWN_ID"]).len()
}

async fn start(scene: &Scene, command: &str) -> Arc<BackgroundCommand> {
    let input = json!({"command": command, "run_in_background": true});
    let told = scene.ok("Bash", input).await;
    let commands = scene.ctx.commands.as_ref().unwrap();
    let words = told.split_whitespace();
    let id = words
        .map(|word| word.trim_end_matches('.'))
        .find(|word| BackgroundCommands::is_command(word));
    commands.find(id.unwrap()).unwrap()
}

#[tokio::test]
async fn a_background_command_writes_to_a_file_and_its_end_is_reported_once() {
    let (scene, commands) = scene();
    let command = start(&scene, "echo one; echo two >&2; exit 3").await;
    command.ended().await;
    let how = "Exit code 3".to_owned();
    assert_eq!(command.state(), CommandState::Ended(false, how));
    assert_eq!(command.output(100), "one\ntwo\n");
    let file = std::fs::read_to_string(command.file().unwrap()).unwrap();
    assert_eq!(file, "one\ntwo\n");
    assert!(commands.has_unreported());
    let ended = commands.take_unreported();
    assert_eq!((ended.len(), ended[0].id()), (1, command.id()));
    assert!(commands.take_unreported().is_empty() && commands.running().is_empty());

    // There is no notification after the result was read.
    let command = start(&scene, "true").await;
    command.ended().await;
    commands.mark_reported(&command);
    assert!(!commands.has_unreported());
}

#[tokio::test]
async fn a_background_command_is_stopped_with_all_its_descendants() {
    let (scene, commands) = scene();
    let one = start(&scene, "setsid sleep 1000 & sleep 1000").await;
    let two = start(&scene, "sleep 1000 | sleep 1000").await;
    assert_eq!(commands.running().len(), 2);
    one.stop().await;
    assert_eq!(one.state(), CommandState::Stopped);
    assert_eq!(commands.running().len(), 1);
    assert!(
        !commands.has_unreported(),
        "a stopped command causes no notification"
    );
    commands.shut_down(Duration::from_secs(10)).await;
    assert_eq!(two.state(), CommandState::Stopped);
    assert_eq!(alive(&scene), 0);
    let outputs = || std::fs::read_dir(scene.base().join("root/output")).unwrap();
    assert_eq!(outputs().count(), 2);
    let late = json!({"command": "sleep 1000", "run_in_background": true});
    let refused = scene.refused("Bash", late).await;
    assert!(refused.contains("shutting down"), "{refused}");
    assert_eq!(outputs().count(), 2, "it was not started");
    assert_eq!(alive(&scene), 0);
}

#[tokio::test]
async fn the_number_of_background_commands_is_limited_and_zero_for_sub_agents() {
    let (mut scene, commands) = scene();
    for _ in 0..16 {
        start(&scene, "sleep 1000").await;
    }
    let more = json!({"command": "sleep 1000", "run_in_background": true});
    let refused = scene.refused("Bash", more.clone()).await;
    assert!(
        refused.contains("16 commands") && refused.contains("sleep 1000"),
        "{refused}"
    );
    commands.shut_down(Duration::from_secs(10)).await;
    assert_eq!(alive(&scene), 0);
    scene.ctx.commands = None;
    let refused = scene.refused("Bash", more).await;
    assert!(
        refused.contains("Background commands are not available here"),
        "{refused}"
    );
}

#[tokio::test]
async fn each_read_returns_new_output_and_a_filter_selects_lines() {
    let (scene, _commands) = scene();
    let go = scene.path("go");
    let waits = format!(
        "echo error one; echo fine; until [ -e '{}' ]; do sleep 0.02; done; echo error two; echo 'fine again'",
        go.display()
    );
    let command = start(&scene, &waits).await;
    let mut first = String::new();
    while !first.contains("fine") {
        first += &command.take_new_output(1_000, None).unwrap();
        tokio::task::yield_now().await;
    }
    assert_eq!(first, "error one\nfine\n");
    assert_eq!(command.take_new_output(1_000, None).unwrap(), "");
    std::fs::File::create(go).unwrap();
    command.ended().await;
    let refused = command.take_new_output(1_000, Some("(")).unwrap_err();
    assert!(refused.contains("`filter` is not a valid"), "{refused}");
    assert_eq!(
        command.take_new_output(1_000, Some("^error")).unwrap(),
        "error two\n",
        "an invalid filter consumes no output"
    );
    assert_eq!(command.take_new_output(1_000, None).unwrap(), "");
    assert_eq!(command.output(1_000).lines().count(), 4);
}

#[tokio::test]
async fn long_output_is_complete_in_a_file_up_to_a_limit() {
    let (mut scene, _) = scene();
    let whole = |told: &str| {
        let path = told.split_once("[full output, ")?.1;
        Some(PathBuf::from(
            path.split_once(": ")?.1.trim_end_matches(']'),
        ))
    };
    let short = scene.ok("Bash", json!({"command": "seq 100"})).await;
    assert_eq!(whole(&short), None);
    let told = scene.ok("Bash", json!({"command": "seq 20000"})).await;
    assert!(
        told.contains("omitted") && told.contains("20000 lines"),
        "{told}"
    );
    let path = whole(&told).unwrap();
    let expected: Vec<String> = (1..=20_000).map(|line| line.to_string()).collect();
    let kept = std::fs::read_to_string(&path).unwrap();
    assert_eq!(kept, expected.join("\n") + "\n");
    std::fs::remove_file(path).unwrap();

    // An id from a model server is not used as a path.
    scene.ctx.tool_use_id = "../../../out/side".to_owned();
    scene.ctx.limits.bash_file_bytes = 50_000;
    let told = scene.ok("Bash", json!({"command": "seq 20000"})).await;
    let path = whole(&told).unwrap();
    assert_eq!(path.parent(), scene.ctx.scratch.as_deref());
    let kept = std::fs::read_to_string(path).unwrap();
    assert!(
        kept.len() < 50_100 && kept.ends_with("size limit reached]\n"),
        "{}",
        kept.len()
    );
}

#[tokio::test]
async fn a_background_command_starts_in_the_shells_directory_and_is_listed_by_its_own_name() {
    let (scene, _commands) = scene();
    let input = json!({"command": "mkdir sub; cd sub"});
    scene.ok("Bash", input).await;
    let shown = "pwd; tr '\\0' ' ' < /proc/$$/cmdline; cd ..";
    let command = start(&scene, shown).await;
    command.ended().await;
    let output = command.output(1_000);
    let (place, words) = output.split_once('\n').unwrap();
    assert_eq!(place, scene.path("sub").display().to_string());
    assert!(words.contains(" -c pwd; tr"), "{words}");
    // It does not change the directory of the agent's shell.
    let pwd = scene.ok("Bash", json!({"command": "pwd"})).await;
    assert_eq!(pwd, place);
}
