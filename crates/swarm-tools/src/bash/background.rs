//! Background commands of an agent.

use std::path::Path;
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

use super::output::Output;
use super::running::{Outcome, Running, sentence};
use crate::ToolLimits;
use crate::one_line::one_line;

/// Maximum number of running commands per agent.
const MAX_RUNNING: usize = 16;

const ID_PREFIX: &str = "bash-";

/// The background commands of one agent. They are terminated when the agent ends.
#[derive(Default)]
pub struct BackgroundCommands {
    inner: Mutex<Inner>,
    /// Number of commands that are being launched.
    launching: watch::Sender<usize>,
    /// Called when a command starts or ends.
    on_change: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Debug, Default)]
struct Inner {
    all: Vec<Arc<BackgroundCommand>>,
    /// Ended commands that the agent has not been notified of.
    unreported: Vec<Arc<BackgroundCommand>>,
    is_shut_down: bool,
}

impl Inner {
    fn running(&self) -> Vec<Arc<BackgroundCommand>> {
        let all = self.all.iter();
        all.filter(|command| command.state() == CommandState::Running)
            .cloned()
            .collect()
    }

    fn running_summary(&self) -> String {
        let running = self.running();
        let running = running.iter();
        let named = running.map(|command| format!("{} ({})", command.id, command.one_line()));
        match named.collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => "No commands are running in the background.".to_owned(),
            named => format!("Running: {named}."),
        }
    }
}

impl std::fmt::Debug for BackgroundCommands {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("BackgroundCommands")
            .field(&self.inner)
            .finish()
    }
}

/// One background command.
#[derive(Debug)]
pub struct BackgroundCommand {
    id: String,
    command: String,
    tool_use_id: String,
    output: Output,
    stop: CancellationToken,
    state: watch::Sender<CommandState>,
}

/// State of a background command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandState {
    /// Running.
    Running,
    /// Exited: whether it succeeded, and the exit status as text.
    Ended(bool, String),
    /// Terminated by a user, the agent or a shutdown.
    Stopped,
}

impl CommandState {
    /// Returns the state's name in tool results, as in Claude Code.
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
    pub(super) fn new(id: String, command: &str, tool_use_id: &str, output: Output) -> Self {
        Self {
            id,
            command: command.to_owned(),
            tool_use_id: tool_use_id.to_owned(),
            output,
            stop: CancellationToken::new(),
            state: watch::Sender::new(CommandState::Running),
        }
    }

    /// Returns the id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the command line, shortened.
    pub fn one_line(&self) -> String {
        one_line(&self.command)
    }

    /// Returns the id of the tool call that started it.
    pub fn tool_use_id(&self) -> &str {
        &self.tool_use_id
    }

    /// Returns the output file.
    pub fn file(&self) -> Option<&Path> {
        self.output.file()
    }

    /// Returns the current state.
    pub fn state(&self) -> CommandState {
        self.state.borrow().clone()
    }

    /// Returns the output so far, shortened to `chars` characters.
    pub fn output(&self, chars: usize) -> String {
        self.output.capture().text(chars)
    }

    /// Waits until the command has ended.
    pub async fn ended(&self) {
        let mut state = self.state.subscribe();
        // The sender is a field of `self`, so the channel is open.
        let ended = state.wait_for(|state| *state != CommandState::Running);
        ended.await.map(drop).unwrap_or_default();
    }

    /// Returns the output since the last call, shortened to `chars` characters. With `filter`, a
    /// regular expression, only the matching lines; other lines are dropped. The error is a message
    /// for the model.
    pub fn take_new_output(&self, chars: usize, filter: Option<&str>) -> Result<String, String> {
        let Some(filter) = filter else {
            return Ok(self.output.take_new_output(chars));
        };
        let matcher = RegexMatcher::new(filter)
            .map_err(|error| format!("`filter` is not a valid regular expression: {error}"))?;
        let (text, mut matching) = (self.output.take_new_output(chars), String::new());
        let each = UTF8(|_, line| {
            matching.push_str(line);
            Ok(true)
        });
        Searcher::new()
            .search_slice(&matcher, text.as_bytes(), each)
            .map_err(|error| format!("cannot filter the output: {error}"))?;
        Ok(matching)
    }

    /// Terminates the command and all its descendants.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.ended().await;
    }
}

impl BackgroundCommands {
    /// Whether an id belongs to a command, as opposed to a sub-agent.
    pub fn is_command(id: &str) -> bool {
        id.starts_with(ID_PREFIX)
    }

    /// Sets the callback for started and ended commands. Only the first call has an effect.
    pub fn on_change(&self, call: impl Fn() + Send + Sync + 'static) {
        if self.on_change.set(Box::new(call)).is_err() {
            tracing::error!("the change callback is already set");
        }
    }

    /// Starts a command with `launch`, which gets its id. The error is a message for the model.
    pub(super) async fn start<L>(
        self: &Arc<Self>,
        limits: &ToolLimits,
        launch: impl FnOnce(String) -> L,
    ) -> Result<Arc<BackgroundCommand>, String>
    where
        L: Future<Output = Result<(BackgroundCommand, Running), String>>,
    {
        let launch_slot = self.reserve()?;
        let id = format!("{ID_PREFIX}{}", &Uuid::new_v4().simple().to_string()[..8]);
        let (command, mut process) = launch(id).await?;
        let started = Arc::new(command);
        {
            let mut inner = self.inner.lock();
            inner.all.push(Arc::clone(&started));
            drop(launch_slot);
            if inner.is_shut_down {
                // `shut_down` may no longer wait for it.
                started.stop.cancel();
            }
        }
        self.has_changed();
        let (commands, command) = (Arc::clone(self), Arc::clone(&started));
        let (kill_grace, drain_grace) = (limits.kill_grace, limits.drain_grace);
        tokio::spawn(async move {
            let outcome = process.until(None, &command.stop, kill_grace).await;
            // Later output comes from other processes.
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

    /// Reserves a place for a command before its launch. Launching may take long, so nothing is
    /// locked meanwhile.
    fn reserve(&self) -> Result<LaunchSlot<'_>, String> {
        let inner = self.inner.lock();
        if inner.is_shut_down {
            return Err("Not started: this agent is shutting down.".to_owned());
        }
        if inner.running().len() + *self.launching.borrow() >= MAX_RUNNING {
            return Err(format!(
                "Not started: {MAX_RUNNING} commands are already running in the background. Stop one with TaskStop first. {}",
                inner.running_summary()
            ));
        }
        self.launching.send_modify(|count| *count += 1);
        Ok(LaunchSlot(&self.launching))
    }

    fn has_ended(&self, command: &Arc<BackgroundCommand>, state: CommandState) {
        let by_itself = state != CommandState::Stopped;
        {
            let mut inner = self.inner.lock();
            // Queue the notification before the state changes, so that a reader that sees no
            // running command finds it.
            if by_itself && !inner.is_shut_down {
                inner.unreported.push(Arc::clone(command));
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

    /// Returns the command with this id.
    pub fn find(&self, id: &str) -> Option<Arc<BackgroundCommand>> {
        let inner = self.inner.lock();
        inner.all.iter().find(|command| command.id == id).cloned()
    }

    /// Returns the running commands.
    pub fn running(&self) -> Vec<Arc<BackgroundCommand>> {
        self.inner.lock().running()
    }

    /// Lists the running commands in a sentence for the model.
    pub fn running_summary(&self) -> String {
        self.inner.lock().running_summary()
    }

    /// Whether there are ended commands that the agent has not been notified of.
    pub fn has_unreported(&self) -> bool {
        !self.inner.lock().unreported.is_empty()
    }

    /// Takes the ended commands that the agent has not been notified of.
    pub fn take_unreported(&self) -> Vec<Arc<BackgroundCommand>> {
        std::mem::take(&mut self.inner.lock().unreported)
    }

    /// Removes the pending notification of a command whose result the agent is reading.
    pub fn mark_reported(&self, read: &BackgroundCommand) {
        if read.state() != CommandState::Running {
            let mut inner = self.inner.lock();
            inner.unreported.retain(|command| command.id != read.id);
        }
    }

    /// Terminates all commands because the agent ends, and refuses new ones.
    pub async fn shut_down(&self, within: Duration) {
        self.inner.lock().is_shut_down = true;
        let all = async {
            self.stop_running().await;
            let mut launching = self.launching.subscribe();
            // The sender is a field of `self`, so the channel is open.
            let launched = launching.wait_for(|count| *count == 0);
            launched.await.map(drop).unwrap_or_default();
            self.stop_running().await;
        };
        if tokio::time::timeout(within, all).await.is_err() {
            tracing::warn!("background commands did not terminate in time");
        }
    }

    async fn stop_running(&self) {
        let running = self.running();
        join_all(running.iter().map(|command| command.stop())).await;
    }
}

/// The place of a command that is being launched.
struct LaunchSlot<'a>(&'a watch::Sender<usize>);

impl Drop for LaunchSlot<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use tokio::sync::oneshot;

    use super::super::running::{CALL_ID_VARIABLE, ShellProcess};
    use super::*;

    fn sleeper(id: String) -> (BackgroundCommand, Running) {
        let (reader, writer) = std::io::pipe().unwrap();
        let call_id = Uuid::new_v4().to_string();
        let child = tokio::process::Command::new("sleep")
            .arg("1000")
            .env(CALL_ID_VARIABLE, &call_id)
            .stdout(Stdio::from(writer))
            .process_group(0)
            .spawn()
            .unwrap();
        let running = Running::new(ShellProcess::Child(child), call_id, None, None);
        let output = Output::read(reader, 100, None, true).unwrap();
        let command = BackgroundCommand::new(id, "sleep 1000", "toolu_1", output);
        (command, running)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_slow_launch_blocks_nobody_and_its_command_ends_with_the_agent() {
        let commands = Arc::new(BackgroundCommands::default());
        let (announce, begun) = oneshot::channel();
        let (go_on, told) = oneshot::channel::<()>();
        let background = Arc::clone(&commands);
        let starting = tokio::spawn(async move {
            let launch = |id| async move {
                announce.send(()).unwrap();
                told.await.unwrap();
                Ok(sleeper(id))
            };
            background.start(&ToolLimits::default(), launch).await
        });
        begun.await.unwrap();
        assert!(commands.inner.try_lock().is_some(), "nothing is locked");
        assert!(commands.running().is_empty() && !commands.has_unreported());
        let ending = tokio::spawn({
            let commands = Arc::clone(&commands);
            async move { commands.shut_down(Duration::from_mins(1)).await }
        });
        while !commands.inner.lock().is_shut_down {
            tokio::task::yield_now().await;
        }
        go_on.send(()).unwrap();
        let started = starting.await.unwrap().unwrap();
        ending.await.unwrap();
        assert_eq!(started.state(), CommandState::Stopped);
        assert_eq!(*commands.launching.borrow(), 0);
    }
}
