//! A permission request has exactly one answer, for one call.

use std::time::Duration;

use serde_json::{Value, json};
use swarm_permissions::{
    Behavior, Destination, PermissionOutcome, PermissionRequest, RuleValue, Suggestion,
};
use swarm_protocol::{AgentEvent, Answer, ControlFrame, RequestKind, RequestState, input_digest};
use swarm_store::{BlockOn as _, StoreError};
use swarm_team::{Incoming, open_request};
use tokio_util::sync::CancellationToken;

use crate::request_rig::{
    Bell, LONG, allowed, answered, call, forge, ignored, look, mail_response, open, queue, success,
    tamper, wait, wait_for, yes,
};
use crate::world::{World, name};

type Change = fn(&mut Value);

#[test]
fn a_request_is_in_the_queue_and_mailed_to_the_lead() {
    let (world, bob) = World::with_context("bob");
    let id = open(&bob, &world, LONG).record.id;
    let record = world.files().request(&id).block_on().unwrap();
    let RequestKind::Permission { input, digest, .. } = &record.request else {
        panic!("{record:?}")
    };
    assert_eq!(
        (&record.from, record.spawn_id),
        (&name("bob"), Some(bob.spawn_id))
    );
    assert_eq!(
        (input, digest),
        (&call().input, &input_digest("Bash", &call().input))
    );
    assert_eq!(record.deadline.unwrap().since(record.asked_at), 3_600_000);
    let mail = world.mail("team-lead");
    let [
        Incoming {
            entry,
            frame: Some(ControlFrame::PermissionRequest(frame)),
        },
    ] = &mail[..]
    else {
        panic!("{mail:?}");
    };
    assert!(entry.is_urgent());
    assert_eq!((&frame.request_id, frame.agent_id.as_str()), (&id, "bob"));
    assert_eq!(frame.input, call().input);
}

#[test]
fn a_request_has_times_by_the_clock_that_the_team_shares() {
    let (world, bob) = World::with_context("bob");
    // In memory, it begins with the store.
    let now = || world.files().server_time().block_on().unwrap();
    let began = now();
    let asked = open(&bob, &world, LONG).record;
    assert!(
        asked.asked_at >= began && asked.asked_at <= now(),
        "{asked:?}"
    );
}

#[tokio::test]
async fn a_yes_lets_the_call_run_and_always_takes_the_suggestions_too() {
    let (world, bob) = World::with_context("bob");
    for (always, updates) in [(false, vec![]), (true, call().suggestions)] {
        let open = open(&bob, &world, LONG);
        yes(&world, &open, always);
        let answer = wait(&bob, &world, &open, LONG).await.unwrap();
        assert_eq!(answer, allowed(&updates));
        assert_eq!(queue(&world), 0);
        assert!(world.unread("bob").is_empty(), "the mailed copy is read");
    }
    assert_eq!(ignored(&world), 0);
}

#[tokio::test]
async fn p2_a_no_carries_its_reason() {
    let (world, bob) = World::with_context("bob");
    let open = open(&bob, &world, LONG);
    let (asked, why) = (&open.record, Some("not on Friday".to_owned()));
    answered(&world, asked, Answer::Denied { why })
        .await
        .unwrap();
    let answer = wait(&bob, &world, &open, LONG).await.unwrap();
    assert_eq!(answer, PermissionOutcome::deny("not on Friday"));
}

#[tokio::test]
async fn an_answer_without_a_journal_entry_is_ignored_and_the_request_stays_open() {
    let world = World::on_files();
    let seated = world.seat_of_new("bob");
    let bob = &seated.context;
    let open = open(bob, &world, LONG);
    for (number, answer) in [
        json!({"answer": "approved", "always": true}),
        json!({"answer": "denied"}),
    ]
    .iter()
    .enumerate()
    {
        tamper(&world, &open, |record| forge(record, answer));
        assert_eq!(look(bob, &world, &open).await, None);
        let record = world.files().request(&open.record.id).block_on().unwrap();
        assert_eq!(record, open.record, "as it was asked");
        assert_eq!(ignored(&world), number + 1);
    }
    let told = world.mail("team-lead");
    let is_told = |mail: &&Incoming| mail.is_system() && mail.entry.text.contains("was ignored");
    assert_eq!(told.iter().filter(is_told).count(), 2, "{told:?}");
    let is_shown = |event: &AgentEvent| matches!(event, AgentEvent::Notice { .. });
    assert!(seated.events().iter().any(is_shown));
    yes(&world, &open, false);
    let answer = wait(bob, &world, &open, LONG).await.unwrap();
    assert_eq!(answer, allowed(&[]));
}

#[tokio::test]
async fn an_ignored_answer_and_its_copy_by_mail_are_reported_once() {
    let world = World::on_files();
    let bob = world.seat_of_new("bob").context;
    let open = open(&bob, &world, LONG);
    let (bell, cancel) = (Bell::default(), CancellationToken::new());
    let ring = bell.0.clone();
    let waiting = wait_for(&bob, &world, &open, bell, LONG, &cancel);
    tokio::pin!(waiting);
    let approved = json!({"answer": "approved", "always": false});
    // The answer, its copy, and a response without an answer.
    for (is_recorded, reported) in [(true, 1), (false, 1), (false, 2)] {
        if is_recorded {
            tamper(&world, &open, |record| forge(record, &approved));
        } else {
            mail_response(&world, "team-lead", &success(&open.record.id, None));
        }
        ring.notify_one();
        tokio::select! {
            biased;
            answer = &mut waiting => panic!("{answer:?}"),
            () = tokio::task::yield_now() => {}
        }
        assert_eq!(ignored(&world), reported);
    }
}

#[tokio::test]
async fn a_recorded_answer_is_not_widened_or_turned_round_in_the_file() {
    let world = World::on_files();
    let bob = world.seat_of_new("bob").context;
    let widened = open(&bob, &world, LONG);
    yes(&world, &widened, false);
    let always = json!({"answer": "approved", "always": true});
    tamper(&world, &widened, |record| forge(record, &always));
    assert_eq!(look(&bob, &world, &widened).await, None);
    let denied = open(&bob, &world, LONG);
    let asked = &denied.record;
    answered(&world, asked, Answer::Denied { why: None })
        .await
        .unwrap();
    let once = json!({"answer": "approved", "always": false});
    tamper(&world, &denied, |record| forge(record, &once));
    assert_eq!(look(&bob, &world, &denied).await, None);
}

#[tokio::test]
async fn a_changed_call_is_not_what_was_approved() {
    let world = World::on_files();
    let bob = world.seat_of_new("bob").context;
    let changes: [Change; 5] = [
        |record| record["input"]["command"] = "ls".into(),
        |record| record["tool"] = "Read".into(),
        |record| record["toolUseId"] = "toolu_2".into(),
        |record| record["description"] = "Bash ls".into(),
        |record| record["suggestions"] = json!([]),
    ];
    for change in changes {
        let open = open(&bob, &world, LONG);
        tamper(&world, &open, change);
        yes(&world, &open, false);
        assert_eq!(look(&bob, &world, &open).await, None);
    }
    // Nor after the file has the original request again.
    let open = open(&bob, &world, LONG);
    tamper(&world, &open, changes[0]);
    yes(&world, &open, false);
    let asked = json!(call().input);
    tamper(&world, &open, |record| record["input"] = asked);
    assert_eq!(look(&bob, &world, &open).await, None);
    assert_eq!(ignored(&world), changes.len() + 1);
}

#[tokio::test]
async fn an_answer_is_for_the_request_that_was_shown_and_for_no_later_one() {
    let world = World::on_files();
    let bob = world.seat_of_new("bob").context;
    let shown = open(&bob, &world, LONG);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let withdrawn = wait_for(&bob, &world, &shown, Bell::default(), LONG, &cancel).await;
    withdrawn.unwrap();
    let newer = open(&bob, &world, LONG);
    let late = answered(&world, &shown.record, Answer::once())
        .await
        .unwrap_err();
    assert!(matches!(late, StoreError::RequestNotFound { .. }), "{late}");

    let other_call = |record: &mut Value| record["input"] = json!({"command": "rm x"});
    tamper(&world, &newer, other_call);
    let asked = &newer.record;
    for changed in [
        answered(
            &world,
            asked,
            Answer::Approved {
                always: true,
                updated_input: None,
            },
        )
        .await,
        answered(&world, asked, Answer::Denied { why: None }).await,
    ] {
        let changed = changed.unwrap_err();
        assert!(
            matches!(changed, StoreError::RequestChanged(_)),
            "{changed}"
        );
    }
    assert_eq!(
        look(&bob, &world, &newer).await,
        None,
        "nothing was answered"
    );
}

#[test]
fn p2_exactly_one_answer_wins() {
    let (world, bob) = World::with_context("bob");
    let asked = open(&bob, &world, LONG).record;
    let wins: usize = std::thread::scope(|scope| {
        let answers: Vec<_> = (0..6)
            .map(|n| {
                let (world, asked) = (&world, &asked);
                scope.spawn(move || {
                    let answered = if n % 2 == 0 {
                        answered(world, asked, Answer::once()).block_on()
                    } else {
                        answered(world, asked, Answer::Denied { why: None }).block_on()
                    };
                    match answered {
                        Ok(_) => 1,
                        Err(StoreError::RequestAnswered { .. }) => 0,
                        Err(error) => panic!("{error}"),
                    }
                })
            })
            .collect();
        answers
            .into_iter()
            .map(|answer| answer.join().unwrap())
            .sum()
    });
    assert_eq!(wins, 1);
    assert_eq!(world.unread("bob").len(), 1);
}

#[tokio::test]
async fn p2_a_request_without_an_answer_is_denied_and_closed() {
    let (world, bob) = World::with_context("bob");
    let timeout = Duration::from_millis(20);
    let open = open(&bob, &world, timeout);
    let asked = &open.record;
    let answer = wait(&bob, &world, &open, timeout).await.unwrap();
    let PermissionOutcome::Deny { why, .. } = answer else {
        panic!("{answer:?}");
    };
    assert!(why.contains("timed out"), "{why}");
    assert_eq!(queue(&world), 0);
    let late = answered(&world, asked, Answer::once()).await.unwrap_err();
    assert!(matches!(late, StoreError::RequestNotFound { .. }), "{late}");
}

#[tokio::test]
async fn an_interrupted_question_is_withdrawn() {
    let (world, bob) = World::with_context("bob");
    let open = open(&bob, &world, LONG);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let answer = wait_for(&bob, &world, &open, Bell::default(), LONG, &cancel).await;
    assert!(matches!(answer.unwrap(), PermissionOutcome::Deny { .. }));
    assert_eq!(queue(&world), 0);
}

#[tokio::test(start_paused = true)]
async fn an_answer_given_before_a_withdrawal_or_the_deadline_is_returned_and_closed() {
    let (world, bob) = World::with_context("bob");
    for is_withdrawn in [true, false] {
        let open = open(&bob, &world, LONG);
        let cancel = CancellationToken::new();
        let waiting = wait_for(&bob, &world, &open, Bell::default(), LONG, &cancel);
        tokio::pin!(waiting);
        tokio::select! {
            biased;
            answer = &mut waiting => panic!("{answer:?}"),
            () = tokio::task::yield_now() => {}
        }
        yes(&world, &open, false);
        if is_withdrawn {
            cancel.cancel();
        }
        // Otherwise the deadline wakes it.
        let answer = waiting.await.unwrap();
        let is_allowed = matches!(answer, PermissionOutcome::Allow { .. });
        assert!(is_allowed, "{answer:?}");
        assert_eq!(queue(&world), 0);
    }
}

#[tokio::test]
async fn the_lead_asks_through_the_queue_alone() {
    let world = World::new();
    let lead = world.lead().context;
    let open = open(&lead, &world, LONG);
    assert!(world.unread("team-lead").is_empty());
    yes(&world, &open, false);
    assert!(world.unread("team-lead").is_empty());
    let answer = wait(&lead, &world, &open, LONG).await.unwrap();
    assert_eq!(answer, allowed(&[]));
    assert_eq!(queue(&world), 0);
}

#[test]
fn a_rule_that_does_not_reach_the_team_is_named_and_the_request_is_approved() {
    let world = World::on_files();
    let bob = world.seat_of_new("bob").context;
    world.join("eve");
    let inbox = world.file("inboxes/eve.json");
    std::fs::remove_file(&inbox).ok();
    std::fs::create_dir(&inbox).unwrap();
    let asked = PermissionRequest {
        suggestions: vec![Suggestion::AddRules {
            rules: vec![RuleValue {
                tool_name: "Bash".to_owned(),
                rule_content: Some("make:*".to_owned()),
            }],
            behavior: Behavior::Allow,
            destination: Destination::Session,
        }],
        ..call()
    };
    let files = world.files();
    let open = open_request(&bob, &*files, asked, LONG).block_on().unwrap();
    let error = answered(
        &world,
        &open.record,
        Answer::Approved {
            always: true,
            updated_input: None,
        },
    )
    .block_on()
    .unwrap_err();
    assert!(matches!(error, StoreError::RuleNotAdded { .. }), "{error}");
    let said = error.to_string();
    assert!(
        said.contains("is approved") && said.contains("`Bash(make:*)`"),
        "{said}"
    );
    let record = files.request(&open.record.id).block_on().unwrap();
    assert!(
        matches!(record.state, RequestState::Answered { .. }),
        "{record:?}"
    );
}

#[test]
fn a_request_that_cannot_be_mailed_to_the_lead_leaves_the_queue() {
    let world = World::on_files();
    let bob = world.seat_of_new("bob").context;
    let inbox = world.file("inboxes/team-lead.json");
    std::fs::create_dir(&inbox).unwrap();
    open_request(&bob, &*world.files(), call(), LONG)
        .block_on()
        .unwrap_err();
    assert_eq!(queue(&world), 0);
}

#[tokio::test]
async fn a_member_trusts_only_the_key_of_its_spawn_order() {
    let world = World::on_files();
    let bob = world.seat_of_new("bob").context;
    bob.pin_key(world.files().verify_key().block_on().unwrap());
    let other = World::on_files();
    let [own, others] = [&world, &other].map(|world| world.file("swarm/keys/signing.key"));
    std::fs::copy(others, own).unwrap();
    let open = open(&bob, &world, LONG);
    yes(&world, &open, false);
    assert_eq!(look(&bob, &world, &open).await, None);
    assert_eq!(ignored(&world), 1);
    // A lead reads the files, since a team of the same name may have been created again.
    let lead = world.lead().context;
    let key = other.files().verify_key().block_on().unwrap();
    assert_eq!(lead.key_of(&*world.files()).await.unwrap(), key);
}
