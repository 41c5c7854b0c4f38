//! The queue of requests.

use std::thread;

use serde_json::json;
use swarm_protocol::{
    Answer, AnsweredBy, ErrorKind, Event, RequestId, RequestKind, RequestRecord, RequestState,
    SpawnId, UnixMs, input_digest,
};
use swarm_store::{BlockOn as _, Draft, StoreError};

use crate::values::name;
use crate::world::World;

pub(crate) fn request(id: &str, asked_at: u64) -> RequestRecord {
    RequestRecord {
        spawn_id: Some(SpawnId::random()),
        description: "run make".to_owned(),
        deadline: Some(UnixMs(9)),
        ..RequestRecord::open(
            RequestId::new(id),
            name("alice"),
            RequestKind::Permission {
                tool: "Bash".to_owned(),
                tool_use_id: "toolu_1".to_owned(),
                input: json!({"command": "make"}),
                digest: "d".to_owned(),
                suggestions: vec![json!({"type": "setMode"})],
            },
            UnixMs(asked_at),
        )
    }
}

pub(crate) fn exactly_one_of_eight_answers_wins(world: &World) {
    world.join("alice");
    let asked = request("perm-1-abcdefg", 1);
    world
        .handle()
        .open_request(asked.clone(), None)
        .block_on()
        .unwrap();
    let outcomes: Vec<_> = thread::scope(|scope| {
        let answers: Vec<_> = (0..8)
            .map(|number| {
                let answer = match number % 3 {
                    0 => Answer::once(),
                    1 => Answer::Denied { why: None },
                    _ => Answer::Expired,
                };
                let id = asked.id.clone();
                scope.spawn(move || {
                    world
                        .handle()
                        .answer_request(&id, None, answer, AnsweredBy::default())
                        .block_on()
                })
            })
            .collect();
        answers
            .into_iter()
            .map(|answer| answer.join().unwrap())
            .collect()
    });
    let mut won: Vec<_> = outcomes.iter().filter_map(|o| o.as_ref().ok()).collect();
    assert_eq!(won.len(), 1);
    let won = won.remove(0);
    assert_eq!(world.handle().request(&asked.id).block_on().unwrap(), *won);
    let RequestState::Answered { answer, .. } = &won.state else {
        panic!("{won:?}");
    };
    for error in outcomes.iter().filter_map(|o| o.as_ref().err()) {
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(
            matches!(error, StoreError::RequestAnswered { answer: theirs, .. } if theirs == answer)
        );
    }
    let answered = world.events().into_iter();
    let answered = answered.filter(|event| matches!(event, Event::RequestAnswered { .. }));
    assert_eq!(answered.count(), 1);
}

pub(crate) fn a_request_and_its_notice_are_one_operation_that_can_be_repeated(world: &World) {
    world.join("alice");
    let asked = request("perm-1-a", 1);
    let open = |asked: RequestRecord| {
        let notice = Draft::new("alice", "may I run make?");
        world.handle().open_request(asked, Some(notice)).block_on()
    };
    let opened: Vec<_> = thread::scope(|scope| {
        let calls: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| open(asked.clone()).unwrap()))
            .collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    assert!(opened.iter().all(|one| *one == opened[0]), "{opened:?}");
    assert_eq!(opened[0].number, Some(1));
    let is_opening = |event: &&Event| matches!(event, Event::RequestOpened { .. });
    assert_eq!(world.events().iter().filter(is_opening).count(), 1);
    assert_eq!(world.texts("team-lead"), ["may I run make?"]);
    // Also after the notice was read.
    let lead = name("team-lead");
    let id = world.unread("team-lead").remove(0).msg_id.unwrap();
    world.handle().ack(&lead, &[id]).block_on().unwrap();
    open(asked.clone()).unwrap();
    assert!(world.unread("team-lead").is_empty());
    // Another request does not get the answer of this one.
    let other = RequestRecord {
        spawn_id: Some(SpawnId::random()),
        ..asked
    };
    let refused = open(other).unwrap_err();
    assert!(matches!(refused, StoreError::RequestExists(_)));
}

pub(crate) fn a_withdrawn_request_leaves_the_queue_and_an_answered_one_does_not(world: &World) {
    world.join("alice");
    let team = world.handle();
    for (id, is_answered) in [("perm-1-a", false), ("perm-1-b", true)] {
        let asked = team.open_request(request(id, 1), None).block_on().unwrap();
        if is_answered {
            let answer =
                team.answer_request(&asked.id, None, Answer::once(), AnsweredBy::default());
            answer.block_on().unwrap();
        }
        let withdrawn = team.withdraw_request(&asked.id, Some("a rule allows it"));
        let withdrawn = withdrawn.block_on().unwrap();
        assert_eq!(withdrawn, !is_answered);
    }
    let left = team.requests().block_on().unwrap().requests;
    let left: Vec<&str> = left.iter().map(|request| request.id.as_str()).collect();
    assert_eq!(left, ["perm-1-b"]);
    let is_answer = |event: &&Event| matches!(event, Event::RequestAnswered { .. });
    let events = world.events();
    assert_eq!(events.iter().filter(is_answer).count(), 2);
    let gone = RequestId::new("perm-1-a");
    let ended = events.iter().find_map(|event| match event {
        Event::RequestAnswered {
            request,
            answer,
            why,
            ..
        } if *request == gone => Some((answer.as_str(), why.as_deref())),
        _ => None,
    });
    assert_eq!(ended, Some(("withdrawn", Some("a rule allows it"))));
    let refused = team.withdraw_request(&gone, None).block_on().unwrap_err();
    assert!(matches!(refused, StoreError::RequestNotFound { .. }));
}

pub(crate) fn only_the_call_that_was_shown_is_answered(world: &World) {
    world.join("alice");
    let asked = request("perm-1-a", 1);
    let asked = world.handle().open_request(asked, None).block_on().unwrap();
    let RequestKind::Permission { tool, digest, .. } = &asked.request else {
        unreachable!()
    };
    let shown = RequestKind::Permission {
        tool: tool.clone(),
        tool_use_id: "toolu_1".to_owned(),
        input: json!({"command": "make install"}),
        digest: digest.clone(),
        suggestions: Vec::new(),
    };
    let yes = || Answer::once();
    let by = AnsweredBy::default;
    let refused = world
        .handle()
        .answer_request(&asked.id, Some(&shown), yes(), by())
        .block_on()
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    assert_eq!(
        refused.to_string(),
        "request `perm-1-a` has changed since it was shown, so it was not answered"
    );
    assert_eq!(world.handle().request(&asked.id).block_on().unwrap(), asked);
    let is_answer = |event: &Event| matches!(event, Event::RequestAnswered { .. });
    assert!(!world.events().iter().any(is_answer));
    world
        .handle()
        .answer_request(&asked.id, Some(&asked.request), yes(), by())
        .block_on()
        .unwrap();
}

pub(crate) fn the_journal_has_the_request_its_answer_and_who_answered(world: &World) {
    world.join("alice");
    let mut asked = request("perm-1-a", 1);
    let RequestKind::Permission { input, .. } = &mut asked.request else {
        unreachable!()
    };
    let long = json!({"command": "ä".repeat(40_000)});
    input.clone_from(&long);
    world
        .handle()
        .open_request(asked.clone(), None)
        .block_on()
        .unwrap();
    let why = Some("not on Friday".to_owned());
    let by = AnsweredBy::person(7, Some("eve"));
    world
        .handle()
        .answer_request(
            &asked.id,
            None,
            Answer::Denied { why: why.clone() },
            by.clone(),
        )
        .block_on()
        .unwrap();
    world
        .handle()
        .open_request(request("perm-2-b", 2), None)
        .block_on()
        .unwrap();
    let always = Answer::Approved {
        always: true,
        updated_input: None,
    };
    let id = RequestId::new("perm-2-b");
    world
        .handle()
        .answer_request(&id, None, always, AnsweredBy::lead())
        .block_on()
        .unwrap();
    let events = world.events();
    let opened = events.iter().find_map(|event| match event {
        Event::RequestOpened {
            description,
            input,
            digest,
            ..
        } => Some((description.as_str(), input, digest)),
        _ => None,
    });
    let (description, input, digest) = opened.unwrap();
    assert_eq!(description, "run make");
    assert!(input.starts_with("{\"command\":\"ää"));
    assert_eq!(*digest, input_digest("Bash", &long));
    assert!(
        input.ends_with("… [65536 of 80014 bytes]"),
        "{}",
        &input[65_500..]
    );
    let make = json!({"command": "make"});
    let answered = |id: &RequestId, answer: &str, always, why, by| Event::RequestAnswered {
        request: id.clone(),
        to: Some(name("alice")),
        answer: answer.to_owned(),
        always,
        why,
        digest: Some(input_digest("Bash", if always { &make } else { &long })),
        updated_digest: None,
        updated_input: None,
        answers: Vec::new(),
        by,
    };
    assert!(events.contains(&answered(&asked.id, "denied", false, why, by)));
    assert!(events.contains(&answered(&id, "approved", true, None, AnsweredBy::lead())));
}

pub(crate) fn an_id_that_could_leave_the_directory_is_refused(world: &World) {
    world.join("alice");
    let before = world.content();
    for bad in ["../config", "", "a/b", ".hidden", "a\0b"] {
        let id = RequestId::new(bad);
        for outcome in [
            world
                .handle()
                .open_request(request(bad, 1), None)
                .block_on()
                .map(drop),
            world.handle().request(&id).block_on().map(drop),
            world
                .handle()
                .answer_request(&id, None, Answer::Expired, AnsweredBy::system())
                .block_on()
                .map(drop),
            world.handle().close_request(&id).block_on(),
        ] {
            assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Usage, "{bad:?}");
        }
    }
    assert_eq!(world.content(), before);
}

pub(crate) fn an_unknown_request_is_not_found_and_the_open_ones_are_named(world: &World) {
    world.join("alice");
    world
        .handle()
        .open_request(request("perm-1-a", 1), None)
        .block_on()
        .unwrap();
    let error = world
        .handle()
        .answer_request(
            &RequestId::new("perm-1-b"),
            None,
            Answer::Expired,
            AnsweredBy::system(),
        )
        .block_on()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.hint().unwrap(), "open requests: p1 of alice");
}

pub(crate) fn the_queue_is_listed_oldest_first_and_a_number_is_given_once(world: &World) {
    let team = world.handle();
    let open = |id: &str, at| team.open_request(request(id, at), None).block_on();
    assert_eq!(open("perm-2-b", 2).unwrap().number, Some(1));
    assert_eq!(open("perm-1-a", 1).unwrap().number, Some(2));
    let ids = || -> Vec<_> {
        let list = team.requests().block_on().unwrap().requests.into_iter();
        list.map(|request| request.id.as_str().to_owned()).collect()
    };
    assert_eq!(ids(), ["perm-1-a", "perm-2-b"]);
    let error = open("perm-1-a", 3).unwrap_err();
    assert!(matches!(error, StoreError::RequestExists(_)), "{error}");
    for _ in 0..2 {
        let id = RequestId::new("perm-1-a");
        team.close_request(&id).block_on().unwrap();
    }
    assert_eq!(ids(), ["perm-2-b"]);
    assert_eq!(open("perm-1-c", 3).unwrap().number, Some(3));
}
