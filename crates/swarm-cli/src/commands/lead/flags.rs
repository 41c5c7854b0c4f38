//! Flags of the commands that start a lead.

use swarm_protocol::{Budget, PermissionMode};

use crate::commands::worktree::no_prompt;
use crate::request_flags::RequestFlags;
use crate::spawn_context::{Choices, backend_help};

// A doc comment would replace the help of the command.
#[derive(Debug, clap::Args)]
pub(crate) struct PromptArgs {
    /// Prompt for the lead, or - for standard input.
    prompt: Option<String>,
    /// Prompt, as an option instead of an argument.
    #[arg(
        short,
        long = "prompt",
        value_name = "PROMPT",
        conflicts_with = "prompt"
    )]
    prompt_option: Option<String>,
}

impl PromptArgs {
    pub(in crate::commands) fn given(&self) -> Option<&str> {
        self.prompt.as_deref().or(self.prompt_option.as_deref())
    }
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct LeadFlags {
    /// Model, inherited by members: PROVIDER/MODEL, an alias, or a model ID [default: setting `model.default`].
    #[arg(short, long)]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) requests: RequestFlags,
    /// Agent definitions for this run: {"NAME": {"description": …, "prompt": …}}.
    #[arg(long, value_name = "JSON")]
    pub(crate) agents: Option<String>,
    /// Permission mode, inherited by members: plan, dontAsk, default, acceptEdits or bypassPermissions [default: setting `permissions.mode`].
    #[arg(long, alias = "permission-mode")]
    pub(crate) mode: Option<PermissionMode>,
    /// Only delegate to workers, in the four phases research, synthesis, implementation and verification [default: variable `CLAUDE_CODE_COORDINATOR_MODE`].
    #[arg(long)]
    pub(crate) coordinator: bool,
    /// Work in a git worktree with this name instead of the current directory [default: a generated name].
    #[arg(long, value_name = "SLUG", num_args = 0..=1, default_missing_value = "", value_parser = no_prompt)]
    pub(crate) worktree: Option<String>,
    /// Copy uncommitted changes into the worktree.
    #[arg(long, requires = "worktree")]
    pub(crate) snapshot: bool,
    #[arg(long, help = backend_help("Backend for members", true))]
    pub(crate) backend: Option<String>,
    /// Maximum model requests per turn [default: setting `turn.max_requests`].
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<u32>,
    /// Budget of this run with all its members, such as 5$ or 500k-tokens [default: setting `budget.run`].
    #[arg(long, value_name = "AMOUNT")]
    pub(crate) budget: Option<Budget>,
    /// MCP servers for this command, as a file with `mcpServers` or as JSON; repeatable.
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) mcp_config: Vec<String>,
    /// Trust this repository's hooks, MCP servers and definitions for this command.
    #[arg(long)]
    pub(crate) trust: bool,
}

impl LeadFlags {
    /// Returns the choices of a lead with these flags.
    pub(in crate::commands) fn choices(&self, is_interactive: bool) -> Choices {
        Choices {
            model: self.model.clone(),
            mode: self.mode,
            backend: self.backend.clone(),
            requests: self.requests.clone(),
            in_run: true,
            is_interactive,
        }
    }
}
