//! `swarm spawn`.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use swarm_agent::MemberRequest;
use swarm_member::SpendingMeter;
use swarm_os::Liveness;
use swarm_panes::is_own_socket;
use swarm_permissions::AgentDefinition;
use swarm_protocol::{
    AgentProgram, BackendType, Budget, BudgetScope, ErrorKind, LEAD_NAME, MemberName, OnLost,
    PermissionMode, TeamName,
};
use swarm_store::{BlockOn as _, Draft, StoreError};
use swarm_supervisor::{
    LeadStanding, SpawnOptions, SpawnedMember, SupervisedMember, SupervisedTeam, lead_standing,
};
use tokio::runtime::Runtime;

use super::args::SpawnArgs;
use super::on_node::spawn_on;
use crate::agent_config;
use crate::app::App;
use crate::commands::acting::require_person;
use crate::commands::worktree::wish;
use crate::commands::{agents, own_thread_runtime, run_cancellable};
use crate::failure::{Failure, Result};
use crate::identity::Acting;
use crate::models::{self, require_price};
use crate::ordered::is_ordered;
use crate::output::plain;
use crate::spawn_context::{
    Choices, Prepared, backend, for_stopping, former_backend, spawn_context,
};

pub(in crate::commands) fn run(app: &App, args: &SpawnArgs) -> Result<()> {
    run_next(app, args, &mut None)
}

/// Like [`run`], for one of several members: tells where it runs only if its backend is another
/// than that of the member before, `told`.
pub(in crate::commands) fn run_next(
    app: &App,
    args: &SpawnArgs,
    told: &mut Option<BackendType>,
) -> Result<()> {
    let acting = require_person(app, "spawn")?;
    acting.require_trust("spawn", args.trust)?;
    let name = MemberName::teammate(&args.name)?;
    let team = app.team_to_change()?.name().clone();
    match &args.on {
        Some(on) => {
            if !args.replace {
                let spawn_context = for_stopping(app);
                refuse_if_running(
                    &own_thread_runtime()?,
                    spawn_context.team(&team).member(&name),
                )?;
            }
            spawn_on(app, args, &acting, &team, on)
        }
        None => spawn_here(app, args, &acting, &team, name, told),
    }
}

fn spawn_here(
    app: &App,
    args: &SpawnArgs,
    acting: &Acting,
    team: &TeamName,
    name: MemberName,
    told: &mut Option<BackendType>,
) -> Result<()> {
    refuse_if_lead_lost(app, team)?;
    let choices = Choices {
        backend: args.backend.clone(),
        requests: args.requests.clone(),
        ..Choices::default()
    };
    let mut prepared = spawn_context(app, acting, &choices)?;
    let runtime = own_thread_runtime()?;
    if !args.replace {
        refuse_if_running(&runtime, prepared.spawn_context.team(team).member(&name))?;
    }
    // A former member, or one that is replaced, keeps its values unless flags override them.
    let dead = if args.fresh {
        None
    } else {
        let former = prepared.spawn_context.team(team).member(&name);
        let found = former.namesake(args.replace);
        found.map_err(|error| {
            let failure = Failure::from(error);
            let hint = format!("start {name} without its earlier conversation with `--fresh`");
            match failure.kind {
                ErrorKind::Damaged => failure.with_hint(hint),
                _ => failure,
            }
        })?
    };
    let former = dead.as_ref().map(MemberRequest::former).unwrap_or_default();
    let former_type = former.agent_type.clone();
    let member = args.member()?.or(former);
    refuse_unused(args, &member)?;
    if let Some(mode) = member.mode {
        prepared.let_have(mode)?;
    }
    acting.require_mode("spawn", prepared.spawn_context.permissions.ceiling)?;
    let definition = chosen_definition(app, args, &prepared, &name, former_type.as_deref())?;
    let asked = definition.and_then(|definition| definition.permission_mode);
    let program = member.runtime.clone().unwrap_or_default();
    let named = match &program {
        AgentProgram::Swarm => {
            let model = member.model.as_deref();
            Some(check_model(&prepared, &name, model, definition)?)
        }
        // Claude Code says which model answers.
        AgentProgram::Claude => None,
        AgentProgram::Acp(_) => program.model_label(None),
    };
    if let (Some(named), Some(budget)) = (named, args.budget) {
        let models = &prepared.spawn_context.definition.config.models;
        require_price(models, &named, budget)?;
    }
    let spawn_context = prepared.spawn_context;
    let backend = match &args.backend {
        Some(word) => Some(backend(app, Some(word), false)?),
        None => dead
            .as_ref()
            .map(|dead| former_backend(app, dead))
            .transpose()?
            .flatten(),
    };
    // A member with a separate worktree continues there or reports that it is missing.
    let former_cwd = dead
        .filter(|dead| {
            dead.cwd.is_dir() || (dead.worktree_path.is_some() && args.worktree.is_none())
        })
        .map(|dead| dead.cwd);
    let cwd = match &args.cwd {
        Some(cwd) => app.env.cwd.join(cwd),
        None => former_cwd.unwrap_or_else(|| app.env.cwd.clone()),
    };
    let options = SpawnOptions {
        prompt: args.initial_prompt()?.map(|text| {
            let prompt = Draft::new(LEAD_NAME, text);
            match &args.summary {
                Some(summary) => prompt.with_summary(summary),
                None => prompt,
            }
        }),
        worktree: wish(args.worktree.as_deref(), args.snapshot)?,
        backend,
        replace: args.replace,
        fresh: args.fresh,
        timeout: args.timeout.map(Duration::from_secs),
        ..SpawnOptions::new(name, member, cwd)
    };
    let member = carry_out(runtime, spawn_context.team(team), options, args.budget)?;
    show(app, &member, &program, told)?;
    if let Some(asked) = asked.filter(|asked| !member.hello.mode.covers(*asked)) {
        app.out.say(&format!(
            "its definition requests mode {asked}, which is above its ceiling; pass `--mode {asked}` to allow it"
        ));
    }
    Ok(())
}

fn chosen_definition<'a>(
    app: &App,
    args: &SpawnArgs,
    prepared: &'a Prepared,
    name: &MemberName,
    former_type: Option<&str>,
) -> Result<Option<&'a AgentDefinition>> {
    let found = &prepared.definitions;
    let definition = match (&args.agent, former_type) {
        (Some(asked), _) => agents::known(found, asked)?,
        (None, Some(former)) => agents::known_again(found, former, name)?,
        (None, None) => return Ok(None),
    };
    agent_config::warn_of(app, found, definition);
    Ok(Some(definition))
}

/// Checks the model of the member, because the child would report a missing requirement less
/// clearly. Returns its full name.
fn check_model(
    prepared: &Prepared,
    member: &MemberName,
    model: Option<&str>,
    definition: Option<&AgentDefinition>,
) -> Result<String> {
    let chosen = prepared.spawn_context.choose_model(model, definition);
    let explain = |failure: Failure| Failure {
        message: chosen.explain(definition, &failure.message),
        ..failure
    };
    let named = prepared.model(&chosen.written).map_err(explain)?;
    let of = &prepared.spawn_context;
    let spending = SpendingMeter::new(member.clone(), &of.definition.config, None);
    let config = &of.definition.config;
    let source = models::ClientSource::new(config, &of.runtime, &of.root, &Arc::new(spending));
    source.client(&named).map_err(explain)?;
    Ok(named)
}

/// Refuses flags that the agent program of the member does not support.
fn refuse_unused(args: &SpawnArgs, member: &MemberRequest) -> Result<()> {
    let runtime = member.runtime.clone().unwrap_or_default();
    let given = [
        ("--model", args.model.is_some()),
        ("--effort", args.requests.effort.is_some()),
        ("--thinking", args.requests.thinking.is_some()),
        ("--plan", args.plan),
    ];
    let takes_model = !matches!(runtime, AgentProgram::Acp(_));
    let is_unused = |flag: &str| flag != "--model" || !takes_model;
    let unused = given
        .iter()
        .find(|(flag, is_given)| *is_given && is_unused(flag));
    match unused {
        Some((flag, _)) if !runtime.is_swarm() => {
            let message = format!("`{flag}` has no effect with runtime {runtime}");
            let hint = "omit it; models and plans are configured in the program itself";
            Err(Failure::usage(message).with_hint(hint))
        }
        _ => Ok(()),
    }
}

/// Spawns the member with a budget, which a failed spawn does not leave behind.
fn carry_out(
    runtime: Runtime,
    team: SupervisedTeam<'_>,
    options: SpawnOptions,
    budget: Option<Budget>,
) -> Result<SpawnedMember> {
    let Some(budget) = budget else {
        return spawn(runtime, team, options);
    };
    let scope = BudgetScope::Member(options.name.clone());
    let files = team.files();
    let former = files.budgets().block_on()?.get(&scope);
    files.set_budget(&scope, Some(budget)).block_on()?;
    let spawned = spawn(runtime, team, options);
    if spawned.is_err()
        && let Err(error) = files.set_budget(&scope, former).block_on()
    {
        tracing::warn!(team = %team.name, %error, "the budget of a failed spawn is left");
    }
    spawned
}

/// Spawns the member. Ctrl-C rolls the spawn back.
fn spawn(
    runtime: Runtime,
    team: SupervisedTeam<'_>,
    options: SpawnOptions,
) -> Result<SpawnedMember> {
    let cancel = options.cancel.clone();
    Ok(run_cancellable(runtime, cancel, team.spawn(options))?)
}

/// Refuses the name of a running member before its model and its flags are checked, or a node is chosen.
fn refuse_if_running(runtime: &Runtime, member: SupervisedMember<'_>) -> Result<()> {
    runtime.block_on(member.await_reported_end())?;
    let (team, name) = (member.team, member.name);
    // A name that is not in the roster is free; other errors are reported by the spawn.
    if !matches!(team.files().liveness(name).block_on(), Ok(Liveness::Alive)) {
        return Ok(());
    }
    Err(StoreError::NameTaken {
        team: team.name.clone(),
        name: name.clone(),
        holder: "a live member has this name".to_owned(),
    }
    .into())
}

/// Warns that members of a team with a lost lead park or stop without reading their prompt.
fn refuse_if_lead_lost(app: &App, team: &TeamName) -> Result<()> {
    let config = app.store.team(team).known_config().block_on()?;
    let standing = lead_standing(&*app.store, &config)?;
    let LeadStanding::Lost(pid) = standing else {
        return Ok(());
    };
    if app.settings.on_lost == OnLost::Continue {
        return Ok(());
    }
    let message =
        format!("the lead of {team}, process {pid}, is lost: new members cannot take turns");
    Err(
        Failure::new(ErrorKind::Conflict, message).with_hint(format!(
            "take the team over first with `swarm resume {team}`"
        )),
    )
}

fn show(
    app: &App,
    member: &SpawnedMember,
    program: &AgentProgram,
    told: &mut Option<BackendType>,
) -> Result<()> {
    if app.out.json {
        return app.out.json(&json!({
            "agentId": member.agent_id,
            "name": member.agent_id.name,
            "team": member.agent_id.team,
            "spawnId": member.spawn_id,
            "color": member.color,
            "tmuxPaneId": member.pane,
            "socket": member.socket,
            "backendType": member.backend,
            "why": member.why,
            "hello": member.hello,
            "continues": member.continues,
            "conversationLeftOn": member.conversation_left_on,
            "worktree": member.worktree.as_ref().map(|made| &made.record),
        }));
    }
    // Ids of other backends have no meaning for people.
    let pane = match member.pane.as_str() {
        id if id.starts_with('%') => id,
        _ => member.backend.name(),
    };
    app.out.data(&plain(&format!(
        "{} is ready ({pane}, {}, mode {})",
        member.agent_id, member.hello.model, member.hello.mode
    )))?;
    // Who gives an order does not see the node's terminal.
    if !is_ordered() && told.as_ref() != Some(&member.backend) {
        app.out.say(&plain(&place(member)));
        *told = Some(member.backend.clone());
    }
    if member.hello.mode == PermissionMode::Plan {
        let name = &member.agent_id.name;
        app.out.say(&match program {
            // The protocol has no way to submit a plan.
            AgentProgram::Acp(_) => format!("{name} only reads until `swarm mode {name} default`"),
            _ => format!(
                "{name} plans first; `swarm requests` shows its plan and `swarm approve {name}` approves it"
            ),
        });
    }
    if member.continues {
        let name = &member.agent_id.name;
        app.out.say(&format!(
            "{name} continues its earlier conversation; `--fresh` starts a new one"
        ));
    }
    if let Some(host) = &member.conversation_left_on {
        let name = &member.agent_id.name;
        app.out.say(&plain(&format!(
            "{name} starts a new conversation: its earlier one is on {host}"
        )));
    }
    if let Some(made) = &member.worktree {
        app.out.say(&format!(
            "worktree {} {}",
            made.record.path.display(),
            made.record.origin()
        ));
        for notice in &made.notices {
            app.out.say(&format!("  {}", plain(notice)));
        }
    }
    Ok(())
}

/// Describes where the member runs, and how to show it if it is not visible.
fn place(member: &SpawnedMember) -> String {
    let is_out_of_sight = member.socket.as_deref().is_some_and(is_own_socket);
    if is_out_of_sight {
        let name = &member.agent_id.name;
        format!("{}; `swarm attach {name}` shows it", member.why)
    } else {
        member.why.clone()
    }
}
