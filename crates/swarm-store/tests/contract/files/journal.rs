//! The journal of a team.

use std::fs;
use std::io::Write as _;

use swarm_protocol::Event;
use swarm_store::BlockOn as _;

use crate::files::world::World;

#[test]
fn a_line_cut_short_by_a_death_spoils_no_other() {
    let world = World::new();
    let path = world.file("swarm/journal.jsonl");
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
