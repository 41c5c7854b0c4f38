//! `swarm requests --watch`: the dialogs of a lead's terminal, without a lead.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_os::DirectoryWatcher;
use swarm_protocol::{Color, MemberName, RequestRecord, TeamName};
use swarm_store::{BlockOn as _, Team, Topic};
use swarm_ui::print::{counted, wrapped};
use swarm_ui::{Console, ConsoleWriter, PaneInput, command_in};
use tokio::signal::ctrl_c;
use tokio::sync::Notify;

use super::interactive::require_terminal;
use super::questions::{Questions, UNARMED};
use super::report::OutputFormat;
use super::request_dialog::{DialogRequest, KeyAnswer, QuestionHost};
use super::terminal::{LeadTerminal, RestoreAtEnd};
use super::terminal_actor::TerminalActor;
use super::view::view_theme;
use crate::app::App;
use crate::commands::acting::team_to_answer;
use crate::commands::requests::adopt;
use crate::commands::runtime;
use crate::escape_time::escape_time;
use crate::failure::{Failure, Result};
use crate::identity::Acting;
use crate::output::{failure_text, terminal_width};
use crate::spawn_context;
use crate::window_mark::WindowMark;

const PROMPT: &str = "requests > ";

/// Reply to a line that is not a command.
const COMMANDS: &str =
    "press a number to answer, or type /approve, /deny or /requests; Ctrl-D or Ctrl-C exits";

/// Answers requests of a team, one after the other, until Ctrl-C.
pub(in crate::commands) fn watch_requests(app: &App) -> Result<()> {
    require_terminal(
        app,
        "requests --watch",
        "in scripts use `swarm requests --json` and `swarm approve`",
    )?;
    let team = team_to_answer(app, "requests --watch")?;
    let actor = TerminalActor::new(app, app.acting()?, None);
    if let Acting::PersonOrAgent(why) = actor.now(Some(team.name())) {
        let message = format!("`swarm requests --watch` refused: {why}");
        return Err(Failure::refused(message)
            .with_hint("run it in a terminal outside; `swarm requests` lists the requests here"));
    }
    adopt(app, &*team)?;
    let runtime = runtime()?;
    let done = runtime.block_on(watch(app, &team, actor));
    // The thread that reads keys ends at the next key.
    runtime.shutdown_background();
    done
}

async fn watch(app: &App, team: &Arc<dyn Team>, actor: TerminalActor) -> Result<()> {
    let terminal = LeadTerminal::begin(view_theme(app, OutputFormat::Text), PROMPT)?;
    let _restored = RestoreAtEnd(terminal.clone());
    let Some(console) = terminal.console() else {
        return Ok(());
    };
    console.set_escape_time(escape_time(&app.env));
    let window = WindowMark::of(&spawn_context::terminal(app));
    let host = Arc::new(WatchedTeam {
        team: team.name().clone(),
        app: app.clone(),
        actor,
        terminal: terminal.clone(),
        console: console.clone(),
        writer: Mutex::new(console.writer()),
        window: window.clone(),
    });
    let watcher = Arc::new(DirectoryWatcher::new());
    let questions = Questions::new(&app.store, &watcher, Arc::clone(&host) as _);
    questions.look.notify_one();
    let adopting = adopt_new(app, team, &watcher);
    tokio::pin!(adopting);
    let end = Arc::new(Notify::new());
    let (typing, ending) = (questions.clone(), Arc::clone(&end));
    // Commands run on the thread that reads keys, because they may wait.
    terminal.read(move |input| match input {
        PaneInput::Shutdown => ending.notify_one(),
        input => host.take(input, &typing),
    })?;
    tokio::spawn(questions.follow());
    let done = loop {
        tokio::select! {
            _ = ctrl_c() => if !terminal.clear() {
                break Ok(());
            },
            () = end.notified() => break Ok(()),
            failure = &mut adopting => break Err(failure),
        }
    };
    window.end().await;
    done
}

/// Adopts requests of members of other programs, which arrive as mail, until that fails for another
/// reason than a hub that does not answer.
async fn adopt_new(app: &App, team: &Arc<dyn Team>, watcher: &Arc<DirectoryWatcher>) -> Failure {
    let mut inbox = team.watch(watcher, &Topic::Mail(MemberName::lead()));
    loop {
        inbox.changed().await;
        let (app, team) = (app.clone(), Arc::clone(team));
        let adopted = tokio::task::spawn_blocking(move || adopt(&app, &*team)).await;
        if let Ok(Err(failure)) = adopted
            && !failure.is_outage
        {
            return failure;
        }
    }
}

/// The team whose requests are answered.
struct WatchedTeam {
    team: TeamName,
    app: App,
    actor: TerminalActor,
    terminal: LeadTerminal,
    console: Console,
    writer: Mutex<ConsoleWriter>,
    window: WindowMark,
}

impl WatchedTeam {
    fn take(&self, input: PaneInput, questions: &Questions) {
        match input {
            PaneInput::Choice { dialog, key, text } => questions.answer(&dialog, key, &text),
            PaneInput::Form { dialog, answers } => questions.answer_form(&dialog, &answers),
            PaneInput::Line(line) => match command_in(&line) {
                Some((name @ ("approve" | "deny" | "requests"), rest)) => {
                    self.run(&format!("{name} {rest}"), false);
                }
                Some(("quit" | "exit", "")) => self.show("Ctrl-D exits"),
                _ => self.show(COMMANDS),
            },
            // Without a dialog, Esc shows the postponed ones again.
            PaneInput::Interrupt => {
                questions.show_postponed();
            }
            _ => {}
        }
    }

    fn run(&self, command: &str, has_terminal: bool) {
        let acting = self.actor.now(Some(&self.team));
        let team = || self.team.clone();
        let ran =
            (self.app.command_line).run(command, &self.app.env.cwd, &team, &acting, has_terminal);
        let mut text = ran.text;
        if let Err(failure) = ran.done {
            text.push_str(&failure_text(&failure));
        }
        self.show(&text);
    }

    fn show(&self, text: &str) {
        let mut writer = self.writer.lock();
        let text = swarm_ui::clean_text(text.trim_end());
        let width = terminal_width(io::stderr()).unwrap_or(usize::MAX);
        let rows = text.lines().flat_map(|line| wrapped(line, width));
        let rows: Vec<_> = rows.collect();
        // A console accepts all output.
        writeln!(writer, "{}", rows.join("\n"))
            .and_then(|()| writer.flush())
            .ok();
    }
}

impl QuestionHost for WatchedTeam {
    fn team(&self) -> Option<TeamName> {
        Some(self.team.clone())
    }

    fn answer(&self, request: &RequestRecord, answer: KeyAnswer, why: &str) {
        let command = answer.command(request, why);
        match answer {
            KeyAnswer::Edit => self.terminal.lend(|| self.run(&command, true)),
            _ => self.run(&command, false),
        }
    }

    fn can_edit(&self) -> bool {
        true
    }

    fn ask(&self, request: Option<&DialogRequest>) -> bool {
        let dialog = request.map(|request| request.dialog.clone());
        self.terminal.ask(dialog, UNARMED);
        true
    }

    fn unanswered(&self, team: &dyn Team) {
        let place = team.location();
        let line = format!("{place} does not answer · Ctrl-C exits");
        self.console.set_status(vec![line]);
    }

    fn color(&self, member: &MemberName) -> Option<Color> {
        let config = self.app.store.team(&self.team).config().block_on();
        config.ok()?.member(member)?.known_color()
    }

    fn waiting(&self, open: usize, postponed: usize) {
        self.window.set(open > 0);
        let mut line = match open {
            0 => format!("no requests wait in the team {}", self.team),
            open => format!(
                "{} in the team {}",
                counted(open as u64, "request"),
                self.team
            ),
        };
        if postponed > 0 {
            let shown = if postponed == 1 { "it" } else { "them" };
            // Writing into a String cannot fail.
            let _infallible = write!(line, ", {postponed} postponed (Esc shows {shown})");
        }
        line.push_str(" · Ctrl-C exits");
        self.console.set_status(vec![line]);
    }
}
