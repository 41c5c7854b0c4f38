//! Random operations on a task list.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use swarm_protocol::{Task, TaskId, TaskStatus};
use swarm_store::{BlockOn as _, StoreError, TaskChange};

use crate::kinds::{disturbed_memory, files};
use crate::values::{id, new_task};
use crate::world::World;

/// A random operation on a list of six; higher numbers are tasks that may not exist.
#[derive(Debug, Clone)]
enum Step {
    Create(Vec<u64>),
    Connect(u64, Vec<u64>, Vec<u64>),
    Set(u64, TaskStatus),
    Claim(u64),
    Delete(u64),
}

fn some_id() -> impl Strategy<Value = u64> {
    1u64..8
}

fn some_ids() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(some_id(), 0..3)
}

fn some_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => some_ids().prop_map(Step::Create),
        4 => (some_id(), some_ids(), some_ids()).prop_map(|(a, b, c)| Step::Connect(a, b, c)),
        3 => (some_id(), prop_oneof![
            Just(TaskStatus::Pending), Just(TaskStatus::InProgress), Just(TaskStatus::Completed)
        ]).prop_map(|(a, b)| Step::Set(a, b)),
        2 => some_id().prop_map(Step::Claim),
        1 => some_id().prop_map(Step::Delete),
    ]
}

fn take(world: &World, step: &Step) -> Result<(), StoreError> {
    let (team, person) = (world.handle(), world.person());
    let ids = |numbers: &[u64]| numbers.iter().copied().map(id).collect();
    let change = match step {
        Step::Create(blockers) => {
            return team
                .create_tasks(&[new_task("t", blockers)], &person)
                .block_on()
                .map(drop);
        }
        Step::Claim(number) => {
            return team.claim(&id(*number), &person).block_on().map(drop);
        }
        Step::Delete(number) => {
            return team.delete_task(&id(*number), &person).block_on().map(drop);
        }
        Step::Connect(_, blocks, blocked_by) => TaskChange {
            add_blocks: ids(blocks),
            add_blocked_by: ids(blocked_by),
            ..TaskChange::default()
        },
        Step::Set(_, status) => TaskChange::from(*status),
    };
    let (Step::Connect(number, ..) | Step::Set(number, _)) = step else {
        return Ok(());
    };
    team.update_task(&id(*number), change, &person)
        .block_on()
        .map(drop)
}

fn assert_sound(tasks: &[Task]) -> Result<(), TestCaseError> {
    let known: BTreeMap<TaskId, &Task> = tasks.iter().map(|task| (task.id, task)).collect();
    let mut waiting: BTreeSet<(TaskId, TaskId)> = BTreeSet::new();
    let mut blocking = BTreeSet::new();
    for task in tasks {
        waiting.extend(task.blocked_by.iter().map(|blocker| (task.id, *blocker)));
        blocking.extend(task.blocks.iter().map(|blocked| (*blocked, task.id)));
    }
    prop_assert_eq!(&waiting, &blocking, "both directions agree");
    for (task, blocker) in &waiting {
        prop_assert!(known.contains_key(task) && known.contains_key(blocker));
        prop_assert_ne!(task, blocker);
    }
    loop {
        let who_waits: BTreeSet<TaskId> = waiting.iter().map(|edge| edge.0).collect();
        let before = waiting.len();
        waiting.retain(|edge| who_waits.contains(&edge.1));
        prop_assert!(waiting.is_empty() || waiting.len() < before, "a circle");
        if waiting.is_empty() {
            return Ok(());
        }
    }
}

/// Takes all steps. Edges agree, nothing starts before its blockers, and a refusal writes nothing.
fn assert_sound_after(world: &World, steps: &[Step]) -> Result<(), TestCaseError> {
    let new: Vec<_> = (0..6).map(|_| new_task("t", &[])).collect();
    world
        .handle()
        .create_tasks(&new, &world.person())
        .block_on()
        .unwrap();
    for step in steps {
        let before = world.handle().tasks().block_on().unwrap();
        let outcome = take(world, step);
        let after = world.handle().tasks().block_on().unwrap();
        assert_sound(&after.tasks)?;
        if outcome.is_err() {
            prop_assert_eq!(&after.tasks, &before.tasks, "a refusal writes nothing");
        }
        for task in &after.tasks {
            let was = before.get(task.id).map(|old| old.status);
            let moved = was != Some(task.status) && task.status != TaskStatus::Pending;
            if moved {
                for blocker in &task.blocked_by {
                    prop_assert!(
                        after.is_settled(*blocker),
                        "{} began before {}",
                        task.id,
                        blocker
                    );
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn t2_whatever_is_done_to_files_the_list_is_sound(
        steps in prop::collection::vec(some_step(), 10..40),
    ) {
        assert_sound_after(&files(), &steps)?;
    }

    #[test]
    fn t2_whatever_is_done_to_disturbed_memory_the_list_is_sound(
        seed in any::<u64>(),
        steps in prop::collection::vec(some_step(), 10..40),
        others in prop::collection::vec(some_step(), 10..40),
    ) {
        let world = disturbed_memory(seed);
        assert_sound_after(&world, &steps)?;
        // Another writer at the same time.
        let take_all = |steps: &[Step]| {
            for step in steps {
                drop(take(&world, step));
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| take_all(&others));
            take_all(&steps);
        });
        assert_sound(&world.handle().tasks().block_on().unwrap().tasks)?;
    }
}
