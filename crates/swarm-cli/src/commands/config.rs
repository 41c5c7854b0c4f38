//! `swarm config`: shows settings and changes the user's.

use serde_json::Value;
use swarm_config::{
    ClaudeSettings, Layer, ListedSetting, NewSetting, SettingOutcome, Settings, SettingsFiles,
};
use swarm_ui::print::{Cell, Table};

use crate::app::App;
use crate::commands::acting::require_no_agent;
use crate::config_directory;
use crate::failure::{Failure, Result};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum ConfigCommand {
    /// List settings with the layer that set each.
    List(ConfigListArgs),
    /// Print the value of a setting.
    #[command(after_help = "\
Examples:
  swarm config get permissions.mode
  swarm config get model.aliases.fast")]
    Get {
        /// Setting, such as `permissions.mode`.
        #[arg(value_name = "KEY")]
        key: String,
    },
    /// Change a setting in the user's `swarm.toml`.
    #[command(after_help = "\
Comments and other settings in the file are kept. List elements are separated by commas, or the list is \
written as in TOML; entries of a table are added to it.

Examples:
  swarm config set permissions.mode acceptEdits
  swarm config set env.pass CARGO_HOME,RUST_LOG
  swarm config set model.aliases.fast openai/gpt-5-mini")]
    Set {
        /// Setting, such as `permissions.mode`.
        #[arg(value_name = "KEY")]
        key: String,
        /// New value.
        #[arg(value_name = "VALUE", allow_hyphen_values = true)]
        value: String,
    },
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

pub(super) fn run(app: &App, command: &ConfigCommand) -> Result<()> {
    match command {
        ConfigCommand::List(args) => show(app, args),
        ConfigCommand::Get { key } => get(app, key),
        ConfigCommand::Set { key, value } => set(app, key, value),
    }
}

fn show(app: &App, args: &ConfigListArgs) -> Result<()> {
    let mut listed = list(app, &app.settings, args.key.as_deref())?;
    let table = if args.origins {
        with_origins(&listed)
    } else {
        for setting in &mut listed {
            setting.origins.clear();
        }
        in_force(&listed)
    };
    app.out.list(&listed, &table, "no settings")
}

fn get(app: &App, key: &str) -> Result<()> {
    let listed = list(app, &app.settings, Some(key))?;
    let [setting] = &listed[..] else {
        let message = format!("`{key}` has {} settings", listed.len());
        return Err(
            Failure::usage(message).with_hint(format!("run `swarm config list {key}` to see them"))
        );
    };
    if setting.key != key {
        let hint = format!("did you mean `{}`?", setting.key);
        return Err(Failure::usage(format!("`{key}` is a table")).with_hint(hint));
    }
    app.out.result(&setting.value, &plain(&setting.value))
}

/// Changes a setting in the user's file and reports a layer that overrides it.
fn set(app: &App, key: &str, text: &str) -> Result<()> {
    require_no_agent(app, "config set")?;
    let new = NewSetting::parse(key, text)?;
    app.settings.permit(new.key(), new.value().clone())?;
    config_directory::make(&app.root)?;
    let files = SettingsFiles::new(&app.root, &app.env.cwd);
    let place = files.set(&new)?.place;
    let settings = Settings::load(&files, &app.env)?;
    let listed = list(app, &settings, Some(key))?;
    if app.out.json {
        return app.out.json(&listed);
    }
    app.out.say(&format!("{key} is set in {place}"));
    for setting in listed.iter().filter(|one| one.layer > Layer::User) {
        let (key, value) = (&setting.key, plain(&setting.value));
        app.out.remark(&format!(
            "{key} is {value} here, because {} overrides it",
            setting.place
        ));
    }
    Ok(())
}

/// Returns the effective settings whose name is `key` or below it, with those of Claude Code's files.
fn list(app: &App, settings: &Settings, key: Option<&str>) -> Result<Vec<ListedSetting>> {
    let claude = ClaudeSettings::load(&app.root, &app.env.cwd, app.env.home().as_deref())?;
    let settings = settings.clone().with(claude.given(&app.env))?;
    let wanted = key.map(|key| key.trim_end_matches('.'));
    let listed = settings.list(wanted);
    match wanted {
        Some(wanted) if listed.is_empty() && Settings::nearest(wanted) == Some(wanted) => {
            let message = format!("`{wanted}` has no entries");
            Err(Failure::not_found(message))
        }
        Some(wanted) if listed.is_empty() => {
            let message = format!("unknown setting `{}`", wanted.escape_debug());
            let hint = match Settings::nearest(wanted) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => "run `swarm config list` to see all settings".to_owned(),
            };
            Err(Failure::not_found(message).with_hint(hint))
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
