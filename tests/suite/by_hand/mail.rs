//! Writing, reading and acknowledging mail.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};
use swarm_tests::stage::World;

use crate::scene::{
    column, complete_first_task, enter_foreign, world_with_foreign, world_with_team,
};

/// Puts another file in the place of an inbox, as another program would.
fn replace_inbox(world: &World, member: &str, text: &str) {
    let path = world.team("demo").inbox_path(member);
    let aside = path.with_extension("aside");
    std::fs::write(&aside, text).unwrap();
    std::fs::rename(&aside, &path).unwrap();
}

#[test]
fn d3_an_unknown_recipient_error_names_the_members_and_creates_no_file() {
    let world = world_with_foreign("demo", &["engineer"]);
    let error = world
        .swarm(&["send", "enginer", "hello", "--json"])
        .error(3);
    assert!(error.to_string().contains("engineer"), "{error}");
    assert!(!world.team("demo").inbox_path("enginer").exists());
}

#[test]
fn a_message_is_queued_in_the_format_that_others_read() {
    let world = world_with_foreign("demo", &["bob"]);
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
fn reading_an_inbox_acknowledges_nothing_without_the_flag() {
    let world = world_with_foreign("demo", &["bob"]);
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
fn a_broadcast_reaches_all_members_but_the_sender() {
    let world = world_with_foreign("demo", &["ann", "bob"]);
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
fn archived_messages_are_shown_with_all_and_each_once() {
    let world = world_with_team("demo");
    let entry = |text: &str| json!({"from": "bob", "text": text, "timestamp": "2026-11-20T17:27:26.590Z", "read": true, "msg_id": text});
    let team = world.team("demo");
    let inbox = json!([entry("two"), entry("three")]);
    std::fs::write(team.inbox_path("team-lead"), inbox.to_string()).unwrap();
    // A writer that was killed between archive and inbox leaves "two" in both, and perhaps half a line.
    let archive = format!("{}\n{}\n{{\"from\": \"bo", entry("one"), entry("two"));
    world.write("root/teams/demo/swarm/archive/team-lead.jsonl", &archive);
    let shown = |more: &[&str]| {
        let words = ["inbox", "team-lead", "--json"];
        column(&world.swarm(&[&words, more].concat()).json(), "text")
    };
    assert_eq!(shown(&[]), ["two", "three"]);
    assert_eq!(shown(&["--all"]), ["one", "two", "three"]);
    world
        .swarm(&["inbox", "team-lead", "--all", "--unread"])
        .assert_code(2);
}

#[test]
fn malformed_elements_are_quarantined_and_valid_ones_stay() {
    let world = world_with_foreign("demo", &["bob"]);
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
        .directory()
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
    let world = world_with_foreign("demo", &["bob"]);
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
    let directory = std::fs::read_dir(path.parent().unwrap()).unwrap().flatten();
    let kept = directory
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
    let world = world_with_foreign("demo", &["bob"]);
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
fn d10_a_message_above_the_bound_is_refused_and_an_endless_input_is_not_read_on() {
    let world = world_with_foreign("demo", &["bob"]);
    world.write("root/swarm.toml", "[inbox]\nmax_message_bytes = 2000\n");
    for (arguments, input) in [
        (["send", "bob", "-", "--json"], "x".repeat(2001)),
        (["send", "bob", &"x".repeat(2001), "--json"], String::new()),
    ] {
        let error = world.swarm_reading(&arguments, &input).error(5);
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("2000") || message.contains("2001"),
            "{message}"
        );
    }
    assert_eq!(world.team("demo").inbox("bob").len(), 0);
    let piped = format!("yes | {} send bob -", world.program("swarm").display());
    let status = world.command("sh").args(["-c", &piped]).status().unwrap();
    assert_eq!(status.code(), Some(5));
    world
        .swarm_reading(&["send", "bob", "-"], &"x".repeat(2000))
        .ok();
}

#[test]
fn d7_the_newest_message_of_a_key_replaces_older_ones_and_their_senders_learn_it() {
    let world = world_with_foreign("demo", &["bob"]);
    let send = |text: &str, more: &[&str]| {
        let arguments = ["send", "bob", text, "--supersede", "progress", "--json"];
        world.start(&[&arguments[..], more].concat())
    };
    let waiting = send("10 %", &["--wait", "acked", "--timeout", "20"]);
    world.wait_until("the first", || world.team("demo").inbox("bob").len() == 1);
    let newer = send("20 %", &[]).wait().json();
    assert_eq!(
        newer["superseded"].as_array().map(Vec::len),
        Some(1),
        "{newer}"
    );
    let error = waiting.wait().error(4);
    assert!(
        error["message"].as_str().unwrap().contains("newer message"),
        "{error}"
    );
    let left = world.swarm(&["inbox", "bob", "--json"]).json();
    assert_eq!(column(&left, "text"), ["20 %"]);
    assert_eq!(left[0]["superseded"], newer["superseded"]);
    let shown = world.swarm(&["inbox", "bob"]).ok().stdout.clone();
    assert!(shown.contains("in place of 1 earlier one"), "{shown}");
    let log = world
        .swarm(&["log", "--type", "queued"])
        .ok()
        .stdout
        .clone();
    assert!(log.contains("in place of"), "{log}");
}

#[test]
fn a_message_in_a_damaged_inbox_is_lost_and_not_acknowledged() {
    let world = world_with_foreign("demo", &["bob"]);
    let waiting = world.start(&[
        "send",
        "bob",
        "one",
        "--wait",
        "acked",
        "--timeout",
        "20",
        "--json",
    ]);
    world.wait_until("the first", || world.team("demo").inbox("bob").len() == 1);
    replace_inbox(&world, "bob", "[{");
    let status = world.swarm(&["status", "--json"]).json();
    assert!(
        status["damaged"].to_string().contains("bob.json"),
        "{status}"
    );
    assert!(status["members"][1]["unread"].is_null(), "{status}");
    world.swarm(&["send", "bob", "two"]).stderr_has("damaged");
    let error = waiting.wait().error(8);
    assert!(
        error["message"].as_str().unwrap().contains("damaged"),
        "{error}"
    );
    let mail = world.swarm(&["inbox", "bob"]).ok().stdout.clone();
    assert!(
        mail.starts_with("system") && mail.contains(".damaged-"),
        "{mail}"
    );
}

#[test]
fn a_broadcast_reports_delivery_per_receiver() {
    let world = world_with_foreign("demo", &["ann", "bob"]);
    world.write("root/swarm.toml", "[inbox]\nmax_unread = 1\n");
    world.swarm(&["send", "ann", "first"]).ok();
    let sent = world.swarm(&["send", "*", "news", "--json"]);
    let error = sent.error(5);
    assert!(
        error["message"].as_str().unwrap().contains("ann"),
        "{error}"
    );
    let records: Value = serde_json::from_str(&sent.stdout).unwrap();
    assert_eq!(column(&records, "to"), ["bob", "ann"]);
    assert_eq!(column(&records, "state"), ["queued", "refused"]);
}

#[test]
fn an_agent_id_names_the_team_and_unknown_transports_and_sessions_are_refused() {
    let world = world_with_team("demo");
    world.swarm(&["team", "create", "other"]).ok();
    enter_foreign(&world, "other", &["bob"]);
    world.swarm(&["send", "bob@other", "hello"]).ok();
    assert_eq!(world.team("other").inbox("bob").len(), 1);
    for (to, code, said) in [
        ("uds:/tmp/x", 3, "no session"),
        ("bridge:1", 2, "no team here is on"),
    ] {
        let send = ["send", to, "x", "--team", "demo", "--json"];
        let error = world.swarm(&send).error(code);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(said), "{error}");
    }
}

#[test]
fn d11_messages_of_the_program_are_from_system_everywhere() {
    let world = world_with_foreign("demo", &["bob"]);
    world.swarm(&["task", "create", "first"]).ok();
    let second = [
        "task",
        "create",
        "second",
        "--owner",
        "bob",
        "--blocked-by",
        "1",
    ];
    world.swarm(&second).ok();
    complete_first_task(&world, "done");
    let mail = world.swarm(&["inbox", "bob"]).ok().stdout.clone();
    assert!(mail.starts_with("system, "), "{mail}");
    let log = world
        .swarm(&["log", "--from", "system"])
        .ok()
        .stdout
        .clone();
    assert!(log.contains("queued from system to bob"), "{log}");
    assert_eq!(
        world.team("demo").inbox("bob")[0]["swarm"]["kind"],
        "system"
    );
}

#[test]
fn following_an_inbox_shows_each_message_once_and_acknowledges_it() {
    let world = world_with_foreign("demo", &["bob"]);
    world
        .swarm(&["send", "team-lead", "one", "--from", "bob"])
        .ok();
    let follow = world.start(&[
        "inbox",
        "team-lead",
        "--unread",
        "--follow",
        "--ack",
        "--json",
    ]);
    let acked = |count: usize| {
        world.wait_until("the messages are acknowledged", || {
            let mail = world.team("demo").inbox("team-lead");
            mail.len() == count && mail.iter().all(|entry| entry["read"] == true)
        });
    };
    acked(1);
    world
        .swarm(&["send", "team-lead", "two", "--from", "bob"])
        .ok();
    acked(2);
    // Another program adds one without an id.
    let mut mail = world.team("demo").inbox("team-lead");
    mail.push(json!({"from": "bob", "text": "three", "timestamp": "now"}));
    replace_inbox(&world, "team-lead", &Value::from(mail).to_string());
    acked(3);
    // SIGINT has the same effect, unless a shell runs the suite in the background: then it is ignored.
    follow.signal(Signal::TERM);
    let shown = follow.wait();
    // By the signal itself, which a shell shows as 143.
    assert_eq!(shown.code, None, "{}", shown.story());
    let lines = shown.stdout.lines();
    let shown = lines
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .collect::<Value>();
    assert_eq!(column(&shown, "text"), ["one", "two", "three"]);
}

#[test]
fn an_inbox_with_archived_messages_says_how_to_see_them() {
    let world = world_with_foreign("demo", &["bob"]);
    let read = |at: usize| json!({"from": "bob", "text": at.to_string(), "timestamp": "now", "read": true});
    let mail = |count: usize| (0..count).map(read).collect::<Value>().to_string();
    let shown = |more: &[&str]| world.swarm(&[&["inbox", "team-lead"], more].concat());
    replace_inbox(&world, "team-lead", &mail(25));
    shown(&[]).ok().stderr_lacks("archived");
    let older = [read(25), read(26)].map(|entry| format!("{entry}\n"));
    let archive = "root/teams/demo/swarm/archive/team-lead.jsonl";
    world.write(archive, &older.concat());
    let archived = "2 older messages archived: `swarm inbox team-lead --all` shows them";
    shown(&[]).ok().stderr_has(archived);
    shown(&["--all"]).ok().stderr_lacks("archived");
}

#[test]
fn a_follower_acknowledges_nothing_once_a_program_reads_the_inbox() {
    let world = world_with_foreign("demo", &["bob"]);
    world
        .swarm(&["send", "bob", "before", "--from", "team-lead"])
        .ok();
    let follow = world.start(&["inbox", "bob", "--follow", "--ack"]);
    world.wait_until("the first is acknowledged", || {
        let mail = world.team("demo").inbox("bob");
        mail[0]["read"] == true
    });
    // A program begins to live under the name.
    let life = world.team("demo").member_directory("bob").join("life");
    fs::create_dir_all(life.parent().unwrap()).unwrap();
    let held = fs::File::create(life).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    world.swarm(&["send", "bob", "for the program"]).ok();
    let ended = follow.wait().code(4);
    ended.stderr_has("acknowledges its own mail");
    ended.stderr_lacks("acknowledged");
    assert_eq!(world.team("demo").inbox("bob")[1]["read"], false);
}

#[test]
fn a_sent_message_is_a_success_when_the_state_of_its_receiver_is_unreadable() {
    let world = world_with_foreign("demo", &["bob"]);
    let life = world.team("demo").member_directory("bob").join("life");
    fs::create_dir_all(life.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&life, &life).unwrap();
    assert_ne!(world.swarm(&["status"]).code, Some(0));
    let sent = world.swarm(&["send", "bob", "once", "--json"]).json();
    assert_eq!(
        (&sent["state"], &sent["receiver"]),
        (&json!("queued"), &Value::Null)
    );
    assert_eq!(world.team("demo").inbox("bob").len(), 1);
}

#[test]
fn d1_storm_of_senders_loses_and_doubles_nothing_while_a_reader_acknowledges() {
    const SENDERS: usize = 8;
    const EACH: usize = 12;
    let world = world_with_foreign("demo", &["bob"]);
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
    // The oldest acknowledged ones are in the archive by now.
    let mut texts = column(
        &world.swarm(&["inbox", "bob", "--all", "--json"]).json(),
        "text",
    );
    texts.sort();
    let mut expected: Vec<String> = (0..SENDERS)
        .flat_map(|sender| (0..EACH).map(move |number| format!("{sender}-{number}")))
        .collect();
    expected.sort();
    assert_eq!(texts, expected);
}
