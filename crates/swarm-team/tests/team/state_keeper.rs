//! A member's state report follows what its agent does.

use swarm_protocol::{AgentEvent, ContextUse, MemberState, SpawnId, UnixMs, Usage};
use swarm_store::BlockOn as _;
use swarm_team::StateKeeper;

use crate::world::{World, name};

fn state(state: MemberState) -> AgentEvent {
    AgentEvent::State {
        state,
        detail: None,
    }
}

#[test]
fn the_report_is_written_when_there_is_something_new_to_see() {
    let world = World::new();
    let spawn = world.join("bob");
    let keeper = StateKeeper::new(name("bob"), spawn, UnixMs(1));
    let follow = |event: &AgentEvent, at: u64| {
        keeper.follow(event, Some(&world.files()), UnixMs(at));
        keeper.finish();
        world.files().state(&name("bob")).block_on().unwrap()
    };
    let delta = AgentEvent::TextDelta {
        text: "hello".to_owned(),
    };
    assert_eq!(follow(&delta, 2), None);
    let report = follow(&state(MemberState::Working), 3).unwrap();
    assert_eq!(
        (report.spawn_id, report.since, report.progress),
        (spawn, UnixMs(3), 2)
    );
    let same = follow(&state(MemberState::Working), 4).unwrap();
    assert_eq!(same, report);
    let turn = AgentEvent::TurnEnded {
        text: String::new(),
        usage: Usage {
            output_tokens: 7,
            ..Usage::default()
        },
        outcome: "finished".to_owned(),
        error: None,
    };
    follow(&turn, 5);
    let context = ContextUse {
        tokens: 5,
        window: 20,
    };
    let report = follow(&AgentEvent::Context(context), 6).unwrap();
    assert_eq!(report.context, None, "it is written with what comes next");
    let report = follow(&turn, 6).unwrap();
    assert_eq!(report.context.unwrap().percent(), 25);
    assert_eq!((report.turns, report.usage.output_tokens), (2, 14));
    assert_eq!((report.since, keeper.report()), (UnixMs(3), report.clone()));
}

#[test]
fn who_works_names_the_call_it_is_at_and_since_when_it_has_been_busy() {
    let world = World::new();
    let spawn = world.join("bob");
    let keeper = StateKeeper::new(name("bob"), spawn, UnixMs(1));
    let follow = |event: &AgentEvent, at: u64| {
        keeper.follow(event, Some(&world.files()), UnixMs(at));
        keeper.finish();
        let report = world.files().state(&name("bob")).block_on().unwrap();
        report.map(|report| (report.state, report.since, report.detail))
    };
    let working =
        |detail: Option<&str>| Some((MemberState::Working, UnixMs(3), detail.map(str::to_owned)));
    follow(&state(MemberState::Working), 3);
    let started = AgentEvent::ToolStarted {
        id: "t1".to_owned(),
        tool: "Bash".to_owned(),
        line: "Bash cargo test".to_owned(),
    };
    assert_eq!(follow(&started, 4), working(Some("Bash cargo test")));
    let finished = AgentEvent::ToolFinished {
        id: "t1".to_owned(),
        tool: "Bash".to_owned(),
        ok: true,
        line: "ok".to_owned(),
        detail: Vec::new(),
    };
    assert_eq!(follow(&finished, 5), working(None));
    follow(&started, 6);
    assert_eq!(follow(&state(MemberState::Working), 7), working(None));
    let idle = follow(&state(MemberState::Idle), 8);
    assert_eq!(idle, Some((MemberState::Idle, UnixMs(8), None)));
}

#[test]
fn without_a_team_the_report_is_kept_until_there_is_one() {
    let world = World::new();
    let keeper = StateKeeper::new(name("team-lead"), SpawnId::random(), UnixMs(1));
    keeper.follow(&state(MemberState::Working), None, UnixMs(2));
    let written = || world.files().state(&name("team-lead")).block_on().unwrap();
    assert_eq!(written(), None);
    keeper.follow(&state(MemberState::Idle), Some(&world.files()), UnixMs(3));
    keeper.finish();
    assert_eq!(written().unwrap().state, MemberState::Idle);
}

#[test]
fn what_is_followed_later_is_written_once_and_never_over_something_newer() {
    let world = World::on_files();
    let spawn = world.join("bob");
    let keeper = StateKeeper::new(name("bob"), spawn, UnixMs(1));
    let written = || {
        let report = world.files().state(&name("bob")).block_on().unwrap();
        report.map(|report| (report.state, report.since))
    };
    keeper.follow_later(&state(MemberState::Working), UnixMs(2));
    assert_eq!(written(), None);
    assert_eq!(keeper.report().state, MemberState::Working);
    keeper.catch_up(&world.files());
    assert_eq!(written(), Some((MemberState::Working, UnixMs(2))));
    keeper.follow_later(&state(MemberState::Idle), UnixMs(3));
    keeper.follow(&state(MemberState::Parked), Some(&world.files()), UnixMs(4));
    keeper.finish();
    let path = world.file("swarm/members/bob/state.json");
    std::fs::remove_file(&path).unwrap();
    keeper.catch_up(&world.files());
    assert!(!path.exists(), "there is nothing new to see");
}

#[test]
fn a_report_in_files_is_written_without_another_thread() {
    let world = World::on_files();
    let spawn = world.join("bob");
    let keeper = StateKeeper::new(name("bob"), spawn, UnixMs(1));
    for at in 2..200 {
        let new = if at % 2 == 0 {
            MemberState::Working
        } else {
            MemberState::Idle
        };
        keeper.follow(&state(new), Some(&world.files()), UnixMs(at));
        let written = world.files().state(&name("bob")).block_on().unwrap();
        assert_eq!(written.map(|report| report.since), Some(UnixMs(at)));
    }
}

#[tokio::test]
async fn a_slow_store_does_not_delay_the_member_and_gets_its_latest_report() {
    let world = World::new();
    let spawn = world.join("bob");
    let keeper = StateKeeper::new(name("bob"), spawn, UnixMs(1));
    let held = world.memory().hold();
    for (at, new) in [MemberState::Working, MemberState::Idle]
        .into_iter()
        .enumerate()
    {
        let at = UnixMs(at as u64 + 2);
        keeper.follow(&state(new), Some(&world.files()), at);
    }
    let written = || world.files().state(&name("bob")).block_on().unwrap();
    assert_eq!(written(), None, "nothing waited for the store");
    drop(held);
    keeper.finish();
    assert_eq!(written().map(|report| report.since), Some(UnixMs(3)));
}
