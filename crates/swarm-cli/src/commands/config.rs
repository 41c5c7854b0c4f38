//! `swarm config list`.

use std::process::ExitCode;

use serde_json::Value;
use swarm_config::{ClaudeSettings, ListedSetting, SettingOutcome, Settings};
use swarm_protocol::ErrorKind;
use swarm_ui::print::{Cell, Table};

use crate::app::App;
use crate::failure::Failure;

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum ConfigCommand {
    /// List settings with the layer that set each.
    List(ConfigListArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  swarm config list                    all settings
  swarm config list --origins          with file and line
  swarm config list spawn              one table
  swarm config list permissions.mode   one setting")]
pub(crate) struct ConfigListArgs {
    /// Setting or prefix, such as `spawn` or `permissions.mode` [default: all].
    #[arg(value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// Show the file and line of each value, and the values that it overrides.
    #[arg(long)]
    pub(crate) origins: bool,
}

pub(super) fn run(app: &App, command: &ConfigCommand) -> Result<ExitCode, Failure> {
    let ConfigCommand::List(args) = command;
    let mut listed = list(app, args)?;
    if app.out.json {
        if !args.origins {
            for setting in &mut listed {
                setting.origins.clear();
            }
        }
        app.out.json(&listed)?;
    } else if args.origins {
        app.out.table(&with_origins(&listed))?;
    } else {
        app.out.table(&in_force(&listed))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn list(app: &App, args: &ConfigListArgs) -> Result<Vec<ListedSetting>, Failure> {
    let claude = ClaudeSettings::load(&app.root, &app.env.cwd, app.env.home().as_deref())?;
    let settings = app.settings.clone().with(claude.given(&app.env))?;
    let wanted = args.key.as_deref().map(|key| key.trim_end_matches('.'));
    let listed = settings.list(wanted);
    match wanted {
        Some(wanted) if listed.is_empty() => {
            let message = format!("setting `{}` not found", wanted.escape_debug());
            let hint = match Settings::nearest(wanted) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => "`swarm config list` shows all of them".to_owned(),
            };
            Err(Failure::new(ErrorKind::NotFound, message).with_hint(hint))
        }
        _ => Ok(listed),
    }
}

fn in_force(listed: &[ListedSetting]) -> Table {
    let mut table = Table::new(["SETTING", "VALUE", "FROM"]);
    for setting in listed {
        table.row([
            Cell::new(&setting.key),
            Cell::new(plain(&setting.value)),
            Cell::new(setting.layer.name()),
        ]);
    }
    table
}

fn with_origins(listed: &[ListedSetting]) -> Table {
    let mut table = Table::new(["SETTING", "VALUE", "FROM", "WHERE", ""]);
    for setting in listed {
        let first = setting
            .origins
            .iter()
            .position(|it| it.state == SettingOutcome::InForce);
        // The effective value comes first, as without `--origins`; overridden values follow by
        // precedence.
        let (others, winner): (Vec<_>, Vec<_>) = setting
            .origins
            .iter()
            .enumerate()
            .partition(|(n, _)| Some(*n) != first);
        for (n, (_, origin)) in winner.into_iter().chain(others).enumerate() {
            let name = if n == 0 { setting.key.as_str() } else { "" };
            let fate = match origin.state {
                SettingOutcome::InForce => "",
                SettingOutcome::Overridden => "overridden",
                SettingOutcome::WithoutEffect => "without effect",
            };
            let cells = [
                Cell::new(name),
                Cell::new(plain(&origin.value)),
                Cell::new(origin.layer.name()),
                Cell::new(origin.place.to_string()),
                Cell::new(fate),
            ];
            table.row(cells.map(|cell| if n == 0 { cell } else { cell.dim() }));
        }
    }
    table
}

/// Formats a value; strings have no quotation marks.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
