//! `swarm trust`: grants, revokes and lists trust.

use std::path::{Path, PathBuf};

use serde_json::json;
use swarm_config::{TrustFile, repository_items, top_of};
use swarm_ui::print::{Cell, Table};

use crate::app::App;
use crate::commands::acting;
use crate::config_directory;
use crate::failure::{Failure, Result};
use crate::output::plain;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A repository's hooks, MCP servers and agent definitions are ignored until you trust the repository. Then its hooks, MCP \
servers and status line run in the agents' sandbox; `apiKeyHelper`, and hooks of your own commands, run with your \
permissions. Trust covers later changes too. Deny rules always apply.

Examples:
  swarm trust                    trust the current repository
  swarm trust ~/src/parser       trust another repository
  swarm trust --list             list trusted repositories
  swarm trust --remove           revoke trust")]
pub(crate) struct TrustArgs {
    /// Directory in the repository [default: the current directory].
    pub(crate) path: Option<PathBuf>,
    /// Revoke trust.
    #[arg(long, conflicts_with = "list")]
    pub(crate) remove: bool,
    /// List trusted repositories.
    #[arg(long, conflicts_with = "path")]
    pub(crate) list: bool,
}

pub(super) fn run(app: &App, args: &TrustArgs) -> Result<()> {
    if args.list {
        return list(app);
    }
    acting::require_no_agent(app, "trust")?;
    let asked = match &args.path {
        Some(path) => app.env.cwd.join(path),
        None => app.env.cwd.clone(),
    };
    if args.remove {
        remove(app, &asked)
    } else {
        add(app, &asked)
    }
}

fn add(app: &App, asked: &Path) -> Result<()> {
    let top = top_of(asked).map_err(|error| {
        let message = format!("{} cannot be trusted: {error}", asked.display());
        Failure::not_found(message).with_hint("specify an existing directory")
    })?;
    if !top.is_dir() {
        let message = format!("{} is not a directory", top.display());
        return Err(Failure::usage(message).with_hint("specify the repository that contains it"));
    }
    if top.to_str().is_none() {
        let message = format!(
            "{} cannot be trusted: its path is not valid UTF-8",
            top.display()
        );
        return Err(Failure::usage(message).with_hint("rename it to valid UTF-8"));
    }
    config_directory::make(&app.root)?;
    let is_new = TrustFile::of(&app.root).add(&top, app.clock.now().iso())?;
    let own = repository_items(&app.root, &top);
    let word = if is_new { "now" } else { "already" };
    app.out.result(
        &json!({"path": top, "trusted": true, "changed": is_new, "runs": own.runs, "wrong": own.wrong}),
        &format!("{} is {word} trusted", top.display()),
    )?;
    if !top.join(".git").exists() {
        app.out
            .say("it is not a repository: this applies to the directory itself, not to its subdirectories");
    }
    if !own.runs.is_empty() {
        app.out.say("these are now in effect:");
        for one in &own.runs {
            app.out.say(&format!("  {}", plain(&one.to_string())));
        }
    } else if own.wrong.is_empty() {
        app.out
            .say("it currently has no hooks, servers or definitions");
    }
    if !own.wrong.is_empty() {
        app.out
            .warn("these are invalid; once fixed, they also run:");
        for one in &own.wrong {
            app.out.warn(&format!("  {}", plain(one)));
        }
    }
    app.out
        .say("later changes are trusted too; `swarm trust --remove` revokes this");
    Ok(())
}

/// Trust of a deleted repository can still be revoked by its path.
fn remove(app: &App, asked: &Path) -> Result<()> {
    let top: PathBuf = top_of(asked).unwrap_or_else(|_| asked.to_owned());
    if !TrustFile::of(&app.root).remove(&top)? {
        let message = format!("{} is not trusted", top.display());
        return Err(Failure::not_found(message)
            .with_hint("run `swarm trust --list` to see trusted repositories"));
    }
    app.out.result(
        &json!({"path": top, "trusted": false, "changed": true}),
        &format!("{} is no longer trusted", top.display()),
    )?;
    app.out.say("running members keep their configuration");
    Ok(())
}

fn list(app: &App) -> Result<()> {
    let trusted = TrustFile::of(&app.root).read()?;
    let mut records = Vec::new();
    let mut table = Table::new(["PATH", "SINCE", ""]);
    for (path, at) in trusted.iter() {
        records.push(json!({"path": path, "trustedAt": at, "there": path.is_dir()}));
        let there = if path.is_dir() { "" } else { "gone" };
        table.row([
            Cell::new(plain(&path.to_string_lossy())),
            Cell::new(plain(at.as_str())),
            Cell::new(there),
        ]);
    }
    app.out.list(&records, &table, "no repository is trusted")
}
