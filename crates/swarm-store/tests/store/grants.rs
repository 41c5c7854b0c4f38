//! Signatures of approvals, modes and team rules.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use swarm_protocol::{
    Answer, AnsweredBy, Event, Grant, LEAD_NAME, MessageId, RequestId, RequestKind, RequestRecord,
    RequestState, SpawnId, UnixMs,
};
use swarm_store::{AnswerLookup, BlockOn as _, StoreError, Team, TeamStore};

use crate::world::{World, name, new_team, team};

/// An open request of `alice`.
pub(crate) fn asked(id: &str, spawn_id: SpawnId) -> RequestRecord {
    RequestRecord {
        id: RequestId::new(id),
        from: name("alice"),
        number: None,
        spawn_id: Some(spawn_id),
        request: RequestKind::Permission {
            tool: "Bash".to_owned(),
            tool_use_id: "toolu_1".to_owned(),
            input: json!({"command": "make"}),
            digest: "d".to_owned(),
            suggestions: Vec::new(),
        },
        description: "run make".to_owned(),
        why: String::new(),
        asked_at: UnixMs(1),
        deadline: None,
        state: RequestState::Open,
    }
}

fn person() -> AnsweredBy {
    AnsweredBy::person(7, None)
}

/// The last recorded answer.
fn answered(files: &dyn Team) -> Event {
    let events = files.events().block_on().unwrap().entries.into_iter().rev();
    let mut events = events.map(|entry| entry.event);
    events
        .find(|event| matches!(event, Event::RequestAnswered { .. }))
        .unwrap()
}

/// The last recorded answer with other signers.
fn signed_by(files: &dyn Team, signer: AnsweredBy) -> Event {
    let mut event = answered(files);
    if let Event::RequestAnswered { by, .. } = &mut event {
        *by = signer;
    }
    event
}

fn signer(files: &dyn Team) -> AnsweredBy {
    match answered(files) {
        Event::RequestAnswered { by, .. } => by,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_approval_without_the_signature_for_its_own_request_is_rejected() {
    let world = World::with_member("alice");
    let files = world.handle();
    let key = files.verify_key().block_on().unwrap().unwrap();
    let look = |asked: &RequestRecord| files.look_up_answer(asked, Some(&key)).block_on().unwrap();
    let spawn = SpawnId::random();
    let earlier = files
        .open_request(asked("perm-1-aaaaaaa", spawn))
        .block_on()
        .unwrap();
    let yes = |id: &RequestId, by| {
        files
            .answer_request(id, None, Answer::once(), by)
            .block_on()
    };
    yes(&earlier.id, person()).unwrap();
    assert!(matches!(look(&earlier), AnswerLookup::Answered(_)));
    let replayed = signer(&*files);
    assert!(replayed.signature.is_some());

    let asked = files
        .open_request(asked("perm-1-bbbbbbb", spawn))
        .block_on()
        .unwrap();
    for (forged, why) in [
        (person(), "it is not signed"),
        (replayed, "its signature is invalid"),
    ] {
        yes(&asked.id, person()).unwrap();
        files
            .journal(signed_by(&*files, forged))
            .block_on()
            .unwrap();
        assert_eq!(look(&asked), AnswerLookup::Rejected(why.to_owned()));
    }
    yes(&asked.id, person()).unwrap();
    assert!(matches!(look(&asked), AnswerLookup::Answered(_)));
}

#[test]
fn a_signature_covers_everything_that_is_granted() {
    let world = World::with_member("alice");
    let files = world.handle();
    let key = files.verify_key().block_on().unwrap().unwrap();
    let grant = Grant::answer(&asked("perm-1-aaaaaaa", SpawnId::random()), &Answer::once());
    let by = files.signed(&grant, person()).block_on().unwrap();
    assert!(key.verifies(&world.team, &grant, &by));
    let always = Answer::Approved {
        always: true,
        updated_input: None,
    };
    let changed: [fn(&mut Grant); 5] = [
        |grant| grant.kind = "plan_approval_response".to_owned(),
        |grant| grant.spawn_id = Some(SpawnId::random()),
        |grant| grant.request = "perm-1-ccccccc".to_owned(),
        |grant| grant.digest = "0".repeat(64),
        |grant| grant.granted = json!("other"),
    ];
    for change in changed {
        let mut other = grant.clone();
        change(&mut other);
        assert!(!key.verifies(&world.team, &other, &by), "{other:?}");
    }
    let mut other = grant.clone();
    other.granted = json!(always);
    assert!(!key.verifies(&world.team, &other, &by));
    assert!(!key.verifies(&team("other"), &grant, &by));
    let changed: [fn(&mut AnsweredBy); 5] = [
        |by| by.by = "lead-agent".to_owned(),
        |by| by.signature.as_mut().unwrap().id = MessageId::random(),
        |by| by.signature.as_mut().unwrap().at = UnixMs(1),
        |by| {
            by.signature
                .as_mut()
                .unwrap()
                .value
                .replace_range(..2, "zz");
        },
        |by| by.signature = None,
    ];
    for change in changed {
        let mut other = by.clone();
        change(&mut other);
        assert!(!key.verifies(&world.team, &grant, &other), "{other:?}");
    }
}

#[test]
fn each_team_has_its_own_key() {
    let world = World::with_member("alice");
    world
        .store
        .create_team(new_team("other"))
        .block_on()
        .unwrap();
    let other = world.store.team(&team("other"));
    let files = world.handle();
    let key = files.verify_key().block_on().unwrap().unwrap();
    assert_ne!(other.verify_key().block_on().unwrap().unwrap(), key);
    let grant = Grant::team_rule("Bash(make:*)");
    let by = other.signed(&grant, person()).block_on().unwrap();
    assert!(!key.verifies(&world.team, &grant, &by));
    let keys = files.team_directory().join("swarm/keys");
    for path in [keys.clone(), keys.join("signing.key")] {
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", path.display());
    }
}

#[test]
fn only_grants_need_the_private_key() {
    let world = World::with_member("alice");
    let files = world.handle();
    let key = files.verify_key().block_on().unwrap();
    let path = files.team_directory().join("swarm/keys/signing.key");
    std::fs::remove_file(&path).unwrap();
    let asked = files
        .open_request(asked("perm-1-aaaaaaa", SpawnId::random()))
        .block_on()
        .unwrap();
    let answer = |answer| {
        files
            .answer_request(&asked.id, None, answer, person())
            .block_on()
    };
    let failed = answer(Answer::once()).unwrap_err();
    assert!(matches!(failed, StoreError::SigningKey { .. }), "{failed}");
    assert!(failed.to_string().contains("signing.key"), "{failed}");
    assert!(failed.hint().is_some());
    answer(Answer::Denied { why: None }).unwrap();
    let found = files
        .look_up_answer(&asked, key.as_ref())
        .block_on()
        .unwrap();
    assert!(matches!(found, AnswerLookup::Answered(_)), "{found:?}");
}

#[test]
fn the_leads_model_grants_no_further_calls() {
    let world = World::with_member("alice");
    let files = world.handle();
    let key = files.verify_key().block_on().unwrap();
    let asked = files
        .open_request(asked("perm-1-aaaaaaa", SpawnId::random()))
        .block_on()
        .unwrap();
    let always = Answer::Approved {
        always: true,
        updated_input: None,
    };
    let by = AnsweredBy::lead_agent();
    files
        .answer_request(&asked.id, None, always, by)
        .block_on()
        .unwrap();
    let found = files
        .look_up_answer(&asked, key.as_ref())
        .block_on()
        .unwrap();
    assert!(matches!(found, AnswerLookup::Rejected(_)), "{found:?}");
}

#[test]
fn what_another_programs_lead_answers_is_not_signed() {
    let world = World::with_member("alice");
    let files = world.handle();
    let by = AnsweredBy {
        by: LEAD_NAME.to_owned(),
        ..AnsweredBy::default()
    };
    let grant = Grant::team_rule("Bash");
    assert_eq!(files.signed(&grant, by.clone()).block_on().unwrap(), by);
    let keys = files.team_directory().join("swarm/keys");
    std::fs::remove_dir_all(keys).unwrap();
    assert_eq!(files.verify_key().block_on().unwrap(), None);
    assert_eq!(files.signed(&grant, person()).block_on().unwrap(), person());
}
