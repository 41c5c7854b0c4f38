//! What `swarm --help` shows: the commands in groups, in the order in which a person meets them.

use clap::Subcommand as _;
use clap::builder::{StyledStr, Styles};

use super::Command;

/// The groups. clap has headings for options only, so the list is drawn here from what the commands say of themselves.
const GROUPS: [(&str, &[&str]); 7] = [
    (
        "Teams and messages",
        &["run", "team", "spawn", "send", "inbox"],
    ),
    ("Tasks and worktrees", &["task", "worktree"]),
    ("Monitoring", &["status", "attach", "peek", "logs", "log"]),
    ("Lifecycle", &["pause", "continue", "shutdown", "kill"]),
    (
        "Requests and permissions",
        &["requests", "approve", "deny", "permissions"],
    ),
    ("Recovery", &["resume", "ps", "reap", "gc"]),
    (
        "Setup",
        &[
            "demo",
            "doctor",
            "agents",
            "instructions",
            "config",
            "trust",
            "completions",
            "man",
            "help",
        ],
    ),
];

/// `help` is added by clap, which says more of it than fits a line.
const HELP: &str = "Show help for a command, such as `swarm help task create`";

/// The template of `swarm --help`.
pub(super) fn overview() -> StyledStr {
    let commands = Command::augment_subcommands(clap::Command::new("swarm"));
    let styles = Styles::styled();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut lines = vec!["{about-with-newline}\n{usage-heading} {usage}".to_owned()];
    for (heading, names) in GROUPS {
        lines.push(format!("\n{header}{heading}:{header:#}"));
        for name in names {
            let about = commands
                .find_subcommand(name)
                .and_then(clap::Command::get_about)
                .map_or_else(|| HELP.to_owned(), ToString::to_string);
            lines.push(format!("  {literal}{name:<12}{literal:#}  {about}"));
        }
    }
    lines.push(format!(
        "\n{header}Options:{header:#}\n{{options}}{{after-help}}"
    ));
    lines.join("\n").into()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Args;

    #[test]
    fn every_command_stands_in_one_group() {
        let mut swarm = Args::command();
        swarm.build();
        let mut there: Vec<_> = swarm
            .get_subcommands()
            .map(clap::Command::get_name)
            .collect();
        let mut shown: Vec<_> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        there.sort_unstable();
        shown.sort_unstable();
        assert_eq!(shown, there);
    }

    #[test]
    fn the_overview_fits_a_narrow_terminal() {
        let help = Args::command().render_help().to_string();
        // The options wrap by themselves.
        let commands = help.lines().take_while(|line| *line != "Options:");
        for line in commands {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(help.contains("\nMonitoring:\n  status "), "{help}");
        assert!(!help.contains("{options}"), "{help}");
    }
}
