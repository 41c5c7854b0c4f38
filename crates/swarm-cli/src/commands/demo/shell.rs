//! Commands that the person of the demo types: each is shown and run.

use std::process::Output;

use swarm_protocol::{PERSON, UnixMs};

use super::account::time;
use super::machine::Machine;
use super::server::DemoServer;
use crate::app::App;
use crate::failure::Result;

/// Where commands are shown.
#[derive(Clone, Copy)]
pub(super) struct Shell<'a> {
    pub(super) app: &'a App,
    /// Runs in the environment of a pane of this server; also shows commands in its status line.
    pub(super) server: Option<&'a DemoServer>,
    /// When the demo began.
    pub(super) began: UnixMs,
    pub(super) prints: bool,
}

impl Shell<'_> {
    /// Runs a command of swarm on a machine. Its output is printed if `prints_output` is set.
    pub(super) async fn swarm(
        &self,
        machine: &Machine,
        words: &[&str],
        prints_output: bool,
    ) -> Result<Output> {
        let line = shlex::try_join(words.iter().copied()).unwrap_or_default();
        self.show(PERSON, &format!("swarm {line}"));
        let mut command = machine.command(self.app, &std::env::current_exe()?);
        command.args(words);
        if let Some(server) = self.server {
            command.envs(server.variables());
        }
        let done = tokio::process::Command::from(command).output().await?;
        let said = if done.status.success() {
            prints_output.then_some(&done.stdout)
        } else {
            tracing::debug!(command = line, "a command of the demo failed");
            Some(&done.stderr)
        };
        if let Some(said) = said
            && self.prints
        {
            for text in String::from_utf8_lossy(said).lines() {
                self.app.out.say(&format!("    {text}"));
            }
        }
        Ok(done)
    }

    /// Shows a command in the account, or in the status line of the demo's tmux server.
    pub(super) fn show(&self, who: &str, command: &str) {
        if self.prints {
            let at = time(self.app.clock.now(), self.began);
            self.app.out.say(&format!("{at}  {who:<12} $ {command}"));
        }
        if let Some(server) = self.server {
            server.show(&format!("$ {command}"));
        }
    }
}
