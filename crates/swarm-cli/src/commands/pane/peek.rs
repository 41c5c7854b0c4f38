//! `swarm peek`.

use std::path::Path;

use serde_json::json;
use swarm_panes::{PaneError, PaneText};
use swarm_protocol::{Member, MemberName};

use super::output;
use super::place::pane_of;
use super::seen::seen;
use crate::app::App;
use crate::commands::node::{Elsewhere, show_from_node};
use crate::commands::{members, runtime};
use crate::failure::Result;
use crate::output::plain;
use swarm_store::BlockOn as _;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  swarm peek alice
  swarm peek alice -n 200")]
pub(crate) struct PeekArgs {
    /// Member whose pane is shown.
    pub(crate) name: MemberName,
    /// Number of lines, from the end [default: the visible pane].
    #[arg(short = 'n', long = "lines", value_name = "N")]
    pub(crate) lines: Option<usize>,
}

/// Default number of lines of saved output: about one screen.
const SCREEN_LINES: usize = 50;

pub(in crate::commands) fn run(app: &App, args: &PeekArgs) -> Result<()> {
    let team = app.team()?;
    if let Some(elsewhere) = Elsewhere::of(&*team, &args.name)? {
        let lines = args.lines.map(|lines| format!("--lines={lines}"));
        let words = ["peek", args.name.as_str()].into_iter();
        let words: Vec<&str> = words.chain(lines.as_deref()).collect();
        return show_from_node(app, (&*team, &args.name), &elsewhere, &words);
    }
    let path = output::path(app, &*team, &args.name)?;
    let config = team.config().block_on()?;
    let captured = match config.member(&args.name) {
        // A member's output is kept after it leaves the roster.
        None if path.exists() => None,
        Some(member) if member.name.is_lead() => None,
        _ => capture(app, members::known(&config, &args.name)?, args.lines)?,
    };
    let (source, text) = match captured {
        Some(text) => ("pane", text),
        None => ("output.log", kept(&path, args.lines)?),
    };
    if app.out.json {
        let text = plain(&text);
        app.out
            .json(&json!({ "name": args.name, "source": source, "text": text }))?;
    } else if args.lines == Some(0) {
        // With `-n 0` there is nothing to print.
    } else if text.trim().is_empty() {
        app.out.say(&format!("{} has printed nothing", args.name));
    } else {
        app.out.drawn(&output::shown(app, text.trim_end()))?;
    }
    Ok(())
}

/// Returns the content of the pane; `None` if it is closed.
fn capture(app: &App, member: &Member, lines: Option<usize>) -> Result<Option<String>> {
    let (backend, pane) = pane_of(app, member)?;
    let part = PaneText {
        lines,
        escapes: app.out.theme.color,
    };
    match runtime()?.block_on(backend.capture(&pane, part)) {
        Ok(text) => Ok(Some(seen(&text))),
        Err(PaneError::Gone(_) | PaneError::ServerGone(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn kept(path: &Path, lines: Option<usize>) -> Result<String> {
    let text = output::read(path)?.unwrap_or_default();
    Ok(output::last_lines(&text, lines.unwrap_or(SCREEN_LINES)).to_owned())
}
