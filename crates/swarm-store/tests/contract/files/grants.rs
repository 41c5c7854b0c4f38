//! The files of a team's signing key.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use swarm_protocol::{
    Answer, AnsweredBy, Grant, LEAD_NAME, RequestId, RequestKind, RequestRecord, SpawnId, UnixMs,
};
use swarm_store::{AnswerLookup, BlockOn as _, StoreError};

use crate::files::world::{World, name};

/// An open request of `alice`.
pub(crate) fn asked(id: &str, spawn_id: SpawnId) -> RequestRecord {
    RequestRecord {
        spawn_id: Some(spawn_id),
        description: "run make".to_owned(),
        ..RequestRecord::open(
            RequestId::new(id),
            name("alice"),
            RequestKind::Permission {
                tool: "Bash".to_owned(),
                tool_use_id: "toolu_1".to_owned(),
                input: json!({"command": "make"}),
                digest: "d".to_owned(),
                suggestions: Vec::new(),
            },
            UnixMs(1),
        )
    }
}

fn person() -> AnsweredBy {
    AnsweredBy::person(7, None)
}

#[test]
fn only_grants_need_the_private_key() {
    let world = World::with_member("alice");
    let files = world.handle();
    let key = files.verify_key().block_on().unwrap();
    let path = world.file("swarm/keys/signing.key");
    std::fs::remove_file(&path).unwrap();
    let asked = files
        .open_request(asked("perm-1-aaaaaaa", SpawnId::random()), None)
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
fn what_another_programs_lead_answers_is_not_signed() {
    let world = World::with_member("alice");
    let files = world.handle();
    let by = AnsweredBy {
        by: LEAD_NAME.to_owned(),
        ..AnsweredBy::default()
    };
    let grant = Grant::team_rule("Bash");
    assert_eq!(files.signed(&grant, by.clone()).block_on().unwrap(), by);
    std::fs::remove_dir_all(world.file("swarm/keys")).unwrap();
    let adopted = br#"{"at":1,"type":"team_adopted","by":"team-lead@crew"}"#;
    swarm_os::replace_alone(&world.file("swarm/journal.jsonl"), adopted).unwrap();
    assert_eq!(files.verify_key().block_on().unwrap(), None);
    assert_eq!(files.signed(&grant, person()).block_on().unwrap(), person());
}

#[test]
fn a_team_of_swarm_that_has_lost_its_key_grants_nothing() {
    let world = World::new();
    let files = world.handle();
    std::fs::remove_dir_all(world.file("swarm/keys")).unwrap();
    let grant = Grant::team_rule("Bash");
    let signed = files.signed(&grant, person()).block_on().map(drop);
    let pinned = files.verify_key().block_on().map(drop);
    for failed in [signed, pinned] {
        let failed = failed.unwrap_err();
        assert!(matches!(failed, StoreError::SigningKey { .. }), "{failed}");
    }
}

#[test]
fn only_the_user_reads_the_signing_key() {
    let world = World::new();
    let keys = world.file("swarm/keys");
    for path in [keys.clone(), keys.join("signing.key")] {
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", path.display());
    }
}
