//! The journal of a team.

use std::fs;
use std::io::Write as _;

use swarm_protocol::{ErrorKind, Event};
use swarm_store::{BlockOn as _, Draft, TeamStore};

use crate::world::{World, name, team};

#[test]
fn a_follower_sees_every_event_once() {
    let world = World::with_member("alice");
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
        [swarm_protocol::JournalEntry {
            event: Event::Queued { .. },
            ..
        }]
    ));
    let all = world.handle().events().block_on().unwrap();
    assert_eq!(all.entries.len(), seen.entries.len() + 1);
    assert_eq!(all.next, new.next);
}

#[test]
fn a_line_cut_short_by_a_death_spoils_no_other() {
    let world = World::new();
    let path = world.handle().journal_path();
    let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(br#"{"at":1,"type":"team_cr"#).unwrap();
    let event = Event::TeamDeleted {
        by: "me".to_owned(),
    };
    world.handle().journal(event.clone()).block_on().unwrap();
    let events = world.handle().events().block_on().unwrap();
    assert_eq!(events.entries.last().unwrap().event, event);
    assert_eq!((events.entries.len(), events.broken.len()), (2, 1));
}

#[test]
fn a_team_that_is_not_there_has_no_journal() {
    let world = World::new();
    let ghost = team("ghost");
    let event = Event::TeamDeleted {
        by: "me".to_owned(),
    };
    let error = world
        .store
        .team(&ghost)
        .journal(event)
        .block_on()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.hint().unwrap().contains("crew"));
    let error = world.store.team(&ghost).events().block_on().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(!world.root.join("teams/ghost").exists());
}
