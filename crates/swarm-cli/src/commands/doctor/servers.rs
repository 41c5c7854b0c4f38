//! Checks of MCP servers: connects to each server and lists its tools.

use std::path::Path;
use std::sync::Arc;

use swarm_config::{ClaudeSettings, Environment, Project, ServerSources, Settings, mcp_bounds};
use swarm_mcp::{McpHost, McpServers, ServerReport};
use swarm_protocol::{MemberName, SpawnId};
use swarm_supervisor::lead_marks;
use swarm_tools::{Caller, ProtectedPaths, ToolContext};

use super::finding::Finding;
use crate::commands::{EndSignals, runtime};
use crate::failure::{Failure, Result};
use crate::own_process::identity;
use crate::shell_guards::guards_here;

const NAME: &str = "mcp server";

/// Returns the findings; empty if no server is configured.
pub(super) fn check(env: &Environment, settings: &Settings, root: &Path) -> Result<Vec<Finding>> {
    let claude = ClaudeSettings::load(root, &env.cwd, env.home().as_deref()).unwrap_or_default();
    let project = Project::of(root, &env.cwd);
    let project = project.unwrap_or_else(|_| Project::untrusted(root, &env.cwd));
    let sources = ServerSources {
        env,
        root,
        project: &project,
        given: &[],
        plugins: &claude.active_plugins(project.is_trusted),
    };
    let mut found = sources.load();
    let problem = |text: &String| {
        let hint = "fix it; until then agents run without the server";
        Finding::warning(NAME, text, hint)
    };
    let mut findings: Vec<_> = found.problems.iter().map(problem).collect();
    findings.extend(found.untrusted.iter().map(|text| {
        let hint = "review it, then run `swarm trust` and `swarm doctor` again";
        Finding::warning(NAME, text, hint)
    }));
    if found.settings.servers.is_empty() {
        return Ok(findings);
    }
    found.settings.bounds = mcp_bounds(settings);
    let mut variables = env.shell_with(&settings.pass, &claude.env);
    // Marked so that `swarm reap` can stop the servers if this process is killed.
    variables.extend(lead_marks(root, SpawnId::random(), &identity()));
    let sandbox = ToolContext {
        env: Arc::new(variables.clone()),
        guards: Arc::new(guards_here(env, settings, root)),
        protected: Arc::new(ProtectedPaths::new(root)),
        ..ToolContext::new(env.cwd.clone(), Caller::new(MemberName::lead()))
    };
    let host = McpHost {
        cwd: env.cwd.clone(),
        env: variables,
        logs: None,
        limits: found.settings.bounds.into(),
        sandbox: Some(sandbox),
    };
    let servers = McpServers::new(found.settings, host);
    let reports = runtime()?.block_on(async {
        // Signal handlers must be installed before servers start.
        let mut signals = EndSignals::listen()?;
        let reports = tokio::select! {
            () = signals.any() => {
                let message = "interrupted: the tested MCP servers were stopped";
                Err(Failure::interrupted(message))
            }
            reports = servers.try_all() => Ok(reports),
        };
        servers.close().await;
        reports
    })?;
    findings.extend(reports.iter().map(finding));
    let refused = servers.refused().iter().map(ToString::to_string);
    findings.extend(refused.map(|text| problem(&text)));
    Ok(findings)
}

fn finding(report: &ServerReport) -> Finding {
    let ServerReport {
        server,
        origin,
        tools,
        took,
        is_sandboxed,
    } = report;
    let server = server.escape_debug();
    match tools {
        Ok(tools) => {
            let count = swarm_ui::print::counted(tools.len() as u64, "tool");
            let list = if tools.is_empty() {
                String::new()
            } else {
                format!(": {}", tools.join(", "))
            };
            let seconds = took.as_secs_f64();
            let place = if *is_sandboxed { " in the sandbox" } else { "" };
            Finding::ok(
                NAME,
                format!("{server} ({origin}), {count} after {seconds:.1} s{place}{list}"),
            )
        }
        Err(error) => Finding::warning(
            NAME,
            format!("{server} ({origin}): {error}"),
            if *is_sandboxed {
                "it runs in the sandbox of agents' commands, see \"MCP servers\" in the guide; until then agents run without it"
            } else {
                "test its command or address manually; until then agents run without it"
            },
        ),
    }
}
