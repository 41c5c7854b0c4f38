//! Completion candidates per argument.

use std::any::TypeId;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Arg, Command};
use clap_complete::{ArgValueCandidates, CompleteEnv, CompletionCandidate};
use swarm_protocol::{MemberName, PermissionMode, TaskId};

use super::offer::Offer;
use crate::commands::stop::MemberWord;
use crate::environment;

/// The variable by which a shell asks for completions.
pub(super) const VARIABLE: &str = "SWARM_COMPLETE";

/// Answers a shell that requests completions. Returns `None` if no shell does.
pub(crate) fn answer(swarm: fn() -> Command) -> Option<ExitCode> {
    environment::raw_variable(VARIABLE).filter(|shell| !shell.is_empty())?;
    let env = environment::read().ok()?;
    let words: Vec<_> = std::env::args_os().collect();
    let offer = Arc::new(Offer::new(&env, &words));
    let asked = CompleteEnv::with_factory(|| attach(swarm(), &offer))
        .var(VARIABLE)
        .try_complete(words, Some(&env.cwd));
    match asked {
        Ok(true) => Some(ExitCode::SUCCESS),
        Ok(false) => None,
        // Anything printed here would appear on the command line that is being typed.
        Err(_) => Some(ExitCode::FAILURE),
    }
}

type Candidates = fn(&Offer) -> Vec<CompletionCandidate>;

fn attach(command: Command, offer: &Arc<Offer>) -> Command {
    let name = command.get_name().to_owned();
    command
        .mut_args(|arg| match candidates(&name, &arg) {
            Some(candidates) => {
                let offer = Arc::clone(offer);
                arg.add(ArgValueCandidates::new(move || candidates(&offer)))
            }
            None => arg,
        })
        .mut_subcommands(|command| attach(command, offer))
}

fn candidates(command: &str, arg: &Arg) -> Option<Candidates> {
    let value = arg.get_value_parser().type_id();
    let is = |of: TypeId| value == of;
    if is(TypeId::of::<MemberName>()) || is(TypeId::of::<MemberWord>()) {
        return Some(Offer::members);
    }
    if is(TypeId::of::<TaskId>()) {
        return Some(Offer::tasks);
    }
    if is(TypeId::of::<PermissionMode>()) {
        return Some(Offer::modes);
    }
    match (command, arg.get_id().as_str()) {
        (_, "team") | ("show" | "delete" | "resume", "name") => Some(Offer::teams),
        ("send", "to") => Some(Offer::receivers),
        ("log", "from" | "to") => Some(Offer::members),
        ("spawn", "name") => Some(Offer::teammates),
        ("approve" | "deny", "id") => Some(Offer::requests),
        ("list" | "get" | "set", "key") => Some(Offer::settings),
        (_, "model") => Some(Offer::models),
        (_, "backend") => Some(Offer::backends),
        _ => None,
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::commands::Args;

    fn arguments(command: &Command, path: &str, found: &mut Vec<String>) {
        for arg in command.get_arguments() {
            if candidates(command.get_name(), arg).is_some() {
                found.push(format!("{path} {}", arg.get_id()));
            }
        }
        for inner in command.get_subcommands() {
            arguments(inner, &format!("{path} {}", inner.get_name()), found);
        }
    }

    #[test]
    fn named_arguments_have_completions() {
        let mut found = Vec::new();
        arguments(&Args::with_all_arguments(), "swarm", &mut found);
        for expected in [
            "swarm team",
            "swarm team delete name",
            "swarm send to",
            "swarm inbox name",
            "swarm kill name",
            "swarm task show id",
            "swarm task claim id",
            "swarm task create blocked_by",
            "swarm approve id",
            "swarm run mode",
            "swarm spawn backend",
            "swarm config list key",
            "swarm config set key",
        ] {
            assert!(
                found.iter().any(|path| path == expected),
                "{expected}: {found:?}"
            );
        }
    }
}
