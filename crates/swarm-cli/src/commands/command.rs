//! The command line: the list of commands and the text of `swarm --help`.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::builder::{StyledStr, Styles};
use clap::{Args as _, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use swarm_config::Environment;

use super::{
    acp, agents, brief, compact, completions, config, cost, demo, doctor, gc, hub, inbox,
    instructions, interrupt, join, journal, lead, man, mcp, node, pane, pause, peers, processes,
    requests, resume, review, rights, run, send, spawn, status, stop, task, team, trust, worktree,
};
use crate::app::{App, CommandFlags};
use crate::failure::Result;
use crate::output::{GlobalArgs, Output};

/// Run a team of coding agents in tmux panes.
#[derive(Debug, Parser)]
#[command(
    name = "swarm",
    version,
    max_term_width = 100,
    disable_help_flag = true,
    help_template = overview(),
    after_help = "\
Examples:
  swarm demo                                      watch a team work
  swarm run \"Find out why the import is slow\"     let a team work on a task
  swarm spawn alice --prompt \"Explain src/date\"   start a teammate
  swarm status --watch                            watch all members"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Args {
    /// Returns the definition with the arguments of all commands, for code that traverses it.
    pub(crate) fn with_all_arguments() -> clap::Command {
        let mut command = Self::command();
        command.build();
        command
    }

    /// Parses a line that begins with a command by a definition without the other commands, because
    /// clap copies the global options to each one, which takes as long as the rest of the start.
    /// Returns `None` for lines that the whole definition has to answer: errors, help, and options
    /// first.
    pub(crate) fn parse_alone(words: &[OsString]) -> Option<Self> {
        let all = Command::augment_subcommands(clap::Command::new("swarm"));
        let command = all.find_subcommand(words.get(1)?)?.clone();
        let swarm = GlobalArgs::augment_args(clap::Command::new("swarm"));
        let swarm = swarm.disable_help_flag(true).subcommand(command);
        let matches = swarm.try_get_matches_from(words).ok()?;
        Self::from_arg_matches(&matches).ok()
    }
}

/// Defines the commands in the groups and order of `swarm --help`, each with its help, arguments
/// and function.
macro_rules! commands {
    ($app:ident: $($heading:literal {
        $(#[doc = $about:literal] $(#[$help:meta])* $name:ident $(($args:ident: $type:ty))? => $run:expr;)+
    })+) => {
        /// The command to run.
        ///
        /// The arguments of a command are built only when it runs, because building all of them
        /// takes as long as starting the program. Deferred definitions are applied last, so a doc
        /// comment on an argument struct would replace the help of its command.
        #[derive(Debug, Subcommand)]
#[command(defer = true)]
        pub(crate) enum Command {
            $($(#[doc = $about] $(#[$help])* $name $(($type))?,)+)+
        }

        impl Command {
            /// Runs the command.
            pub(crate) fn run(self, $app: &App) -> Result<ExitCode> {
                match self {
                    $($(Self::$name $(($args))? => $run.map(CommandEnd::exit_code),)+)+
                }
            }
        }

        /// Headings with their commands and the help of these; clap only supports headings for options.
        const GROUPS: &[(&str, &[(&str, &str)])] = &[$(($heading, &[$((stringify!($name), $about)),+])),+];
    };
}

commands! { app:
    "Teams and messages" {
        /// Run a team lead on a prompt until the work is done.
        Run(args: run::RunArgs) => run::run(app, &args);
        /// Lead a team of agents in this terminal.
        Lead(args: lead::LeadArgs) => lead::run(app, &args);
        /// Create, list, show and delete teams.
        #[command(subcommand)]
        Team(args: team::TeamCommand) => team::run(app, args);
        /// Start a teammate, or restart one with its conversation.
        Spawn(args: spawn::SpawnArgs) => spawn::run(app, &args);
        /// Send a message to one member or all members.
        Send(args: send::SendArgs) => send::run(app, &args);
        /// List the sessions that accept messages.
        Peers(args: peers::PeersArgs) => peers::run(app, &args);
        /// Show a member's messages.
        Inbox(args: inbox::InboxArgs) => inbox::run(app, &args);
    }
    "Tasks and worktrees" {
        /// Create, list, update, claim and release tasks.
        #[command(subcommand)]
        Task(args: task::TaskCommand) => task::run(app, args);
        /// List, merge and remove git worktrees.
        #[command(subcommand)]
        Worktree(args: worktree::WorktreeCommand) => worktree::run(app, &args);
        /// Show a worktree's diff and send comments to its member.
        Review(args: review::ReviewArgs) => review::run(app, &args);
    }
    "Monitoring" {
        /// Show members, tasks and pending requests.
        Status(args: status::StatusArgs) => status::run(app, &args);
        /// Print the team's state in at most 2 KiB.
        #[command(after_help = "\
Members, open tasks and pending requests, as an agent reads them.

Examples:
  swarm brief
  swarm brief --team parser")]
        Brief => brief::run(app);
        /// Show what the team's model requests cost, and its budgets.
        Cost(args: cost::CostArgs) => cost::run(app, &args);
        /// Show a member's pane in this terminal.
        Attach(args: pane::AttachArgs) => pane::attach(app, &args);
        /// Print the last lines of a member's pane.
        Peek(args: pane::PeekArgs) => pane::peek(app, &args);
        /// Print a member's output.
        Logs(args: pane::LogsArgs) => pane::logs(app, &args);
        /// Print the journal of messages, task changes, spawns and stops.
        Log(args: journal::LogArgs) => journal::run(app, &args);
    }
    "Lifecycle" {
        /// Pause a member after its current turn.
        Pause(args: pause::PauseArgs) => pause::pause(app, args);
        /// Resume a paused member.
        Continue(args: pause::ContinueArgs) => pause::go_on(app, &args);
        /// Interrupt a member's current turn.
        Interrupt(args: interrupt::InterruptArgs) => interrupt::run(app, &args);
        /// Replace a member's conversation with a summary.
        Compact(args: compact::CompactArgs) => compact::run(app, &args);
        /// Shut members down; terminate those that do not respond.
        Shutdown(args: stop::ShutdownArgs) => stop::shutdown(app, args);
        /// Terminate members and their processes immediately.
        Kill(args: stop::KillArgs) => stop::kill(app, &args);
    }
    "Requests and permissions" {
        /// List pending requests, or answer them one by one.
        Requests(args: requests::RequestsArgs) => requests_or_watch(app, &args);
        /// Approve a request.
        Approve(args: requests::ApproveArgs) => requests::approve(app, &args);
        /// Deny a request.
        Deny(args: requests::DenyArgs) => requests::deny(app, &args);
        /// Change a running member's permission mode.
        Mode(args: rights::ModeArgs) => rights::mode(app, &args);
        /// Allow calls for all members of a team.
        Allow(args: rights::AllowArgs) => rights::allow(app, &args);
        /// Show a member's permission rules and their sources.
        Permissions(args: requests::PermissionsArgs) => requests::permissions(app, &args);
    }
    "Recovery" {
        /// Take over a team that lost its lead.
        Resume(args: resume::ResumeArgs) => resume::run(app, &args);
        /// List swarm's processes and mark orphaned ones.
        #[command(after_help = "\
A process is orphaned when its team is gone or no longer lists it. `swarm reap` terminates orphaned processes.

Examples:
  swarm ps
  swarm ps --json | jq -r '.[].pid'")]
        Ps => processes::ps(app);
        /// Terminate orphaned processes.
        Reap(args: processes::ReapArgs) => processes::reap(app, &args);
        /// Remove what crashed processes left behind.
        Gc(args: gc::GcArgs) => gc::run(app, &args);
    }
    "Setup" {
        /// Watch a demo team at work; needs no key and no network.
        Demo(args: demo::DemoArgs) => demo::run(app, &args);
        /// Check the installation and suggest fixes.
        #[command(after_help = "Exits with 0 if all requirements are met, with 7 otherwise.")]
        Doctor(args: doctor::DoctorArgs) => doctor::run(&app.env, app.out, &args);
        /// List and show agent definitions.
        #[command(subcommand)]
        Agents(args: agents::AgentsCommand) => agents::run(app, &args);
        /// List the instruction files that agents read.
        Instructions(args: instructions::InstructionsArgs) => instructions::run(app, &args);
        /// Run a hub for teams on several machines.
        #[command(subcommand)]
        Hub(args: hub::HubCommand) => hub::run(app, &args);
        /// Run members of a hub's teams on this machine.
        #[command(subcommand)]
        Node(args: node::NodeCommand) => node::run(app, &args);
        /// Serve a lead to an editor over the Agent Client Protocol.
        Acp(args: acp::AcpArgs) => acp::run(app, args);
        /// Offer the team's tools to an MCP client.
        Mcp(args: mcp::McpArgs) => mcp::run(app, &args);
        /// Show how Claude Code takes part in a team.
        Join(args: join::JoinArgs) => join::run(app, &args);
        /// Show and change settings.
        #[command(subcommand)]
        Config(args: config::ConfigCommand) => config::run(app, &args);
        /// Trust a repository's hooks, servers and definitions.
        Trust(args: trust::TrustArgs) => trust::run(app, &args);
        /// Generate shell completions.
        Completions(args: completions::CompletionsArgs) => completions::run(&app.env, app.out, &args);
        /// Print or install manual pages.
        Man(args: man::ManArgs) => man::run(&app.env, app.out, &args, Args::command());
    }
}

/// What a command returns unless it fails.
trait CommandEnd {
    fn exit_code(self) -> ExitCode;
}

impl CommandEnd for () {
    fn exit_code(self) -> ExitCode {
        ExitCode::SUCCESS
    }
}

impl CommandEnd for ExitCode {
    fn exit_code(self) -> ExitCode {
        self
    }
}

/// Lists requests, or answers them in this terminal.
fn requests_or_watch(app: &App, args: &requests::RequestsArgs) -> Result<()> {
    if args.watch {
        lead::watch_requests(app)
    } else {
        requests::run(app, args)
    }
}

impl Command {
    /// Runs a command that must work with invalid settings and damaged teams; returns `None` for
    /// any other.
    pub(crate) fn run_alone(&self, env: &Environment, out: Output) -> Option<Result<ExitCode>> {
        Some(match self {
            Self::Completions(args) => completions::run(env, out, args).map(CommandEnd::exit_code),
            Self::Man(args) => man::run(env, out, args, Args::command()).map(CommandEnd::exit_code),
            Self::Doctor(args) => doctor::run(env, out, args),
            _ => return None,
        })
    }

    /// Returns the flags of the command that affect the shared state.
    pub(crate) fn flags(&self) -> CommandFlags<'_> {
        let only_stops = matches!(
            self,
            Self::Shutdown(_)
                | Self::Kill(_)
                | Self::Team(team::TeamCommand::Delete(_) | team::TeamCommand::Down(_))
                | Self::Pause(_)
                | Self::Ps
                | Self::Reap(_)
                | Self::Gc(_)
        );
        let (agents, mcp_config, trusts): (_, &[String], _) = match self {
            Self::Run(run::RunArgs { lead, .. })
            | Self::Lead(lead::LeadArgs { lead, .. })
            | Self::Acp(acp::AcpArgs { lead }) => {
                (lead.agents.as_deref(), &lead.mcp_config, lead.trust)
            }
            Self::Spawn(args) => (args.agents.as_deref(), &args.mcp_config, args.trust),
            Self::Resume(args) => (None, &args.mcp_config, args.trust),
            Self::Agents(command) => (command.given(), &[], false),
            _ => (None, &[], false),
        };
        CommandFlags {
            only_stops,
            trusts,
            agents,
            mcp_config,
        }
    }
}

/// Help of `help`, which clap adds with a description that is longer than a line.
const HELP: &str = "Show help for a command, such as `swarm help task create`";

/// Returns the template of `swarm --help`.
fn overview() -> StyledStr {
    let styles = Styles::styled();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut lines = vec!["{about-with-newline}\n{usage-heading} {usage}".to_owned()];
    for (heading, commands) in GROUPS {
        lines.push(format!("\n{header}{heading}:{header:#}"));
        let help = (*heading == "Setup").then_some(("help", HELP));
        for (name, about) in commands.iter().copied().chain(help) {
            let name = name.to_lowercase();
            // As clap shortens doc comments.
            let about = about.trim().trim_end_matches('.');
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
    use super::*;

    #[test]
    fn the_overview_fits_a_narrow_terminal() {
        let help = Args::command().render_help().to_string();
        // clap wraps the options itself.
        let commands = help.lines().take_while(|line| *line != "Options:");
        for line in commands {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(help.contains("\nMonitoring:\n  status "), "{help}");
        assert!(!help.contains("{options}"), "{help}");
    }
}
