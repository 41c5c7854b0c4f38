//! The person of the demo: kills a teammate, brings it back, and answers a question.

use std::future::pending;
use std::time::Duration;

use rustix::process::Signal;
use swarm_os::process::Process;
use swarm_protocol::{Event, JournalEntry, PERSON};
use tokio::sync::mpsc::UnboundedReceiver;

use super::machine::Machine;
use super::shell::Shell;
use crate::failure::Result;

const VICTIM: &str = "explorer";

/// Pause before each action, at pace 1.
const PAUSE: Duration = Duration::from_millis(1800);

/// Acts with the commands that a user would type.
pub(super) struct Person<'a> {
    pub(super) shell: Shell<'a>,
    pub(super) machine: &'a Machine,
    pub(super) pace: f64,
    pub(super) events: UnboundedReceiver<JournalEntry>,
    /// The last request that was opened, as `swarm approve` takes it.
    pub(super) request: Option<String>,
}

impl Person<'_> {
    /// Acts whenever the team has come far enough. Waits for ever at the end, or if the events end.
    pub(super) async fn act(mut self) -> Result<()> {
        let process = self.until(process_of_victim).await;
        self.until(has_ended_a_turn).await;
        self.pause().await;
        self.shell.show(PERSON, &format!("kill -9 {process}"));
        if let Some(process) = Process::running(process) {
            process.signal(Signal::KILL)?;
        }
        self.until(has_died).await;
        self.pause().await;
        let question = "Is there another line like line 7?";
        self.run(&["spawn", VICTIM, "--prompt", question], false)
            .await?;
        self.until(has_ended_a_turn).await;
        let request = self.next_request().await;
        self.pause().await;
        self.run(&["approve", &request], false).await?;
        pending().await
    }

    /// Acts like [`Self::act`], in a team with a member on a node.
    pub(super) async fn act_on_two_machines(mut self) -> Result<()> {
        self.until(is_ready).await;
        self.until(is_ready).await;
        self.run(&["node", "list"], true).await?;
        let commit = self.next_request().await;
        self.pause().await;
        self.run(&["approve", &commit], false).await?;
        let question = self.next_request().await;
        self.pause().await;
        self.run(&["approve", &question, "--answer", "1"], false)
            .await?;
        pending().await
    }

    async fn next_request(&mut self) -> String {
        if self.request.is_none() {
            self.until(opened).await;
        }
        self.request.take().unwrap_or_default()
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
    async fn run(&self, words: &[&str], shows: bool) -> Result<()> {
        self.shell.swarm(self.machine, words, shows).await.map(drop)
    }
}

fn process_of_victim(event: &Event) -> Option<u32> {
    match event {
        Event::SpawnCommitted { member, pid, .. } if member.as_str() == VICTIM => Some(*pid),
        _ => None,
    }
}

fn is_ready(event: &Event) -> Option<()> {
    matches!(event, Event::SpawnCommitted { .. }).then_some(())
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
