//! Earlier conversations of leads that can be continued.

use swarm_agent::{LeadSession, lead_sessions, transcript_path};
use swarm_os::{LifeHolder, OsError};
use swarm_protocol::{SessionId, TeamName};
use swarm_store::{BlockOn as _, StoreError, TeamStore};
use swarm_ui::print::short_duration;

use crate::app::App;
use crate::failure::{Failure, Result};

/// Maximum characters shown of a prompt.
const SHOWN: usize = 50;

/// Maximum number of conversations listed in an error.
const LISTED: usize = 10;

/// An earlier conversation that is continued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands) enum Earlier {
    /// That of the lead of a team, which is taken over.
    Team(TeamName),
    /// That of a lead without a team.
    Alone(SessionId),
}

impl Earlier {
    /// Returns the conversation that the flags name: with `--resume`, that of the lead of a team or
    /// with an id; with `--continue`, that of the lead of the named team, or else the last one in
    /// this directory.
    pub(in crate::commands) fn asked(
        app: &App,
        resume: Option<&str>,
        is_continued: bool,
    ) -> Result<Option<Self>> {
        let earlier = match resume {
            Some(word) => Self::named(app, word)?,
            None if is_continued => match app.asked_team()? {
                Some(team) => Self::Team(team),
                None => Self::of(app, &last(app)?),
            },
            None => return Ok(None),
        };
        Ok(Some(earlier))
    }

    /// Returns the conversation of the lead of this team, or with this id or unique id prefix.
    fn named(app: &App, word: &str) -> Result<Self> {
        if let Ok(team) = TeamName::parse(word)
            && app.store.team(&team).is_stored().block_on()?
        {
            return Ok(Self::Team(team));
        }
        Ok(Self::of(app, &named(app, word)?))
    }

    /// Returns the continuation of a conversation, and reports it.
    pub(super) fn of(app: &App, session: &LeadSession) -> Self {
        app.out.say(&continuing(session));
        team_of(&*app.store, session.id).map_or(Self::Alone(session.id), Self::Team)
    }
}

/// Returns the last conversation of a lead in this directory.
fn last(app: &App) -> Result<LeadSession> {
    let sessions = lead_sessions(&app.root, &app.env.cwd);
    sessions.into_iter().next().ok_or_else(|| none(app))
}

/// Returns the conversation with this id or unique id prefix.
fn named(app: &App, word: &str) -> Result<LeadSession> {
    let sessions = lead_sessions(&app.root, &app.env.cwd);
    if sessions.is_empty() {
        return Err(none(app));
    }
    let named = sessions
        .iter()
        .filter(|session| !word.is_empty() && session.id.to_string().starts_with(word));
    match named.collect::<Vec<_>>()[..] {
        [session] => Ok(session.clone()),
        [] if word.is_empty() => {
            Err(Failure::usage("no conversation given").with_hint(list(&sessions)))
        }
        [] => {
            let message = format!("conversation `{word}` of a lead in this directory not found");
            Err(Failure::not_found(message).with_hint(list(&sessions)))
        }
        _ => {
            let message = format!("several conversations begin with `{word}`");
            Err(Failure::usage(message).with_hint(list(&sessions)))
        }
    }
}

/// Locks a conversation without a team, so that only one process writes its transcript. A team has
/// a separate lock.
pub(in crate::commands) fn open_session(app: &App, session: SessionId) -> Result<LifeHolder> {
    let directory = transcript_path(&app.root, &app.env.cwd, session).with_extension("");
    swarm_os::ensure_private_dir(&directory).map_err(StoreError::from)?;
    let path = directory.join("open");
    match LifeHolder::take(&path, std::process::id().to_string().as_bytes()) {
        Ok(held) => Ok(held),
        Err(OsError::LockTimeout { .. }) => {
            let message = format!("the conversation {session} is open in another process");
            Err(Failure::conflict(message)
                .with_hint("wait for it or stop it first, or start a new conversation"))
        }
        Err(error) => Err(StoreError::from(error).into()),
    }
}

fn none(app: &App) -> Failure {
    let message = format!("no lead has worked in {} yet", app.env.cwd.display());
    Failure::not_found(message).with_hint("run `swarm lead` to start a conversation")
}

/// Returns the notice that a conversation is continued.
fn continuing(session: &LeadSession) -> String {
    format!("continuing: {}", in_short(session))
}

/// Lists conversations by id prefix, newest first.
fn list(sessions: &[LeadSession]) -> String {
    let lines = sessions.iter().take(LISTED).map(|session| {
        let id: String = session.id.to_string().chars().take(8).collect();
        format!("--resume {id}   {}", in_short(session))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the first prompt of a conversation and its age.
fn in_short(session: &LeadSession) -> String {
    let prompt: String = session.first_prompt.chars().take(SHOWN).collect();
    format!("{prompt} ({})", age(session))
}

/// Returns the time since a conversation was last written to.
pub(super) fn age(session: &LeadSession) -> String {
    let age = session.modified.elapsed().unwrap_or_default();
    let age = short_duration(u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
    format!("{age} ago")
}

/// Returns the team of the lead of a conversation.
pub(super) fn team_of(store: &dyn TeamStore, session: SessionId) -> Option<TeamName> {
    let session = session.to_string();
    let teams = store.teams().block_on().ok()?;
    teams.into_iter().find(|team| {
        let config = store.team(team).config().block_on();
        config.is_ok_and(|config| config.lead_session_id.as_deref() == Some(&session))
    })
}
