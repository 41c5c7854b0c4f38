//! A member with another agent program behaves as one with swarm's agent.

use std::sync::Arc;

use swarm_protocol::{IdleReason, MemberState, PermissionMode};
use swarm_store::BlockOn as _;
use swarm_testkit::{FakeModel, fake_acp_agent};

use super::world::{World, approve, bob, until};
use crate::teammate::Ending;

fn world() -> (World, Arc<FakeModel>) {
    let mut world = World::on_files();
    world.runtime = Arc::new(fake_acp_agent());
    (world, Arc::default())
}

#[tokio::test]
async fn another_programs_agent_answers_mail_once_reports_idle_and_shuts_down() {
    let (mut world, model) = world();
    let running = world.run(Some("run the tests"), &model);
    let notices = world.idle(1).await;
    assert_eq!(notices[0].result.as_deref(), Some("foreign answer"));
    assert_eq!(world.outcomes(), ["finished"]);
    world.say("and again");
    world.idle(2).await;
    assert_eq!(world.unread("bob"), 0);
    let spawn = running.spawn_id;
    running.crash().await;

    // A new process of the member: a new agent, the same conversation, no repeated messages.
    world.runtime = Arc::new(fake_acp_agent());
    world.forget_acks();
    let running = world.start(spawn, &model);
    world.has_read_all().await;
    assert_eq!(world.outcomes().len(), 2);
    world.force_to_stop();
    assert_eq!(running.ending().await, Ending::ShutDown);
    assert_eq!(world.transcript().matches("and again").count(), 1);
    assert_eq!(world.transcript().matches("foreign answer").count(), 2);
    assert_eq!(model.asked(), 0);
}

#[tokio::test]
async fn its_question_goes_into_the_teams_queue_and_a_person_answers() {
    let (mut world, model) = world();
    world.mode = PermissionMode::Default;
    let running = world.run(Some("clean up"), &model);
    let request = until("the question", || {
        world.crew().requests().block_on().unwrap().requests.pop()
    })
    .await;
    assert_eq!(
        (request.from.clone(), request.description.as_str()),
        (bob(), "Bash rm -r build")
    );
    world.in_state(MemberState::WaitingPermission).await;
    approve(&world, &request).await;
    let notices = world.idle(1).await;
    assert_eq!(notices[0].result.as_deref(), Some("cleaned up"));
    running.crash().await;
}

#[tokio::test]
async fn a_forced_shutdown_cancels_its_prompt() {
    let (world, model) = world();
    let running = world.run(Some("wait for ever"), &model);
    world.in_state(MemberState::Working).await;
    world.force_to_stop();
    assert_eq!(running.ending().await, Ending::ShutDown);
    assert_eq!(world.outcomes(), ["interrupted"]);
}

#[tokio::test]
async fn an_agent_that_dies_fails_the_turn_and_the_next_turn_has_a_new_one() {
    let (world, model) = world();
    let running = world.run(Some("fall over"), &model);
    let notices = world.idle(1).await;
    assert_eq!(notices[0].idle_reason, Some(IdleReason::Failed));
    let why = notices[0].failure_reason.as_deref().unwrap_or_default();
    assert!(why.contains("agent program failed"), "{why}");
    assert!(
        why.contains("exit status: 7") && why.contains("out of memory"),
        "{why}"
    );
    world.say("get up");
    let notices = world.idle(2).await;
    assert_eq!(notices[1].result.as_deref(), Some("foreign answer"));
    running.crash().await;
}

#[tokio::test]
async fn mail_for_an_agent_that_cannot_start_reaches_the_next_one() {
    let (mut world, model) = world();
    let path = |name: &str| world.directory.path().join(name);
    let (log, down) = (path("acp.log"), path("down"));
    let variables = [("ACP_LOG", &log), ("ACP_DOWN", &down)];
    let env = variables.map(|(name, path)| (name.to_owned(), path.display().to_string()));
    world.runtime = Arc::new(swarm_testkit::fake_acp_agent_with(env.into()));
    let running = world.run(Some("fall over"), &model);
    world.idle(1).await;
    std::fs::File::create(&down).unwrap();
    world.say("the first letter");
    let notices = world.idle(2).await;
    assert_eq!(notices[1].idle_reason, Some(IdleReason::Failed));
    std::fs::remove_file(&down).unwrap();
    world.say("the second letter");
    let notices = world.idle(3).await;
    assert_eq!(notices[2].result.as_deref(), Some("foreign answer"));
    let log = std::fs::read_to_string(&log).unwrap();
    let prompt = log.lines().last().unwrap();
    let (first, second) = (prompt.find("the first"), prompt.find("the second"));
    assert!(first.is_some() && first < second, "{prompt}");
    assert!(!prompt.contains("fall over"), "{prompt}");
    running.crash().await;
}

/// Answers the only open question of the team.
async fn answer(world: &World, answer: impl Fn(&swarm_protocol::RequestRecord)) {
    let request = until("the question", || {
        let team = world.crew();
        team.requests().block_on().unwrap().requests.pop()
    })
    .await;
    answer(&request);
}

#[tokio::test]
async fn an_approved_change_is_written_without_a_second_question() {
    let (mut world, model) = world();
    world.mode = PermissionMode::Default;
    let running = world.run(Some("write a file"), &model);
    answer(&world, |request| {
        approve(&world, request).block_on();
    })
    .await;
    let notices = world.idle(1).await;
    assert_eq!(notices[0].result.as_deref(), Some("written"));
    let made = std::fs::read_to_string(world.directory.path().join("made.txt")).unwrap();
    assert_eq!(made, "by the agent");
    running.crash().await;
}

#[tokio::test]
async fn its_commands_run_with_the_bash_tool() {
    let (world, model) = world();
    let running = world.run(Some("run a command"), &model);
    let notices = world.idle(1).await;
    assert_eq!(notices[0].result.as_deref(), Some("the command ran"));
    running.crash().await;
}

#[tokio::test]
async fn messages_of_a_turn_that_died_with_its_process_are_given_again_with_a_warning() {
    let (mut world, model) = world();
    let log = world.directory.path().join("acp.log");
    let agent = || {
        let mut env = std::collections::BTreeMap::new();
        env.insert("ACP_LOG".to_owned(), log.display().to_string());
        env.insert("ACP_LOADS".to_owned(), "true".to_owned());
        Arc::new(swarm_testkit::fake_acp_agent_with(env))
    };
    world.runtime = agent();
    let running = world.run(Some("hang"), &model);
    let prompts = |count: usize| {
        let log = std::fs::read_to_string(&log).unwrap_or_default();
        (log.matches("session/prompt").count() == count).then_some(log)
    };
    until("the prompt", || prompts(1)).await;
    let spawn = running.spawn_id;
    running.crash().await;

    world.runtime = agent();
    let running = world.start(spawn, &model);
    let log = until("the prompt of the new process", || prompts(2)).await;
    assert!(log.contains("session/load"), "the session continues: {log}");
    let last = log.lines().last().unwrap();
    assert!(
        last.contains("Your turn on the following messages was cut off"),
        "{last}"
    );
    assert!(!log.lines().nth(2).unwrap().contains("cut off"), "{log}");
    running.crash().await;
}

#[tokio::test]
async fn an_agent_without_a_plan_mode_asks_in_its_default_mode_also_after_a_restart() {
    let (mut world, model) = world();
    world.mode = PermissionMode::Plan;
    let log = world.directory.path().join("acp.log");
    let offered = r#"[{"id":"default"},{"id":"autoEdit"},{"id":"yolo"}]"#;
    let variables = [
        ("ACP_LOG", log.to_str().unwrap()),
        ("ACP_LOADS", "true"),
        ("ACP_MODES", offered),
    ];
    let agent = || {
        let env = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Arc::new(swarm_testkit::fake_acp_agent_with(env.into()))
    };
    world.runtime = agent();
    let running = world.run(Some("look"), &model);
    world.idle(1).await;
    let spawn = running.spawn_id;
    running.crash().await;

    world.runtime = agent();
    let running = world.start(spawn, &model);
    world.say("look again");
    world.idle(2).await;
    let log = std::fs::read_to_string(&log).unwrap();
    assert!(log.contains("session/load"), "{log}");
    let set = log.lines().filter(|line| line.contains("session/set_mode"));
    let set: Vec<&str> = set.collect();
    assert_eq!(set.len(), 2, "{log}");
    for line in set {
        assert!(line.contains(r#""modeId":"default""#), "{line}");
    }
    running.crash().await;
}
