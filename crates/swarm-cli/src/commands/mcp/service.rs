//! Runs calls as commands of this program.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use swarm_mcp::ToolService;
use swarm_protocol::{Clock, PermissionMode};
use tokio::process::Command;

use super::call::Call;
use super::role::ClientRole;
use super::shown::ShownMail;
use crate::commands::inbox;

/// Runs one process of `swarm` for each call, as a child of this process: the checks of its
/// ancestors apply to the client.
#[derive(Debug)]
pub(super) struct CommandService {
    pub(super) program: PathBuf,
    pub(super) role: ClientRole,
    /// The highest mode of a spawned member.
    pub(super) ceiling: PermissionMode,
    pub(super) clock: Arc<dyn Clock>,
    /// Messages that the next call acknowledges.
    pub(super) shown: ShownMail,
    /// The team, if it was named or created by this client.
    pub(super) team: Mutex<Option<String>>,
}

impl CommandService {
    /// Runs a command. Returns what it printed.
    async fn run(&self, mut arguments: Vec<String>, in_team: bool) -> Result<String, String> {
        if let Some(team) = self.team.lock().as_ref().filter(|_| in_team) {
            arguments.insert(0, format!("--team={team}"));
        }
        let output = Command::new(&self.program)
            .args(&arguments)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .map_err(|error| format!("{} cannot be run: {error}", self.program.display()))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        if !output.status.success() {
            let said = [stdout, stderr].join("\n");
            return Err(said.trim().to_owned());
        }
        // Notices are only useful without data.
        Ok(if stdout.is_empty() { stderr } else { stdout })
    }

    /// Acknowledges the messages of earlier calls: with this call, the client has their results.
    async fn acknowledge(&self) -> Result<(), String> {
        let (ids, inbox) = (self.shown.ids(), self.role.inbox());
        let Some(inbox) = inbox.filter(|_| !ids.is_empty()) else {
            return Ok(());
        };
        let named = ids.iter().map(|id| format!("--ack-id={id}"));
        let mut arguments = vec!["inbox".to_owned(), "--unread".to_owned()];
        arguments.extend(named.chain(["--".to_owned(), inbox.to_string()]));
        self.run(arguments, true).await?;
        self.shown.remove(&ids);
        Ok(())
    }

    /// Returns the messages that a command printed, which the next call acknowledges.
    fn messages(&self, id: &str, printed: &str) -> Result<String, String> {
        let listed = inbox::printed(printed, self.clock.now());
        let (text, ids) = listed.map_err(|error| error.to_string())?;
        self.shown.add(id, ids);
        Ok(if text.is_empty() {
            "no unread messages".to_owned()
        } else {
            text
        })
    }
}

#[async_trait]
impl ToolService for CommandService {
    async fn call(
        &self,
        id: &str,
        tool: &str,
        input: Map<String, Value>,
    ) -> Result<String, String> {
        let call = Call::check(tool, &input, &self.role)?;
        match self.acknowledge().await {
            Err(why) if call.reads_mail() => return Err(why),
            Err(why) => tracing::warn!(why, "messages not acknowledged"),
            Ok(()) => {}
        }
        let arguments = call.arguments(&self.role, self.ceiling)?;
        let printed = self.run(arguments, tool != "team").await?;
        if call.reads_mail() {
            return self.messages(id, &printed);
        }
        if let Some(created) = call.created_team() {
            *self.team.lock() = Some(created.to_owned());
        }
        Ok(printed)
    }

    fn cancelled(&self, id: &str) {
        self.shown.withdraw(id);
    }
}
