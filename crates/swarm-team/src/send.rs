//! Who may be written to, and the sending of prose.

use swarm_protocol::{AgentId, MemberName, MemberState, MessageId, SwarmMark, TeamName};
use swarm_store::{Draft, StoreError};

use crate::{NoTeam, Seat};

/// Longest summary in characters; Claude Code cuts there.
const SUMMARY_CHARS: usize = 200;

/// To whom a message goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recipient {
    /// One member.
    Member(MemberName),
    /// All but the sender.
    Everybody,
}

/// A text names nobody who can be written to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecipientError {
    /// Empty, or not a name.
    #[error("`{}` is not a recipient: use a member's name, or * for everybody", .0.escape_debug())]
    Name(String),
    /// A member of another team.
    #[error("{0} is in another team: a message goes to members of {1} only")]
    OtherTeam(AgentId, TeamName),
    /// A transport that is not there.
    #[error("`{}` names another transport, which is not available: use a member's name", .0.escape_debug())]
    Transport(String),
}

impl Recipient {
    /// Reads a recipient: a name, an agent id of this team, or `*`.
    ///
    /// # Errors
    /// [`RecipientError`] that says what to write instead.
    pub fn parse(text: &str, team: &TeamName) -> Result<Self, RecipientError> {
        let text = text.trim();
        if text == "*" {
            return Ok(Self::Everybody);
        }
        if text.starts_with("uds:") || text.starts_with("bridge:") {
            return Err(RecipientError::Transport(text.to_owned()));
        }
        if text.contains('@') {
            let id: AgentId = text
                .parse()
                .map_err(|_| RecipientError::Name(text.to_owned()))?;
            if &id.team != team {
                return Err(RecipientError::OtherTeam(id, team.clone()));
            }
            return Ok(Self::Member(id.name));
        }
        MemberName::parse(text)
            .map(Self::Member)
            .map_err(|_| RecipientError::Name(text.to_owned()))
    }
}

/// A message could not be sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// No team.
    #[error(transparent)]
    NoTeam(#[from] NoTeam),
    /// Nobody to write to.
    #[error(transparent)]
    Recipient(#[from] RecipientError),
    /// An empty message.
    #[error("the message is empty: say something")]
    Empty,
    /// To oneself.
    #[error("{0} is the sender: a message goes to somebody else")]
    ToSelf(MemberName),
    /// Whatever the store says.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// One message that was queued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Its receiver.
    pub to: MemberName,
    /// Its id.
    pub msg_id: MessageId,
    /// What the receiver is doing, when it says so.
    pub receiver: Option<MemberState>,
}

/// The first line of a text, cut for lists.
pub(crate) fn summary_of(text: &str, given: Option<&str>) -> String {
    let line = given
        .filter(|given| !given.trim().is_empty())
        .or_else(|| text.lines().find(|line| !line.trim().is_empty()))
        .unwrap_or_default();
    line.trim().chars().take(SUMMARY_CHARS).collect()
}

/// Sends prose to one member or to all but the sender. A broadcast is one message for each; the first failure
/// ends it and is returned, messages already queued stay queued.
///
/// # Errors
/// [`SendError`].
pub fn send_text(
    seat: &Seat,
    to: &str,
    text: &str,
    summary: Option<&str>,
    urgent: bool,
) -> Result<Vec<Sent>, SendError> {
    if text.trim().is_empty() {
        return Err(SendError::Empty);
    }
    let team = seat.team_or_found()?;
    let receivers = match Recipient::parse(to, &team)? {
        Recipient::Member(name) if name == seat.name => return Err(SendError::ToSelf(name)),
        Recipient::Member(name) => vec![name],
        Recipient::Everybody => {
            let names = seat.store.config(&team)?.names();
            names
                .into_iter()
                .filter(|name| name != &seat.name)
                .collect()
        }
    };
    let summary = summary_of(text, summary);
    let mut queued = Vec::with_capacity(receivers.len());
    for to in receivers {
        let draft = Draft {
            from: seat.name.to_string(),
            text: text.to_owned(),
            summary: Some(summary.clone()),
            color: seat.color.map(|color| color.to_string()),
            swarm: SwarmMark {
                urgent,
                ..SwarmMark::default()
            },
        };
        let msg_id = seat.store.send(&team, &to, draft)?;
        let receiver = seat.store.state(&team, &to)?.map(|report| report.state);
        seat.note_sent(&to, &summary);
        queued.push(Sent {
            to,
            msg_id,
            receiver,
        });
    }
    Ok(queued)
}
