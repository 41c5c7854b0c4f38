//! Texts as content: tasks, messages, model output, questions and answers.

use serde_json::json;

use super::obeyed::{assert_only_shown, assert_pane_speaks};
use super::scene::Scene;
use super::speech::DONE;

/// As all fields of a task.
pub(super) fn task(scene: &Scene, text: &str) {
    let flags = [
        format!("--description={text}"),
        format!("--active-form={text}"),
        format!("--metadata={}", json!({"key": text, text: 1})),
    ];
    let words = [
        "task", "create", &flags[0], &flags[1], &flags[2], "--", text,
    ];
    let id = scene.swarm(&words).ok().stdout.trim().to_owned();
    let kept = scene.world.team("demo").task(id.parse().expect("a number"));
    assert_eq!(kept["subject"], json!(text));
    scene.shows(&["task", "show", &id]);
    scene.shows(&["task", "list"]);
    scene.swarm(&["task", "claim", &id]).ok();
    scene.shows(&["status"]);
    let result = format!("--result={text}");
    let done = [
        "task",
        "update",
        &id,
        "--status",
        "completed",
        "--force",
        &result,
    ];
    scene.swarm(&done).ok();
    scene.shows(&["task", "show", &id]);
    scene.shows(&["log"]);
    scene.refused(&["task", "show", "--", &format!("x{text}")], &[2]);
}

/// As messages with summaries to a member, whose model repeats them.
pub(super) fn messages(scene: &Scene, numbers: &[usize]) {
    let name = scene.spawn_ok(&[]);
    for number in numbers {
        let text = scene.texts[*number].as_str();
        let summary = format!("--summary={text}");
        scene.swarm(&["send", &name, &summary, "--", text]).ok();
        let say = format!("say#{number}\n{text}");
        scene.swarm(&["send", &name, &summary, "--", &say]).ok();
    }
    scene.swarm(&["send", &name, "the end"]).ok();
    let last = scene
        .api
        .wait_for("the end", &name, |ask| ask.has_seen("the end"));
    for number in numbers {
        let text = &scene.texts[*number];
        assert!(last.ask.has_seen(text), "{text:?} has not arrived");
    }
    let team = scene.world.team("demo");
    let log = team.member_directory(&name).join("output.log");
    let read = || std::fs::read(&log).unwrap_or_default();
    scene.world.wait_for("the last words", || {
        let idle = team.state(&name)["state"] == "idle";
        (idle && String::from_utf8_lossy(&read()).contains(DONE)).then_some(())
    });
    assert_pane_speaks(&name, &read());
    for words in [
        &["logs", &name][..],
        &["peek", &name],
        &["peek", &name, "-n", "1000"],
        &["inbox", &name],
        &["inbox", "team-lead"],
        &["status"],
        &["log"],
    ] {
        scene.shows(words);
    }
    scene.swarm(&["inbox", "team-lead", "--ack"]).ok();
    scene.terminal.wait_until_drawn();
    let pane = scene.inside.tmux().pane_titled(&name).expect("the pane");
    assert_only_shown("the screen", &scene.inside.tmux().whole_text(&pane.id));
    // Its reason is delivered like the last message.
    let reason = format!("--reason={}", scene.texts[numbers[0]]);
    scene.swarm(&["shutdown", &name, &reason]).ok();
    scene.left();
}

/// As a pending call and as a question, and as the text of the answers.
pub(super) fn questions(scene: &Scene, numbers: &[usize]) {
    let name = scene.spawn_ok(&[]);
    for number in numbers {
        let text = scene.texts[*number].as_str();
        for word in ["run", "ask"] {
            scene
                .swarm(&["send", &name, &format!("{word}#{number}")])
                .ok();
            let call = format!("{word}-{number}");
            let id = scene.world.wait_for("a request or a result", || {
                let open = scene.world.swarm(&["requests", "--json"]).json();
                let id = open[0]["id"].as_str().map(str::to_owned);
                let asked = scene.api.requests_of(&name);
                let answered = asked
                    .last()
                    .is_some_and(|last| last.ask.result_of(&call).is_some());
                (id.is_some() || answered).then_some(id)
            });
            let Some(id) = id else { continue };
            let border = format!("{name} · NEEDS AN ANSWER");
            scene.world.wait_for("the border says so", || {
                scene.inside.tmux().pane_titled(&border)
            });
            scene.terminal.wait_until_drawn();
            scene.shows(&[if scene.turn() { "requests" } else { "status" }]);
            if word == "run" {
                scene.swarm(&["deny", &id, &format!("--why={text}")]).ok();
            } else {
                scene
                    .swarm(&["approve", &id, &format!("--answer={text}")])
                    .ok();
            }
            let (told, _) = scene.world.wait_for("the answer", || {
                let asked = scene.api.requests_of(&name);
                asked.last()?.ask.result_of(&call)
            });
            assert!(told.contains(text), "{told:?}");
        }
    }
    let log = scene
        .world
        .team("demo")
        .member_directory(&name)
        .join("output.log");
    assert_pane_speaks(&name, &std::fs::read(log).expect("the log"));
    scene.shows(&["logs", &name]);
    scene.shows(&["log"]);
    scene.shows(&["permissions", &name]);
}
