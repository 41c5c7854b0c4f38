//! What the commands about a session show and send.

use swarm_permissions::{AgentConfig, Behavior, McpServerConfig, RuleSet};
use swarm_protocol::RuleText;
use swarm_ui::Theme;
use swarm_ui::print::{Cell, Table};

use crate::commands::requests::{NO_RULES, rule_table};

/// Names of the commands that are not commands of swarm in a shell too.
pub(super) const NAMES: [&str; 9] = [
    "diff", "export", "hooks", "mcp", "memory", "plan", "review", "skills", "tasks",
];

/// Text of `/help` about commands. It fits into 60 columns.
pub(super) const HELP: &str = "\
/status, /brief, /log   members, tasks and what happened
/team, /tasks           the team panel
/peek NAME              show a member's pane
/send NAME TEXT         send a member a message
/task list, /task …     show and change the task list
/requests               requests that wait for an answer
/approve, /deny         answer them
/permissions            the lead's permission rules
/model [NAME]           show or change the model
/mode [MODE]            show or change the permission mode
/plan [TASK]            plan before anything is changed
/context, /cost         context window; costs and budgets
/compact [INSTRUCTIONS] summarize the conversation
/clear                  start a new conversation
/rewind                 return to an earlier prompt
/resume                 continue an earlier conversation
/export [FILE]          write the conversation to a file
/diff, /review [WHAT]   show or review your changes
/memory                 edit an instruction file
/agents, /hooks, /mcp,
/skills, /instructions  what is configured
/doctor                 check the set-up
/NAME [ARGUMENTS]       a skill or .claude/commands/NAME.md
/mcp__SERVER__PROMPT    a prompt of an MCP server
/COMMAND --help         help for any command of swarm
!COMMAND                run a command in your own shell
/quit                   end the session";

/// Starts of the lines of [`HELP`] about commands that need a screen.
const ON_SCREEN: [&str; 2] = ["/team,", "/rewind"];

/// Returns the text of `/help` for a terminal without a screen.
pub(super) fn plain_help() -> String {
    let needs_screen = |line: &&str| ON_SCREEN.iter().any(|start| line.starts_with(start));
    let lines = HELP.lines().filter(|line| !needs_screen(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// Text of `/help` about the keys of a terminal with a screen. The pager wraps its paragraphs.
pub(super) const KEYS: &str = "\
Alt-Enter               new line
Up, Down; Ctrl-R        earlier lines; search them
Tab                     complete / and @
Ctrl-G                  write in your editor
Ctrl-V                  attach the image in the clipboard
Esc                     interrupt the lead; twice: /rewind
Ctrl-C                  clear the line, or interrupt;
                        twice: end the session
Ctrl-D                  end the session
Ctrl-Z                  suspend swarm until fg
Shift-Tab               next permission mode
Ctrl-O                  the whole conversation
Ctrl-T                  team panel
Ctrl-B                  sub-agents to the background
Ctrl-X                  like /compact

While the lead works, Enter queues a prompt, which is sent when the turn ends. Up on an empty \
line takes the last one back; Ctrl-S sends a prompt now, or on an empty line all that is queued \
(also Ctrl-Enter, in terminals that report it).

In the team panel: Enter shows the conversation of a member, m writes a message to it, i \
interrupts it, p pauses it or lets it continue, c changes its permission mode, x shuts it down, a \
shows its pane. t shows the tasks, Tab returns to the input line, Esc closes it.";

/// Name of the picker of instruction files.
pub(super) const MEMORY: &str = "memory";

/// The changes in the working directory since the last commit, and its new files. Git runs none of
/// the repository's hooks, diff programs and file system monitors, but it runs the filters that its
/// configuration sets (`filter.NAME.clean`), as it does in the person's shell.
pub(super) const DIFF: &str = "git --no-pager -c core.fsmonitor= -c core.hooksPath=/dev/null diff \
    --no-color --no-ext-diff --no-textconv \
    $(git rev-parse --quiet --verify HEAD || git hash-object -t tree /dev/null); \
    git -c core.fsmonitor= ls-files --others --exclude-standard | sed 's/^/new file: /'";

pub(super) const REVIEW: &str = "Review the uncommitted changes in the working directory, or the commits of the current branch if \
    there are none. Look for bugs, security problems, missing tests, and code that could be simpler. Change nothing. \
    Report findings by severity, each with file and line.";

/// Returns the permission rules as a table of at most `width` columns, in order of precedence.
pub(super) fn rules(rules: &RuleSet, width: Option<usize>) -> String {
    let texts = |behavior: Behavior| {
        let rules = rules.list(behavior).iter();
        rules.map(RuleText::from).collect::<Vec<_>>()
    };
    let [deny, ask, allow] = [Behavior::Deny, Behavior::Ask, Behavior::Allow].map(texts);
    rendered(&rule_table(&deny, &ask, &allow), width, NO_RULES)
}

/// Returns the hooks as a table of at most `width` columns.
pub(super) fn hooks(config: &AgentConfig, width: Option<usize>) -> String {
    let mut table = Table::new(["EVENT", "FOR", "HOOK", "FROM"])
        .middle([2, 3])
        .spare([3]);
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
    rendered(&table, width, "no hooks are configured")
}

/// Returns the MCP servers as a table of at most `width` columns.
pub(super) fn servers(config: &AgentConfig, width: Option<usize>) -> String {
    let mut table = Table::new(["SERVER", "CONNECTION", "FROM"])
        .middle([2])
        .spare([2]);
    for (name, server) in &config.mcp.servers {
        let connection = match &server.config {
            McpServerConfig::Stdio { command, args, .. } => format!("{command} {}", args.join(" ")),
            McpServerConfig::Http { url, .. } => url.clone(),
        };
        let cells = [name.as_str(), connection.trim_end(), &server.origin];
        table.row(cells.map(Cell::new));
    }
    let text = rendered(&table, width, "no MCP servers are configured");
    if table.is_empty() {
        return text;
    }
    format!("{text}\n/doctor connects to them and lists their tools")
}

/// Returns the skills as a table of at most `width` columns.
pub(super) fn skills(config: &AgentConfig, width: Option<usize>) -> String {
    let mut table = Table::new(["SKILL", "WHEN TO USE IT", "FILE"])
        .whole(0)
        .middle([2])
        .spare([2]);
    for skill in &config.skills {
        let file = skill.path.display().to_string();
        let cells = [format!("/{}", skill.name), skill.description.clone(), file];
        table.row(cells.map(Cell::new));
    }
    rendered(&table, width, "no skills are installed")
}

fn rendered(table: &Table, width: Option<usize>, none: &str) -> String {
    if table.is_empty() {
        return none.to_owned();
    }
    let theme = Theme {
        width,
        ..Theme::PLAIN
    };
    table.render(theme).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use swarm_permissions::Rule;

    use super::*;

    #[test]
    fn tables_fit_the_terminal_and_show_rules_in_full() {
        let mut known = RuleSet::default();
        let rule = Rule::parse("Bash(cargo nextest run:*)").unwrap();
        let file = "/home/ada/projects/parser/.claude/settings.local.json";
        known.add(Behavior::Allow, rule, file);
        for width in [40, 60, 80] {
            let table = rules(&known, Some(width));
            assert!(table.contains("Bash(cargo nextest run:*)"), "{table}");
            let fits = |line: &str| line.chars().count() <= width;
            assert!(table.lines().all(fits), "{table}");
        }
        assert!(rules(&known, None).contains(file));
        assert_eq!(rules(&RuleSet::default(), Some(60)), NO_RULES);
    }

    #[test]
    fn help_without_a_screen_names_no_command_that_needs_one() {
        let help = plain_help();
        assert!(
            !help.contains("/team") && !help.contains("/rewind"),
            "{help}"
        );
        let left_out = HELP.lines().count() - help.lines().count();
        assert_eq!(left_out, ON_SCREEN.len());
    }

    #[test]
    fn the_help_fits_into_a_narrow_terminal() {
        let (keys, _) = KEYS.split_once("\n\n").expect("paragraphs");
        for line in HELP.lines().chain(keys.lines()) {
            assert!(line.chars().count() <= 60, "{line}");
        }
    }
}
