//! Pairs of features that two members build at the same time in a small repository: afterwards both
//! test suites pass on the merged tree, or a member has stopped and named the files.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::played::{Played, TEAM};
use crate::bench::figure::{Figure, Unit, number};
use crate::bench::order::Order;
use crate::bench::table::{Aim, Line};
use crate::fake_api::{Ask, Reply};
use crate::stage::spawn_args;

const MEMBERS: [&str; 2] = ["alice", "bob"];
/// Runs every test suite of the repository.
const CHECK: &str = "for suite in tests/*.sh; do sh -eu $suite || exit 1; done";
/// Keeps both sides of a conflict, as a person would who reads that both are additions.
const KEEP_BOTH: &str =
    "git merge -q main; sed -i '/^<<<<<<<\\|^=======\\|^>>>>>>>/d' lib.sh && git commit -qam both";

const LIBRARY: &str = "greet() { echo hello; }\n\n# Words come above, numbers below.\n\n\nsum() { echo $(($1 + $2)); }\n";

/// A change with its test suite.
struct Feature {
    name: &'static str,
    /// Shell commands that make the change.
    change: &'static str,
    /// The suite `tests/NAME.sh`, after the library is read.
    suite: &'static str,
    /// A line that the change adds, with its file.
    adds: (&'static str, &'static str),
}

/// Two features, and whether a conflict between them is resolved by keeping both sides.
struct Pair {
    features: [Feature; 2],
    keeps_both: bool,
}

const fn feature(
    name: &'static str,
    change: &'static str,
    suite: &'static str,
    adds: (&'static str, &'static str),
) -> Feature {
    Feature {
        name,
        change,
        suite,
        adds,
    }
}

const PAIRS: [Pair; 5] = [
    // Different files.
    Pair {
        features: [
            feature(
                "shout",
                "echo 'shout() { echo HELLO; }' > shout.sh",
                ". ./shout.sh; test $(shout) = HELLO",
                ("shout.sh", "shout() { echo HELLO; }"),
            ),
            feature(
                "double",
                "echo 'double() { sum $1 $1; }' > double.sh",
                ". ./double.sh; test $(double 2) = 4",
                ("double.sh", "double() { sum $1 $1; }"),
            ),
        ],
        keeps_both: false,
    },
    // Different places of one file.
    Pair {
        features: [
            feature(
                "name",
                "sed -i '1s/.*/greet() { echo hello ${1:-you}; }/' lib.sh",
                "test \"$(greet)\" = 'hello you'",
                ("lib.sh", "greet() { echo hello ${1:-you}; }"),
            ),
            feature(
                "many",
                "sed -i 's/^sum.*/sum() { t=0; for n; do t=$((t + n)); done; echo $t; }/' lib.sh",
                "test $(sum 1 2 3) = 6",
                (
                    "lib.sh",
                    "sum() { t=0; for n; do t=$((t + n)); done; echo $t; }",
                ),
            ),
        ],
        keeps_both: false,
    },
    // The same line, differently.
    Pair {
        features: [
            feature(
                "short",
                "sed -i '1s/.*/greet() { echo hi; }/' lib.sh",
                "test $(greet) = hi",
                ("lib.sh", "greet() { echo hi; }"),
            ),
            feature(
                "long",
                "sed -i '1s/.*/greet() { echo welcome; }/' lib.sh",
                "test $(greet) = welcome",
                ("lib.sh", "greet() { echo welcome; }"),
            ),
        ],
        keeps_both: false,
    },
    // Both merge, but one uses what the other renames.
    Pair {
        features: [
            feature(
                "rename",
                "sed -i 's/^sum/add/' lib.sh; sed -i 's/sum/add/' tests/base.sh",
                "test $(add 1 2) = 3",
                ("lib.sh", "add() { echo $(($1 + $2)); }"),
            ),
            feature(
                "triple",
                "echo 'triple() { sum $(sum $1 $1) $1; }' > triple.sh",
                ". ./triple.sh; test $(triple 2) = 6",
                ("triple.sh", "triple() { sum $(sum $1 $1) $1; }"),
            ),
        ],
        keeps_both: false,
    },
    // Both add a function at the end.
    Pair {
        features: [
            feature(
                "one",
                "echo 'one() { echo 1; }' >> lib.sh",
                "test $(one) = 1",
                ("lib.sh", "one() { echo 1; }"),
            ),
            feature(
                "two",
                "echo 'two() { echo 2; }' >> lib.sh",
                "test $(two) = 2",
                ("lib.sh", "two() { echo 2; }"),
            ),
        ],
        keeps_both: true,
    },
];

/// Results over all pairs.
#[derive(Default)]
struct Outcome {
    green: u64,
    stopped: u64,
    lost_lines: u64,
    false_claims: u64,
    silent: u64,
}

pub(crate) fn measure(order: &Order) -> Result<Vec<Line>> {
    let mut outcome = Outcome::default();
    for pair in &PAIRS {
        play(order, pair, &mut outcome)?;
    }
    let line =
        |what: &str, count, aim| Line::alone(what, Figure::of(Unit::Count, [number(count)]), aim);
    ensure!(outcome.green + outcome.stopped + outcome.silent == PAIRS.len() as u64);
    Ok(vec![
        line(
            "pairs of features with both suites green on the merged tree",
            outcome.green,
            Aim::None,
        ),
        line(
            "pairs with a stop that names the files or the check",
            outcome.stopped,
            Aim::None,
        ),
        line("pairs with neither", outcome.silent, Aim::AtMost(0.0)),
        line(
            "lost lines of completed features",
            outcome.lost_lines,
            Aim::AtMost(0.0),
        ),
        line(
            "completed tasks whose suite is red on the merged tree",
            outcome.false_claims,
            Aim::AtMost(0.0),
        ),
    ])
}

/// Lets two members build a pair of features.
fn play(order: &Order, pair: &Pair, outcome: &mut Outcome) -> Result<()> {
    let changes = [0, 1].map(|at| {
        let Feature {
            name,
            change,
            suite,
            ..
        } = &pair.features[at];
        let suite = format!(". ./lib.sh\n{suite}\n");
        format!(
            "{change}; printf '%s' {} > tests/{name}.sh; git add -A && git commit -qm {name}",
            quoted(&suite)
        )
    });
    let keeps_both = pair.keeps_both;
    let played = Played::new(order, move |ask: &Ask| act(ask, &changes, keeps_both));
    let world = &played.world;
    world.write("project/lib.sh", LIBRARY);
    world.write("project/tests/base.sh", ". ./lib.sh\ntest $(sum 1 2) = 3\n");
    world.commit_project();
    world.swarm(&["team", "create", TEAM]).ok();
    for feature in &pair.features {
        world
            .swarm(&["task", "create", feature.name, "--check", CHECK])
            .ok();
    }
    for name in MEMBERS {
        let more = [
            "--worktree",
            "--mode",
            "bypassPermissions",
            "--prompt",
            "Build it.",
        ];
        world.swarm(&spawn_args(name, "headless", &more)).ok();
    }
    for name in MEMBERS {
        world.wait_for("the member is idle", || {
            let team = world.team(TEAM);
            // Also with its task still open.
            let state = team.state(name)["state"].clone();
            let is_idle = state
                .as_str()
                .is_some_and(|state| state.starts_with("idle"));
            (is_idle && !team.has_unread(name)).then_some(())
        });
    }
    judge(&played, pair, outcome)
}

/// The next step of a member: claim, change, complete, and perhaps keep both sides of a conflict.
fn act(ask: &Ask, changes: &[String; 2], keeps_both: bool) -> Reply {
    let at = usize::from(ask.agent == MEMBERS[1]);
    let id = (at + 1).to_string();
    let update = |call: &str, status: &str| {
        let input = json!({"taskId": id, "status": status, "result": "built"});
        Reply::tool(call, "TaskUpdate", input)
    };
    let bash = |call: &str, command: &str| Reply::tool(call, "Bash", json!({"command": command}));
    let failed = |call: &str| ask.result_of(call).filter(|(_, is_error)| *is_error);
    let done = |call: &str| ask.result_of(call).is_some();
    if !done("claim") {
        update("claim", "in_progress")
    } else if !done("change") {
        bash("change", &changes[at])
    } else if !done("complete") {
        update("complete", "completed")
    } else if keeps_both && failed("complete").is_some() && !done("fix") {
        bash("fix", KEEP_BOTH)
    } else if done("fix") && !done("again") {
        update("again", "completed")
    } else {
        let last = if done("again") { "again" } else { "complete" };
        match failed(last) {
            Some((why, _)) => Reply::text(format!("stopped: {why}")),
            None => Reply::text("built"),
        }
    }
}

/// Compares what the members claim with the merged tree.
fn judge(played: &Played, pair: &Pair, outcome: &mut Outcome) -> Result<()> {
    let (world, project) = (&played.world, played.world.project());
    let notices = world.team(TEAM).frames("team-lead", "idle_notification");
    let mut green = 0;
    let mut is_silent = false;
    for (at, feature) in pair.features.iter().enumerate() {
        let status = &world.team(TEAM).task(at as u64 + 1)["status"];
        let path = format!("tests/{}.sh", feature.name);
        if status == "completed" {
            let passes = passes(world.command("sh"), &project, &path)?;
            green += usize::from(passes);
            outcome.false_claims += u64::from(!passes);
            let (file, line) = feature.adds;
            let text = std::fs::read_to_string(project.join(file)).unwrap_or_default();
            outcome.lost_lines += u64::from(!text.lines().any(|one| one == line));
            continue;
        }
        let says_why = notices.iter().any(|notice| {
            let result = notice["result"].as_str().unwrap_or_default();
            notice["from"] == MEMBERS[at]
                && result.starts_with("stopped: ")
                && [feature.adds.0, "check `"]
                    .iter()
                    .any(|named| result.contains(named))
        });
        is_silent |= !says_why;
    }
    match (green, is_silent) {
        (2, _) => outcome.green += 1,
        (_, false) => outcome.stopped += 1,
        (_, true) => outcome.silent += 1,
    }
    Ok(())
}

fn passes(mut shell: Command, project: &Path, suite: &str) -> Result<bool> {
    let ran = shell.args(["-eu", suite]).current_dir(project).output();
    Ok(ran.context("the suite runs")?.status.success())
}

/// Quotes a text for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
