//! Prompts of servers as commands that a person types.

use crate::McpServers;
use crate::name::tool_name;

impl McpServers {
    /// The text of the prompt that a person calls as `mcp__SERVER__PROMPT`, with its arguments behind it, separated by blanks.
    /// Starts the server if it does not run.
    ///
    /// # Errors
    /// Why there is none, for the person.
    pub async fn prompt(&self, command: &str, arguments: &str) -> Result<String, String> {
        let server = self.servers.values().find(|server| {
            let head = format!("mcp__{}__", server.part);
            command.starts_with(&head)
        });
        let Some(server) = server else {
            let names: Vec<_> = self.servers.keys().map(String::as_str).collect();
            let names = if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            };
            return Err(format!(
                "/{command} is a prompt of no MCP server; there are: {names}"
            ));
        };
        let fits = |prompt: &str| tool_name(&server.part, prompt) == command;
        let text = server.prompt(fits, arguments).await;
        text.map_err(|error| format!("/{command}: MCP server `{}`: {error}", server.name))
    }
}
