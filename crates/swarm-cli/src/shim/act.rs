//! The git shim's entry point.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use swarm_permissions::{GitFacts as _, GitLine, git_command, git_refusal, git_without_programs};
use swarm_protocol::LEAD_NAME;

use super::here::Here;
use super::{conclude, text};
use crate::environment::raw_variable;
use crate::output::say;

/// Name of the shim.
const NAME: &str = "git";

/// Exit code of git for a fatal error.
const FATAL: u8 = 128;

/// Runs git if this program was called by that name.
pub(crate) fn act_as_git() -> Option<ExitCode> {
    let mut words = std::env::args_os();
    let called = PathBuf::from(words.next()?);
    (called.file_name() == Some(OsStr::new(NAME))).then(|| git(&words.collect::<Vec<_>>()))
}

fn git(words: &[OsString]) -> ExitCode {
    let Some(program) = real_git() else {
        say("git: not found on the PATH");
        return ExitCode::from(127);
    };
    let texts: Vec<String> = words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    if is_member() {
        let line = GitLine::of(&texts);
        let here = Here {
            program: &program,
            options: line.map_or(&[], |line| line.options),
        };
        if let Some(why) = git_refusal(&texts, &here) {
            say(&format!("git: refused by swarm: {why}"));
            return ExitCode::from(FATAL);
        }
        // A command that deletes refs may be called through an alias.
        let concludes = |line: &GitLine<'_>| {
            conclude::concludes(line.command)
                || git_command(&texts, &here).is_some_and(|meant| conclude::concludes(&meant))
        };
        if here.sandboxed() && line.as_ref().is_some_and(concludes) {
            return conclude::run(&program, words, &here);
        }
    }
    let error = command(&program, words, &texts).exec();
    say(&format!(
        "git: {} cannot be started: {error}",
        program.display()
    ));
    ExitCode::from(126)
}

/// Returns the command to run for an agent: read-only commands do not start programs from the
/// configuration.
fn command(program: &Path, words: &[OsString], texts: &[String]) -> Command {
    let mut command = Command::new(program);
    let quiet = text("SWARM_NAME").and_then(|_| git_without_programs(texts));
    match quiet {
        None => command.args(words),
        Some(quiet) => command
            .args(quiet.first)
            .args(&words[..quiet.at])
            .args(quiet.then)
            .args(&words[quiet.at..]),
    };
    command
}

/// Returns the next git on the search path that is not this program.
fn real_git() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?.canonicalize().ok()?;
    let path = raw_variable("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(NAME))
        .find(|git| {
            git.canonicalize()
                .is_ok_and(|real| real != own && real.is_file())
        })
}

/// Returns whether a member runs the command. People and a lead in the person's checkout are not
/// restricted.
fn is_member() -> bool {
    match text("SWARM_NAME") {
        None => false,
        Some(name) if name == LEAD_NAME => text("SWARM_WORKTREE").is_some(),
        Some(_) => true,
    }
}
