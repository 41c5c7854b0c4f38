//! `swarm attach`.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use serde_json::json;
use swarm_panes::PaneStatus;
use swarm_protocol::{BackendType, ErrorKind, Member, TeamConfig};

use super::place::pane_of;
use crate::app::App;
use crate::args::AttachArgs;
use crate::commands::{members, runtime};
use crate::failure::Failure;

pub(in crate::commands) fn run(app: &App, args: &AttachArgs) -> Result<ExitCode, Failure> {
    let team = app.team()?;
    let config = app.store.config(&team)?;
    let member = match &args.name {
        Some(name) => members::known(&config, name)?,
        None => first_with_pane(&config)?,
    };
    if member.backend_type == Some(BackendType::Headless) {
        let message = format!(
            "{} runs without a terminal, so there is no pane",
            member.name
        );
        return Err(
            Failure::new(ErrorKind::Environment, message).with_hint(format!(
                "`swarm logs {} --follow` shows its output",
                member.name
            )),
        );
    }
    let words = command(app, member)?;
    if app.out.json {
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        app.out
            .json(&json!({ "name": member.name, "command": words }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(Failure::new(
            ErrorKind::Environment,
            "there is no terminal to show a pane in",
        )
        .with_hint(format!("type this in one: {}", typed(&words))));
    }
    become_command(&words)
}

/// Any member in a pane will do: its window holds those of the others.
fn first_with_pane(config: &TeamConfig) -> Result<&Member, Failure> {
    let mut mates = config.teammates();
    let found = mates.find(|member| {
        member.swarm.is_some()
            && member.backend_type == Some(BackendType::Tmux)
            && !member.tmux_pane_id.is_none()
    });
    found.ok_or_else(|| {
        let message = format!("no member of {} has a pane", config.name);
        Failure::new(ErrorKind::NotFound, message)
            .with_hint("`swarm status` shows who is there; start one with `swarm spawn NAME`")
    })
}

fn command(app: &App, member: &Member) -> Result<Vec<OsString>, Failure> {
    let (backend, pane) = pane_of(app, member)?;
    let (status, words) = runtime()?.block_on(async {
        let status = backend.status(&pane).await;
        (status, backend.attach_command(&pane).await)
    });
    if matches!(status?, PaneStatus::Gone) || words.is_empty() {
        let message = format!("the pane of {} is gone", member.name);
        return Err(
            Failure::new(ErrorKind::NotFound, message).with_hint(format!(
                "`swarm logs {}` shows what it printed",
                member.name
            )),
        );
    }
    Ok(words)
}

/// Replaces this process, so that the terminal belongs to tmux alone.
fn become_command(words: &[OsString]) -> Result<ExitCode, Failure> {
    let [program, args @ ..] = words else {
        return Err(Failure::new(
            ErrorKind::Internal,
            "the attach command is empty",
        ));
    };
    let error = Command::new(program).args(args).exec();
    let message = format!("{} could not be run: {error}", program.to_string_lossy());
    Err(Failure::new(ErrorKind::Environment, message))
}

/// The command as a person would type it.
fn typed(words: &[OsString]) -> String {
    let words: Vec<String> = words
        .iter()
        .map(|word| quoted(&word.to_string_lossy()))
        .collect();
    words.join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_typed_as_it_is_shown() {
        let words = ["tmux", "-S", "/tmp/a b/it's", "attach", "-t", "%7", ""];
        let words: Vec<OsString> = words.map(OsString::from).into();
        assert_eq!(
            typed(&words),
            r"tmux -S '/tmp/a b/it'\''s' attach -t '%7' ''"
        );
    }
}
