//! Who may be written to, and the sending of prose.

use swarm_protocol::{AgentId, MemberName, SwarmMark, TeamConfig, TeamName};
use swarm_store::blocking::Team;
use swarm_store::{Draft, Posted, StoreError};

use crate::{MemberContext, NoTeam, ReceiverStatus};

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
    #[error("`{}` is not a recipient: use a member's name, or * for all members", .0.escape_debug())]
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
    #[error("the message is empty")]
    Empty,
    /// To oneself.
    #[error("{0} is the sender: choose another recipient")]
    ToSelf(MemberName),
    /// To everybody, and there is nobody.
    #[error("team {0} has no other members yet")]
    Nobody(TeamName),
    /// Some of everybody got it.
    #[error(
        "queued for {}, but not for {}: {}. Send it to those again by name",
        list(.queued),
        list(.failed),
        told(.error)
    )]
    Partly {
        /// Who will read it.
        queued: Vec<MemberName>,
        /// Who will not.
        failed: Vec<MemberName>,
        /// Why the first of them will not.
        error: Box<StoreError>,
    },
    /// Whatever the store says.
    #[error("{}", told(.0))]
    Store(#[from] StoreError),
}

/// An error of the store as a model is told it: with the names to choose from, and without commands
/// of the shell.
pub(crate) fn told(error: &StoreError) -> String {
    match error {
        StoreError::MemberNotFound { known, .. } => {
            format!("{error}; members: {}", list(known))
        }
        StoreError::MessageTooLarge { .. } => {
            format!("{error}. Write it into a file and send the path")
        }
        _ => error.to_string(),
    }
}

fn list(names: &[MemberName]) -> String {
    let names: Vec<&str> = names.iter().map(MemberName::as_str).collect();
    names.join(", ")
}

/// One message that was queued.
#[derive(Debug, Clone)]
pub struct Sent {
    /// Its receiver.
    pub to: MemberName,
    /// What the store did.
    pub posted: Posted,
    /// What the receiver was doing, when that can be told.
    pub receiver: Option<ReceiverStatus>,
}

/// What became of one text for all its receivers.
#[derive(Debug, Default)]
pub struct Delivered {
    /// Those who will read it.
    pub sent: Vec<Sent>,
    /// Those who will not, and why.
    pub failed: Vec<(MemberName, StoreError)>,
}

/// Puts a text into the inboxes of its receivers. One that cannot be written to keeps nobody else
/// from getting it.
///
/// # Errors
/// Whatever the store says; nothing was queued then.
pub fn post(
    team: &dyn Team,
    receivers: Vec<MemberName>,
    draft: impl Fn(&MemberName) -> Draft,
) -> Result<Delivered, StoreError> {
    let letter = |to: MemberName| {
        let draft = draft(&to);
        (to, draft)
    };
    let letters: Vec<_> = receivers.into_iter().map(letter).collect();
    // Before it is sent: an idle receiver is at work on the message before it could be looked at
    // afterwards. What cannot be told of receivers is no reason not to send.
    let views = team.member_view().unwrap_or_default();
    let receiver = |name: &MemberName, urgent: bool| {
        let view = views.iter().find(|view| &view.member.name == name)?;
        Some(ReceiverStatus::of(view, urgent))
    };
    let mut delivered = Delivered::default();
    let outcomes = team.post_all(&letters)?;
    for ((to, draft), outcome) in letters.into_iter().zip(outcomes) {
        match outcome {
            Ok(posted) => delivered.sent.push(Sent {
                receiver: receiver(&to, draft.swarm.urgent),
                to,
                posted,
            }),
            Err(error) => delivered.failed.push((to, error)),
        }
    }
    Ok(delivered)
}

/// Prose to be sent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Prose<'a> {
    /// What it says.
    pub text: &'a str,
    /// A few words for lists; without them the first line.
    pub summary: Option<&'a str>,
    /// Whether it may be let in between two tool calls.
    pub urgent: bool,
    /// Takes the place of what the sender last wrote under this key, as long as that is unread.
    pub supersede: Option<&'a str>,
}

/// A summary for lists, of at most 200 characters: the words that were given, else the first line
/// that has any.
pub fn summary_of(text: &str, given: Option<&str>) -> String {
    let line = given
        .filter(|given| !given.trim().is_empty())
        .or_else(|| text.lines().find(|line| !line.trim().is_empty()))
        .unwrap_or_default();
    line.trim().chars().take(SUMMARY_CHARS).collect()
}

/// Sends prose to one member or to all but the sender. A broadcast is one message for each; one
/// that cannot be written to keeps nobody else from getting it.
///
/// # Errors
/// [`SendError`]; only with [`SendError::Partly`] was anything queued.
pub fn send_text(
    context: &MemberContext,
    to: &str,
    prose: Prose<'_>,
) -> Result<Vec<Sent>, SendError> {
    if prose.text.trim().is_empty() {
        return Err(SendError::Empty);
    }
    let team = context.team_or_found()?;
    let receivers = receivers(context, &*team, to)?;
    let draft = Draft {
        from: context.name.to_string(),
        text: prose.text.to_owned(),
        summary: Some(summary_of(prose.text, prose.summary)),
        color: context.color.map(|color| color.to_string()),
        swarm: SwarmMark {
            urgent: prose.urgent,
            supersede: prose.supersede.map(str::to_owned),
            ..SwarmMark::default()
        },
    };
    let Delivered { sent, mut failed } = post(&*team, receivers, |_| draft.clone())?;
    for one in &sent {
        context.note_sent(&one.to, draft.summary.as_deref().unwrap_or_default());
    }
    if failed.is_empty() {
        return Ok(sent);
    }
    let (first, error) = failed.remove(0);
    if sent.is_empty() {
        return Err(error.into());
    }
    let others = failed.into_iter().map(|(to, _)| to);
    Err(SendError::Partly {
        queued: sent.into_iter().map(|one| one.to).collect(),
        failed: std::iter::once(first).chain(others).collect(),
        error: Box::new(error),
    })
}

/// Everybody in the team but the sender.
///
/// # Errors
/// [`SendError::Nobody`].
pub fn everybody_but(
    sender: &MemberName,
    config: &TeamConfig,
) -> Result<Vec<MemberName>, SendError> {
    let mut names = config.names();
    names.retain(|name| name != sender);
    if names.is_empty() {
        return Err(SendError::Nobody(config.name.clone()));
    }
    Ok(names)
}

fn receivers(
    context: &MemberContext,
    team: &dyn Team,
    to: &str,
) -> Result<Vec<MemberName>, SendError> {
    match Recipient::parse(to, team.name())? {
        Recipient::Member(name) if name == context.name => Err(SendError::ToSelf(name)),
        Recipient::Member(name) => Ok(vec![name]),
        Recipient::Everybody => everybody_but(&context.name, &team.config()?),
    }
}
