//! Inboxes in Claude Code's files.

use std::collections::HashSet;
use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use swarm_os::{LockOptions, LockPlan, OsError, with_lock};
use swarm_protocol::{ErrorKind, Event, MarkKind, MessageId};
use swarm_store::{BlockOn as _, Draft, StoreLimits, TeamStore};

use crate::files::recorder::left_open;
use crate::files::world::{World, message_ids, name};

fn send(world: &World, to: &str, text: &str) -> MessageId {
    world
        .handle()
        .send(&name(to), Draft::new("team-lead", text))
        .block_on()
        .unwrap()
}

fn write(world: &World, member: &str, content: &str) {
    swarm_os::replace_alone(&world.inbox_path(member), content.as_bytes()).unwrap();
}

/// Returns the number of unread messages of a member in the team's view.
fn unread_in_view(world: &World, member: &str) -> Option<usize> {
    let views = world.handle().member_view().block_on().unwrap();
    let view = views.iter().find(|view| view.member.name == name(member));
    view.unwrap().unread
}

fn read(world: &World, member: &str) -> String {
    fs::read_to_string(world.inbox_path(member)).unwrap()
}

#[test]
fn a_message_is_on_disk_in_claude_codes_form_and_in_the_journal() {
    let world = World::with_member("alice");
    let mut draft = Draft::new("bob", "hello")
        .with_summary("a greeting")
        .urgent();
    draft.color = Some("green".to_owned());
    let id = world
        .handle()
        .send(&name("alice"), draft)
        .block_on()
        .unwrap();
    let text = read(&world, "alice");
    let entries: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        entries,
        json!([{
            "from": "bob", "text": "hello", "summary": "a greeting",
            "timestamp": entries[0]["timestamp"], "color": "green", "msgV": 1,
            "msg_id": id.as_str(), "type": "message", "read": false, "swarm": {"urgent": true},
        }])
    );
    assert_eq!(text, serde_json::to_string_pretty(&entries).unwrap());
    assert!(world.events().contains(&Event::Queued {
        msg_id: id,
        from: "bob".to_owned(),
        to: name("alice"),
        summary: Some("a greeting".to_owned()),
        frame: None,
        kind: None,
        superseded: Vec::new(),
    }));
}

#[test]
fn d9_an_entry_without_an_id_gets_one_that_it_keeps() {
    let world = World::with_member("alice");
    let entry = r#"[{"from":"bob","text":"no id","timestamp":"2026-11-20T17:53:21.411Z"}]"#;
    write(&world, "alice", entry);
    let first = world.unread("alice");
    let ids = [first[0].msg_id.clone().expect("an id is written first")];
    assert_eq!(world.unread("alice"), first);
    let alice = name("alice");
    assert_eq!(world.handle().ack(&alice, &ids).block_on().unwrap(), ids);
    assert!(world.unread("alice").is_empty());
}

#[test]
fn d10_ten_thousand_messages_leave_a_small_file_and_a_whole_archive() {
    let mut world = World::with_member("alice");
    let keep = StoreLimits::default();
    world.set_store(world.store.clone().with_limits(StoreLimits {
        max_unread: 2000,
        ..keep.clone()
    }));
    let text = "x".repeat(100);
    // In bulk for speed; the last ones one by one.
    for batch in 0..10 {
        let entries: Vec<Value> = (0..1000)
            .map(|number| {
                json!({"from": "bob", "text": text, "timestamp": "2026-11-20T17:53:21.411Z",
                    "read": false, "msg_id": format!("{batch}-{number}")})
            })
            .collect();
        let mut all: Vec<Value> = match batch {
            0 => Vec::new(),
            _ => serde_json::from_str(&read(&world, "alice")).unwrap(),
        };
        all.extend(entries);
        write(&world, "alice", &serde_json::to_string(&all).unwrap());
        let ids: Vec<_> = world
            .unread("alice")
            .into_iter()
            .filter_map(|entry| entry.msg_id)
            .collect();
        assert_eq!(ids.len(), 1000);
        world.handle().ack(&name("alice"), &ids).block_on().unwrap();
        assert!(fs::metadata(world.inbox_path("alice")).unwrap().len() < 256 * 1024);
    }
    let inbox = world.handle().inbox(&name("alice")).block_on().unwrap();
    assert!(inbox.entries.len() <= keep.keep_acked);
    let archive = world.file("swarm/archive/alice.jsonl");
    let mut all = message_ids(&archive);
    all.extend(message_ids(&world.inbox_path("alice")));
    assert_eq!(all.len(), 10_000);
    assert_eq!(all[0].as_str(), "0-0", "the oldest go first");
    let archived = world
        .handle()
        .archived_mail(&name("alice"))
        .block_on()
        .unwrap();
    let ids: Vec<_> = archived
        .into_iter()
        .filter_map(|entry| entry.msg_id)
        .collect();
    assert_eq!(ids, message_ids(&archive));
    assert_eq!(all.into_iter().collect::<HashSet<_>>().len(), 10_000);
}

#[test]
fn d10_a_few_large_messages_go_to_the_archive_too() {
    let mut world = World::with_member("alice");
    world.set_store(world.store.clone().with_limits(StoreLimits {
        keep_bytes: 4096,
        ..StoreLimits::default()
    }));
    for number in 0..20 {
        send(&world, "alice", &"x".repeat(1000));
        let ids: Vec<_> = world
            .unread("alice")
            .into_iter()
            .filter_map(|entry| entry.msg_id)
            .collect();
        assert_eq!(ids.len(), 1, "{number}");
        world.handle().ack(&name("alice"), &ids).block_on().unwrap();
        assert!(fs::metadata(world.inbox_path("alice")).unwrap().len() <= 4096);
    }
}

#[test]
fn d2_a_delivery_is_in_the_journal_before_the_message_is_read() {
    let world = World::with_member("alice");
    let sent = [send(&world, "alice", "one"), send(&world, "alice", "two")];
    let delivered = || {
        let events = world.events().into_iter();
        let ids = events.filter_map(|event| match event {
            Event::Delivered { msg_id, to } if to == name("alice") => Some(msg_id),
            _ => None,
        });
        ids.collect::<Vec<_>>()
    };
    let deliver = || world.handle().delivered(&name("alice"), &sent).block_on();
    // A journal that cannot be written must leave the message unread.
    let journal = world.file("swarm/journal.jsonl");
    let aside = journal.with_extension("aside");
    fs::rename(&journal, &aside).unwrap();
    fs::create_dir(&journal).unwrap();
    deliver().unwrap_err();
    assert_eq!(world.unread("alice").len(), 2);
    fs::remove_dir(&journal).unwrap();
    fs::rename(&aside, &journal).unwrap();
    assert_eq!(deliver().unwrap(), sent);
    assert_eq!(delivered(), sent);
    assert!(deliver().unwrap().is_empty());
    assert_eq!((delivered().len(), world.unread("alice").len()), (2, 0));
}

#[test]
fn what_others_wrote_is_kept_byte_by_byte_beside_new_messages() {
    let world = World::with_member("alice");
    let foreign = r#"{ "text":"t",  "from":"x", "timestamp":"y", "lead_sig":"s", "n":1.50e0, "type":7, "half":"\ud83d" }"#;
    write(
        &world,
        "alice",
        &format!("[{foreign},\n\t{{\"from\":\"z\",\"text\":\"\",\"timestamp\":\"\"}}]"),
    );
    send(&world, "alice", "hello");
    let text = read(&world, "alice");
    assert!(text.contains(foreign), "{text}");
    assert_eq!(
        serde_json::from_str::<Vec<Value>>(&text)
            .unwrap_err()
            .line(),
        2
    );
    let unread = world.unread("alice");
    assert_eq!(unread.len(), 3);
    let ids: Vec<_> = unread
        .into_iter()
        .filter_map(|entry| entry.msg_id)
        .collect();
    world.handle().ack(&name("alice"), &ids).block_on().unwrap();
    let entries: Value = serde_json::from_str(&read(&world, "alice")).unwrap();
    assert_eq!(entries[0]["lead_sig"], "s");
    assert_eq!(entries[0]["n"], 1.5);
    assert_eq!(entries[0]["type"], 7);
    assert_eq!(entries[0]["read"], true);
}

#[test]
fn an_inbox_that_others_change_in_between_is_written_whole_with_one_layout() {
    let world = World::with_member("alice");
    let entries = || -> Vec<Value> { serde_json::from_str(&read(&world, "alice")).unwrap() };
    let texts = || -> Vec<String> {
        let texts = entries().into_iter();
        texts
            .map(|entry| entry["text"].as_str().unwrap().to_owned())
            .collect()
    };
    let ids: Vec<_> = ["é1", "2", "3"]
        .map(|text| send(&world, "alice", text))
        .into();
    // Changes in the middle, after unchanged entries, and before them.
    for acked in [&ids[1], &ids[0]] {
        let acked = std::slice::from_ref(acked);
        world
            .handle()
            .ack(&name("alice"), acked)
            .block_on()
            .unwrap();
        let pretty = serde_json::to_string_pretty(&entries()).unwrap();
        assert_eq!(read(&world, "alice"), pretty);
    }
    // Another program writes the same entries in its own layout, and adds one within a character of
    // ours.
    let compact = read(&world, "alice").replace('\n', "").replace('é', "è");
    write(&world, "alice", &compact);
    send(&world, "alice", "4");
    assert_eq!(texts(), ["è1", "2", "3", "4"]);
    let text = read(&world, "alice");
    assert!(
        text.starts_with("[\n  {") && text.ends_with("\n  }\n]"),
        "{text}"
    );
    // It removes the first one.
    let rest = serde_json::to_string_pretty(&entries()[1..]).unwrap();
    write(&world, "alice", &rest);
    send(&world, "alice", "5");
    assert_eq!(texts(), ["2", "3", "4", "5"]);
    let pretty = serde_json::to_string_pretty(&entries()).unwrap();
    assert_eq!(read(&world, "alice"), pretty);
    write(&world, "alice", "[]");
    send(&world, "alice", "6");
    assert_eq!(texts(), ["6"]);
}

#[test]
fn malformed_elements_are_set_aside_and_the_good_ones_delivered() {
    let world = World::with_member("alice");
    let good = r#"{"from":"bob","text":"good","timestamp":"now"}"#;
    write(
        &world,
        "alice",
        &format!(
            r#"["a string", {good}, null, {{"from":"bob"}}, {{"from":"b","text":{{}},"timestamp":"t"}}]"#
        ),
    );
    let inbox = world.handle().inbox(&name("alice")).block_on().unwrap();
    assert_eq!((inbox.entries.len(), inbox.malformed.len()), (1, 4));
    let unread = world.unread("alice");
    assert_eq!(unread.len(), 1);
    assert_eq!(unread[0].text, "good");
    let kept = world.file("swarm/archive/alice.malformed.jsonl");
    let lines = fs::read_to_string(&kept).unwrap();
    assert_eq!(lines.lines().count(), 4);
    assert!(lines.contains(r#""element":"\"a string\"""#), "{lines}");
    assert!(world.events().contains(&Event::MalformedMail {
        to: name("alice"),
        count: 4,
        kept: kept.display().to_string(),
    }));
    let inbox = world.handle().inbox(&name("alice")).block_on().unwrap();
    assert!(inbox.malformed.is_empty());
}

#[test]
fn d15_a_damaged_inbox_is_reported_by_readers_and_kept_aside_by_the_next_writer() {
    for damaged in [
        "[{\"from\":\"bob\",\"te",
        "{}",
        "null",
        "[]]",
        "\u{feff}[]",
        "[\0]",
    ] {
        let world = World::with_member("alice");
        write(&world, "alice", damaged);
        let error = world.handle().inbox(&name("alice")).block_on().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Damaged);
        assert!(error.to_string().contains("alice.json"), "{error}");
        assert_eq!(read(&world, "alice"), damaged, "a reader changes nothing");

        assert_eq!(unread_in_view(&world, "alice"), None);

        let posted = world
            .handle()
            .post(&name("alice"), Draft::new("team-lead", "hello"))
            .block_on()
            .unwrap();
        let unread = world.unread("alice");
        let [notice, message] = &unread[..] else {
            panic!("{unread:?}");
        };
        assert_eq!(message.msg_id.as_ref(), Some(&posted.msg_id));
        let mark = notice.swarm.clone().unwrap();
        assert_eq!(mark.kind, Some(MarkKind::System));
        let aside = posted.quarantine.unwrap().display().to_string();
        assert!(notice.text.contains(&aside), "{}", notice.text);
        assert_eq!(unread_in_view(&world, "alice"), Some(2));
        let kept = world.events().into_iter().find_map(|event| match event {
            Event::FileDamaged { kept, .. } => Some(kept),
            _ => None,
        });
        assert_eq!(fs::read_to_string(kept.unwrap()).unwrap(), damaged);
    }
}

#[test]
fn an_empty_file_is_an_empty_inbox() {
    let world = World::with_member("alice");
    write(&world, "alice", "");
    assert!(world.unread("alice").is_empty());
    send(&world, "alice", "hello");
    assert_eq!(world.unread("alice").len(), 1);
}

#[test]
fn entries_that_old_versions_mark_in_place_are_pruned_as_well() {
    let mut world = World::with_member("alice");
    world.set_store(world.store.clone().with_limits(StoreLimits {
        keep_acked: 2,
        ..StoreLimits::default()
    }));
    let entries: Vec<Value> = (0..5)
        .map(|n| json!({"from": "b", "text": n.to_string(), "timestamp": "t", "read": true, "msg_id": n.to_string()}))
        .collect();
    write(&world, "alice", &Value::from(entries).to_string());
    send(&world, "alice", "hello");
    let inbox = world.handle().inbox(&name("alice")).block_on().unwrap();
    let texts: Vec<_> = inbox.entries.iter().map(|e| e.text.as_str()).collect();
    assert_eq!(texts, ["4", "hello"]);
}

/// Sets the modification time of a file, as if unchanged since.
fn left_alone(path: &std::path::Path) {
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_mins(1);
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_modified(long_ago).unwrap();
}

#[test]
fn i4_a_look_at_an_inbox_without_news_neither_locks_nor_opens_it() {
    let world = World::with_member("alice");
    let id = send(&world, "alice", "one");
    world
        .handle()
        .ack(&name("alice"), &[id])
        .block_on()
        .unwrap();
    left_alone(&world.inbox_path("alice"));
    assert!(world.unread("alice").is_empty());
    // Taking the lock now would time out.
    let quick = world
        .store
        .clone()
        .with_lock_options(swarm_os::LockOptions {
            deadline: std::time::Duration::ZERO,
            ..swarm_os::LockOptions::default()
        });
    let lock = world.inbox_path("alice").with_extension("json.lock");
    swarm_os::create_private_dir(&lock).unwrap();
    let take = || {
        quick
            .team(&world.team)
            .take_unread(&name("alice"))
            .block_on()
    };
    assert!(take().unwrap().is_empty());

    send_in_place(&world, "alice");
    assert_eq!(
        take().unwrap().len(),
        1,
        "new mail is seen regardless of the cache and of the writer"
    );
    std::fs::remove_dir(&lock).unwrap();
}

/// Another program adds a message.
fn send_in_place(world: &World, member: &str) {
    let mut entries: Vec<Value> = serde_json::from_str(&read(world, member)).unwrap();
    entries
        .push(json!({"from": "b", "text": "two", "timestamp": "t", "read": false, "msg_id": "2"}));
    write(world, member, &Value::from(entries).to_string());
}

#[test]
fn mail_is_read_without_a_lock_unless_something_has_to_be_written() {
    let world = World::with_member("alice");
    let (store, team, alice) = (&world.store, &world.team, name("alice"));
    store
        .team(team)
        .send(&alice, Draft::new("bob", "hello"))
        .block_on()
        .unwrap();
    let hurried = store.clone().with_lock_options(LockOptions {
        deadline: Duration::ZERO,
        ..LockOptions::default()
    });
    let sidecar = world.file("swarm/locks/inbox-alice");
    let plan = LockPlan {
        sidecar: &sidecar,
        data: &[],
    };
    let taken = with_lock(&plan, &LockOptions::default(), |_held| {
        Ok::<_, OsError>(hurried.team(team).take_unread(&alice).block_on())
    });
    assert_eq!(taken.unwrap().unwrap()[0].text, "hello");

    // A missing ID from another program must be written first.
    let nameless =
        r#"[{"from":"eve","text":"hi","timestamp":"2026-11-20T17:53:21.411Z","read":false}]"#;
    swarm_os::replace_alone(&world.inbox_path("alice"), nameless.as_bytes()).unwrap();
    let taken = with_lock(&plan, &LockOptions::default(), |_held| {
        Ok::<_, OsError>(hurried.team(team).take_unread(&alice).block_on())
    });
    taken.unwrap().unwrap_err();
    assert!(world.unread("alice")[0].msg_id.is_some());
}

#[test]
fn a_message_to_many_is_on_disk_on_return() {
    let world = World::new();
    let members: Vec<String> = (0..20).map(|number| format!("mate-{number}")).collect();
    for member in &members {
        world.join(member);
    }
    let letters = |text: &str| -> Vec<_> {
        let to = members.iter().map(String::as_str).chain(["nobody"]);
        to.map(|to| (name(to), Draft::new("team-lead", format!("{text} {to}"))))
            .collect()
    };
    for _ in 0..2 {
        let (outcomes, left) = left_open(&world.root, || {
            world
                .handle()
                .post_all(&letters("news"))
                .block_on()
                .unwrap()
        });
        // The journal is not awaited.
        let journal = world.file("swarm/journal.jsonl");
        assert_eq!(left, [format!("content of {}", journal.display())]);
        assert_eq!(
            outcomes.iter().filter(|outcome| outcome.is_ok()).count(),
            20
        );
    }
}
