//! Commands that run beside an agent's turns.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::future::join_all;
use grep_regex::RegexMatcher;
use grep_searcher::Searcher;
use grep_searcher::sinks::UTF8;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::run::{Outcome, Running, sentence};
use crate::ToolContext;
use crate::one_line::one_line;

/// Commands that one agent may have running at a time.
const MOST: usize = 16;

/// Longest name of an output file, in characters.
const LONGEST_NAME: usize = 80;

/// What stands at the beginning of each id.
const ID: &str = "bash-";

/// The commands that one agent has started in the background. They end with it.
#[derive(Default)]
pub struct BackgroundCommands {
    inner: Mutex<Inner>,
    /// Called when a command has started or ended.
    on_change: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Debug, Default)]
struct Inner {
    all: Vec<Arc<BackgroundCommand>>,
    /// Those whose end the agent was not told of.
    ended: Vec<Arc<BackgroundCommand>>,
    is_over: bool,
}

impl std::fmt::Debug for BackgroundCommands {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("BackgroundCommands")
            .field(&self.inner)
            .finish()
    }
}

/// One command.
#[derive(Debug)]
pub struct BackgroundCommand {
    id: String,
    command: String,
    tool_use_id: String,
    output: super::run::Output,
    stop: CancellationToken,
    state: watch::Sender<CommandState>,
}

/// How a command in the background stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandState {
    /// It runs.
    Running,
    /// It has ended by itself: whether it succeeded, and how it ended in a sentence.
    Ended(bool, String),
    /// It was stopped.
    Stopped,
}

impl CommandState {
    /// The word that models are told.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ended(true, _) => "completed",
            Self::Ended(false, _) => "failed",
            Self::Stopped => "killed",
        }
    }
}

impl BackgroundCommand {
    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The command line in a few words.
    pub fn one_line(&self) -> String {
        one_line(&self.command)
    }

    /// The model's id of the call that started it.
    pub fn tool_use_id(&self) -> &str {
        &self.tool_use_id
    }

    /// The file that gets its output.
    pub fn file(&self) -> Option<&Path> {
        self.output.file()
    }

    /// How it stands.
    pub fn state(&self) -> CommandState {
        self.state.borrow().clone()
    }

    /// What it has written so far, in at most so many characters.
    pub fn output(&self, chars: usize) -> String {
        self.output.capture().text(chars)
    }

    /// Resolves when it does not run any more.
    pub async fn ended(&self) {
        let mut state = self.state.subscribe();
        // The sender is ours, so it lives.
        let ended = state.wait_for(|state| *state != CommandState::Running);
        ended.await.map(drop).unwrap_or_default();
    }

    /// What it has written since the last call, in at most so many characters; with a `filter`, a regular expression, only
    /// the lines that it matches. Other lines do not come again. The error is for the model.
    pub fn news(&self, chars: usize, filter: Option<&str>) -> Result<String, String> {
        let Some(filter) = filter else {
            return Ok(self.output.news(chars));
        };
        let matcher = RegexMatcher::new(filter)
            .map_err(|error| format!("`filter` is not a valid regular expression: {error}"))?;
        let (text, mut matching) = (self.output.news(chars), String::new());
        let each = UTF8(|_, line| {
            matching.push_str(line);
            Ok(true)
        });
        Searcher::new()
            .search_slice(&matcher, text.as_bytes(), each)
            .map_err(|error| format!("the output cannot be filtered: {error}"))?;
        Ok(matching)
    }

    /// Ends it with all that it has started.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.ended().await;
    }
}

impl BackgroundCommands {
    /// Whether an id is that of a command rather than of a message.
    pub fn is_command(id: &str) -> bool {
        id.starts_with(ID)
    }

    /// Sets what is called whenever a command has started or ended. Only the first call counts.
    pub fn on_change(&self, call: impl Fn() + Send + Sync + 'static) {
        if self.on_change.set(Box::new(call)).is_err() {
            tracing::error!("the commands of one agent were given to two");
        }
    }

    /// Starts a command. The error is for the model.
    pub(super) fn start(
        self: &Arc<Self>,
        command: &str,
        ctx: &ToolContext,
    ) -> Result<Arc<BackgroundCommand>, String> {
        let running = self.running();
        if running.len() >= MOST {
            return Err(format!(
                "Not started: {MOST} commands run in the background already. Stop one with TaskStop first. {}",
                self.who_runs()
            ));
        }
        let id = format!("{ID}{}", &Uuid::new_v4().simple().to_string()[..8]);
        let file = ctx.scratch.as_ref().map(|dir| output_file(dir, &id));
        let (mut process, output) = Running::with_output(command, ctx, file, true)?;
        let started = Arc::new(BackgroundCommand {
            id,
            command: command.to_owned(),
            tool_use_id: ctx.tool_use_id.clone(),
            output,
            stop: CancellationToken::new(),
            state: watch::Sender::new(CommandState::Running),
        });
        {
            let mut inner = self.inner.lock();
            if inner.is_over {
                return Err("Not started: this agent is about to end.".to_owned());
            }
            inner.all.push(Arc::clone(&started));
        }
        self.has_changed();
        let (commands, command) = (Arc::clone(self), Arc::clone(&started));
        let (kill_grace, drain_grace) = (ctx.limits.kill_grace, ctx.limits.drain_grace);
        tokio::spawn(async move {
            let outcome = process.until(None, &command.stop, kill_grace).await;
            // What is still written after that is written by others.
            command.output.closed(drain_grace).await;
            let state = match outcome {
                Ok(Outcome::Exited(status)) => {
                    CommandState::Ended(status.success(), sentence(status))
                }
                Ok(Outcome::TimedOut(_) | Outcome::Interrupted(_)) => CommandState::Stopped,
                Err(why) => CommandState::Ended(false, why),
            };
            commands.has_ended(&command, state);
        });
        Ok(started)
    }

    fn has_ended(&self, command: &Arc<BackgroundCommand>, state: CommandState) {
        let by_itself = state != CommandState::Stopped;
        {
            let mut inner = self.inner.lock();
            // Before it counts as ended: whoever sees no command running finds the word of its end.
            if by_itself && !inner.is_over {
                inner.ended.push(Arc::clone(command));
            }
        }
        command.state.send_replace(state);
        self.has_changed();
    }

    fn has_changed(&self) {
        if let Some(call) = self.on_change.get() {
            call();
        }
    }

    /// The command with this id.
    pub fn find(&self, id: &str) -> Option<Arc<BackgroundCommand>> {
        let inner = self.inner.lock();
        inner.all.iter().find(|command| command.id == id).cloned()
    }

    /// Those that run.
    pub fn running(&self) -> Vec<Arc<BackgroundCommand>> {
        let inner = self.inner.lock();
        let all = inner.all.iter();
        all.filter(|command| command.state() == CommandState::Running)
            .cloned()
            .collect()
    }

    /// Which commands run, as a sentence for a model.
    pub fn who_runs(&self) -> String {
        let mut text = String::new();
        for command in self.running() {
            let between = if text.is_empty() { "Running: " } else { ", " };
            // Writing into a String cannot fail.
            let _infallible = write!(text, "{between}{} ({})", command.id, command.one_line());
        }
        if text.is_empty() {
            "No command runs in the background.".to_owned()
        } else {
            text + "."
        }
    }

    /// Whether there are commands whose end the agent was not told of.
    pub fn has_ended_ones(&self) -> bool {
        !self.inner.lock().ended.is_empty()
    }

    /// Takes the commands whose end the agent was not told of.
    pub fn take_ended(&self) -> Vec<Arc<BackgroundCommand>> {
        std::mem::take(&mut self.inner.lock().ended)
    }

    /// Notes that the agent is about to read how a command ended, if it has: it needs no word of it any more.
    pub fn handed_out_if_ended(&self, read: &BackgroundCommand) {
        if read.state() != CommandState::Running {
            let mut inner = self.inner.lock();
            inner.ended.retain(|command| command.id != read.id);
        }
    }

    /// Ends all of them, because their agent ends. None is started afterwards.
    pub async fn shut_down(&self, within: Duration) {
        self.inner.lock().is_over = true;
        let running = self.running();
        let all = join_all(running.iter().map(|command| command.stop()));
        if tokio::time::timeout(within, all).await.is_err() {
            tracing::warn!("commands in the background did not end in time");
        }
    }
}

/// Where the output of a call is kept. Ids come from model servers, which may put anything into them.
pub(super) fn output_file(directory: &Path, id: &str) -> PathBuf {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let name: String = id.chars().filter(is_plain).take(LONGEST_NAME).collect();
    directory.join(format!("{name}.output"))
}
