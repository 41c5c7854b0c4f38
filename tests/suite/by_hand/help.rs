//! What the pages show is what the program has.

use std::collections::BTreeSet;

use swarm_tests::architecture;

use crate::scene::world;

#[test]
fn every_command_that_a_page_shows_exists() {
    let root = architecture::root();
    let mut pages = vec![root.join("README.md")];
    let names = architecture::names_in(&root.join("docs")).unwrap();
    pages.extend(names.iter().map(|name| root.join("docs").join(name)));
    let shown: BTreeSet<String> = pages
        .iter()
        .filter_map(|page| std::fs::read_to_string(page).ok())
        .flat_map(|page| architecture::shown_commands(&page))
        .collect();
    let world = world();
    // `swarm help` explains the others and has no help of its own.
    for command in shown
        .iter()
        .filter_map(|command| command.strip_prefix("swarm "))
        .filter(|command| *command != "help")
    {
        let help = world.swarm(&[command, "--help"]);
        assert_eq!(
            help.code,
            Some(0),
            "a page shows `swarm {command}`\n{}",
            help.story()
        );
    }
}

#[test]
fn a_command_that_does_not_exist_is_a_mistake_of_use() {
    let world = world();
    world.swarm(&["frobnicate"]).assert_code(2);
    world.swarm(&[]).assert_code(2);
    assert!(
        world
            .swarm(&["--version"])
            .ok()
            .stdout
            .starts_with("swarm ")
    );
}
