//! Messages that get lost, come twice, or wake nobody.

use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, FakeApi, Gate, Reply};
use swarm_tests::stage::World;

use crate::scene::{kill_member, spawn_over, wait_for_state, world_over};

/// The last request of a member.
fn last_request(api: &FakeApi, agent: &str) -> Ask {
    api.requests_of(agent).pop().expect("a request").ask
}

fn unread(world: &World, member: &str) -> usize {
    let entries = world.team("demo").inbox(member);
    entries
        .iter()
        .filter(|entry| entry["read"] == false)
        .count()
}

#[test]
fn d2_a_member_killed_in_its_turn_takes_the_mail_up_again_and_once_only() {
    let gate = Gate::closed();
    let held = gate.clone();
    let api = FakeApi::start(move |ask: &Ask| {
        if ask.news_has("precious") && ask.number <= 2 {
            Reply::text("never said").held_by(&held, 1)
        } else {
            Reply::text("heard")
        }
    });
    let world = world_over(&api);
    spawn_over(&world, "bob");
    wait_for_state(&world, "bob", "idle");
    world.swarm(&["send", "bob", "precious words"]).ok();
    api.wait_for("the first attempt", "bob", |ask| ask.news_has("precious"));
    kill_member(&world, "bob");
    let before = api.requests_of("bob").len();
    spawn_over(&world, "bob");
    gate.open();
    let again = world.wait_for("the turn is run again", || {
        let mut requests = api.requests_of("bob").split_off(before);
        requests.retain(|recorded| recorded.ask.has_seen("precious words"));
        requests.pop()
    });
    assert_eq!(
        again.ask.times_told("precious words"),
        1,
        "{:#?}",
        again.ask.messages()
    );
    wait_for_state(&world, "bob", "idle");
    assert_eq!(unread(&world, "bob"), 0);
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn d5_the_last_words_of_a_turn_reach_the_lead_unless_it_wrote_itself() {
    let api = FakeApi::start(|ask: &Ask| {
        if ask.news_has("write to me") {
            let input = json!({"to": "team-lead", "message": "by mail", "summary": "s"});
            Reply::tool("sent-1", "SendMessage", input)
        } else if ask.result_of("sent-1").is_some() {
            Reply::text("and by the way")
        } else {
            Reply::text("by report")
        }
    });
    let world = world_over(&api);
    spawn_over(&world, "bob");
    let team = world.team("demo");
    let notices = |count: usize| {
        world.wait_for(&format!("{count} idle notices"), || {
            let notices = team.frames("team-lead", "idle_notification");
            (notices.len() >= count).then_some(notices)
        })
    };
    assert_eq!(notices(1)[0]["result"], "by report");
    world.swarm(&["send", "bob", "write to me"]).ok();
    let second = notices(2).pop().unwrap();
    assert!(second["result"].is_null(), "{second}");
    let mut mails = team.inbox("team-lead");
    mails.retain(|entry| entry["text"] == "by mail");
    assert_eq!(mails.len(), 1);
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn d9_a_message_that_turns_up_again_is_acknowledged_again_and_not_worked_on_again() {
    let api = FakeApi::start(|_: &Ask| Reply::text("done"));
    let world = world_over(&api);
    spawn_over(&world, "bob");
    wait_for_state(&world, "bob", "idle");
    world
        .swarm(&["send", "bob", "once is enough", "--wait", "acked"])
        .ok();
    api.wait_for("the turn", "bob", |ask| ask.news_has("once is enough"));
    wait_for_state(&world, "bob", "idle");
    let asked = api.requests_of("bob").len();
    let path = world.team("demo").inbox_path("bob");
    let mut entries = world.team("demo").inbox("bob");
    for entry in &mut entries {
        entry["read"] = json!(false);
    }
    let aside = path.with_extension("aside");
    std::fs::write(&aside, Value::from(entries).to_string()).unwrap();
    std::fs::rename(&aside, &path).unwrap();
    world.wait_for("it is acknowledged again", || {
        (unread(&world, "bob") == 0).then_some(())
    });
    world
        .swarm(&["send", "bob", "something else", "--wait", "acked"])
        .ok();
    api.wait_for("the next message", "bob", |ask| {
        ask.news_has("something else")
    });
    assert_eq!(api.requests_of("bob").len(), asked + 1, "{}", api.summary());
    assert_eq!(last_request(&api, "bob").times_told("once is enough"), 1);
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn d6_mail_wakes_an_idle_member_within_moments_every_time() {
    let api = FakeApi::start(|_: &Ask| Reply::text("yes"));
    let world = world_over(&api);
    spawn_over(&world, "bob");
    for number in 0..10 {
        wait_for_state(&world, "bob", "idle");
        let text = format!("knock {number}");
        world
            .swarm(&["send", "bob", &text, "--wait", "acked", "--timeout", "2"])
            .ok();
        api.wait_for(&text, "bob", |ask| ask.news_has(&text));
    }
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn urgent_mail_is_let_in_between_two_tool_calls() {
    let gate = Gate::closed();
    let held = gate.clone();
    let api = FakeApi::start(move |ask: &Ask| {
        if ask.news_has("start working") {
            return Reply::tool("t1", "Bash", json!({"command": "echo one"})).held_by(&held, 1);
        }
        Reply::text(if ask.has_seen("stop that") {
            "I stop."
        } else {
            "I go on."
        })
    });
    let world = world_over(&api);
    spawn_over(&world, "bob");
    wait_for_state(&world, "bob", "idle");
    world.swarm(&["send", "bob", "start working"]).ok();
    api.wait_for("the turn", "bob", |ask| ask.news_has("start working"));
    world.swarm(&["send", "bob", "stop that", "--urgent"]).ok();
    world.swarm(&["send", "bob", "no hurry"]).ok();
    gate.open();
    let middle = api.wait_for("the result of the call", "bob", |ask| {
        ask.result_of("t1").is_some()
    });
    assert!(
        middle.ask.news_has("stop that"),
        "{:#?}",
        middle.ask.messages()
    );
    assert!(
        !middle.ask.has_seen("no hurry"),
        "{:#?}",
        middle.ask.messages()
    );
    api.wait_for("the other message", "bob", |ask| ask.news_has("no hurry"));
    world.swarm(&["shutdown", "bob"]).ok();
}
