//! Mail that is moved, requests, costs, budgets, large values and plans are synced as well.

use swarm_protocol::{BudgetScope, MessageId, PublishedBranch, SpawnId, UnixMs};
use swarm_store::{BlockOn as _, Draft};

use crate::files::durable::assert_durable;
use crate::files::grants::asked;
use crate::files::recorder::left_open;
use crate::files::world::{World, name};
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
}
