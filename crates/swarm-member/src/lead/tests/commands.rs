//! Background commands of a lead.

use std::sync::Arc;

use serde_json::json;
use swarm_testkit::{Events, call, heard, say, wait_for};
use swarm_ui::PaneInput;

use super::headless::{Run, turns_ended};
use crate::{Outcome, run_lead};

fn in_background(command: &str) -> swarm_testkit::Reply {
    call(
        "Bash",
        json!({"command": command, "run_in_background": true}),
    )
}

#[tokio::test]
async fn the_end_of_a_command_wakes_a_lead_that_has_ended_its_turn() {
    let (run, person, events) = Run::interactive();
    let go = run.world.directory.path().join("go");
    let waits = format!(
        "until [ -e '{}' ]; do sleep 0.05; done; echo built",
        go.display()
    );
    let model = run.model.clone();
    model.then(in_background(&waits));
    model.on(move |_| {
        std::fs::File::create(&go).unwrap();
        say("the build runs")
    });
    model.then(say("it is built"));
    let stop = run.parts.stops.stop.clone();
    let running = tokio::spawn(run_lead(run.parts, None));
    person.send(PaneInput::Line("build".into())).unwrap();
    turns_ended(&events, 2).await;
    let told = heard(&model.requests()[2]);
    for words in [
        "<status>completed</status>",
        "<result>built</result>",
        "<task-id>bash-",
    ] {
        assert!(told.contains(words), "{told}");
    }
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_run_waits_for_background_commands_of_its_lead() {
    let run = Run::new();
    let go = run.world.directory.path().join("go");
    let waits = format!(
        "until [ -e '{}' ]; do sleep 0.05; done; echo built",
        go.display()
    );
    let events = Arc::new(Opener {
        go,
        said: Events::default(),
    });
    let mut run = run;
    run.parts.events = events.clone();
    let model = run.model.clone();
    model.then(in_background(&waits));
    model.then(say("the build runs, and I wait for it"));
    model.then(say("it is built"));
    let report = run.go().await.unwrap();
    assert_eq!(
        (report.outcome, report.result.as_str()),
        (Outcome::Completed, "it is built")
    );
    let told = heard(&model.requests()[2]);
    assert!(told.contains("<result>built</result>"), "{told}");
}

/// Lets the build finish once the run waits for it.
#[derive(Debug)]
struct Opener {
    go: std::path::PathBuf,
    said: Events,
}

impl swarm_agent::EventSink for Opener {
    fn emit(&self, event: swarm_protocol::AgentEvent) {
        if let swarm_protocol::AgentEvent::Notice { line } = &event
            && line.starts_with("the run waits up to 60 s for background commands")
        {
            std::fs::File::create(&self.go).unwrap();
        }
        self.said.emit(event);
    }
}

#[tokio::test]
async fn a_run_waits_for_a_server_only_so_long_and_ends_it() {
    let mut run = Run::new();
    run.parts.command_wait = std::time::Duration::from_millis(100);
    let pid = run.world.directory.path().join("pid");
    run.model.then(in_background(&format!(
        "echo $$ > '{}'; sleep 1000",
        pid.display()
    )));
    let written = pid.clone();
    run.model.on(move |_| {
        wait_for("the server", || {
            let text = std::fs::read_to_string(&written).ok()?;
            text.ends_with('\n').then_some(())
        });
        say("the server runs")
    });
    let _world = run.world.clone();
    let report = run.go().await.unwrap();
    assert_eq!(report.outcome, Outcome::Completed);
    let pid = std::fs::read_to_string(pid).unwrap();
    let process = std::path::Path::new("/proc").join(pid.trim());
    assert!(!process.exists(), "{}", process.display());
}
