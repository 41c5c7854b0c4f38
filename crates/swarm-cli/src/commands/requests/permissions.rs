//! `swarm permissions`: the permission rules of a member.

use serde_json::json;
use swarm_config::ClaudeSettings;
use swarm_permissions::Rule;
use swarm_protocol::{
    Member, MemberName, RightsReport, RuleText, TeamName, with_causes, with_commas,
};
use swarm_store::BlockOn as _;
use swarm_ui::print::{Cell, Table};

use crate::app::App;
use crate::commands::members::{self, is_over};
use crate::failure::{Failure, Result};
use crate::output::plain;

/// Shown instead of an empty table of rules.
pub(in crate::commands) const NO_RULES: &str = "no permission rules; only the mode applies";

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  swarm permissions alice")]
pub(crate) struct PermissionsArgs {
    /// Member whose rules are shown.
    pub(crate) name: MemberName,
}

pub(in crate::commands) fn run(app: &App, args: &PermissionsArgs) -> Result<()> {
    let team = app.team()?;
    let views = team.member_view().block_on()?;
    let Some(view) = views.iter().find(|view| view.member.name == args.name) else {
        members::known(&team.config().block_on()?, &args.name)?;
        return Err(not_known(team.name(), args));
    };
    let rights = team.rights(&args.name).block_on()?;
    let Some(rights) = rights.filter(|rights| is_of(rights, &view.member)) else {
        return Err(not_known(team.name(), args));
    };
    if app.out.json {
        let mut record = serde_json::to_value(&rights)?;
        for list in ["deny", "ask", "allow"] {
            for rule in record[list].as_array_mut().into_iter().flatten() {
                if let Some(meant) = rule["rule"].as_str().and_then(meant) {
                    rule["meant"] = json!(meant);
                }
            }
        }
        record["name"] = json!(args.name);
        record["state"] = json!(view.state);
        return app.out.json(&record);
    }
    app.out.data(&heading(args, &rights))?;
    let table = rule_table(&rights.deny, &rights.ask, &rights.allow);
    app.out.list(&rights, &table, NO_RULES)?;
    tell_refused(app, args);
    if is_over(view.state) {
        app.out.say(&format!(
            "{} is {}; this is what it was last allowed",
            args.name,
            view.state.name()
        ));
    }
    Ok(())
}

fn is_of(rights: &RightsReport, member: &Member) -> bool {
    member.spawn_id() == Some(rights.spawn_id)
}

/// Returns an error for members without recorded permissions; only swarm's own teammates record
/// them.
fn not_known(team: &TeamName, args: &PermissionsArgs) -> Failure {
    let name = &args.name;
    let message = format!("permissions of {name} in team {team} are not known");
    let hint = if name.is_lead() {
        "`/permissions` in the terminal of a lead shows its rules; without a lead process, you lead the team"
    } else {
        "it has not started yet, or belongs to another program"
    };
    Failure::not_found(message).with_hint(hint)
}

fn heading(args: &PermissionsArgs, rights: &RightsReport) -> String {
    let ceiling = if rights.ceiling == rights.mode {
        "its ceiling".to_owned()
    } else {
        format!("below its ceiling {}", rights.ceiling)
    };
    let mut line = format!("{} runs in mode {}, {ceiling}", args.name, rights.mode);
    if !rights.directories.is_empty() {
        let directories = rights.directories.iter();
        let directories = directories.map(|directory| directory.display().to_string());
        line = format!(
            "{line}; additional directories: {}",
            with_commas(directories)
        );
    }
    swarm_ui::clean_line(&line)
}

/// Reports invalid settings, which prevent new members and may contain the rules that the user
/// expects.
fn tell_refused(app: &App, args: &PermissionsArgs) {
    let home = app.env.home();
    let Err(refused) = ClaudeSettings::load(&app.root, &app.env.cwd, home.as_deref()) else {
        return;
    };
    let slips = plain(&with_causes(&refused)).replace('\n', "\n  ");
    app.out.say(&format!("swarm: refused: {slips}"));
    let hint = refused.hint();
    let hint = hint.as_deref().unwrap_or("fix the file");
    app.out.say(&format!(
        "  {hint}; until then no member can be started, and {} keeps the rules it was started with",
        args.name
    ));
}

/// Suggests a tool for a rule that names an unknown tool.
fn meant(rule: &str) -> Option<&'static str> {
    Rule::parse(rule).ok()?.suggested_tool()
}

/// Formats rules in order of precedence: deny, ask, allow; rules without effect come last.
pub(in crate::commands) fn rule_table(
    deny: &[RuleText],
    ask: &[RuleText],
    allow: &[RuleText],
) -> Table {
    let mut table = Table::new(["CALLS", "RULE", "FROM"]).whole(1).spare([2]);
    let lists = [
        (Cell::new("refused").bad(), deny),
        (Cell::new("asked about").warn(), ask),
        (Cell::new("allowed").good(), allow),
    ];
    let mut slips = Vec::new();
    for (word, rules) in lists {
        for rule in rules {
            match meant(&rule.rule) {
                None => table.row([word.clone(), Cell::new(&rule.rule), Cell::new(&rule.origin)]),
                Some(meant) => slips.push((rule, meant)),
            }
        }
    }
    for (rule, meant) in slips {
        let shown = format!("{}: did you mean `{meant}`?", rule.rule);
        table.row([
            Cell::new("none").dim(),
            Cell::new(shown).warn(),
            Cell::new(&rule.origin),
        ]);
    }
    table
}
