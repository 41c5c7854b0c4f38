//! The picker of earlier conversations.

use std::collections::HashMap;
use std::path::Path;

use swarm_agent::{LeadSession, all_lead_sessions};
use swarm_protocol::SessionId;
use swarm_store::{BlockOn as _, TeamStore};
use swarm_ui::{PaneInput, Picker, PickerItem};
use tokio::signal::ctrl_c;
use tokio::sync::mpsc::unbounded_channel;

use super::report::OutputFormat;
use super::sessions::age;
use super::terminal::{LeadTerminal, RestoreAtEnd};
use super::view::view_theme;
use crate::app::App;
use crate::commands::runtime;
use crate::failure::{Failure, Result};

/// Name of the picker.
pub(super) const RESUME: &str = "resume";

/// Lets the person pick a conversation in this terminal. `None` if they cancel.
pub(super) fn pick_session(app: &App) -> Result<Option<LeadSession>> {
    let sessions = all_lead_sessions(&app.root);
    let list = session_picker(&*app.store, &app.env.cwd, &sessions);
    let runtime = runtime()?;
    let picked = runtime.block_on(async {
        let terminal = LeadTerminal::begin(view_theme(app, OutputFormat::Text), "")?;
        let _restored = RestoreAtEnd(terminal.clone());
        let (tell, mut told) = unbounded_channel();
        terminal.read(move |input| drop(tell.send(input)))?;
        if let Some(console) = terminal.console() {
            console.pick(list);
        }
        loop {
            tokio::select! {
                _ = ctrl_c() => return Ok::<_, Failure>(None),
                input = told.recv() => match input {
                    Some(PaneInput::Picked { item, .. }) => return Ok(item),
                    Some(_) => {}
                    None => return Ok(None),
                },
            }
        }
    });
    // The thread that reads keys ends at the next key.
    runtime.shutdown_background();
    let id = picked?;
    Ok(sessions
        .into_iter()
        .find(|session| Some(session.id.to_string()) == id))
}

/// Returns a picker of conversations: those of this directory first, then by age.
pub(super) fn session_picker(
    store: &dyn TeamStore,
    cwd: &Path,
    sessions: &[LeadSession],
) -> Picker {
    let teams = teams_of_leads(store);
    let mut sessions: Vec<&LeadSession> = sessions.iter().collect();
    sessions.sort_by_key(|session| session.cwd != cwd);
    let items = sessions.into_iter().map(|session| {
        let title = match session.first_prompt.as_str() {
            "" => "(no prompt)",
            prompt => prompt,
        };
        let team = teams.get(&session.id).map(String::as_str);
        let place = (session.cwd != cwd).then(|| session.cwd.to_string_lossy());
        let age = age(session);
        let parts = [place.as_deref(), team, Some(age.as_str())];
        PickerItem {
            id: session.id.to_string(),
            title: title.to_owned(),
            note: parts.into_iter().flatten().collect::<Vec<_>>().join(" · "),
        }
    });
    Picker::new(RESUME, "Continue a conversation", items.collect())
}

/// Returns the team of each conversation that leads one.
fn teams_of_leads(store: &dyn TeamStore) -> HashMap<SessionId, String> {
    let teams = store.teams().block_on().unwrap_or_default().into_iter();
    let leads = teams.filter_map(|team| {
        let config = store.team(&team).config().block_on().ok()?;
        let session = config.lead_session_id?.parse().ok()?;
        Some((session, format!("team {team}")))
    });
    leads.collect()
}

/// Returns the command that continues a conversation of another directory; `None` for one of this
/// directory.
pub(super) fn elsewhere(session: &LeadSession, cwd: &Path) -> Option<String> {
    if session.cwd == cwd || session.cwd.as_os_str().is_empty() {
        return None;
    }
    let place = session.cwd.to_string_lossy();
    let place = shlex::try_quote(&place).ok()?;
    let id = session.id;
    Some(format!(
        "that conversation belongs to another directory; run `cd {place} && swarm lead --resume {id}`"
    ))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_conversation_of_another_directory_is_continued_there() {
        let session = LeadSession {
            id: SessionId::random(),
            modified: SystemTime::now(),
            first_prompt: "fix it".to_owned(),
            cwd: "/my project".into(),
        };
        assert_eq!(elsewhere(&session, Path::new("/my project")), None);
        let told = elsewhere(&session, Path::new("/other")).unwrap();
        let command = format!("`cd '/my project' && swarm lead --resume {}`", session.id);
        assert!(told.contains(&command), "{told}");
    }
}
