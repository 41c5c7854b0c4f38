//! What the commands about a session show and send.

use swarm_permissions::{AgentConfig, McpServerConfig, RuleSet};
use swarm_ui::Theme;
use swarm_ui::print::{Cell, Table};

/// Names of the commands that are not commands of swarm in a shell too.
pub(super) const NAMES: [&str; 9] = [
    "diff", "export", "hooks", "mcp", "memory", "plan", "review", "skills", "tasks",
];

/// Name of the picker of instruction files.
pub(super) const MEMORY: &str = "memory";

/// The changes in the working directory since the last commit, and its new files. Git runs none of
/// the repository's hooks, diff programs and file system monitors, but it runs the filters that its
/// configuration sets (`filter.NAME.clean`), as it does in the person's shell.
pub(super) const DIFF: &str = "git --no-pager -c core.fsmonitor= -c core.hooksPath=/dev/null diff \
    --no-color --no-ext-diff --no-textconv HEAD; \
    git -c core.fsmonitor= ls-files --others --exclude-standard | sed 's/^/new file: /'";

/// The prompt of `/review`.
pub(super) const REVIEW: &str = "Review the uncommitted changes in the working directory, or the commits of the current branch if \
    there are none. Look for bugs, security problems, missing tests, and code that could be simpler. Change nothing. \
    Report findings by severity, each with file and line.";

/// Returns the permission rules as a table, in order of precedence.
pub(super) fn rules(rules: &RuleSet) -> String {
    let mut table = Table::new(["CALLS", "RULE", "FROM"]);
    let lists = [
        ("refused", &rules.deny),
        ("asked about", &rules.ask),
        ("allowed", &rules.allow),
    ];
    for (word, rules) in lists {
        for sourced in rules {
            let rule = sourced.rule.to_string();
            let cells = [word, rule.as_str(), &sourced.origin];
            table.row(cells.map(Cell::new));
        }
    }
    rendered(&table, "no permission rules; only the mode applies")
}

/// Returns the hooks as a table.
pub(super) fn hooks(config: &AgentConfig) -> String {
    let mut table = Table::new(["EVENT", "FOR", "HOOK", "FROM"]);
    for (event, groups) in &config.hooks.events {
        for group in groups {
            for hook in &group.hooks {
                table.row([
                    Cell::new(event.name()),
                    Cell::new(group.matcher.as_deref().unwrap_or("everything")),
                    Cell::new(hook.action.text()),
                    Cell::new(&group.origin),
                ]);
            }
        }
    }
    rendered(&table, "no hooks are configured")
}

/// Returns the MCP servers as a table.
pub(super) fn servers(config: &AgentConfig) -> String {
    let mut table = Table::new(["SERVER", "CONNECTION", "FROM"]);
    for (name, server) in &config.mcp.servers {
        let connection = match &server.config {
            McpServerConfig::Stdio { command, args, .. } => format!("{command} {}", args.join(" ")),
            McpServerConfig::Http { url, .. } => url.clone(),
        };
        let cells = [name.as_str(), connection.trim_end(), &server.origin];
        table.row(cells.map(Cell::new));
    }
    let text = rendered(&table, "no MCP servers are configured");
    format!("{text}\n/doctor connects to them and lists their tools")
}

/// Returns the skills as a table.
pub(super) fn skills(config: &AgentConfig) -> String {
    let mut table = Table::new(["SKILL", "WHEN TO USE IT", "FILE"]);
    for skill in &config.skills {
        let file = skill.path.display().to_string();
        let cells = [format!("/{}", skill.name), skill.description.clone(), file];
        table.row(cells.map(Cell::new));
    }
    rendered(&table, "no skills are installed")
}

fn rendered(table: &Table, none: &str) -> String {
    if table.is_empty() {
        return none.to_owned();
    }
    table.render(Theme::PLAIN).trim_end().to_owned()
}
