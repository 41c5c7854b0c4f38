//! `swarm instructions`: the instruction files, their sources and sizes.

use std::path::{Path, PathBuf};

use serde_json::json;
use swarm_agent::{InstructionFile, LoadedInstructions};
use swarm_ui::print::{Cell, Table};

use crate::agent_config;
use crate::app::App;
use crate::commands::agents;
use crate::failure::{Failure, Result};
use crate::output::{plain, say};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Agents read instruction files like Claude Code: the managed policy, CLAUDE.md of the config directory, then CLAUDE.md \
(or AGENTS.md), .claude/CLAUDE.md, .claude/rules and CLAUDE.local.md of each directory down to the working directory.

Examples:
  swarm instructions
  swarm instructions --agent Explore
  swarm instructions --cwd packages/api --json | jq -r '.files[].path'")]
pub(crate) struct InstructionsArgs {
    /// List what agents of this type read.
    #[arg(long, value_name = "TYPE")]
    pub(crate) agent: Option<String>,
    /// List what agents in this directory read [default: the current directory].
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

pub(super) fn run(app: &App, args: &InstructionsArgs) -> Result<()> {
    let cwd = directory(app, args)?;
    let omitted = match &args.agent {
        Some(name) => omits_instructions(app, name)?,
        None => false,
    };
    let loaded = if omitted {
        LoadedInstructions::default()
    } else {
        agent_config::instructions(&app.env, &app.settings, &cwd)?
    };
    if app.out.json {
        let files: Vec<_> = loaded.files.iter().map(record).collect();
        let conditional: Vec<_> = loaded.conditional.iter().map(record).collect();
        return app.out.json(&json!({
            "cwd": cwd,
            "agent": args.agent,
            "files": files,
            "conditional": conditional,
            "characters": total(&loaded.files),
            "problems": loaded.problems,
        }));
    }
    let omitted_for = args.agent.as_deref().filter(|_| omitted);
    show(app, &cwd, &loaded, omitted_for)
}

fn directory(app: &App, args: &InstructionsArgs) -> Result<PathBuf> {
    let Some(cwd) = &args.cwd else {
        return Ok(app.env.cwd.clone());
    };
    let cwd = app.env.cwd.join(cwd);
    let canonical = cwd.canonicalize().ok().filter(|cwd| cwd.is_dir());
    canonical.ok_or_else(|| Failure::usage(format!("{} is not a directory", cwd.display())))
}

fn omits_instructions(app: &App, name: &str) -> Result<bool> {
    let found = agent_config::agents(app)?;
    let definition = agents::known(&found, name)?;
    agent_config::warn_of(app, &found, definition);
    Ok(definition.omit_claude_md)
}

fn show(
    app: &App,
    cwd: &Path,
    loaded: &LoadedInstructions,
    omitted_for: Option<&str>,
) -> Result<()> {
    if let Some(name) = omitted_for {
        app.out
            .say(&format!("agents of type {name} get no instruction files"));
    } else if loaded.files.is_empty() && loaded.conditional.is_empty() {
        app.out.say(&format!(
            "no instruction files apply to {}: create a CLAUDE.md or AGENTS.md",
            plain(&cwd.display().to_string())
        ));
    } else {
        let mut table = Table::new(["FROM", "CHARACTERS", "FILE", "LOADED"]);
        for file in &loaded.files {
            let when = match &file.imported_by {
                Some(by) => format!("imported by {}", near(by, cwd)),
                None => "at the start".to_owned(),
            };
            table.row(cells(file, cwd, when));
        }
        for file in &loaded.conditional {
            let when = format!("when a file matches {}", file.paths.join(", "));
            table.row(cells(file, cwd, when).map(Cell::dim));
        }
        app.out.table(&table)?;
        app.out.say(&format!(
            "{} characters at the start of each conversation",
            total(&loaded.files)
        ));
    }
    if !app.out.quiet {
        for problem in &loaded.problems {
            say(&format!("swarm: {}", plain(problem)));
        }
    }
    Ok(())
}

fn cells(file: &InstructionFile, cwd: &Path, when: String) -> [Cell; 4] {
    [
        Cell::new(file.kind.name()),
        Cell::new(size(file).to_string()),
        Cell::new(near(&file.path, cwd)),
        Cell::new(when),
    ]
}

fn record(file: &InstructionFile) -> serde_json::Value {
    let mut record = json!(file);
    record["characters"] = json!(size(file));
    record
}

fn size(file: &InstructionFile) -> usize {
    file.text.chars().count()
}

fn total(files: &[InstructionFile]) -> usize {
    files.iter().map(size).sum()
}

/// Returns a path, relative to the directory if it is inside.
fn near(path: &Path, cwd: &Path) -> String {
    path.strip_prefix(cwd).unwrap_or(path).display().to_string()
}
