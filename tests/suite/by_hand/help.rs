//! What the pages show is what the program has.

use std::collections::BTreeSet;

use swarm_tests::architecture;

use crate::scene::{world, world_with_foreign};

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
fn an_unknown_command_is_a_usage_error() {
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

#[test]
fn an_unknown_name_is_answered_with_the_nearest_one() {
    let world = world_with_foreign("demo", &["bob"]);
    for (command, meant) in [
        (&["send", "Bob", "hi"][..], "did you mean `bob`?"),
        (&["peek", "bbo"], "did you mean `bob`?"),
        (&["inbox", "Bob"], "did you mean `bob`?"),
        (&["kill", "Bob"], "did you mean `bob`?"),
        (&["status", "--team", "dmeo"], "did you mean `demo`?"),
        (&["team", "delete", "Demo"], "did you mean `demo`?"),
        (&["log", "--from", "Bob"], "did you mean `bob`?"),
    ] {
        let arguments = [command, &["--json"]].concat();
        let error = world.swarm(&arguments).error(3);
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.starts_with(meant), "{command:?}: {error}");
    }
    let error = world.swarm(&["peek", "nobody", "--json"]).error(3);
    assert_eq!(error["hint"], "members: team-lead, bob");
    let error = world.swarm(&["log", "--type", "queud", "--json"]).error(2);
    assert_eq!(error["hint"], "did you mean `queued`?");
}

#[test]
fn a_text_without_quotes_gets_a_hint_to_quote_it() {
    let world = world_with_foreign("demo", &["bob"]);
    world
        .swarm(&["send", "bob", "hello", "there", "you"])
        .code(2)
        .stderr_has("\"hello there you\"");
    let refused = world.swarm(&["send", "bob", "hello", "there", "--json"]);
    let hint = refused.error(2)["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("\"hello there\""), "{hint}");
    world
        .swarm(&["status", "bob"])
        .code(2)
        .stderr_lacks("quotes");
}

#[test]
fn help_that_cannot_be_written_is_a_failure_like_other_output() {
    let world = world();
    for command in ["--help", "--version", "help task", "team list --help"] {
        let said = |to: &str| {
            let script = format!("swarm {command} >{to}; echo $?");
            let ran = world
                .command("bash")
                .args(["-c", &script])
                .output()
                .unwrap();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (text(&ran.stdout), text(&ran.stderr))
        };
        let (code, told) = said("/dev/full");
        assert_eq!(code, "7\n", "{command}: {told}");
        assert!(told.contains("could not be written to stdout"), "{told}");
        assert_eq!(said("/dev/null").0, "0\n", "{command}");
    }
}

#[test]
fn completion_scripts_are_not_empty() {
    let world = world();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = world.swarm(&["completions", shell]).ok().stdout.clone();
        assert!(!script.starts_with('\n'), "{shell}: {script}");
    }
}
