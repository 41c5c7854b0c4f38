//! Writing, reading and acknowledging mail.

use serde_json::{Value, json};

use crate::scene::{column, enter_foreign, world_with_team};

#[test]
fn d3_a_typo_in_the_recipient_names_the_members_and_makes_no_file() {
    let world = world_with_team("demo");
    enter_foreign(&world, "demo", &["engineer"]);
    let error = world
        .swarm(&["send", "enginer", "hello", "--json"])
        .error(3);
    assert!(error.to_string().contains("engineer"), "{error}");
    assert!(!world.team("demo").inbox_path("enginer").exists());
}

#[test]
fn a_message_is_queued_in_the_format_that_others_read() {
    let world = world_with_team("demo");
    enter_foreign(&world, "demo", &["bob"]);
    world
        .swarm(&["send", "bob", "tests are red", "--summary", "red"])
        .ok();
    let entries = world.team("demo").inbox("bob");
    assert_eq!(entries.len(), 1);
    let entry = &entries[0];
    assert_eq!(entry["from"], "team-lead");
    assert_eq!(entry["text"], "tests are red");
    assert_eq!(entry["summary"], "red");
    assert_eq!(entry["read"], false);
    assert_eq!(entry["type"], "message");
    assert_eq!(entry["msgV"], 1);
    assert!(
        entry["msg_id"].is_string() && entry["timestamp"].as_str().unwrap().ends_with('Z'),
        "{entry}"
    );
    let queued = world.team("demo").events("queued");
    assert_eq!(queued.len(), 1);
    assert_eq!(queued[0]["msgId"], entry["msg_id"]);
    assert!(!queued[0].to_string().contains("tests are red"));
}

#[test]
fn looking_at_an_inbox_acknowledges_nothing_until_it_is_said() {
    let world = world_with_team("demo");
    enter_foreign(&world, "demo", &["bob"]);
    world
        .swarm(&["send", "team-lead", "first", "--from", "bob"])
        .ok();
    for _ in 0..2 {
        let listed = world
            .swarm(&["inbox", "team-lead", "--unread", "--json"])
            .json();
        assert_eq!(column(&listed, "text"), ["first"]);
        assert_eq!(column(&listed, "state"), ["queued"]);
    }
    world.swarm(&["inbox", "team-lead", "--ack"]).ok();
    assert_eq!(
        world
            .swarm(&["inbox", "team-lead", "--unread", "--json"])
            .json(),
        json!([])
    );
    let all = world.swarm(&["inbox", "team-lead", "--json"]).json();
    assert_eq!(column(&all, "state"), ["acked"]);
}

#[test]
fn a_star_reaches_everybody_but_the_sender() {
    let world = world_with_team("demo");
    enter_foreign(&world, "demo", &["ann", "bob"]);
    world
        .swarm_reading(&["send", "*", "-"], "to all\nof you")
        .ok();
    let team = world.team("demo");
    for name in ["ann", "bob"] {
        let texts: Vec<Value> = team
            .inbox(name)
            .iter()
            .map(|entry| entry["text"].clone())
            .collect();
        assert_eq!(texts, ["to all\nof you"], "{name}");
    }
    assert_eq!(team.inbox("team-lead").len(), 0);
}

#[test]
fn malformed_elements_are_set_aside_and_the_good_ones_stay() {
    let world = world_with_team("demo");
    enter_foreign(&world, "demo", &["bob"]);
    let good = json!({"from": "bob", "text": "good", "timestamp": "2026-11-20T17:27:26.590Z", "read": false, "extra": 1});
    let inbox = json!([{"from": "bob"}, 7, good, "text"]);
    std::fs::write(
        world.team("demo").inbox_path("team-lead"),
        inbox.to_string(),
    )
    .unwrap();
    let listed = world.swarm(&["inbox", "team-lead", "--json"]).json();
    assert_eq!(column(&listed, "text"), ["good"]);
    world.swarm(&["inbox", "team-lead", "--ack"]).ok();
    let kept = world
        .team("demo")
        .folder()
        .join("swarm/archive/team-lead.malformed.jsonl");
    assert_eq!(std::fs::read_to_string(kept).unwrap().lines().count(), 3);
    let left = world.team("demo").inbox("team-lead");
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(
        (&left[0]["extra"], &left[0]["read"]),
        (&json!(1), &json!(true))
    );
    assert!(left[0]["msg_id"].is_string());
}

#[test]
fn d15_a_damaged_inbox_is_reported_and_never_replaced_by_an_empty_one() {
    let world = world_with_team("demo");
    enter_foreign(&world, "demo", &["bob"]);
    let path = world.team("demo").inbox_path("bob");
    let torn = r#"[{"from":"team-lead","text":"half"#;
    std::fs::write(&path, torn).unwrap();
    let error = world.swarm(&["inbox", "bob", "--json"]).error(8);
    assert!(
        error["message"].as_str().unwrap().contains("bob.json"),
        "{error}"
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), torn);
    let sent = world.swarm(&["send", "bob", "whole"]);
    assert!(matches!(sent.code, Some(0 | 8)), "{}", sent.story());
    let folder = std::fs::read_dir(path.parent().unwrap()).unwrap().flatten();
    let kept = folder
        .map(|entry| std::fs::read_to_string(entry.path()).unwrap_or_default())
        .any(|text| text == torn);
    assert!(
        kept,
        "the damaged text is nowhere any more: {}",
        world.report()
    );
}

#[test]
fn a_full_inbox_refuses_and_drops_nothing() {
    let world = world_with_team("demo");
    enter_foreign(&world, "demo", &["bob"]);
    let entry = |number: usize| {
        json!({"from": "team-lead", "text": format!("{number}"), "timestamp": "2026-11-20T17:27:26.590Z",
            "msg_id": format!("m{number}"), "read": false})
    };
    let full: Vec<Value> = (0..1000).map(entry).collect();
    std::fs::write(
        world.team("demo").inbox_path("bob"),
        Value::from(full).to_string(),
    )
    .unwrap();
    world.swarm(&["send", "bob", "one more", "--json"]).error(5);
    assert_eq!(world.team("demo").inbox("bob").len(), 1000);
}

#[test]
fn d1_storm_of_senders_loses_and_doubles_nothing_while_a_reader_acknowledges() {
    const SENDERS: usize = 8;
    const EACH: usize = 12;
    let world = world_with_team("demo");
    enter_foreign(&world, "demo", &["bob"]);
    std::thread::scope(|scope| {
        let senders: Vec<_> = (0..SENDERS)
            .map(|sender| {
                let world = &world;
                scope.spawn(move || {
                    for number in 0..EACH {
                        world
                            .swarm(&["send", "bob", &format!("{sender}-{number}")])
                            .ok();
                    }
                })
            })
            .collect();
        while !senders
            .iter()
            .all(std::thread::ScopedJoinHandle::is_finished)
        {
            world.swarm(&["inbox", "bob", "--ack"]).ok();
        }
    });
    let mut texts: Vec<String> = world
        .team("demo")
        .inbox("bob")
        .iter()
        .map(|entry| entry["text"].as_str().unwrap().to_owned())
        .collect();
    texts.sort();
    let mut expected: Vec<String> = (0..SENDERS)
        .flat_map(|sender| (0..EACH).map(move |number| format!("{sender}-{number}")))
        .collect();
    expected.sort();
    assert_eq!(texts, expected);
}
