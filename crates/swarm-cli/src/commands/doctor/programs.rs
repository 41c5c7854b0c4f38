//! Checks of required programs and the terminal.

use std::io::IsTerminal as _;
use std::process::{Command, Stdio};

use swarm_config::{Environment, Settings};
use swarm_panes::{BackendCheck, backend_kinds};
use swarm_protocol::BackendType;

use super::finding::Finding;
use crate::commands::runtime;
use crate::failure::Result;
use crate::own_process::VERSION;
use crate::spawn_context::{teammate_program, terminal_with};

/// The program that runs in each pane.
pub(super) fn teammate(env: &Environment) -> Finding {
    const NAME: &str = "swarm-teammate";
    let again = "install the same version of `swarm` and `swarm-teammate` in one directory";
    let program = match teammate_program(env) {
        Ok(program) => program,
        Err(failure) => return Finding::missing(NAME, failure.message, again),
    };
    let place = program.display();
    let mut ask = Command::new(&program);
    match said(ask.arg("--version")) {
        Some(said) if said.split_ascii_whitespace().last() == Some(VERSION) => {
            Finding::ok(NAME, format!("{VERSION}, {place}"))
        }
        Some(said) => {
            let found = format!("{place} is version `{said}`, but this is `swarm {VERSION}`");
            Finding::missing(NAME, found, again)
        }
        None => Finding::missing(NAME, format!("{place} cannot be run"), again),
    }
}

/// Checks the requirements of the backends.
pub(super) fn backends(env: &Environment, settings: &Settings) -> Result<Vec<Finding>> {
    let facts = terminal_with(env, &env.cwd, settings);
    let checks = runtime()?.block_on(async {
        let mut checks = Vec::new();
        for kind in backend_kinds() {
            checks.extend(
                kind.check(&facts)
                    .await
                    .map(|check| (kind.backend(), check)),
            );
        }
        checks
    });
    let finding = |(backend, check): (BackendType, BackendCheck)| match (check.found, check.remark)
    {
        (Ok(found), None) => Finding::ok(check.program, found),
        (Ok(found), Some(remark)) => Finding::warning(check.program, found, remark),
        (Err(error), _) if settings.backend == backend.name() => Finding::missing(
            check.program,
            error.to_string(),
            "install it, or set `spawn.backend` to auto",
        ),
        (Err(error), _) => Finding::warning(
            check.program,
            error.to_string(),
            format!(
                "install a newer {}; until then teammates run headless",
                check.program
            ),
        ),
    };
    Ok(checks.into_iter().map(finding).collect())
}

/// Checks for git, which the demo needs.
pub(super) fn git(env: &Environment) -> Finding {
    const NAME: &str = "git";
    let hint = "install git; `swarm demo` needs it, and agents often do";
    let Some(program) = env.find_program("git") else {
        return Finding::warning(NAME, "git not found on the PATH", hint);
    };
    match said(Command::new(&program).arg("--version")) {
        Some(said) => Finding::ok(NAME, format!("{said}, {}", program.display())),
        None => Finding::warning(NAME, format!("{} cannot be run", program.display()), hint),
    }
}

/// Checks the terminal that this command runs in.
pub(super) fn terminal(env: &Environment) -> Finding {
    const NAME: &str = "terminal";
    let term = env.get("TERM").unwrap_or_default();
    let place = match (env.get("TMUX"), std::io::stdout().is_terminal()) {
        (Some(_), _) => "inside tmux: teammates run in panes next to you",
        (None, true) => "outside tmux: teammates run on a separate server, shown by `swarm attach`",
        (None, false) => "stdout is not a terminal",
    };
    if ["", "dumb"].contains(&term) && env.get("TMUX").is_none() {
        let found = format!("{place}; TERM is {term:?}");
        return Finding::warning(
            NAME,
            found,
            "`swarm attach` needs a terminal with a TERM that tmux knows",
        );
    }
    Finding::ok(NAME, place)
}

/// Returns the first line that a program prints.
fn said(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().next()?.trim().to_owned();
    output.status.success().then_some(line)
}
