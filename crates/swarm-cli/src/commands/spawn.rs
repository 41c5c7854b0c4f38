//! `swarm spawn`.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;
use swarm_lead::{SpawnOptions, SpawnedMember};
use swarm_protocol::{LEAD_NAME, MemberName};
use swarm_store::Draft;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::args::SpawnArgs;
use crate::deployment::{Choices, backend, deployment};
use crate::failure::Failure;
use crate::identity::Acting;
use crate::models;

pub(super) fn run(app: &App, args: &SpawnArgs) -> Result<ExitCode, Failure> {
    Acting::find(&*app.store, app.env.get("SWARM_SPAWN_ID").is_some())?.require_person("spawn")?;
    let name = MemberName::teammate(&args.name)?;
    let team = app.team()?;
    let choices = Choices {
        backend: args.backend.clone(),
        ..Choices::default()
    };
    let (mut deployment, _) = deployment(app, &choices)?;
    // A member that died comes back as it was, unless flags say otherwise.
    let dead = swarm_lead::dead_namesake(&deployment, &team, &name)?.filter(|_| !args.fresh);
    let mode = args.mode.or_else(|| dead.as_ref()?.known_mode());
    // A person at the shell may give any mode; a member's ceiling is the mode it gets.
    if let Some(mode) = mode {
        deployment.ceiling = mode;
    }
    let resolve = &deployment.resolve_model;
    let model = args
        .model
        .as_deref()
        .map(|name| resolve(name))
        .transpose()
        .map_err(Failure::usage)?
        .or_else(|| dead.as_ref()?.model.clone());
    let named = model.as_deref().unwrap_or(&deployment.model);
    // What the child would find missing is missing here, and here it can be said in one sentence.
    models::client(named, &deployment.provider, deployment.pace)?;
    let former_cwd = dead.map(|dead| dead.cwd).filter(|cwd| cwd.is_dir());
    let options = SpawnOptions {
        name,
        agent_type: args.agent.clone(),
        prompt: prompt(args)?.map(|text| Draft::new(LEAD_NAME, text)),
        model,
        mode,
        cwd: match &args.cwd {
            Some(cwd) => app.env.cwd.join(cwd),
            None => former_cwd.unwrap_or_else(|| app.env.cwd.clone()),
        },
        backend: args
            .backend
            .as_deref()
            .map(|word| backend(app, Some(word)))
            .transpose()?,
        env: variables(&args.env)?,
        replace: args.replace,
        fresh: args.fresh,
        timeout: args.timeout.map(Duration::from_secs),
        cancel: CancellationToken::new(),
    };
    let runtime = super::runtime()?;
    let cancel = options.cancel.clone();
    let member = runtime.block_on(async {
        let interrupted = tokio::spawn(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                cancel.cancel();
            }
        });
        let spawned = swarm_lead::spawn(&deployment, &team, options).await;
        interrupted.abort();
        spawned
    })?;
    show(app, &member)?;
    Ok(ExitCode::SUCCESS)
}

fn show(app: &App, member: &SpawnedMember) -> Result<(), Failure> {
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
            "hello": member.hello,
        }));
    }
    app.out.data(&format!(
        "{} is ready ({}, {}, mode {})",
        member.agent_id, member.pane, member.hello.model, member.hello.mode
    ))?;
    app.out.say(&member.why);
    Ok(())
}

fn prompt(args: &SpawnArgs) -> Result<Option<String>, Failure> {
    let text = match (&args.prompt, &args.prompt_file) {
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
            .with_hint("say what the teammate shall do, or leave the prompt out")),
        text => Ok(text),
    }
}

fn variables(given: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    given
        .iter()
        .map(|pair| {
            let (name, value) = pair
                .split_once('=')
                .filter(|(name, _)| !name.is_empty())
                .ok_or_else(|| {
                    Failure::usage(format!(
                        "`{pair}` is not a variable: write it as NAME=VALUE"
                    ))
                })?;
            Ok((name.to_owned(), value.to_owned()))
        })
        .collect()
}
