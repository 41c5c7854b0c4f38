//! Costs and budgets of a team.

use std::fs::OpenOptions;
use std::io::Write as _;

use swarm_store::{BlockOn as _, Cursor};

use crate::files::world::World;
use crate::values::cost;

#[test]
fn costs_are_read_once_and_a_line_cut_short_spoils_no_other() {
    let world = World::new();
    let team = world.handle();
    team.record_costs(&[cost("bob", 1.0), cost("eve", 2.0)])
        .block_on()
        .unwrap();
    let first = team.costs_from(Cursor::default()).block_on().unwrap();
    assert_eq!(first.entries, [cost("bob", 1.0), cost("eve", 2.0)]);
    let path = world.file("swarm/cost.jsonl");
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(b"{\"at\":1,").unwrap();
    team.record_costs(&[cost("bob", 3.0)]).block_on().unwrap();
    let second = team.costs_from(first.next).block_on().unwrap();
    assert_eq!(second.entries, [cost("bob", 3.0)]);
    assert_eq!(second.broken.len(), 1);
}

#[test]
fn the_costs_of_a_deleted_team_are_archived() {
    let world = World::new();
    let team = world.handle();
    team.record_costs(&[cost("bob", 1.0)]).block_on().unwrap();
    let archive = team.delete(false, true).block_on().unwrap().unwrap();
    let kept = std::fs::read_to_string(archive.join("cost.jsonl")).unwrap();
    assert!(kept.contains("\"usd\":1.0"), "{kept}");
}
