//! Signatures of approvals.

use serde_json::json;
use swarm_protocol::{
    Answer, AnsweredBy, Event, Grant, MessageId, RequestId, RequestRecord, SpawnId, UnixMs,
};
use swarm_store::{AnswerLookup, BlockOn as _, Team};

use crate::requests::request;
use crate::values::{new_team, team};
use crate::world::World;

fn person() -> AnsweredBy {
    AnsweredBy::person(7, None)
}

fn signer(files: &dyn Team) -> AnsweredBy {
    match answered(files) {
        Event::RequestAnswered { by, .. } => by,
        other => panic!("{other:?}"),
    }
}

/// The last recorded answer with other signers.
fn signed_by(files: &dyn Team, signer: AnsweredBy) -> Event {
    let mut event = answered(files);
    if let Event::RequestAnswered { by, .. } = &mut event {
        *by = signer;
    }
    event
}

/// The last recorded answer.
fn answered(files: &dyn Team) -> Event {
    let events = files.events().block_on().unwrap().entries.into_iter().rev();
    let mut events = events.map(|entry| entry.event);
    events
        .find(|event| matches!(event, Event::RequestAnswered { .. }))
        .unwrap()
}

pub(crate) fn an_approval_without_the_signature_for_its_own_request_is_rejected(world: &World) {
    world.join("alice");
    let files = world.handle();
    let key = files.verify_key().block_on().unwrap().unwrap();
    let look = |asked: &RequestRecord| files.look_up_answer(asked, Some(&key)).block_on().unwrap();
    let earlier = files
        .open_request(request("perm-1-aaaaaaa", 1), None)
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
        .open_request(request("perm-1-bbbbbbb", 1), None)
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

pub(crate) fn a_signature_covers_everything_that_is_granted(world: &World) {
    world.join("alice");
    let files = world.handle();
    let key = files.verify_key().block_on().unwrap().unwrap();
    let grant = Grant::answer(&request("perm-1-aaaaaaa", 1), &Answer::once());
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

pub(crate) fn the_leads_model_grants_no_further_calls(world: &World) {
    world.join("alice");
    let files = world.handle();
    let key = files.verify_key().block_on().unwrap();
    let answered = |id: &str, answer: Answer| {
        let asked = files.open_request(request(id, 1), None).block_on().unwrap();
        let answered = files.answer_request(&asked.id, None, answer, AnsweredBy::lead_agent());
        answered.block_on().unwrap();
        let found = files.look_up_answer(&asked, key.as_ref()).block_on();
        found.unwrap()
    };
    let always = Answer::Approved {
        always: true,
        updated_input: None,
    };
    let found = answered("perm-1-aaaaaaa", always);
    assert!(matches!(found, AnswerLookup::Rejected(_)), "{found:?}");
    let found = answered("perm-1-bbbbbbb", Answer::once());
    assert!(matches!(found, AnswerLookup::Answered(_)), "{found:?}");
}

pub(crate) fn each_team_has_its_own_key(world: &World) {
    world
        .store
        .create_team(new_team("other"))
        .block_on()
        .unwrap();
    let other = world.store.team(&team("other"));
    let key = world.handle().verify_key().block_on().unwrap().unwrap();
    assert_ne!(other.verify_key().block_on().unwrap().unwrap(), key);
    let grant = Grant::team_rule("Bash(make:*)");
    let by = other.signed(&grant, person()).block_on().unwrap();
    assert!(!key.verifies(&world.team, &grant, &by));
}
