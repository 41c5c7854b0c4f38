//! The journal and the accounts.

use std::thread;

use swarm_protocol::{Budget, BudgetScope, ErrorKind, Event, JournalEntry, Money, RunBudget};
use swarm_store::{BlockOn as _, Cursor, Draft};

use crate::values::{cost, name, team};
use crate::world::World;

pub(crate) fn a_follower_sees_every_event_once(world: &World) {
    world.join("alice");
    let seen = world.handle().events().block_on().unwrap();
    assert!(matches!(seen.entries[0].event, Event::TeamCreated { .. }));
    let nothing = world.handle().events_from(seen.next).block_on().unwrap();
    assert!(nothing.entries.is_empty());
    let draft = Draft::new("team-lead", "hello");
    world
        .handle()
        .send(&name("alice"), draft)
        .block_on()
        .unwrap();
    let new = world.handle().events_from(seen.next).block_on().unwrap();
    assert!(matches!(
        new.entries[..],
        [JournalEntry {
            event: Event::Queued { .. },
            ..
        }]
    ));
    let all = world.handle().events().block_on().unwrap();
    assert_eq!(all.entries.len(), seen.entries.len() + 1);
    assert_eq!(all.next, new.next);
}

pub(crate) fn events_are_found_by_text(world: &World) {
    let spawn = world.join("alice").to_string();
    world.join("bob");
    let team = world.handle();
    let mut expected = team.events().block_on().unwrap().entries;
    let all = expected.len();
    expected.retain(|entry| serde_json::to_string(entry).unwrap().contains(&spawn));
    assert!(expected.len() > 1 && expected.len() < all);
    assert_eq!(team.events_with(&spawn).block_on().unwrap(), expected);
    assert_eq!(team.events_with("carol").block_on().unwrap(), []);
}

pub(crate) fn budgets_of_different_scopes_are_kept_together(world: &World) {
    let team = world.handle();
    let five: Budget = "5$".parse().unwrap();
    let tokens: Budget = "10k-tokens".parse().unwrap();
    team.set_budget(&BudgetScope::Team, Some(five))
        .block_on()
        .unwrap();
    team.set_budget(&BudgetScope::Member(name("bob")), Some(tokens))
        .block_on()
        .unwrap();
    let task = BudgetScope::Task("3".parse().unwrap());
    team.set_budget(&task, Some(five)).block_on().unwrap();
    let run = RunBudget {
        limit: five,
        usd_before: Money::dollars(1.5).unwrap(),
        tokens_before: 7,
    };
    team.set_run_budget(Some(run)).block_on().unwrap();
    // A raised budget of a run still counts from its beginning.
    team.set_budget(&BudgetScope::Run, "9$".parse().ok())
        .block_on()
        .unwrap();
    let found = team.budgets().block_on().unwrap();
    assert_eq!(found.team, Some(five));
    assert_eq!(found.get(&BudgetScope::Member(name("bob"))), Some(tokens));
    assert_eq!(found.get(&task), Some(five));
    assert_eq!(found.run.map(|run| run.usd_before), Some(run.usd_before));
    for removed in [BudgetScope::Member(name("bob")), task] {
        team.set_budget(&removed, None).block_on().unwrap();
        assert_eq!(team.budgets().block_on().unwrap().get(&removed), None);
    }
    team.set_run_budget(None).block_on().unwrap();
    assert_eq!(team.budgets().block_on().unwrap().run, None);
    assert_eq!(team.budgets().block_on().unwrap().team, Some(five));
}

pub(crate) fn costs_are_read_once_in_order(world: &World) {
    let team = world.handle();
    assert!(
        team.costs_from(Cursor::default())
            .block_on()
            .unwrap()
            .entries
            .is_empty()
    );
    let both = [cost("bob", 1.0), cost("eve", 2.0)];
    team.record_costs(&both).block_on().unwrap();
    let first = team.costs_from(Cursor::default()).block_on().unwrap();
    assert_eq!(first.entries, both);
    team.record_costs(&[cost("bob", 3.0)]).block_on().unwrap();
    let second = team.costs_from(first.next).block_on().unwrap();
    assert_eq!(second.entries, [cost("bob", 3.0)]);
}

pub(crate) fn concurrent_events_are_recorded_once_each(world: &World) {
    thread::scope(|scope| {
        for writer in 0..4 {
            scope.spawn(move || {
                for number in 0..5 {
                    let by = format!("{writer} {number}");
                    let event = Event::TeamAdopted { by };
                    world.handle().journal(event).block_on().unwrap();
                }
            });
        }
    });
    let events = world.events().into_iter();
    let mut seen: Vec<_> = events
        .filter_map(|event| match event {
            Event::TeamAdopted { by } => Some(by),
            _ => None,
        })
        .collect();
    for writer in 0..4 {
        let its = seen.iter().filter(|by| by.starts_with(&writer.to_string()));
        let expected: Vec<_> = (0..5).map(|number| format!("{writer} {number}")).collect();
        assert_eq!(its.cloned().collect::<Vec<_>>(), expected);
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 20);
}

pub(crate) fn a_team_that_does_not_exist_is_not_found_and_not_created(world: &World) {
    let ghost = world.store.team(&team("ghost"));
    let event = Event::TeamDeleted {
        by: "me".to_owned(),
    };
    let alice = name("alice");
    for error in [
        ghost.journal(event).block_on().unwrap_err(),
        ghost.events().block_on().unwrap_err(),
        ghost.config().block_on().unwrap_err(),
        ghost.tasks().block_on().unwrap_err(),
        ghost.requests().block_on().unwrap_err(),
        ghost
            .send(&alice, Draft::person("hello"))
            .block_on()
            .unwrap_err(),
        ghost.reconcile().block_on().unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        let hint = error.hint().unwrap();
        // The teams that exist, or what to do with one that its hub does not have any more.
        assert!(hint.contains("crew") || hint.contains("ghost"), "{error}");
    }
    let teams = world.store.teams().block_on().unwrap();
    assert_eq!(teams, std::slice::from_ref(&world.team));
}

pub(crate) fn a_deleted_team_is_gone_and_its_name_is_free(world: &World) {
    let spawn = world.join("alice");
    let lease = world.live("alice", spawn);
    let busy = world.handle().delete(true, false).block_on().unwrap_err();
    assert_eq!(busy.kind(), ErrorKind::Conflict);
    drop(lease);
    let team = world.handle();
    team.delete(true, false).block_on().unwrap();
    let error = team.config().block_on().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let new = crate::values::new_team("crew");
    world.store.create_team(new.clone()).block_on().unwrap();
    let error = world.store.create_team(new).block_on().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(team.config().block_on().unwrap().members.len(), 1);
}
