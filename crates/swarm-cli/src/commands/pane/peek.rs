//! `swarm peek`.

use std::process::ExitCode;

use serde_json::json;
use swarm_panes::PaneError;
use swarm_protocol::{Member, TeamName};

use super::{output, pane_of};
use crate::app::App;
use crate::args::PeekArgs;
use crate::commands::{members, runtime};
use crate::failure::Failure;
use crate::output::plain;

/// Lines that are shown of kept output where no number is asked for: about one screen.
const SCREEN_LINES: usize = 50;

pub(in crate::commands) fn run(app: &App, args: &PeekArgs) -> Result<ExitCode, Failure> {
    let team = app.team()?;
    let config = app.store.config(&team)?;
    let member = members::known(&config, &args.name)?;
    let (source, text) = match capture(app, member, args.lines)? {
        Some(text) => ("pane", text),
        None => ("output.log", kept(app, &team, member, args.lines)?),
    };
    if app.out.json {
        let text = plain(&text);
        app.out
            .json(&json!({ "name": member.name, "source": source, "text": text }))?;
    } else if text.trim().is_empty() {
        app.out.say(&format!("{} has printed nothing", member.name));
    } else {
        app.out.data(&output::shown(app, text.trim_end()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What the pane shows; `None` when it is gone.
fn capture(app: &App, member: &Member, lines: Option<usize>) -> Result<Option<String>, Failure> {
    let (backend, pane) = pane_of(app, member)?;
    let escapes = app.out.theme.color;
    match runtime()?.block_on(backend.capture(&pane, lines, escapes)) {
        Ok(text) => Ok(Some(text)),
        Err(PaneError::Gone { .. } | PaneError::ServerGone { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn kept(
    app: &App,
    team: &TeamName,
    member: &Member,
    lines: Option<usize>,
) -> Result<String, Failure> {
    let path = output::path(app, team, &member.name);
    let text = output::read(&path)?.unwrap_or_default();
    Ok(output::last_lines(&text, lines.unwrap_or(SCREEN_LINES)).to_owned())
}
