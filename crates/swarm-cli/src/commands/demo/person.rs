//! The person of the demo: kills a teammate, brings it back, and answers a question.

use std::future::pending;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use swarm_os::process::Process;
use swarm_protocol::{Event, JournalEntry, PERSON, UnixMs};
use tokio::sync::mpsc::UnboundedReceiver;

use super::account::time;
use super::server::DemoServer;
use super::stage::Stage;
use crate::app::App;
use crate::failure::Failure;

const VICTIM: &str = "explorer";

/// Pause before each action, at pace 1.
const PAUSE: Duration = Duration::from_millis(1800);

/// Acts with the commands that a user would type.
pub(super) struct Person<'a> {
    pub(super) app: &'a App,
    pub(super) stage: &'a Stage,
    pub(super) server: &'a DemoServer,
    pub(super) pace: f64,
    /// Whether each action is printed, with the time since this one.
    pub(super) began: Option<UnixMs>,
    pub(super) events: UnboundedReceiver<JournalEntry>,
    /// The last request that was opened, as `swarm approve` takes it.
    pub(super) request: Option<String>,
}

impl Person<'_> {
    /// Acts whenever the team has come far enough. Waits for ever at the end, or if the events end.
    ///
    /// # Errors
    /// If a command cannot be started.
    pub(super) async fn act(mut self) -> Result<(), Failure> {
        let process = self.until(process_of_victim).await;
        self.until(has_ended_a_turn).await;
        self.pause().await;
        self.show(&format!("kill -9 {process}"));
        if let Some(process) = Process::running(process) {
            process.signal(Signal::KILL)?;
        }
        self.until(has_died).await;
        self.pause().await;
        let question = "Is there another line like line 7?";
        self.run(&["spawn", VICTIM, "--prompt", question]).await?;
        self.until(has_ended_a_turn).await;
        let request = match self.request.take() {
            Some(request) => request,
            None => self.until(opened).await,
        };
        self.pause().await;
        self.run(&["approve", &request]).await?;
        pending().await
    }

    /// Waits for an event that `find` accepts, and notes requests meanwhile.
    async fn until<T>(&mut self, find: impl Fn(&Event) -> Option<T>) -> T {
        while let Some(entry) = self.events.recv().await {
            if let Some(request) = opened(&entry.event) {
                self.request = Some(request);
            }
            if let Some(found) = find(&entry.event) {
                return found;
            }
        }
        pending().await
    }

    async fn pause(&self) {
        tokio::time::sleep(PAUSE.mul_f64(self.pace)).await;
    }

    /// Runs a command of swarm. It may fail, because someone who watches may have acted first.
    async fn run(&self, words: &[&str]) -> Result<(), Failure> {
        let shown = shlex::try_join(words.iter().copied()).unwrap_or_default();
        self.show(&format!("swarm {shown}"));
        let mut command = self.stage.command(self.app, &std::env::current_exe()?);
        command
            .args(words)
            .envs(self.server.variables())
            .stdin(Stdio::null());
        let done = tokio::process::Command::from(command).output().await?;
        if !done.status.success() {
            let message = String::from_utf8_lossy(&done.stderr);
            if self.began.is_some() {
                self.app.out.say(message.trim_end());
            }
            tracing::debug!(command = shown, %message, "a command of the demo failed");
        }
        Ok(())
    }

    /// Shows a command in the account, or in the status line of the demo's tmux server.
    fn show(&self, command: &str) {
        if let Some(began) = self.began {
            let at = time(self.app.clock.now(), began);
            self.app.out.say(&format!("{at}  {PERSON:<12} $ {command}"));
        }
        self.server.show(&format!("$ {command}"));
    }
}

fn process_of_victim(event: &Event) -> Option<u32> {
    match event {
        Event::SpawnCommitted { member, pid, .. } if member.as_str() == VICTIM => Some(*pid),
        _ => None,
    }
}

fn has_ended_a_turn(event: &Event) -> Option<()> {
    matches!(event, Event::TurnEnded { member, .. } if member.as_str() == VICTIM).then_some(())
}

fn has_died(event: &Event) -> Option<()> {
    matches!(event, Event::MemberDied { .. }).then_some(())
}

fn opened(event: &Event) -> Option<String> {
    match event {
        Event::RequestOpened {
            number: Some(number),
            ..
        } => Some(format!("p{number}")),
        _ => None,
    }
}
