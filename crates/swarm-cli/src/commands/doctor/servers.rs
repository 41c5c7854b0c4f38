//! MCP servers: each is started or reached, and lists its tools.

use swarm_mcp::{McpHost, McpServers, ServerReport};

use super::finding::Finding;
use crate::claude_settings::ClaudeSettings;
use crate::commands::runtime;
use crate::environment::Environment;
use crate::equipment::{ServerSources, mcp_bounds};
use crate::failure::Failure;
use crate::settings::Settings;
use crate::trust::is_trusted;

const NAME: &str = "mcp server";

/// Nothing where none is configured.
pub(super) fn look(env: &Environment, settings: &Settings) -> Result<Vec<Finding>, Failure> {
    // What is wrong with these is told elsewhere.
    let Ok(root) = env.root() else {
        return Ok(Vec::new());
    };
    let sources = ServerSources {
        env,
        root: &root,
        trusted: is_trusted(&root, &env.cwd).unwrap_or_default(),
        given: &[],
    };
    let mut found = sources.load();
    let problem = |text: &String| {
        let hint = "correct it; agents work without the server until then";
        Finding::warning(NAME, text, hint)
    };
    let mut findings: Vec<_> = found.problems.iter().map(problem).collect();
    if found.settings.servers.is_empty() {
        return Ok(findings);
    }
    found.settings.bounds = mcp_bounds(settings);
    let claude = ClaudeSettings::load(&root, &env.cwd, env.home().as_deref()).unwrap_or_default();
    let host = McpHost {
        cwd: env.cwd.clone(),
        env: env.shell_with(&settings.pass, &claude.env),
        logs: None,
        limits: found.settings.bounds.into(),
    };
    findings.extend(runtime()?.block_on(async {
        let servers = McpServers::new(found.settings, host);
        let reports = servers.try_all().await;
        servers.close().await;
        let refused = servers.refused().iter().map(ToString::to_string);
        let refused: Vec<_> = refused.map(|text| problem(&text)).collect();
        reports
            .iter()
            .map(finding)
            .chain(refused)
            .collect::<Vec<_>>()
    }));
    Ok(findings)
}

fn finding(report: &ServerReport) -> Finding {
    let ServerReport {
        server,
        origin,
        tools,
        took,
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
            Finding::ok(
                NAME,
                format!("{server} ({origin}), {count} after {seconds:.1} s{list}"),
            )
        }
        Err(error) => Finding::warning(
            NAME,
            format!("{server} ({origin}): {error}"),
            "try its command or address by hand; agents work without it until then",
        ),
    }
}
