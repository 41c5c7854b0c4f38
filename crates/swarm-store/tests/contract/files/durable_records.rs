//! Mail that is moved, requests, costs, budgets, the roster, large values and plans are synced as well.

use swarm_protocol::{
    Answer, AnsweredBy, BudgetScope, MessageId, Money, PauseMark, PublishedBranch, RequestState,
    RunBudget, SpawnId, UnixMs,
};
use swarm_store::{AnswerLookup, BlockOn as _, Draft, process};

use crate::files::durable::assert_durable;
use crate::files::grants::asked;
use crate::files::recorder::left_open;
use crate::files::world::{World, name, new_member};
use crate::values::cost;

/// Returns what a power failure could undo of a message to `ann`, except its line in the journal.
fn left_of_message(world: &World) -> Vec<String> {
    let (_posted, mut left) = left_open(&world.root, || {
        let draft = Draft::new("team-lead", "hello");
        world.handle().post(&name("ann"), draft).block_on().unwrap()
    });
    let line = format!("content of {}", world.file("swarm/journal.jsonl").display());
    left.retain(|left| *left != line);
    left
}

#[test]
fn a_damaged_inbox_and_malformed_elements_are_on_disk_where_they_are_kept() {
    for content in ["{}", r#"[null, {"from": "bob"}]"#] {
        let world = World::with_member("ann");
        swarm_os::replace_alone(&world.inbox_path("ann"), content.as_bytes()).unwrap();
        let left = left_of_message(&world);
        assert!(left.is_empty(), "{content}: {left:?}");
    }
}

#[test]
fn archived_mail_is_on_disk_before_it_leaves_the_inbox() {
    let world = World::with_member("ann");
    for _ in 0..60 {
        left_of_message(&world);
    }
    let unread = world.unread("ann").into_iter();
    let ids: Vec<MessageId> = unread.filter_map(|entry| entry.msg_id).collect();
    let (_acked, left) = left_open(&world.root, || {
        world.handle().ack(&name("ann"), &ids).block_on().unwrap()
    });
    assert!(world.file("swarm/archive/ann.jsonl").is_file());
    let mark = format!("entry {}", world.inbox_path("ann").display());
    assert_eq!(left, [mark], "read marks are not waited for");
}

#[test]
fn requests_are_on_disk_and_so_is_their_end() {
    let world = World::with_member("ann");
    let team = world.handle();
    for (id, is_withdrawn) in [("perm-1-aaaaaaa", true), ("perm-2-aaaaaaa", false)] {
        let request = asked(id, SpawnId::random());
        let opened = assert_durable(&world, || {
            team.open_request(request, None).block_on().unwrap()
        });
        assert_durable(&world, || {
            if is_withdrawn {
                let withdrawn = team.withdraw_request(&opened.id, None);
                assert!(withdrawn.block_on().unwrap());
            } else {
                team.close_request(&opened.id).block_on().unwrap();
            }
        });
    }
}

#[test]
fn rejected_and_ignored_answers_and_requests_of_removed_members_are_on_disk() {
    let world = World::with_member("ann");
    let (team, person) = (world.handle(), AnsweredBy::person(1, None));
    let key = team.verify_key().block_on().unwrap();
    let open = |id: &str, spawn| {
        let opened = team.open_request(asked(id, spawn), None);
        opened.block_on().unwrap()
    };
    let mut forged = open("perm-1-aaaaaaa", SpawnId::random());
    let sound = forged.clone();
    forged.state = RequestState::Answered {
        answer: Answer::once(),
        at: UnixMs(1),
    };
    let file = world.file("swarm/requests/perm-1-aaaaaaa.json");
    swarm_os::replace_alone(&file, &serde_json::to_vec(&forged).unwrap()).unwrap();
    assert_durable(&world, || {
        let found = team.look_up_answer(&sound, key.as_ref()).block_on();
        assert!(matches!(found, Ok(AnswerLookup::Rejected(_))), "{found:?}");
    });
    let denied = Answer::Denied { why: None };
    let answered = team.answer_request(&sound.id, None, denied, person);
    answered.block_on().unwrap();
    assert_durable(&world, || {
        let ignored = team.ignore_answer(&sound.id, "a test").block_on();
        assert!(ignored.unwrap());
    });

    team.reconcile().block_on().unwrap();
    let spawn = world.join("eve");
    drop(world.live("eve", spawn));
    // Its death is reported before, so that no message is sent.
    team.reconcile().block_on().unwrap();
    open("perm-2-aaaaaaa", spawn);
    assert_durable(&world, || {
        let removed = team.remove_member(&name("eve"), None).block_on();
        assert!(removed.unwrap().is_some());
    });
    assert!(team.requests().block_on().unwrap().requests.is_empty());
}

#[test]
fn what_is_set_aside_is_on_disk_even_if_nothing_else_is_written() {
    for content in ["{}", "[null]"] {
        let world = World::with_member("ann");
        swarm_os::replace_alone(&world.inbox_path("ann"), content.as_bytes()).unwrap();
        assert_durable(&world, || world.unread("ann"));
    }
}

#[test]
fn changes_of_the_roster_are_on_disk() {
    let world = World::new();
    let spawn = world.join("ann");
    let (team, ann) = (world.handle(), name("ann"));
    assert_durable(&world, || {
        team.add_allowed_path("/work", "Edit").block_on().unwrap();
    });
    assert_durable(&world, || {
        let removed = team.remove_allowed_path("/work", "Edit");
        removed.block_on().unwrap();
    });
    let mut lost = process::as_lead(UnixMs(1));
    lost.proc_start = "1".to_owned();
    assert_durable(&world, || {
        let set = team.set_lead_process(Some(lost.clone()));
        set.block_on().unwrap();
    });
    assert_durable(&world, || team.clear_lost_lead(&lost).block_on().unwrap());
    assert_durable(&world, || {
        team.set_lead_session("a session", "m").block_on().unwrap();
    });
    let mark = PauseMark {
        spawn_id: spawn,
        by: "a test".to_owned(),
        at: UnixMs(1),
        reason: None,
    };
    assert_durable(&world, || {
        team.set_paused(&ann, Some(&mark)).block_on().unwrap();
    });
}

#[test]
fn an_undone_reservation_is_on_disk() {
    let world = World::new();
    let new = new_member("ann");
    let spawn = new.spawn_id;
    world.handle().reserve(new).block_on().unwrap();
    assert_durable(&world, || {
        let aborted = world.handle().abort_spawn(&spawn, "no hello").block_on();
        assert!(aborted.unwrap());
    });
}

#[test]
fn costs_budgets_and_plans_are_on_disk() {
    let world = World::new();
    let team = world.handle();
    assert_durable(&world, || {
        let costs = [cost("ann", 1.0)];
        team.record_costs(&costs).block_on().unwrap();
    });
    assert_durable(&world, || {
        let budget = "5$".parse().ok();
        let set = team.set_budget(&BudgetScope::Team, budget);
        set.block_on().unwrap();
    });
    assert_durable(&world, || {
        let limit = "5$".parse().unwrap();
        let run = RunBudget {
            limit,
            usd_before: Money::default(),
            tokens_before: 0,
        };
        team.set_run_budget(Some(run)).block_on().unwrap();
    });
    assert_durable(&world, || {
        let (ann, spawn) = (name("ann"), SpawnId::random());
        team.write_plan(&ann, spawn, "first this")
            .block_on()
            .unwrap()
    });
}

#[test]
fn large_values_and_published_branches_are_on_disk() {
    let world = World::new();
    let team = world.handle();
    let put = || team.put_blob(b"bundle".to_vec()).block_on().unwrap();
    let first = assert_durable(&world, put);
    assert_durable(&world, || team.delete_blob(&first).block_on().unwrap());
    let branch = PublishedBranch {
        member: name("ann"),
        worktree: "ann".to_owned(),
        host: "here".to_owned(),
        path: "/work/tree".into(),
        branch: "worktree-ann".to_owned(),
        commit: "c".to_owned(),
        base: "base".to_owned(),
        merged: None,
        snapshot: None,
        target: None,
        uncommitted: Vec::new(),
        bundle: Some(put()),
        published_at: UnixMs(1),
    };
    assert_durable(&world, || team.publish_branch(&branch).block_on().unwrap());
    assert_durable(&world, || {
        let noted = team.note_merged(&branch.member, "c");
        noted.block_on().unwrap();
    });
    let merged = team.published_branches().block_on().unwrap();
    assert!(merged[0].merged.is_some());
}
