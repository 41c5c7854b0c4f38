//! Commands that a person types into the terminal of a lead: `/` and any command of swarm.
//!
//! They run in this process, for the lead's team, in the name of whoever started the lead. Their output is drawn with the
//! lead's work. The model does not see them.

use std::ffi::OsString;
use std::sync::Arc;

use clap::Parser as _;
use swarm_config::AnswerInPlace;
use swarm_engine::EventSink;
use swarm_member::LeadParts;
use swarm_protocol::{AgentEvent, ErrorKind, SessionId, TeamName};
use swarm_store::TeamStore;
use swarm_supervisor::implicit_team_name;
use swarm_ui::command_in;

use super::sessions::team_of;
use crate::app::App;
use crate::commands::command::{Args, Command};
use crate::commands::team::TeamCommand;
use crate::commands::{acting, misread};
use crate::entry::written_out;
use crate::environment;
use crate::failure::Failure;
use crate::identity::Acting;
use crate::output::{captured, failure_text};

/// Variables by which terminals say that other programs can type into them, and what those terminals are.
const SHARED_TERMINALS: [(&str, &str); 6] = [
    ("TMUX", "tmux"),
    ("STY", "screen"),
    ("ZELLIJ", "zellij"),
    ("KITTY_LISTEN_ON", "kitty with remote control"),
    ("WEZTERM_UNIX_SOCKET", "WezTerm"),
    ("NVIM", "Neovim"),
];

/// What can be typed, besides prompts.
const HELP: &str = "\
/status, /brief, /log         members, tasks and what happened
/peek NAME, /send NAME TEXT   look at a member, write to it
/task list, /task create …    the task list
/requests, /approve, /deny    permission requests
/COMMAND --help               likewise every command of `swarm help`
/compact [INSTRUCTIONS]       replace the conversation by a summary
/quit                         end the session and shut the team down

Esc      interrupt the lead       Alt-Enter  new line
Ctrl-C   empty the line, or       Up, Down   earlier lines
         interrupt; twice: end    Ctrl-B     sub-agents to the background
Ctrl-D   end the session";

/// What a line is that was typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed {
    /// A prompt to the lead.
    Prompt(String),
    /// The end of the session.
    Quit,
    /// A command, which has run.
    Done,
}

/// What runs the commands of a lead's terminal.
pub(super) struct TerminalCommands {
    store: Arc<dyn TeamStore>,
    view: Arc<dyn EventSink>,
    session: SessionId,
    /// The team that the lead creates where the model names none.
    implicit: TeamName,
    acting: Acting,
}

impl TerminalCommands {
    /// For the lead that begins with these parts.
    ///
    /// # Errors
    /// Where it cannot be said who acts.
    pub(super) fn new(app: &App, parts: &LeadParts) -> Result<Self, Failure> {
        let implicit = match &parts.team {
            Some(team) => team.clone(),
            None => implicit_team_name(parts.session)?,
        };
        Ok(Self {
            store: Arc::clone(&app.store),
            view: Arc::clone(&parts.events),
            session: parts.session,
            implicit,
            acting: whoever_types(app, acting::find(app)?),
        })
    }

    /// Whether permission requests may be answered here.
    pub(super) fn may_answer(&self) -> bool {
        self.acting == Acting::Person
    }

    /// The team of the lead, if it has one by now.
    pub(super) fn team(&self) -> Option<TeamName> {
        team_of(&*self.store, self.session)
    }

    /// Runs a command and shows what it prints.
    pub(super) fn show_run(&self, words: &str) {
        self.show(self.run(words));
    }

    /// Runs a line if it is a command.
    pub(super) fn take(&self, line: String) -> Typed {
        match command_in(&line) {
            // The lead itself knows it.
            None | Some(("compact", _)) => return Typed::Prompt(line),
            Some(("quit" | "exit", "")) => return Typed::Quit,
            Some(("help" | "", "")) => self.show(HELP.to_owned()),
            Some((name, rest)) => self.show_run(&format!("{name} {rest}")),
        }
        Typed::Done
    }

    fn show(&self, text: String) {
        self.view.emit(AgentEvent::CommandOutput { text });
    }

    /// What a command prints.
    fn run(&self, words: &str) -> String {
        let Some(words) = shlex::split(words) else {
            return format!("a quotation mark is not closed: {words}");
        };
        if words.iter().any(|word| word == "-") {
            return "`-` would read this terminal; write the text into the command".to_owned();
        }
        let words = std::iter::once("swarm".to_owned()).chain(words);
        let words = written_out(words.map(OsString::from).collect(), false);
        let args = match Args::try_parse_from(&words) {
            Ok(args) => args,
            Err(error) => {
                let error = misread::with_tip(error, words.into_iter());
                return error.render().to_string();
            }
        };
        if let Command::Team(TeamCommand::Delete(_)) = args.command {
            return "the lead works in its team: ask it to delete the team, or end the session first".to_owned();
        }
        if args.command.keeps_running() {
            return "this command keeps running; run it in another terminal".to_owned();
        }
        let names_team = args.global.team.is_some();
        let (done, mut text) = captured(|| self.run_parsed(args));
        match done {
            Err(failure)
                if failure.kind == ErrorKind::NotFound && !names_team && self.team().is_none() =>
            {
                text.push_str("this lead has no team yet; it creates one when it needs one");
            }
            Err(failure) => text.push_str(&failure_text(&failure)),
            Ok(()) => {}
        }
        text
    }

    fn run_parsed(&self, mut args: Args) -> Result<(), Failure> {
        args.global.team.get_or_insert_with(|| {
            self.team()
                .unwrap_or_else(|| self.implicit.clone())
                .to_string()
        });
        let env = environment::read()?;
        let mut app = App::new(env, &args.global, &args.command.flags())?;
        app.acting = Some(self.acting.clone());
        args.command.run(&app).map(drop)
    }
}

/// Who types into this terminal. Into some, other programs can type as well, and so the agents of the team.
fn whoever_types(app: &App, acting: Acting) -> Acting {
    let shared = SHARED_TERMINALS
        .iter()
        .find(|(name, _)| app.env.get(name).is_some());
    let why = match (app.settings.answer_in_place, shared) {
        (AnswerInPlace::Always, _) | (AnswerInPlace::Auto, None) => return acting,
        (AnswerInPlace::Never, _) => "`permissions.answer_in_place` is `never`".to_owned(),
        (AnswerInPlace::Auto, Some((_, place))) => {
            format!("this terminal is in {place}, where an agent's shell can type as well")
        }
    };
    match acting {
        Acting::Person => Acting::PersonOrAgent(why),
        acting => acting,
    }
}

impl Command {
    /// Whether it needs a terminal of its own: it ends only when it is told to, or is a lead itself.
    fn keeps_running(&self) -> bool {
        match self {
            Self::Run(_) | Self::Lead(_) | Self::Resume(_) | Self::Demo(_) | Self::Attach(_) => {
                true
            }
            // The editor would take the terminal.
            Self::Approve(args) => args.edit,
            Self::Status(args) => args.watch,
            Self::Logs(args) => args.follow,
            Self::Log(args) => args.follow,
            Self::Inbox(args) => args.follow,
            _ => false,
        }
    }
}
