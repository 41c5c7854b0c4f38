//! `swarm team up`.

use std::collections::BTreeMap;

use clap::Parser as _;
use serde_json::json;
use swarm_config::{TEAM_TEMPLATES, TEMPLATE_KEY, TeamTemplate, TemplateMember, TemplateWorktree};
use swarm_protocol::{BackendType, BudgetScope, PERSON, TaskId, TeamName};
use swarm_store::{Actor, BlockOn as _, NewTeam, StoreError, Team};

use crate::app::App;
use crate::commands::acting::require_person;
use crate::commands::hub::{HubArgs, hub_failure};
use crate::commands::members::is_over;
use crate::commands::{spawn, task};
use crate::config_directory;
use crate::failure::{Failure, Result};
use crate::output::captured;
use crate::spawn_context::backend_help;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A template names the members of a team, with the flags of `swarm spawn`, its tasks with their dependencies and checks, \
and budgets. Whatever already exists is left as it is: a second `up` starts members that have stopped and adds tasks \
that the template has gained.

Examples:
  swarm team up review
  swarm team up teams/release.toml --team release-2")]
pub(crate) struct TeamUpArgs {
    /// Template file, or one of the built-in templates bugfix, feature and review.
    #[arg(value_name = "FILE|NAME")]
    pub(crate) template: String,
    #[arg(long, help = backend_help("Backend for members", false))]
    pub(crate) backend: Option<String>,
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

pub(super) fn run(app: &App, args: &TeamUpArgs) -> Result<()> {
    require_person(app, "team up")?;
    let template = template(app, &args.template)?;
    let name = app.asked_team()?.unwrap_or_else(|| template.name.clone());
    let app = &args.hub.applied(app)?;
    let is_new = create(app, &name, &template)?;
    let team = app.store.team(&name);
    if let Some(budget) = template.budget.filter(|_| is_new) {
        team.set_budget(&BudgetScope::Team, Some(budget))
            .block_on()?;
    }
    let created = add_tasks(&*team, &template)?;
    let mut started = Vec::new();
    let mut told = None;
    for member in &template.members {
        if start(app, &*team, member, args.backend.as_deref(), &mut told)? {
            started.push(member.name.get_ref().clone());
        }
    }
    if !created.is_empty() {
        team.announce_tasks(&created, &Actor::person(&name))
            .block_on()?;
        task::warn_undelivered(app, &*team);
    }
    let tasks = swarm_ui::print::counted(created.len() as u64, "new task");
    let members = swarm_ui::print::counted(started.len() as u64, "member");
    app.out.result(
        &json!({"team": name, "created": is_new, "started": started, "tasks": created}),
        &format!("team {name} is up: {members} started, {tasks}"),
    )
}

/// Reads a template: a file, or a built-in one.
pub(super) fn template(app: &App, word: &str) -> Result<TeamTemplate> {
    let path = app.env.cwd.join(word);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => {
            let built_in = TEAM_TEMPLATES.iter().find(|(name, _)| *name == word);
            let Some((_, text)) = built_in else {
                let names = TEAM_TEMPLATES.map(|(name, _)| name).join(", ");
                let failure = Failure::usage(format!("cannot read the template {word}: {error}"));
                return Err(failure.with_hint(format!(
                    "name a TOML file, or one of the built-in templates {names}"
                )));
            };
            (*text).to_owned()
        }
    };
    TeamTemplate::parse(&text, word).map_err(|error| {
        Failure::usage(error.to_string())
            .with_hint("the section Templates of the guide has all keys")
    })
}

/// Creates the team unless it exists. Returns whether it is new.
fn create(app: &App, name: &TeamName, template: &TeamTemplate) -> Result<bool> {
    config_directory::make(&app.root)?;
    let new = NewTeam {
        description: template.description.clone(),
        ..NewTeam::new(name.clone(), &app.env.cwd, PERSON)
    };
    match app.store.create_team(new).block_on() {
        Ok(_) => Ok(true),
        Err(
            StoreError::TeamExists { .. }
            | StoreError::TeamOnHub {
                is_joined: true, ..
            },
        ) if is_where_asked(app, name)? => Ok(false),
        Err(error) => Err(hub_failure(error, app.hubs.new_teams_on())),
    }
}

/// Returns whether a team that exists is on the hub that was asked for, if one was.
fn is_where_asked(app: &App, name: &TeamName) -> Result<bool> {
    match app.hubs.new_teams_on() {
        Some(asked) => Ok(app
            .hubs
            .hub_of(name)?
            .is_some_and(|hub| hub.url == asked.url)),
        None => Ok(true),
    }
}

/// Creates the tasks that the template has not created before.
fn add_tasks(team: &dyn Team, template: &TeamTemplate) -> Result<Vec<TaskId>> {
    let list = team.tasks().block_on()?;
    let created = list.tasks.iter().filter_map(|task| {
        let key = task.metadata.as_ref()?.get(TEMPLATE_KEY)?.as_str()?;
        Some((key.to_owned(), task.id))
    });
    let existing: BTreeMap<String, TaskId> = created.collect();
    let (places, new): (Vec<usize>, Vec<_>) = template.new_tasks(&existing).into_iter().unzip();
    let ids = team
        .create_tasks(&new, &Actor::person(team.name()))
        .block_on()?;
    for (id, place) in ids.iter().zip(places) {
        if let Some(budget) = template.tasks[place].budget {
            team.set_budget(&BudgetScope::Task(*id), Some(budget))
                .block_on()?;
        }
    }
    Ok(ids)
}

/// Starts a member unless it is running. Returns whether it was started. `told` is the backend of
/// the member before.
fn start(
    app: &App,
    team: &dyn Team,
    member: &TemplateMember,
    backend: Option<&str>,
    told: &mut Option<BackendType>,
) -> Result<bool> {
    let name = member.name.get_ref();
    let views = team.member_view().block_on()?;
    let view = views.iter().find(|view| view.member.name == *name);
    if view.is_some_and(|view| !is_over(view.state)) {
        return Ok(false);
    }
    let has_budget = team.budgets().block_on()?.members.contains_key(name);
    let words = spawn_words(member, backend, !has_budget);
    let args = Spawning::try_parse_from(&words).map_err(|error| {
        let error = error.render().to_string();
        let first = error.lines().next().unwrap_or_default().to_owned();
        Failure::usage(format!("member {name} of the template: {first}"))
    })?;
    let spawning = app.for_team(team.name());
    if app.out.json {
        captured(|| spawn::run_next(&spawning, &args.spawn, told)).0?;
    } else {
        spawn::run_next(&spawning, &args.spawn, told)?;
    }
    Ok(true)
}

/// The arguments of `swarm spawn`.
#[derive(Debug, clap::Parser)]
#[command(name = "swarm spawn")]
struct Spawning {
    #[command(flatten)]
    spawn: spawn::SpawnArgs,
}

/// Returns the command line that starts a member.
fn spawn_words(member: &TemplateMember, backend: Option<&str>, sets_budget: bool) -> Vec<String> {
    let mut words = vec!["swarm spawn".to_owned(), member.name.get_ref().to_string()];
    let mut add = |flag: &str, value: Option<String>| {
        // In one word, because a value may begin with a dash.
        words.extend(value.map(|value| format!("--{flag}={value}")));
    };
    add("agent", member.agent_type.clone());
    add("model", member.model.clone());
    add("effort", member.effort.map(|effort| effort.to_string()));
    add("mode", member.mode.map(|mode| mode.to_string()));
    add("cwd", member.cwd.clone());
    add("on", member.on.clone());
    add("prompt", member.prompt.clone());
    add("backend", backend.map(str::to_owned));
    add(
        "budget",
        member.budget.filter(|_| sets_budget).map(String::from),
    );
    match &member.worktree {
        Some(TemplateWorktree::Flag(true)) => words.push("--worktree".to_owned()),
        Some(TemplateWorktree::Slug(slug)) => words.push(format!("--worktree={slug}")),
        Some(TemplateWorktree::Flag(false)) | None => {}
    }
    if member.plan {
        words.push("--plan".to_owned());
    }
    words
}
