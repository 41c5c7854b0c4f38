//! Server prompts as slash commands.

use crate::McpServers;
use crate::error::or_none;
use crate::name::tool_name;

impl McpServers {
    /// Returns the text of the prompt that the command `mcp__SERVER__PROMPT` names. The arguments
    /// are separated by spaces. Starts the server if necessary.
    ///
    /// # Errors
    /// Why the prompt is unavailable, for display to the person.
    pub async fn prompt(&self, command: &str, arguments: &str) -> Result<String, String> {
        let server = self.servers.values().find(|server| {
            let head = format!("mcp__{}__", server.part);
            command.starts_with(&head)
        });
        let Some(server) = server else {
            return Err(format!(
                "/{command} is not a prompt of an MCP server; configured servers: {}",
                or_none(&self.names())
            ));
        };
        let fits = |prompt: &str| tool_name(&server.part, prompt) == command;
        let text = server.prompt(fits, arguments).await;
        text.map_err(|error| format!("/{command}: MCP server `{}`: {error}", server.name))
    }
}
