//! The question at the start of an interactive lead whether to trust its repository.

use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::Ordering;

use swarm_config::{RepositoryItems, TrustFile, project_top, repository_items};
use swarm_ui::{Choice, Dialog, PaneInput};
use tokio::signal::ctrl_c;
use tokio::sync::mpsc::unbounded_channel;

use super::plain_terminal::text_of;
use super::questions::UNARMED;
use super::report::OutputFormat;
use super::terminal::{LeadTerminal, RestoreAtEnd};
use super::terminal_actor::TerminalActor;
use super::view::{is_plain, view_theme};
use crate::app::App;
use crate::commands::runtime;
use crate::config_directory;
use crate::failure::{Failure, Result};
use crate::identity::Acting;
use crate::output::{plain, say};

/// The key that trusts the repository.
const YES: char = '1';

/// Answer to a line that is not a choice.
const NO_CHOICE: &str = "type 1 or 2; the lead takes prompts once it has started";

/// Asks whether to trust the repository, if it is not trusted and has something that would run.
/// Where an agent could type the answer, nothing is asked.
pub(super) fn ask_for_trust(app: &App, acting: &Acting) -> Result<()> {
    if app.is_trusted()? {
        return Ok(());
    }
    let top = project_top(&app.root, &app.env.cwd);
    let items = repository_items(&app.root, &top);
    let actor = TerminalActor::new(app, acting.clone(), None);
    let may_ask = || actor.shows_dialogs() && actor.now(None) == Acting::Person;
    // The list of trusted repositories contains only valid UTF-8.
    if items.runs.is_empty() || top.to_str().is_none() || !may_ask() {
        return Ok(());
    }
    match pressed(app, question(&top, &items))? {
        Some(YES) => {}
        Some(_) => {
            app.declined_trust.store(true, Ordering::Relaxed);
            return Ok(());
        }
        None => {
            let message = "the lead was not started: no answer about trust";
            return Err(Failure::interrupted(message));
        }
    }
    // An agent may have started meanwhile.
    actor.now(None).require_no_agent("trust")?;
    config_directory::make(&app.root)?;
    TrustFile::of(&app.root).add(&top, app.clock.now().iso())?;
    app.out.say(&format!(
        "{} is now trusted; `swarm trust --remove` revokes this",
        plain(&top.to_string_lossy())
    ));
    Ok(())
}

fn question(top: &Path, items: &RepositoryItems) -> Dialog {
    let runs = items.runs.iter().map(|item| format!("  {item}"));
    let wrong = items
        .wrong
        .iter()
        .map(|what| format!("  once fixed: {what}"));
    Dialog {
        id: "trust".to_owned(),
        question: format!(
            "{} is not trusted. If you trust it, these run in the agents' sandbox, except `apiKeyHelper` and hooks of \
             your own commands, which run as you:",
            top.display()
        ),
        details: runs.chain(wrong).collect(),
        choices: vec![
            Choice::new(YES, "trust it, also after later changes (`swarm trust`)"),
            Choice::new('2', "start without them this time (also Esc)"),
        ],
        ..Dialog::default()
    }
}

/// Returns the key that answers a dialog; `None` after Ctrl-C and Ctrl-D.
fn pressed(app: &App, dialog: Dialog) -> Result<Option<char>> {
    let runtime = runtime()?;
    let key = runtime.block_on(async {
        let terminal = match view_theme(app, OutputFormat::Text) {
            Some(_) if is_plain(app) => LeadTerminal::begin_plain()?,
            theme => LeadTerminal::begin(theme, "> ")?,
        };
        let _restored = RestoreAtEnd(terminal.clone());
        let (tell, mut told) = unbounded_channel();
        terminal.read(move |input| drop(tell.send(input)))?;
        if terminal.is_plain() {
            say(&text_of(&dialog));
        }
        terminal.ask(Some(dialog), UNARMED);
        loop {
            tokio::select! {
                _ = ctrl_c() => if !terminal.clear() {
                    return Ok::<_, Failure>(None);
                },
                input = told.recv() => match input {
                    Some(PaneInput::Choice { key, .. }) => return Ok(Some(key)),
                    Some(PaneInput::Shutdown) | None => return Ok(None),
                    Some(PaneInput::Line(_)) => {
                        let mut screen = terminal.screen();
                        // A terminal that cannot be written to must not stop the lead.
                        writeln!(screen, "{NO_CHOICE}").and_then(|()| screen.flush()).ok();
                    }
                    Some(_) => {}
                },
            }
        }
    });
    // The thread that reads keys ends at the next key.
    runtime.shutdown_background();
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "a file that only this test sees")]
    #[test]
    fn the_question_names_what_would_run() {
        let top = tempfile::tempdir().unwrap();
        let servers = r#"{"mcpServers": {"kit": {"command": "serve"}}}"#;
        std::fs::write(top.path().join(".mcp.json"), servers).unwrap();
        let items = repository_items(Path::new("/none"), top.path());
        let asked = question(top.path(), &items);
        assert_eq!(asked.details, ["  mcp server kit: serve (.mcp.json)"]);
        assert!(
            asked.question.contains("in the agents' sandbox"),
            "{}",
            asked.question
        );
        let choices = asked.choices.iter().map(|choice| choice.key);
        assert_eq!(choices.collect::<String>(), "12");
    }
}
