//! Arguments of `swarm spawn`.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::PathBuf;

use swarm_agent::MemberRequest;
use swarm_protocol::{AgentProgram, Budget, PermissionMode};

use crate::failure::{Failure, Result};
use crate::request_flags::RequestFlags;
use crate::spawn_context::backend_help;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Waits until the teammate is ready with the requested model, mode and directory; on failure, prints its last output.

Examples:
  swarm spawn alice --prompt \"Make the parser handle leap years\" --plan
  swarm spawn bob --model haiku --cwd ../docs --env RUST_LOG=debug
  swarm spawn carol --worktree --prompt \"Fix the import\"
  swarm spawn dave --on box --prompt \"Run the long tests\"
  swarm spawn alice     restart her with her conversation")]
#[command(group(clap::ArgGroup::new("initial_prompt").args(["prompt", "prompt_file"])))]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag that is typed"
)]
pub(crate) struct SpawnArgs {
    /// Name: letters, digits, `_` and `-`, starting with a letter or digit.
    pub(crate) name: String,
    /// Agent type.
    #[arg(long, value_name = "TYPE")]
    pub(crate) agent: Option<String>,
    /// Agent definitions for this spawn: {"NAME": {"description": …, "prompt": …}}.
    #[arg(long, value_name = "JSON")]
    pub(crate) agents: Option<String>,
    /// Initial prompt [default: none].
    #[arg(short, long, conflicts_with = "prompt_file")]
    pub(crate) prompt: Option<String>,
    /// File with the initial prompt, or - for standard input.
    #[arg(long, value_name = "FILE|-")]
    pub(crate) prompt_file: Option<PathBuf>,
    /// Summary of the initial prompt: a lead's call on another machine has one.
    #[arg(long, value_name = "TEXT", hide = true, requires = "initial_prompt")]
    pub(crate) summary: Option<String>,
    /// Agent program: swarm, claude (Claude Code), or acp:PRESET or acp:COMMAND for one that speaks the Agent Client Protocol [default: its previous one, else swarm].
    #[arg(long, value_name = "RUNTIME")]
    pub(crate) runtime: Option<AgentProgram>,
    /// Model: PROVIDER/MODEL, an alias, or a model ID [default: its previous model, else setting `model.default`].
    #[arg(short, long)]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) requests: RequestFlags,
    /// Permission mode: plan, dontAsk, default, acceptEdits or bypassPermissions [default: its previous mode, else setting `permissions.mode`].
    #[arg(long, alias = "permission-mode")]
    pub(crate) mode: Option<PermissionMode>,
    /// Plan first: it changes nothing until its plan is approved, then works in its permission mode.
    #[arg(long)]
    pub(crate) plan: bool,
    /// Working directory [default: its previous one, else the current directory].
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Work in a separate git worktree with this name [default: the member's name].
    #[arg(long, value_name = "SLUG", num_args = 0..=1, default_missing_value = "", require_equals = false)]
    pub(crate) worktree: Option<String>,
    /// Copy uncommitted changes into the worktree.
    #[arg(long, requires = "worktree")]
    pub(crate) snapshot: bool,
    /// Run it on this node of the team's hub, or on one with this label.
    #[arg(long, value_name = "NODE|LABEL", conflicts_with_all = ["trust", "snapshot"])]
    pub(crate) on: Option<String>,
    #[arg(long, help = backend_help("Backend", false))]
    pub(crate) backend: Option<String>,
    /// Environment variable for its shell commands; repeatable.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// Replace a running member with this name.
    #[arg(long)]
    pub(crate) replace: bool,
    /// Start a new conversation instead of continuing the previous one.
    #[arg(long)]
    pub(crate) fresh: bool,
    /// MCP servers for this command, as a file with `mcpServers` or as JSON; repeatable.
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) mcp_config: Vec<String>,
    /// Trust this repository's hooks, MCP servers and definitions for this command.
    #[arg(long)]
    pub(crate) trust: bool,
    /// Budget with its sub-agents, such as 5$ or 500k-tokens [default: its previous one, else setting `budget.member`].
    #[arg(long, value_name = "AMOUNT")]
    pub(crate) budget: Option<Budget>,
    /// Startup timeout in seconds [default: setting `spawn.hello_timeout_s`].
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
}

impl SpawnArgs {
    /// Reads the initial prompt.
    pub(super) fn initial_prompt(&self) -> Result<Option<String>> {
        let text = match (&self.prompt, &self.prompt_file) {
            (Some(text), _) => Some(text.clone()),
            (None, Some(path)) if path.as_os_str() == "-" => {
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text)?;
                Some(text)
            }
            (None, Some(path)) => Some(std::fs::read_to_string(path).map_err(|error| {
                Failure::usage(format!(
                    "the prompt file {} cannot be read: {error}",
                    path.display()
                ))
            })?),
            (None, None) => None,
        };
        match text {
            Some(text) if text.trim().is_empty() => Err(Failure::usage("the prompt is empty")
                .with_hint("describe the teammate's task, or omit the prompt")),
            text => Ok(text),
        }
    }

    /// Returns the properties that it asks for.
    pub(super) fn member(&self) -> Result<MemberRequest> {
        Ok(MemberRequest {
            agent_type: self.agent.clone(),
            runtime: self.runtime.clone(),
            model: self.model.clone(),
            effort: self.requests.effort,
            mode: self.mode,
            plan: self.plan,
            env: variables(&self.env)?,
        })
    }
}

fn variables(given: &[String]) -> Result<BTreeMap<String, String>> {
    given
        .iter()
        .map(|pair| {
            // The value may be a secret and is not repeated.
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if pair.contains('=') && is_variable(name) {
                return Ok((name.to_owned(), value.to_owned()));
            }
            Err(Failure::usage(format!(
                "`{}` is not a variable: write NAME=VALUE with a name of letters, digits and `_` that does not start with a digit",
                name.escape_debug()
            )))
        })
        .collect()
}

/// Returns whether a shell accepts the variable name.
fn is_variable(name: &str) -> bool {
    let letter = |c: char| c == '_' || c.is_ascii_alphabetic();
    name.starts_with(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit())
}
