//! The terminal of a teammate: a pane with an input line, or output only.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use swarm_agent::EventSink;
use swarm_config::Environment;
use swarm_protocol::PaneId;
use swarm_team::SpawnOrder;
use swarm_ui::{Alert, Console, NonBlockingWriter, PaneInput, SessionStatus, Theme, read_keys};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::commands::{InputHistory, PaneQuestions};
use crate::escape_time::escape_time;
use crate::output::{terminal_height, terminal_width};
use crate::pane_status::PaneStatus;

/// Timeout at exit for a terminal that does not read.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The original state of the terminal on stdin, restored on drop.
#[derive(Debug)]
pub(crate) struct Keyboard {
    before: Termios,
    console: Console,
    outlet: NonBlockingWriter,
    /// The output file, unless tmux writes it.
    log: Option<File>,
}

impl Keyboard {
    /// Restores the terminal. The error message of a failure is added to the output file.
    pub(crate) fn give_back(mut self, last_words: Option<&str>) {
        if let (Some(log), Some(words)) = (&mut self.log, last_words) {
            writeln!(log, "{words}").ok();
        }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.console.close();
        let when = if self.outlet.drain(LAST_WORDS) {
            OptionalActions::Flush
        } else {
            // The terminal is not read, so waiting for it would block.
            OptionalActions::Now
        };
        // A closed terminal needs no restoring.
        tcsetattr(io::stdin(), when, &self.before).ok();
    }
}

/// The display of a teammate and the input of a person.
pub(crate) struct Terminal {
    pub(crate) screen: Box<dyn Write + Send>,
    pub(crate) person: Option<UnboundedReceiver<PaneInput>>,
    /// The row above the input line.
    pub(crate) status: Option<Arc<dyn EventSink>>,
    /// Kept while the teammate runs; `None` without an input line.
    pub(crate) keyboard: Option<Keyboard>,
}

impl Terminal {
    /// Creates a display without an input line.
    pub(crate) fn plain() -> Self {
        Self {
            screen: Box::new(io::stdout()),
            person: None,
            status: None,
            keyboard: None,
        }
    }

    /// Takes over the terminal if stdin and stdout are a terminal. `log` is the output file, in the
    /// member's directory, `questions` are the requests that are answered here.
    pub(crate) async fn open(
        env: &Environment,
        order: &SpawnOrder,
        log: &Path,
        questions: Option<PaneQuestions>,
    ) -> Self {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Self::plain();
        }
        let outlet = match NonBlockingWriter::new(Box::new(io::stdout())) {
            Ok(outlet) => outlet,
            Err(error) => {
                tracing::warn!(%error, "the terminal is not used for output");
                return Self::plain();
            }
        };
        let spec = &order.spec;
        let before = match keys_one_by_one() {
            Ok(before) => before,
            Err(error) => {
                tracing::warn!(%error, "the terminal cannot be used for input");
                return Self::plain();
            }
        };
        let theme = Theme {
            color: order.pane.color,
            width: None,
        };
        let history = log.parent().map(InputHistory::of_member);
        let log = own_log(env, log).await;
        let copy = log.as_ref().and_then(|log| log.try_clone().ok());
        let console = Console::closed(
            Box::new(outlet.clone()),
            copy.map_or_else(|| Box::new(io::sink()) as _, |copy| Box::new(copy) as _),
            theme,
            Box::new(|| terminal_width(io::stdout())),
            &format!("{} > ", spec.identity.agent.name),
        )
        .opened();
        console.limit_frames();
        console.set_escape_time(escape_time(env));
        console.measure_height(Box::new(|| terminal_height(io::stdout())));
        // The member's view rings.
        console.set_alert(Alert {
            bell: false,
            ..Alert::default()
        });
        if let Some(history) = &history {
            console.remember(history.lines());
        }
        let session = SessionStatus::new(spec.runtime.model.clone(), spec.permissions.mode, None);
        let status = Arc::new(PaneStatus::new(console.clone(), session));
        tokio::spawn(Arc::clone(&status).follow());
        let mut requests = questions.map(|questions| questions.show_on(&console, &status));
        let (tell, person) = unbounded_channel();
        let reading = read_keys(console.clone(), move |input| {
            if let (PaneInput::Line(line), Some(history)) = (&input, &history) {
                history.add(line);
            }
            let input = match &mut requests {
                Some(take) => take(input),
                None => Some(input),
            };
            if let Some(input) = input {
                // A stopped member no longer receives.
                tell.send(input).ok();
            }
        });
        if let Err(error) = reading {
            tracing::warn!(%error, "keyboard input is not read");
        }
        Self {
            screen: Box::new(console.writer()),
            person: Some(person),
            status: Some(status),
            keyboard: Some(Keyboard {
                before,
                console,
                outlet,
                log,
            }),
        }
    }
}

/// Enables raw input without echo or signals. Output processing stays enabled, so that output of
/// other programs in the pane is displayed correctly.
fn keys_one_by_one() -> io::Result<Termios> {
    let before = tcgetattr(io::stdin())?;
    let mut modes = before.clone();
    modes.local_modes -=
        LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
    modes.input_modes -= InputModes::ICRNL | InputModes::IXON | InputModes::INLCR;
    modes.special_codes[SpecialCodeIndex::VMIN] = 1;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    tcsetattr(io::stdin(), OptionalActions::Now, &modes)?;
    Ok(before)
}

/// Opens the output file. tmux would also copy the input line, so its copy is stopped; if that
/// fails, tmux continues to write the file. Other terminals do not write it.
async fn own_log(env: &Environment, log: &Path) -> Option<File> {
    let file = swarm_os::open_for_appending(log)
        .inspect_err(|error| {
            tracing::warn!(log = %log.display(), %error, "the output's file is not written here");
        })
        .ok()?;
    if let (Some(tmux_env), Some(pane)) = (env.get("TMUX"), env.get("TMUX_PANE")) {
        let (program, pane) = (env.find_program("tmux")?, PaneId::new(pane));
        swarm_panes::take_over_log(program, tmux_env, &pane)
            .await
            .inspect_err(|error| tracing::warn!(%error, "the output's file is left to tmux"))
            .ok()?;
    }
    keep_panics(&file);
    Some(file)
}

/// Also writes panics to the output file.
fn keep_panics(file: &File) {
    let Ok(file) = file.try_clone() else { return };
    let file = Mutex::new(file);
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let mut file = file.lock();
        writeln!(file, "{panic}").ok();
        usual(panic);
    }));
}
