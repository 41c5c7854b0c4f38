//! Runs calls as commands of this program.

use std::path::PathBuf;
use std::process::Stdio;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use swarm_mcp::ToolService;
use swarm_protocol::PermissionMode;
use tokio::process::Command;

use super::call::Call;
use super::role::ClientRole;

/// Runs one process of `swarm` for each call, as a child of this process: the checks of its
/// ancestors apply to the client.
#[derive(Debug)]
pub(super) struct CommandService {
    pub(super) program: PathBuf,
    pub(super) role: ClientRole,
    /// The highest mode of a spawned member.
    pub(super) ceiling: PermissionMode,
    /// The team, if it was named or created by this client.
    pub(super) team: Mutex<Option<String>>,
}

#[async_trait]
impl ToolService for CommandService {
    async fn call(&self, tool: &str, input: Map<String, Value>) -> Result<String, String> {
        let call = Call::check(tool, &input, &self.role)?;
        let mut arguments = call.arguments(&self.role, self.ceiling)?;
        if let Some(team) = self.team.lock().as_ref().filter(|_| tool != "team") {
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
        if let Some(created) = call.created_team() {
            *self.team.lock() = Some(created.to_owned());
        }
        // Notices are only useful without data.
        Ok(if stdout.is_empty() { stderr } else { stdout })
    }
}
