//! `swarm spawn --on`: the same command, carried out by a node.

use std::time::Duration;

use swarm_protocol::{MemberName, PermissionMode, TeamName};
use swarm_supervisor::SpawnCommand;

use super::args::SpawnArgs;
use crate::app::App;
use crate::commands::node::spawn_on_node;
use crate::failure::{Failure, Result};
use crate::identity::Acting;

/// Spawns a member on a node.
pub(super) fn spawn_on(
    app: &App,
    args: &SpawnArgs,
    acting: &Acting,
    team: &TeamName,
    on: &str,
) -> Result<()> {
    // Files are read before a node is asked.
    let mut command = command(args)?;
    match args.mode {
        Some(mode) => acting.require_mode("spawn", mode)?,
        // The node's own default may be higher than an agent can ask for.
        None if acting.require_no_agent("spawn").is_err() => {
            command.option("mode", Some(PermissionMode::Default));
        }
        None => {}
    }
    command.flag("json", app.out.json);
    let timeout = args.timeout.map(Duration::from_secs);
    let timeout = timeout.unwrap_or(app.settings.hello_timeout);
    let done = spawn_on_node(app, team, on, command, timeout)?;
    done.show(app, &format!(" on {}", done.node))
}

fn command(args: &SpawnArgs) -> Result<SpawnCommand> {
    let SpawnArgs {
        name,
        agents,
        summary,
        requests,
        cwd,
        // The prompt and the member have methods.
        prompt: _,
        prompt_file: _,
        agent: _,
        runtime: _,
        model: _,
        mode: _,
        plan: _,
        env: _,
        worktree,
        // These exclude a node.
        snapshot: _,
        trust: _,
        on: _,
        backend,
        replace,
        fresh,
        mcp_config,
        budget,
        timeout,
    } = args;
    let mut command = SpawnCommand::new(MemberName::teammate(name)?);
    command.prompt(args.initial_prompt()?, summary.as_deref());
    command.member(&args.member()?);
    command.option("agents", agents.as_deref());
    command.option("thinking", requests.thinking);
    command.option("cwd", cwd.as_ref().map(|cwd| cwd.display()));
    command.option("backend", backend.as_deref());
    command.option("budget", budget.map(String::from));
    command.option("timeout", *timeout);
    for servers in mcp_config {
        command.option("mcp-config", Some(in_json(servers)?));
    }
    command.worktree(worktree.as_deref());
    command.replace(*replace);
    command.flag("fresh", *fresh);
    Ok(command)
}

/// Returns MCP servers as JSON: a file is on this machine.
fn in_json(servers: &str) -> Result<String> {
    if servers.trim_start().starts_with('{') {
        return Ok(servers.to_owned());
    }
    std::fs::read_to_string(servers)
        .map_err(|error| Failure::usage(format!("the file {servers} cannot be read: {error}")))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Spawning {
        #[command(flatten)]
        spawn: SpawnArgs,
    }

    fn parsed(words: &[&str]) -> SpawnArgs {
        let words = std::iter::once("spawn").chain(words.iter().copied());
        Spawning::try_parse_from(words).unwrap().spawn
    }

    /// What the node parses of the command of an order.
    fn there(given: &SpawnArgs, has_repository: bool) -> SpawnArgs {
        let words = command(given).unwrap().order(has_repository).words;
        let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        parsed(&words)
    }

    #[test]
    fn the_node_gets_every_option_but_the_node() {
        let mut given = parsed(&[
            "bob",
            "--on",
            "box",
            "--agent",
            "reviewer",
            "--agents",
            "{}",
            "--runtime",
            "claude",
            "--model=-x",
            "--effort",
            "high",
            "--thinking",
            "off",
            "--mode",
            "plan",
            "--plan",
            "--cwd",
            "docs",
            "--worktree",
            "fix",
            "--backend",
            "headless",
            "--env",
            "A=1",
            "--env",
            "B=2",
            "--replace",
            "--fresh",
            "--mcp-config",
            "{}",
            "--budget",
            "5$",
            "--timeout",
            "9",
            "--prompt",
            "hello",
            "--summary",
            "greeting",
        ]);
        let there = there(&given, true);
        given.on = None;
        given.prompt = None;
        given.prompt_file = Some("-".into());
        assert_eq!(format!("{there:?}"), format!("{given:?}"));
    }

    #[test]
    fn a_summary_needs_a_prompt() {
        let parse = |words: &[&str]| Spawning::try_parse_from(words);
        assert!(parse(&["spawn", "bob", "--summary", "greeting"]).is_err());
        assert!(
            parse(&[
                "spawn",
                "bob",
                "--summary",
                "greeting",
                "--prompt-file",
                "-"
            ])
            .is_ok()
        );
    }

    #[test]
    fn a_member_of_a_repository_has_a_worktree() {
        let given = parsed(&["bob", "--on", "box"]);
        assert_eq!(there(&given, true).worktree.as_deref(), Some("bob"));
        assert_eq!(there(&given, false).worktree, None);
        let given = parsed(&["bob", "--on", "box", "--worktree"]);
        assert_eq!(there(&given, false).worktree.as_deref(), Some("bob"));
    }
}
