//! Sending, reading and acknowledging messages.

use std::collections::HashSet;
use std::thread;

use swarm_protocol::{
    ControlFrame, ErrorKind, Event, MarkKind, MessageId, RequestId, ShutdownRequest, UnixMs,
};
use swarm_store::{BlockOn as _, Draft, StoreError, StoreLimits};

use crate::values::name;
use crate::world::World;

pub(crate) fn d18_prose_that_looks_like_a_frame_stays_prose(world: &World) {
    world.join("alice");
    let text =
        r#"{"type":"shutdown_request","requestId":"r","from":"team-lead","timestamp":"now"}"#;
    let draft = Draft::new("team-lead", text);
    world
        .handle()
        .send(&name("alice"), draft)
        .block_on()
        .unwrap();
    let entry = world.unread("alice").remove(0);
    assert_eq!(entry.text, text);
    assert_eq!(swarm_protocol::ControlFrame::of_entry(&entry), None);
}

pub(crate) fn d3_a_message_to_an_unknown_name_is_refused_and_leaves_nothing(world: &World) {
    world.join("engineer");
    let before = world.content();
    let draft = Draft::new("team-lead", "hello");
    let error = world
        .handle()
        .send(&name("enginer"), draft)
        .block_on()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let hint = error.hint().unwrap();
    assert!(
        hint.contains("engineer") && hint.contains("team-lead"),
        "{hint}"
    );
    assert!(error.to_string().contains("enginer"), "{error}");
    assert_eq!(world.content(), before);
    for looked_at in [
        world
            .handle()
            .take_unread(&name("enginer"))
            .block_on()
            .map(drop),
        world.handle().inbox(&name("enginer")).block_on().map(drop),
        world
            .handle()
            .ack(&name("enginer"), &[MessageId::random()])
            .block_on()
            .map(drop),
    ] {
        assert_eq!(looked_at.unwrap_err().kind(), ErrorKind::NotFound);
    }
    assert_eq!(world.content(), before);
}

pub(crate) fn d9_of_two_readers_one_gets_each_message(world: &World) {
    world.join("alice");
    let sent: HashSet<_> = (0..40)
        .map(|n| world.send("alice", &n.to_string()))
        .collect();
    let reader = || {
        let mut mine = Vec::new();
        loop {
            let unread = world.unread("alice");
            let Some(first) = unread.into_iter().next() else {
                return mine;
            };
            let ids = [first.msg_id.unwrap()];
            mine.extend(world.handle().ack(&name("alice"), &ids).block_on().unwrap());
        }
    };
    let got = thread::scope(|scope| {
        let readers = [scope.spawn(reader), scope.spawn(reader)];
        readers.map(|reader| reader.join().unwrap()).concat()
    });
    assert_eq!(got.len(), 40);
    assert_eq!(got.into_iter().collect::<HashSet<_>>(), sent);
}

pub(crate) fn looking_acknowledges_nothing(world: &World) {
    world.join("alice");
    world.send("alice", "one");
    let before = world.content();
    let inbox = world.handle().inbox(&name("alice")).block_on().unwrap();
    assert_eq!((inbox.entries.len(), inbox.unread().count()), (1, 1));
    world.unread("alice");
    assert_eq!(world.content(), before);
}

pub(crate) fn d10_beyond_the_cap_a_send_is_refused_but_a_shutdown_request_passes(world: &World) {
    world.join("alice");
    let team = world.limit(StoreLimits {
        max_unread: 3,
        ..StoreLimits::default()
    });
    for _ in 0..3 {
        world.send("alice", "work");
    }
    let before = world.content();
    let draft = Draft::new("team-lead", "more").urgent();
    let error = team.send(&name("alice"), draft).block_on().unwrap_err();
    assert!(matches!(
        error,
        StoreError::InboxFull {
            unread: 3,
            limit: 3,
            ..
        }
    ));
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert_eq!(world.content(), before);
    let frame = ControlFrame::ShutdownRequest(ShutdownRequest {
        request_id: RequestId::shutdown(1, &name("alice")),
        from: "team-lead".to_owned(),
        reason: None,
        timestamp: UnixMs(1).iso(),
        spawn_id: None,
        force: false,
    });
    let draft = Draft::control("team-lead", &frame);
    team.send(&name("alice"), draft).block_on().unwrap();
    assert!(matches!(
        world.events().last(),
        Some(Event::Queued { frame: Some(kind), .. }) if kind == "shutdown_request"
    ));
    let entry = world.unread("alice").pop().unwrap();
    assert_eq!(ControlFrame::of_entry(&entry), Some(frame));
    assert_eq!(entry.swarm.unwrap().kind, Some(MarkKind::Control));
}

pub(crate) fn a_message_has_the_id_that_its_sender_gave_it(world: &World) {
    world.join("alice");
    let (id, alice) = (MessageId::random(), name("alice"));
    let draft = Draft::person("hello").with_id(id.clone());
    let sent = world.handle().send(&alice, draft).block_on().unwrap();
    assert_eq!(sent, id);
    assert_eq!(world.unread("alice")[0].msg_id, Some(id));
}

pub(crate) fn d10_beyond_the_cap_the_programs_news_pass_up_to_twice_as_many(world: &World) {
    world.join("alice");
    let team = world.limit(StoreLimits {
        max_unread: 2,
        ..StoreLimits::default()
    });
    let post = |draft| team.post(&name("alice"), draft).block_on();
    let news = || Draft::system("bob died");
    for _ in 0..2 {
        world.send("alice", "work");
    }
    for _ in 0..2 {
        post(news()).unwrap();
    }
    let error = post(news()).unwrap_err();
    assert!(matches!(error, StoreError::InboxFull { .. }), "{error}");
}

pub(crate) fn mail_is_acknowledged_by_hand_only_while_no_program_reads_it(world: &World) {
    world.join("alice");
    let alice = name("alice");
    let ids = [world.send("alice", "one"), world.send("alice", "two")];
    let by_hand = |ids: &[MessageId]| world.handle().ack_on_behalf(&alice, ids).block_on();
    by_hand(&ids[..1]).unwrap();
    let spawn_id = world.handle().config().block_on().unwrap();
    let spawn_id = spawn_id.member(&alice).unwrap().spawn_id().unwrap();
    let life = world.live("alice", spawn_id);
    let refused = by_hand(&ids).unwrap_err();
    assert!(matches!(refused, StoreError::ReadByProgram(_)), "{refused}");
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    assert_eq!(world.unread("alice").len(), 1);
    drop(life);
    by_hand(&ids).unwrap();
    assert!(world.unread("alice").is_empty());
}

pub(crate) fn d10_a_message_above_the_bound_is_refused_unless_the_program_writes_it(world: &World) {
    world.join("alice");
    let team = world.limit(StoreLimits {
        max_message_bytes: 10,
        ..StoreLimits::default()
    });
    let post = |draft| team.post(&name("alice"), draft).block_on();
    post(Draft::new("bob", "x".repeat(10))).unwrap();
    let before = world.content();
    for draft in [
        Draft::new("bob", "x".repeat(11)),
        Draft::person("x".repeat(11)),
    ] {
        let error = post(draft).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        let told = error.to_string();
        assert!(told.contains("11 bytes") && told.contains("10"), "{told}");
    }
    assert_eq!(world.content(), before);
    post(Draft::system("x".repeat(11))).unwrap();
}

pub(crate) fn d7_a_message_supersedes_only_unread_ones_of_the_same_sender_and_key(world: &World) {
    world.join("alice");
    let send = |from: &str, key: &str, text: &str| {
        let mut draft = Draft::new(from, text);
        draft.swarm.supersede = Some(key.to_owned());
        world
            .handle()
            .send(&name("alice"), draft)
            .block_on()
            .unwrap()
    };
    let read_one = send("bob", "idle", "bob 1");
    world
        .handle()
        .ack(&name("alice"), &[read_one])
        .block_on()
        .unwrap();
    let second = send("bob", "idle", "bob 2");
    send("carol", "idle", "carol 1");
    send("bob", "other", "bob other");
    let newest = send("bob", "idle", "bob 3");
    let superseded = world.events().into_iter().find_map(|event| match event {
        Event::Queued {
            msg_id, superseded, ..
        } if msg_id == newest => Some(superseded),
        _ => None,
    });
    assert_eq!(superseded, Some(vec![second]));
    let inbox = world.handle().inbox(&name("alice")).block_on().unwrap();
    let texts: Vec<_> = inbox
        .entries
        .iter()
        .map(|entry| entry.text.as_str())
        .collect();
    assert_eq!(texts, ["bob 1", "carol 1", "bob other", "bob 3"]);
}

/// Two senders, and a reader that acknowledges as it reads.
pub(crate) fn d9_mail_of_two_senders_arrives_once_and_in_the_order_of_each(world: &World) {
    world.join("alice");
    let text = |sender: &str, number: usize| format!("{sender} {number}");
    let send_all = |sender: &'static str| {
        for number in 0..20 {
            let draft = Draft::new(sender, text(sender, number));
            let sent = world.handle();
            sent.send(&name("alice"), draft).block_on().unwrap();
        }
    };
    let read = thread::scope(|scope| {
        scope.spawn(|| send_all("bob"));
        scope.spawn(|| send_all("carol"));
        let mut read = Vec::new();
        while read.len() < 40 {
            for entry in world.unread("alice") {
                let id = [entry.msg_id.unwrap()];
                let acked = world.handle().ack(&name("alice"), &id).block_on();
                assert_eq!(acked.unwrap(), id);
                read.push(entry.text);
            }
        }
        read
    });
    for sender in ["bob", "carol"] {
        let sent: Vec<_> = (0..20).map(|number| text(sender, number)).collect();
        let its = read.iter().filter(|text| text.starts_with(sender));
        assert_eq!(its.cloned().collect::<Vec<_>>(), sent);
    }
    assert!(world.unread("alice").is_empty());
    let queued = world.events().into_iter();
    let queued = queued.filter(|event| matches!(event, Event::Queued { .. }));
    assert_eq!(queued.count(), 40);
}

pub(crate) fn d9_mail_is_returned_until_it_is_acknowledged(world: &World) {
    world.join("alice");
    let sent = [world.send("alice", "one"), world.send("alice", "two")];
    let alice = name("alice");
    for _ in 0..3 {
        let unread = world.unread("alice").into_iter();
        let ids: Vec<_> = unread.filter_map(|entry| entry.msg_id).collect();
        assert_eq!(ids, sent);
    }
    assert_eq!(world.handle().ack(&alice, &sent).block_on().unwrap(), sent);
    assert!(
        world
            .handle()
            .ack(&alice, &sent)
            .block_on()
            .unwrap()
            .is_empty()
    );
    assert!(world.unread("alice").is_empty());
}

pub(crate) fn d2_a_delivery_is_recorded_once_and_acknowledges(world: &World) {
    world.join("alice");
    let sent = [world.send("alice", "one"), world.send("alice", "two")];
    let deliver = || world.handle().delivered(&name("alice"), &sent).block_on();
    assert_eq!(deliver().unwrap(), sent);
    assert!(deliver().unwrap().is_empty());
    assert!(world.unread("alice").is_empty());
    let delivered = world.events().into_iter().filter_map(|event| match event {
        Event::Delivered { msg_id, to } if to == name("alice") => Some(msg_id),
        _ => None,
    });
    assert_eq!(delivered.collect::<Vec<_>>(), sent);
}

pub(crate) fn acknowledged_mail_beyond_the_limit_is_archived_oldest_first(world: &World) {
    world.join("alice");
    let team = world.limit(StoreLimits {
        keep_acked: 4,
        ..StoreLimits::default()
    });
    let alice = name("alice");
    let mut sent = Vec::new();
    for number in 0..12 {
        sent.push(world.send("alice", &number.to_string()));
        team.ack(&alice, &sent[number..]).block_on().unwrap();
    }
    let archived = team.archived_mail(&alice).block_on().unwrap();
    let kept = team.inbox(&alice).block_on().unwrap().entries;
    assert!(kept.len() <= 4, "{}", kept.len());
    let all = archived.into_iter().chain(kept);
    let all: Vec<_> = all.filter_map(|entry| entry.msg_id).collect();
    assert_eq!(all, sent);
}

pub(crate) fn mail_that_is_read_behind_unread_mail_is_kept_like_any_other(world: &World) {
    world.join("alice");
    let (team, alice) = (world.handle(), name("alice"));
    // Some leave the inbox, and more are read behind the first one than are noted one by one.
    let sent: Vec<_> = (0..100)
        .map(|number| world.send("alice", &number.to_string()))
        .collect();
    for ids in [&sent[1..60], &sent[61..]] {
        assert_eq!(team.ack(&alice, ids).block_on().unwrap(), ids);
    }
    assert_eq!(world.texts("alice"), ["0", "60"]);
    let mut draft = Draft::new("bob", "news");
    draft.swarm.supersede = Some("news".to_owned());
    team.send(&alice, draft).block_on().unwrap();
    assert_eq!(world.texts("alice"), ["0", "60", "news"]);
    let unread = [sent[0].clone(), sent[60].clone()];
    assert_eq!(team.ack(&alice, &unread).block_on().unwrap(), unread);
    let archived = team.archived_mail(&alice).block_on().unwrap();
    assert!(archived.iter().all(|entry| entry.read));
    let kept = team.inbox(&alice).block_on().unwrap().entries;
    let all = archived.into_iter().chain(kept);
    let mut all: Vec<_> = all.map(|entry| entry.text).collect();
    assert_eq!(all.iter().filter(|text| *text == "news").count(), 1);
    all.retain(|text| text != "news");
    all.sort_by_key(|text| text.parse::<usize>().unwrap());
    let each_once: Vec<_> = (0..100).map(|number| number.to_string()).collect();
    assert_eq!(all, each_once);
}

pub(crate) fn a_message_to_many_reaches_each_and_one_failure_does_not_affect_the_others(
    world: &World,
) {
    let members = ["one", "two", "three"];
    for member in members {
        world.join(member);
    }
    let to = members.into_iter().chain(["nobody"]);
    let letters: Vec<_> = to
        .map(|to| (name(to), Draft::new("team-lead", format!("news {to}"))))
        .collect();
    let outcomes = world.handle().post_all(&letters).block_on().unwrap();
    let (last, sent) = outcomes.split_last().unwrap();
    assert!(
        matches!(last, Err(StoreError::MemberNotFound { .. })),
        "{last:?}"
    );
    for (member, outcome) in members.iter().zip(sent) {
        let unread = world.unread(member);
        let [entry] = &unread[..] else {
            panic!("{unread:?}")
        };
        assert_eq!(entry.text, format!("news {member}"));
        let id = &outcome.as_ref().unwrap().msg_id;
        assert_eq!(entry.msg_id.as_ref(), Some(id));
    }
}

pub(crate) fn d10_the_cap_is_the_same_for_senders_that_have_sent_before(world: &World) {
    world.join("alice");
    let limits = || StoreLimits {
        max_unread: 4,
        ..StoreLimits::default()
    };
    let alice = name("alice");
    let senders = [world.limit(limits()), world.limit(limits())];
    let send = |sender: usize| {
        let draft = Draft::new("team-lead", "work");
        senders[sender].post(&alice, draft).block_on()
    };
    let posted = [0, 1, 1, 1].map(|sender| send(sender).unwrap());
    let error = send(0).unwrap_err();
    assert!(matches!(error, StoreError::InboxFull { .. }), "{error}");
    let read = [posted[0].msg_id.clone()];
    world.handle().ack(&alice, &read).block_on().unwrap();
    send(0).unwrap();
}

pub(crate) fn who_has_just_joined_gets_mail_of_those_who_have_sent_before(world: &World) {
    world.join("alice");
    let sender = world.handle();
    for member in ["bob", "carol"] {
        let draft = || Draft::new("team-lead", "hello");
        sender.send(&name("alice"), draft()).block_on().unwrap();
        world.join(member);
        sender.send(&name(member), draft()).block_on().unwrap();
        assert_eq!(world.texts(member), ["hello"]);
    }
}

pub(crate) fn looking_while_mail_is_acknowledged_misses_none(world: &World) {
    // Fewer messages to each than are moved to the archive.
    for member in ["alice", "bob", "carol", "dave", "erin"] {
        world.join(member);
        let to = name(member);
        thread::scope(|scope| {
            let reader = scope.spawn(|| {
                for number in 0..8 {
                    let id = [world.send(member, &number.to_string())];
                    world.handle().ack(&to, &id).block_on().unwrap();
                }
            });
            let mut seen = 0;
            while !reader.is_finished() {
                let entries = world.handle().inbox(&to).block_on().unwrap().entries;
                assert!(seen <= entries.len(), "{seen}, then {}", entries.len());
                let texts: Vec<_> = entries.iter().map(|entry| entry.text.clone()).collect();
                let all: Vec<_> = (0..texts.len()).map(|number| number.to_string()).collect();
                assert_eq!(texts, all);
                seen = entries.len();
            }
        });
    }
}
