//! Runs commands that are typed into a terminal of this process.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use clap::{CommandFactory as _, Parser as _};
use swarm_protocol::{ErrorKind, MemberName, TeamName};

use super::argument_tips;
use super::command::{Args, Command};
use super::node::NodeCommand;
use super::team::TeamCommand;
use crate::app::App;
use crate::command_line::{CommandLine, OrderedCommand, RanCommand};
use crate::environment;
use crate::failure::{Failure, Result};
use crate::identity::Acting;
use crate::output::captured;
use crate::short_forms::{is_command, is_short_form, written_out};

pub(crate) struct TypedCommands;

impl CommandLine for TypedCommands {
    fn names(&self) -> Vec<String> {
        let known = Args::command();
        let known = known.get_subcommands().filter(|known| !known.is_hide_set());
        known.map(|known| known.get_name().to_owned()).collect()
    }

    fn has(&self, name: &str) -> bool {
        is_command(name) || is_short_form(name)
    }

    fn ordered(&self, words: &[String]) -> Result<OrderedCommand> {
        let words = std::iter::once("swarm").chain(words.iter().map(String::as_str));
        let args = Args::try_parse_from(words)
            .map_err(|error| Failure::from_arguments(&error.render().to_string()))?;
        match args.command {
            Command::Spawn(args) if args.on.is_none() && !args.trust => {
                Ok(OrderedCommand::Spawn(MemberName::teammate(&args.name)?))
            }
            Command::Kill(args) if args.targets.names.len() == 1 => Ok(OrderedCommand::Other),
            Command::Logs(args) if !args.follow => Ok(OrderedCommand::Other),
            Command::Peek(_) => Ok(OrderedCommand::Other),
            _ => {
                let message = "a node does not run this command for others";
                Err(Failure::new(ErrorKind::Refused, message))
            }
        }
    }

    fn run(
        &self,
        line: &str,
        cwd: &Path,
        team: &dyn Fn() -> TeamName,
        acting: &Acting,
        has_terminal: bool,
    ) -> RanCommand {
        let mut args = match parse(line) {
            Ok(args) => args,
            Err(text) => return RanCommand::refused(text),
        };
        if let Command::Team(TeamCommand::Delete(_) | TeamCommand::Down(_)) = args.command {
            return RanCommand::refused(
                "the lead works in its team: ask it to delete the team, or end the session first",
            );
        }
        if args.command.keeps_running() {
            return RanCommand::refused("this command keeps running; run it in another terminal");
        }
        let opens_editor = matches!(&args.command, Command::Approve(args) if args.edit);
        if opens_editor && !has_terminal {
            return RanCommand::refused("there is no terminal for the editor; pass `--input JSON`");
        }
        let names_team = args.global.team.is_some();
        let (done, text) = captured(|| {
            args.global.team.get_or_insert_with(|| team().to_string());
            let mut env = environment::read().map_err(|error| Failure::of_directory(&error))?;
            cwd.clone_into(&mut env.cwd);
            let flags = args.command.flags();
            let mut app = App::new(env, &args.global, &flags, Arc::new(Self))?;
            app.acting = Some(acting.clone());
            args.command.run(&app).map(drop)
        });
        RanCommand {
            done,
            text,
            names_team,
        }
    }
}

/// Parses a line. The error is the text to show.
fn parse(line: &str) -> Result<Args, String> {
    let Some(words) = shlex::split(line) else {
        return Err(format!("unclosed quotation mark: {line}"));
    };
    // As an answer to a form, `-` leaves a field empty.
    let is_answer = |at: usize| at > 0 && words[at - 1] == "--answer";
    let mut dashes = (0..words.len()).filter(|at| words[*at] == "-");
    if dashes.any(|at| !is_answer(at)) {
        return Err("`-` would read this terminal; write the text into the command".to_owned());
    }
    let words = std::iter::once("swarm".to_owned()).chain(words);
    let words = written_out(words.map(OsString::from).collect(), false);
    Args::try_parse_from(&words).map_err(|error| {
        let error = argument_tips::with_tip(error, words.into_iter());
        // As it is typed here.
        let text = error.render().to_string();
        text.replace("Usage: swarm ", "Usage: /")
    })
}

impl Command {
    /// Returns whether the command needs a separate terminal: it runs until it is stopped, or is a
    /// lead itself.
    fn keeps_running(&self) -> bool {
        match self {
            Self::Run(_)
            | Self::Node(NodeCommand::Join(_))
            | Self::Lead(_)
            | Self::Acp(_)
            | Self::Mcp(_)
            | Self::Resume(_)
            | Self::Demo(_)
            | Self::Attach(_) => true,
            Self::Status(args) => args.watch,
            Self::Requests(args) => args.watch,
            Self::Logs(args) => args.follow,
            Self::Log(args) => args.follow,
            Self::Inbox(args) => args.follow,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_shown_as_it_is_typed_in_a_lead() {
        let refused = parse("shutdown").err().unwrap_or_default();
        assert!(refused.contains("Usage: /shutdown"), "{refused}");
    }

    #[test]
    fn a_dash_is_an_answer_and_is_refused_elsewhere() {
        let parsed = parse("approve p3 --answer - --answer 2").map(|args| args.command);
        let Ok(Command::Approve(args)) = parsed else {
            panic!("it is an answer");
        };
        assert_eq!(args.answer, ["-", "2"]);
        for line in ["send alice -", "approve - --answer -"] {
            let refused = parse(line).err();
            let refused = refused.unwrap_or_default();
            assert!(refused.contains("would read this terminal"), "{line}");
        }
    }
}
