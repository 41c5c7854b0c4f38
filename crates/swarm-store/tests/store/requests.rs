//! The queue of requests.

use std::thread;

use serde_json::json;
use swarm_protocol::{
    Answer, AnsweredBy, ErrorKind, Event, RequestId, RequestKind, RequestRecord, RequestState,
    SpawnId, UnixMs, input_digest,
};
use swarm_store::{BlockOn as _, StoreError, TeamStore};

use crate::world::{World, name};

fn request(id: &str, asked_at: u64) -> RequestRecord {
    RequestRecord {
        id: RequestId::new(id),
        from: name("alice"),
        number: None,
        spawn_id: Some(SpawnId::random()),
        request: RequestKind::Permission {
            tool: "Bash".to_owned(),
            tool_use_id: "toolu_1".to_owned(),
            input: json!({"command": "make"}),
            digest: "d".to_owned(),
            suggestions: vec![json!({"type": "setMode"})],
        },
        description: "run make".to_owned(),
        why: String::new(),
        asked_at: UnixMs(asked_at),
        deadline: Some(UnixMs(9)),
        state: RequestState::Open,
    }
}

#[test]
fn exactly_one_of_eight_answers_wins() {
    let world = World::with_member("alice");
    let asked = request("perm-1-abcdefg", 1);
    let (store, team) = (&world.store, &world.team);
    store
        .team(team)
        .open_request(asked.clone())
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
                    store
                        .team(team)
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
    assert_eq!(
        store.team(team).request(&asked.id).block_on().unwrap(),
        *won
    );
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

#[test]
fn only_the_call_that_was_shown_is_answered() {
    let world = World::with_member("alice");
    let (store, team) = (&world.store, &world.team);
    let asked = request("perm-1-a", 1);
    let asked = store.team(team).open_request(asked).block_on().unwrap();
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
    let refused = store
        .team(team)
        .answer_request(&asked.id, Some(&shown), yes(), by())
        .block_on()
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    assert_eq!(
        refused.to_string(),
        "request `perm-1-a` has changed since it was shown, so it was not answered"
    );
    assert_eq!(
        store.team(team).request(&asked.id).block_on().unwrap(),
        asked
    );
    let is_answer = |event: &Event| matches!(event, Event::RequestAnswered { .. });
    assert!(!world.events().iter().any(is_answer));
    store
        .team(team)
        .answer_request(&asked.id, Some(&asked.request), yes(), by())
        .block_on()
        .unwrap();
}

#[test]
fn an_answer_that_the_journal_does_not_take_is_not_given() {
    let world = World::with_member("alice");
    let (store, team) = (&world.store, &world.team);
    let asked = request("perm-1-a", 1);
    let asked = store.team(team).open_request(asked).block_on().unwrap();
    let journal = store.team(team).journal_path();
    std::fs::remove_file(&journal).unwrap();
    std::fs::create_dir(&journal).unwrap();
    let yes = Answer::once();
    let by = AnsweredBy::default;
    store
        .team(team)
        .answer_request(&asked.id, None, yes, by())
        .block_on()
        .unwrap_err();
    assert_eq!(
        store.team(team).request(&asked.id).block_on().unwrap(),
        asked
    );
    // A timeout still means no.
    store
        .team(team)
        .answer_request(&asked.id, None, Answer::Expired, by())
        .block_on()
        .unwrap();
}

#[test]
fn the_journal_has_the_request_its_answer_and_who_answered() {
    let world = World::with_member("alice");
    let (store, team) = (&world.store, &world.team);
    let mut asked = request("perm-1-a", 1);
    let RequestKind::Permission { input, .. } = &mut asked.request else {
        unreachable!()
    };
    let long = json!({"command": "ä".repeat(4000)});
    input.clone_from(&long);
    store
        .team(team)
        .open_request(asked.clone())
        .block_on()
        .unwrap();
    let why = Some("not on Friday".to_owned());
    let by = AnsweredBy::person(7, Some("eve"));
    store
        .team(team)
        .answer_request(
            &asked.id,
            None,
            Answer::Denied { why: why.clone() },
            by.clone(),
        )
        .block_on()
        .unwrap();
    store
        .team(team)
        .open_request(request("perm-2-b", 2))
        .block_on()
        .unwrap();
    let always = Answer::Approved {
        always: true,
        updated_input: None,
    };
    let id = RequestId::new("perm-2-b");
    store
        .team(team)
        .answer_request(&id, None, always, AnsweredBy::lead())
        .block_on()
        .unwrap();
    let events = world.events();
    let opened = events.iter().find_map(|event| match event {
        Event::RequestOpened {
            description, input, ..
        } => Some((description.as_str(), input)),
        _ => None,
    });
    let (description, input) = opened.unwrap();
    assert_eq!(description, "run make");
    assert!(input.starts_with("{\"command\":\"ää") && input.ends_with('…'));
    assert!(input.len() < 1100, "{}", input.len());
    let make = json!({"command": "make"});
    let answered = |id: &RequestId, answer: &str, always, why, by| Event::RequestAnswered {
        request: id.clone(),
        to: Some(name("alice")),
        answer: answer.to_owned(),
        always,
        why,
        digest: Some(input_digest("Bash", if always { &make } else { &long })),
        updated_digest: None,
        by,
    };
    assert!(events.contains(&answered(&asked.id, "denied", false, why, by)));
    assert!(events.contains(&answered(&id, "approved", true, None, AnsweredBy::lead())));
}

#[test]
fn the_queue_is_listed_oldest_first_with_what_cannot_be_read() {
    let world = World::with_member("alice");
    let (store, team) = (&world.store, &world.team);
    store
        .team(team)
        .open_request(request("perm-2-b", 2))
        .block_on()
        .unwrap();
    store
        .team(team)
        .open_request(request("perm-1-a", 1))
        .block_on()
        .unwrap();
    let broken = store.team(team).requests_directory().join("perm-0-x.json");
    swarm_os::replace_alone(&broken, b"{").unwrap();
    let list = store.team(team).requests().block_on().unwrap();
    let ids: Vec<_> = list.requests.iter().map(|r| r.id.as_str()).collect();
    assert_eq!(ids, ["perm-1-a", "perm-2-b"]);
    assert_eq!(list.broken[0].path, broken);
    let error = store
        .team(team)
        .open_request(request("perm-1-a", 3))
        .block_on()
        .unwrap_err();
    assert!(matches!(error, StoreError::RequestExists { .. }));
    store
        .team(team)
        .close_request(&RequestId::new("perm-1-a"))
        .block_on()
        .unwrap();
    store
        .team(team)
        .close_request(&RequestId::new("perm-1-a"))
        .block_on()
        .unwrap();
    assert_eq!(
        store
            .team(team)
            .requests()
            .block_on()
            .unwrap()
            .requests
            .len(),
        1
    );
}

#[test]
fn an_id_that_could_leave_the_directory_is_refused() {
    let world = World::with_member("alice");
    let before = world.files();
    for bad in ["../config", "", "a/b", ".hidden", "a\0b"] {
        let id = RequestId::new(bad);
        let (store, team) = (&world.store, &world.team);
        for outcome in [
            store
                .team(team)
                .open_request(request(bad, 1))
                .block_on()
                .map(drop),
            store.team(team).request(&id).block_on().map(drop),
            store
                .team(team)
                .answer_request(&id, None, Answer::Expired, AnsweredBy::system())
                .block_on()
                .map(drop),
            store.team(team).close_request(&id).block_on(),
        ] {
            assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Usage, "{bad:?}");
        }
    }
    assert_eq!(world.files(), before);
}

#[test]
fn an_unknown_request_is_not_found_and_the_open_ones_are_named() {
    let world = World::with_member("alice");
    let (store, team) = (&world.store, &world.team);
    store
        .team(team)
        .open_request(request("perm-1-a", 1))
        .block_on()
        .unwrap();
    let error = store
        .team(team)
        .answer_request(
            &RequestId::new("perm-1-b"),
            None,
            Answer::Expired,
            AnsweredBy::system(),
        )
        .block_on()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.hint().unwrap().contains("perm-1-a"));
}

#[test]
fn a_number_is_given_to_one_request_and_never_again() {
    let world = World::new();
    let files = world.handle();
    let number = |id: &str| {
        files
            .open_request(request(id, 1))
            .block_on()
            .unwrap()
            .number
    };
    assert_eq!(number("perm-1-a"), Some(1));
    assert_eq!(number("perm-1-b"), Some(2));
    for id in ["perm-1-a", "perm-1-b"] {
        files.close_request(&RequestId::new(id)).block_on().unwrap();
    }
    assert_eq!(number("perm-1-c"), Some(3));
    let mark = files.team_directory().join("swarm/requests.highwatermark");
    swarm_os::replace_alone(&mark, b"damaged").unwrap();
    assert_eq!(number("perm-1-d"), Some(4), "what is on file is taken");
    assert_eq!(files.requests().block_on().unwrap().requests.len(), 2);
}
