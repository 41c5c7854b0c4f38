//! Commands whose standard streams are closed, or read by a process that exits early.

use swarm_tests::faults::ground::{Locking, TeamFixture};

use crate::scene::{run_bash, world_with_team};

/// Commands that can be given twice; `N` is another number each time.
const COMMANDS: [&str; 27] = [
    "team create teamN",
    "team list",
    "team show demo",
    "--team demo status",
    "--team demo task create subjectN",
    "--team demo task list",
    "--team demo task show 1",
    "--team demo task show 99",
    "--team demo task update 1 --subject sN",
    "--team demo send nobody hello",
    "--team demo send team-lead hello --from nobody",
    "--team demo inbox team-lead",
    "--team demo log",
    "--team demo requests",
    "--team demo shutdown nobody",
    "--team demo spawn ann --model no/such-model",
    "--team demo --json status",
    "--team demo --json task show 99",
    "agents list",
    "config list --origins",
    "doctor",
    "ps",
    "reap",
    "gc",
    "completions bash",
    "help",
    "no-such-command",
];

#[test]
fn closed_streams_change_no_exit_code_and_get_into_no_file() {
    let world = world_with_team("demo");
    let mut number = 0;
    for command in COMMANDS {
        let mut code = |streams: &str| {
            number += 1;
            let command = command.replace('N', &number.to_string());
            run_bash(&world, &format!("(swarm {command} {streams}); echo $?"))
        };
        let open = code("</dev/null >/dev/null 2>&1");
        for closed in ["<&- >&- 2>&-", ">&-"] {
            let told = code(closed);
            let told = told.lines().last().unwrap_or_default();
            assert_eq!(told, open, "swarm {command} {closed}");
        }
    }
    let mut ground = TeamFixture::at(&world.root(), Locking::Both);
    ground.team = "demo".parse().unwrap();
    ground.assert_whole();
    assert!(ground.litter().is_empty(), "{:?}", ground.litter());
}

#[test]
fn a_closed_pipe_changes_no_exit_code() {
    let world = world_with_team("demo");
    world.swarm(&["task", "create", "one"]).ok();
    let shown = [
        "list", "show", "status", "log", "config", "ps", "bash", "help", "inbox", "doctor",
    ];
    let commands = COMMANDS.iter().filter(|command| {
        let mut words = command.split(' ');
        words.any(|word| shown.contains(&word))
    });
    for command in commands {
        let open = run_bash(&world, &format!("swarm {command} >/dev/null 2>&1; echo $?"));
        let left = run_bash(
            &world,
            &format!("swarm {command} 2>&1 | true; echo ${{PIPESTATUS[0]}}"),
        );
        assert_eq!(left, open, "swarm {command}");
    }
}
