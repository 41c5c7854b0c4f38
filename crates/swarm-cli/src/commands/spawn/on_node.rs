//! `swarm spawn --on`: the same command, carried out by a node.

use std::time::Duration;

use swarm_protocol::{PermissionMode, TeamName};
use swarm_supervisor::NewOrder;

use super::args::SpawnArgs;
use crate::app::App;
use crate::commands::node::on_node;
use crate::failure::Failure;
use crate::identity::Acting;

/// Spawns a member on a node.
pub(super) fn spawn_on(
    app: &App,
    args: &SpawnArgs,
    acting: &Acting,
    team: &TeamName,
    on: &str,
) -> Result<(), Failure> {
    let prompt = args.initial_prompt()?;
    // Files are read before a node is asked.
    let mut inside = words(args, prompt.is_some(), true)?;
    let mut outside = words(args, prompt.is_some(), false)?;
    let mode = match args.mode {
        Some(mode) => {
            acting.require_mode("spawn", mode)?;
            None
        }
        // The node's own default may be higher than an agent can ask for.
        None => acting
            .require_no_agent("spawn")
            .err()
            .map(|_| PermissionMode::Default),
    };
    for words in [&mut inside, &mut outside] {
        words.extend(mode.map(|mode| format!("--mode={mode}")));
        words.extend(app.out.json.then(|| "--json".to_owned()));
    }
    let timeout = args.timeout.map(Duration::from_secs);
    let timeout = timeout.unwrap_or(app.settings.hello_timeout);
    let command = |has_repository: bool| NewOrder {
        words: if has_repository { inside } else { outside },
        input: prompt,
    };
    let done = on_node(app, team, on, command, timeout)?;
    done.show(app, &format!(" on {}", done.node))
}

/// Returns the command for the node. A member of a repository works in a worktree there.
fn words(args: &SpawnArgs, has_prompt: bool, has_repository: bool) -> Result<Vec<String>, Failure> {
    let SpawnArgs {
        name,
        agent,
        agents,
        prompt: _,
        prompt_file: _,
        runtime,
        model,
        requests,
        mode,
        plan,
        cwd,
        worktree,
        // These exclude a node.
        snapshot: _,
        trust: _,
        on: _,
        backend,
        env,
        replace,
        fresh,
        mcp_config,
        budget,
        timeout,
    } = args;
    let mut words = vec!["spawn".to_owned(), name.clone()];
    let mut add = |flag: &str, value: Option<String>| {
        // In one word, because a value may begin with a dash.
        words.extend(value.map(|value| format!("--{flag}={value}")));
    };
    add("agent", agent.clone());
    add("agents", agents.clone());
    add("prompt-file", has_prompt.then(|| "-".to_owned()));
    add("runtime", runtime.as_ref().map(ToString::to_string));
    add("model", model.clone());
    add("effort", requests.effort.map(|effort| effort.to_string()));
    add(
        "thinking",
        requests.thinking.map(|thinking| thinking.to_string()),
    );
    add("mode", mode.map(|mode| mode.to_string()));
    add("cwd", cwd.as_ref().map(|cwd| cwd.display().to_string()));
    add("backend", backend.clone());
    add("budget", budget.map(String::from));
    add("timeout", timeout.map(|seconds| seconds.to_string()));
    for pair in env {
        add("env", Some(pair.clone()));
    }
    for servers in mcp_config {
        add("mcp-config", Some(in_json(servers)?));
    }
    match worktree.as_deref() {
        Some(slug) if !slug.is_empty() => add("worktree", Some(slug.to_owned())),
        Some(_) => add("worktree", Some(name.clone())),
        None if has_repository => add("worktree", Some(name.clone())),
        None => {}
    }
    let flags = [("--plan", plan), ("--replace", replace), ("--fresh", fresh)];
    let flags = flags.into_iter().filter(|(_, is_given)| **is_given);
    words.extend(flags.map(|(flag, _)| flag.to_owned()));
    Ok(words)
}

/// Returns MCP servers as JSON: a file is on this machine.
fn in_json(servers: &str) -> Result<String, Failure> {
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
    fn there(given: &SpawnArgs, has_prompt: bool, has_repository: bool) -> SpawnArgs {
        let words = words(given, has_prompt, has_repository).unwrap();
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
        ]);
        let there = there(&given, true, true);
        given.on = None;
        given.prompt = None;
        given.prompt_file = Some("-".into());
        assert_eq!(format!("{there:?}"), format!("{given:?}"));
    }

    #[test]
    fn a_member_of_a_repository_has_a_worktree() {
        let given = parsed(&["bob", "--on", "box"]);
        assert_eq!(there(&given, false, true).worktree.as_deref(), Some("bob"));
        assert_eq!(there(&given, false, false).worktree, None);
        let given = parsed(&["bob", "--on", "box", "--worktree"]);
        assert_eq!(there(&given, false, false).worktree.as_deref(), Some("bob"));
    }
}
