//! Takeover by a new lead process that continues the conversation of the lost one.

use std::path::PathBuf;

use swarm_os::process::forbid_inspection;
use swarm_protocol::{Budget, Member, MemberName, PermissionMode, SessionId, TeamConfig};
use swarm_supervisor::SpawnContext;
use swarm_worktree::Record;

use crate::app::App;
use crate::commands::lead::{KeptChoices, LeadFlags, OutputFormat, PromptArgs, Ready};
use crate::commands::worktree::OwnWorktree;
use crate::failure::{Failure, Result};
use crate::request_flags::RequestFlags;
use crate::spawn_context::{backend_help, spawn_context, worktrees};

#[derive(Debug, clap::Args)]
#[command(mut_arg("prompt", |prompt| prompt.help("Prompt for the new lead, or - for standard input [default: no lead]")))]
#[command(after_help = "\
Without a prompt, you lead the team from the shell; running members continue. With a prompt, a new lead continues \
the conversation of the lost one, as `swarm run` does.

Examples:
  swarm resume demo                     lead the team from the shell
  swarm resume demo --respawn           and restart dead members
  swarm resume demo \"finish the work\"   continue with a new lead")]
pub(crate) struct ResumeArgs {
    /// Team that lost its lead.
    #[arg(value_name = "TEAM_NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) prompt: PromptArgs,
    /// Restart dead members with their tasks.
    #[arg(long)]
    pub(crate) respawn: bool,
    /// Model of the lead [default: its previous model].
    #[arg(short, long, requires = "PromptArgs")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) requests: RequestFlags,
    /// Permission mode of the lead: plan, dontAsk, default, acceptEdits or bypassPermissions [default: its previous mode, except bypassPermissions].
    #[arg(long, requires = "PromptArgs", alias = "permission-mode")]
    pub(crate) mode: Option<PermissionMode>,
    #[arg(long, help = backend_help("Backend for started members", true))]
    pub(crate) backend: Option<String>,
    /// MCP servers for this command, as a file with `mcpServers` or as JSON; repeatable.
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) mcp_config: Vec<String>,
    /// Trust this repository's hooks, MCP servers and definitions for this command.
    #[arg(long)]
    pub(crate) trust: bool,
    /// Output format.
    #[arg(long, requires = "PromptArgs", value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) output: OutputFormat,
    /// Maximum model requests per turn [default: setting `turn.max_requests`].
    #[arg(long, requires = "PromptArgs", value_name = "N")]
    pub(crate) max_turns: Option<u32>,
    /// Stop the run gracefully after this many seconds [default: never].
    #[arg(long, requires = "PromptArgs", value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// Budget of this run with all its members, such as 5$ or 500k-tokens [default: setting `budget.run`].
    #[arg(long, requires = "PromptArgs", value_name = "AMOUNT")]
    pub(crate) budget: Option<Budget>,
    /// Delete the team at the end and archive its tasks and journal.
    #[arg(long, requires = "PromptArgs")]
    pub(crate) rm: bool,
}

impl ResumeArgs {
    pub(super) fn lead_flags(&self) -> LeadFlags {
        LeadFlags {
            model: self.model.clone(),
            requests: self.requests.clone(),
            agents: None,
            mode: self.mode,
            coordinator: false,
            worktree: None,
            snapshot: false,
            backend: self.backend.clone(),
            max_turns: self.max_turns,
            budget: self.budget,
            mcp_config: self.mcp_config.clone(),
            trust: self.trust,
        }
    }
}

/// Assembles the lead that continues the conversation of the lost one.
pub(super) fn take_over(
    app: &App,
    flags: &LeadFlags,
    config: &TeamConfig,
    is_interactive: bool,
) -> Result<Ready> {
    forbid_inspection();
    let lead = config.member(&MemberName::lead());
    // A manually led team has no conversation to continue.
    let session = config
        .lead_session_id
        .as_deref()
        .and_then(|id| id.parse::<SessionId>().ok())
        .unwrap_or_else(SessionId::random);
    let directory = lead.map_or(&*app.env.cwd, |lead| &*lead.cwd);
    let mut choices = flags.choices(is_interactive);
    KeptChoices::read(app, directory, session).complete(app, &mut choices);
    choices.model = (choices.model).or_else(|| lead.and_then(|lead| lead.model.clone()));
    let prepared = spawn_context(app, &app.acting()?, &choices)?;
    let (conversation, team) = ((directory, session), Some(&config.name));
    let enter = |spawn_context: &mut SpawnContext| match lead {
        Some(lead) => return_to_directory(app, lead, spawn_context),
        None => Ok(None),
    };
    let mut ready = Ready::assemble(app, flags, conversation, team, prepared, enter)?;
    ready.parts.is_interactive = is_interactive;
    Ok(ready)
}

/// Starts the new lead in the directory of the lost one.
fn return_to_directory(
    app: &App,
    lead: &Member,
    spawn_context: &mut SpawnContext,
) -> Result<Option<OwnWorktree>> {
    let record = worktree_of(app, lead)?;
    spawn_context.workspace.cwd = directory_of(app, lead, record.as_ref())?;
    let own = |record| OwnWorktree::take_over(app, &record, spawn_context.workspace.cwd.clone());
    record.map(own).transpose()
}

/// Returns the worktree of a lost lead, if it had a separate one.
fn worktree_of(app: &App, lead: &Member) -> Result<Option<Record>> {
    if !lead.cwd.is_dir() {
        return Ok(None);
    }
    let found = worktrees(app).find(&lead.cwd)?;
    Ok(found.filter(|record| record.owner.member.is_none() && record.owner.agent.is_none()))
}

/// Checks that the lead continues in its directory, because its conversation and its permission
/// rules depend on it. A lead with a worktree can also be resumed from the checkout where it was
/// started.
fn directory_of(app: &App, lead: &Member, worktree: Option<&Record>) -> Result<PathBuf> {
    let started_in = worktree.map_or(&lead.cwd, |record| &record.from);
    let is_there = app.env.cwd == lead.cwd
        || worktree.is_some_and(|record| app.env.cwd.starts_with(&record.from));
    if lead.cwd.as_os_str().is_empty() {
        return Ok(app.env.cwd.clone());
    }
    if is_there {
        return Ok(lead.cwd.clone());
    }
    let directory = lead.cwd.display();
    let message = if lead.cwd.is_dir() {
        format!("the lead worked in {directory}, not in this directory")
    } else {
        format!("the lead worked in {directory}, which no longer exists")
    };
    Err(Failure::usage(message).with_hint(format!(
        "`cd {}` first; without a prompt, `swarm resume` takes the team over from anywhere",
        started_in.display()
    )))
}
