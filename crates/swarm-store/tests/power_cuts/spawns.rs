//! Spawns, which reserve a name with a prompt and are committed or aborted.

use std::path::Path;

use swarm_store::{BlockOn as _, Draft, Team, TeamStore as _};

use crate::files::{World, name, new_member};
use crate::replay;

#[test]
fn a_committed_spawn_survives_a_power_cut() {
    let world = World::new();
    let new = new_member("ann");
    let spawn = new.spawn_id;
    world
        .store
        .team(&world.team)
        .reserve(new)
        .block_on()
        .unwrap();
    replay(
        &world,
        || world.commit(spawn),
        |store| {
            let config = store.team(&world.team).config().block_on().unwrap();
            let member = config.member(&name("ann")).unwrap();
            assert_eq!(member.spawn_id(), Some(spawn));
            member.swarm.as_ref().unwrap().reservation.is_none()
        },
    );
}

/// Replays the reservation of the name `ann` with a prompt. The check aborts the spawn wherever it
/// is reserved, and then calls `after` with the team.
fn replay_reservation(world: &World, after: impl Fn(&dyn Team) -> bool) {
    let mut new = new_member("ann");
    new.prompt = Some(Draft::new("team-lead", "begin"));
    let spawn = new.spawn_id;
    replay(
        world,
        || world.handle().reserve(new).block_on().map(drop).unwrap(),
        |store| {
            let team = store.team(&world.team);
            team.abort_spawn(&spawn, "no hello").block_on().unwrap() && after(&*team)
        },
    );
}

#[test]
fn a_reservation_of_a_dead_members_name_can_be_undone_after_a_power_cut() {
    let world = World::new();
    let spawn = world.join("ann");
    drop(world.live("ann", spawn));
    world.handle().reconcile().block_on().unwrap();
    let before = world.handle().config().block_on().unwrap();
    replay_reservation(&world, |team| {
        assert_eq!(team.config().block_on().unwrap(), before);
        true
    });
}

#[test]
fn an_undone_reservation_leaves_no_prompt_after_a_power_cut() {
    let world = World::new();
    replay_reservation(&world, |team| {
        team.add_external(&name("ann"), Path::new("/work"))
            .block_on()
            .unwrap();
        let unread = team.take_unread(&name("ann")).block_on().unwrap();
        unread.is_empty()
    });
}

/// Replays the abort of a spawn with a prompt; the inbox of the name existed before if it has a
/// message.
fn replay_abort(world: &World, left: &[&str]) {
    let team = world.handle();
    let before = team.config().block_on().unwrap();
    let mut new = new_member("ann");
    new.prompt = Some(Draft::new("team-lead", "begin"));
    let spawn = new.spawn_id;
    team.reserve(new).block_on().unwrap();
    replay(
        world,
        || assert!(team.abort_spawn(&spawn, "no hello").block_on().unwrap()),
        |store| {
            let team = store.team(&world.team);
            let is_undone = team.config().block_on().unwrap() == before;
            if is_undone && left.is_empty() {
                let ann = name("ann");
                let added = team.add_external(&ann, Path::new("/work"));
                added.block_on().unwrap();
            }
            let inbox = team.inbox(&name("ann")).block_on().unwrap();
            let texts: Vec<_> = inbox.entries.iter().map(|entry| &*entry.text).collect();
            assert!(
                texts == left || (texts.starts_with(left) && texts.ends_with(&["begin"])),
                "{texts:?}"
            );
            is_undone && texts == left
        },
    );
}

#[test]
fn an_aborted_spawn_and_its_prompt_do_not_return_after_a_power_cut() {
    replay_abort(&World::new(), &[]);
    let world = World::new();
    let former = world.join("ann");
    world.send("ann", "before");
    drop(world.live("ann", former));
    world.handle().reconcile().block_on().unwrap();
    replay_abort(&world, &["before"]);
}

#[test]
fn a_member_of_another_program_survives_a_power_cut() {
    let world = World::new();
    replay(
        &world,
        || {
            let (team, ivy) = (world.handle(), name("ivy"));
            let added = team.add_external(&ivy, Path::new("/work"));
            added.block_on().map(drop).unwrap();
        },
        |store| {
            let config = store.team(&world.team).config().block_on().unwrap();
            config.member(&name("ivy")).is_some()
        },
    );
}
