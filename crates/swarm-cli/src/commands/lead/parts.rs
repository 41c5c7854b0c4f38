//! Assembles a lead and its worktree before it starts.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use swarm_config::ClaudeSettings;
use swarm_member::{Beginning, LeadParts, ModelServices, PeerPlace, RunReport, SpendingMeter};
use swarm_protocol::{Budget, MemberName, SessionId, TeamName};
use swarm_supervisor::SpawnContext;

use super::coordinator::is_coordinator;
use super::execute_lead::{LeadConsole, execute_lead};
use super::flags::LeadFlags;
use super::kept_choices::KeptChoices;
use super::report::{OutputFormat, output_format};
use crate::app::App;
use crate::commands::peers::{claude_sessions, peer_directory};
use crate::commands::runtime;
use crate::commands::worktree::{OwnWorktree, PublishedMerges, leave_entered, wish};
use crate::failure::Result;
use crate::host_facts::GatheringFacts;
use crate::identity::Acting;
use crate::models::{self, require_price};
use crate::spawn_context::{Prepared, socket_directory, spawn_context};

/// A lead that has not started.
pub(in crate::commands) struct Ready {
    pub(in crate::commands) parts: LeadParts,
    own: Option<OwnWorktree>,
}

impl Ready {
    /// Assembles a lead without a team from the flags. `what` is the command, for errors.
    pub(in crate::commands) fn of(
        app: &App,
        acting: &Acting,
        what: &str,
        flags: &LeadFlags,
        session: SessionId,
    ) -> Result<Self> {
        let mut choices = flags.choices(what == "lead");
        KeptChoices::read(app, &app.env.cwd, session).complete(app, &mut choices);
        let prepared = spawn_context(app, acting, &choices)?;
        acting.require_mode(what, prepared.spawn_context.permissions.ceiling)?;
        let conversation = (&*app.env.cwd, session);
        Self::assemble(app, flags, conversation, None, prepared, |spawn_context| {
            let Some(wish) = wish(flags.worktree.as_deref(), flags.snapshot)? else {
                return Ok(None);
            };
            let own = OwnWorktree::enter(app, wish, session)?;
            spawn_context.workspace.cwd = own.cwd();
            Ok(Some(own))
        })
    }

    /// Assembles the lead of a conversation in a directory, which takes `team` over. `enter` changes
    /// into its worktree, if it has one.
    pub(in crate::commands) fn assemble(
        app: &App,
        flags: &LeadFlags,
        conversation: (&Path, SessionId),
        team: Option<&TeamName>,
        prepared: Prepared,
        enter: impl FnOnce(&mut SpawnContext) -> Result<Option<OwnWorktree>>,
    ) -> Result<Self> {
        let Prepared {
            mut spawn_context,
            claude,
            ..
        } = prepared;
        let is_coordinator = is_coordinator(app, &claude, flags.coordinator, conversation)?;
        let max_requests = flags.max_turns.unwrap_or(app.settings.max_requests);
        app.settings.permit("turn.max_requests", max_requests)?;
        let own = enter(&mut spawn_context)?;
        if let Some(own) = &own {
            own.extend_env(&mut spawn_context.workspace.env);
        }
        let parts = match parts(app, spawn_context, claude, flags.budget) {
            Ok(parts) => LeadParts {
                team: team.cloned(),
                beginning: team.map_or(Beginning::New, |_| Beginning::TakeOver),
                session: conversation.1,
                is_coordinator,
                max_requests,
                worktree: own.as_ref().map(OwnWorktree::root),
                instructions: own.iter().map(OwnWorktree::notice).collect(),
                ..parts
            },
            Err(failure) => {
                // The worktree of a lost lead stays, because its conversation depends on it.
                if let Some(own) = own.filter(|_| team.is_none()) {
                    own.leave(app);
                }
                return Err(failure);
            }
        };
        Ok(Self { parts, own })
    }

    /// Runs a lead that no person talks to. The timeout is in seconds.
    pub(in crate::commands) fn execute_headless(
        mut self,
        app: &App,
        output: OutputFormat,
        timeout: Option<u64>,
        remove_team: bool,
        prompt: String,
    ) -> Result<RunReport> {
        self.parts.timeout = timeout.map(Duration::from_secs);
        self.parts.remove_team = remove_team;
        let console = LeadConsole::Terminal(output_format(app, output));
        self.execute_lead(app, &console, Some(prompt))
    }

    /// Runs the lead until it stops, then releases its worktree.
    pub(in crate::commands) fn execute_lead(
        self,
        app: &App,
        console: &LeadConsole,
        prompt: Option<String>,
    ) -> Result<RunReport> {
        let report = execute_lead(app, self.parts, console, prompt);
        if let Some(own) = self.own {
            own.leave(app);
        }
        leave_entered(app);
        report
    }
}

/// Returns where leads find each other.
fn peer_place(app: &App) -> PeerPlace {
    let records = peer_directory(&app.root);
    // A socket's path has at most 107 bytes.
    let is_short = records.as_os_str().len() < 80;
    PeerPlace {
        sockets: if is_short {
            records.clone()
        } else {
            socket_directory(&app.env, &app.root)
        },
        records,
        claude_sessions: claude_sessions(&app.root),
        inbound: app.settings.peers_inbound,
    }
}

/// Assembles a lead with a new conversation and no team, which runs until its work is done.
/// `budget` is the one of this run; without it the settings' one applies.
fn parts(
    app: &App,
    spawn_context: SpawnContext,
    claude: ClaudeSettings,
    budget: Option<Budget>,
) -> Result<LeadParts> {
    let run = budget.or(spawn_context.definition.config.budgets.run);
    let (env, cwd) = (&app.env, spawn_context.workspace.cwd.clone());
    let host = GatheringFacts::begin(env, &spawn_context.worktrees, cwd);
    if let Some(budget) = budget {
        require_price(
            &spawn_context.definition.config.models,
            &spawn_context.runtime.model,
            budget,
        )?;
    }
    let spending = SpendingMeter::new(MemberName::lead(), &spawn_context.definition.config, run);
    let spending = Arc::new(spending);
    let source = {
        let (runtime, root) = (&spawn_context.runtime, &spawn_context.root);
        models::ClientSource::new(&spawn_context.definition.config, runtime, root, &spending)
    };
    let model = source.client(&spawn_context.runtime.model)?;
    // An unavailable explicit backend fails here; `auto` is resolved at the first spawn.
    if spawn_context.backend.backend.is_some() {
        let chosen = swarm_panes::choose(&spawn_context.backend, &spawn_context.terminal);
        runtime()?.block_on(chosen)?;
    }
    let services = ModelServices {
        runtime: Arc::new(swarm_agent::ModelLoop),
        model,
        models: Arc::new(models::Factory::new(source, &spawn_context.workspace.cwd)),
        spending,
    };
    Ok(LeadParts {
        home: app.env.home(),
        rules: claude.rules,
        host: host.wait(),
        peers: Some(peer_place(app)),
        merges: Some(Arc::new(PublishedMerges(app.clone()))),
        ..LeadParts::new(spawn_context, services)
    })
}
