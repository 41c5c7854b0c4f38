//! Recipients and sending of messages.

use swarm_protocol::{
    AgentId, MemberName, PeerAddress, SwarmMark, TeamConfig, TeamName, with_commas,
};
use swarm_store::{Draft, Posted, StoreError, Team, summary_of};

use crate::{MemberContext, NoTeam, ReceiverStatus};

/// Recipient of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recipient {
    /// One member.
    Member(MemberName),
    /// All members but the sender.
    Everybody,
}

/// The text is not a valid recipient.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecipientError {
    /// Empty, or not a name.
    #[error("`{}` is not a recipient: use a member's name, or * for all members", .0.escape_debug())]
    Name(String),
    /// A member of another team.
    #[error("{0} is in another team: a message goes to members of {1} only")]
    OtherTeam(AgentId, TeamName),
    /// An unavailable transport.
    #[error("`{}` names another transport, which is not available: use a member's name", .0.escape_debug())]
    Transport(String),
}

impl Recipient {
    /// Parses a recipient: a name, an agent ID of this team, or `*`.
    ///
    /// # Errors
    /// [`RecipientError`] with a suggestion.
    pub fn parse(text: &str, team: &TeamName) -> Result<Self, RecipientError> {
        let text = text.trim();
        if text == "*" {
            return Ok(Self::Everybody);
        }
        if PeerAddress::parse(text).is_some() {
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

/// The message could not be sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// There is no team.
    #[error(transparent)]
    NoTeam(#[from] NoTeam),
    /// The recipient is invalid.
    #[error(transparent)]
    Recipient(#[from] RecipientError),
    /// The message is empty.
    #[error("the message is empty")]
    Empty,
    /// The recipient is the sender.
    #[error("{0} is the sender: choose another recipient")]
    ToSelf(MemberName),
    /// A broadcast in a team without other members.
    #[error("team {0} has no other members yet")]
    NoOtherMembers(TeamName),
    /// A broadcast failed for some members.
    #[error(
        "queued for {}, but not for {}: {}. Send it to those again by name",
        with_commas(.queued),
        with_commas(.failed),
        error_for_model(.error)
    )]
    Partly {
        /// Members to which the message was sent.
        queued: Vec<MemberName>,
        /// Members to which it was not sent.
        failed: Vec<MemberName>,
        /// The first failure.
        error: Box<StoreError>,
    },
    /// Errors of the store.
    #[error("{}", error_for_model(.0))]
    Store(#[from] StoreError),
}

/// Formats an error of the store for a model: with the valid names, and without shell commands.
pub(crate) fn error_for_model(error: &StoreError) -> String {
    match error {
        StoreError::MemberNotFound { known, .. } => {
            format!("{error}; members: {}", with_commas(known))
        }
        StoreError::MessageTooLarge { .. } => {
            format!("{error}. Write it into a file and send the path")
        }
        _ => error.to_string(),
    }
}

/// One message that was queued.
#[derive(Debug, Clone)]
pub struct Sent {
    /// Its receiver.
    pub to: MemberName,
    /// Result of the store.
    pub posted: Posted,
    /// State of the receiver, if known.
    pub receiver: Option<ReceiverStatus>,
}

/// Result of sending a text to several receivers.
#[derive(Debug, Default)]
pub struct Delivered {
    /// Successful deliveries.
    pub sent: Vec<Sent>,
    /// Failures by receiver.
    pub failed: Vec<(MemberName, StoreError)>,
}

/// Sends a text to its receivers. A failure for one receiver does not affect the others.
///
/// # Errors
/// Errors of the store; nothing was queued then.
pub async fn post(
    team: &dyn Team,
    receivers: Vec<MemberName>,
    draft: impl Fn(&MemberName) -> Draft,
) -> Result<Delivered, StoreError> {
    let letter = |to: MemberName| {
        let draft = draft(&to);
        (to, draft)
    };
    let letters: Vec<_> = receivers.into_iter().map(letter).collect();
    // Read before sending: afterwards, an idle receiver would already be working on the message. A
    // failure to read the states does not prevent sending.
    let views = team.member_view().await.unwrap_or_default();
    let receiver = |name: &MemberName, urgent: bool| {
        let view = views.iter().find(|view| &view.member.name == name)?;
        Some(ReceiverStatus::of(view, urgent))
    };
    let mut delivered = Delivered::default();
    let outcomes = team.post_all(&letters).await?;
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

/// A text message to send.
#[derive(Debug, Clone, Copy, Default)]
pub struct Prose<'a> {
    /// The text.
    pub text: &'a str,
    /// Summary for lists; defaults to the first line.
    pub summary: Option<&'a str>,
    /// Whether it may be delivered between two tool calls.
    pub urgent: bool,
    /// Replaces the sender's unread message with this key.
    pub supersede: Option<&'a str>,
}

/// Sends a text to one member or to all but the sender. A broadcast is a separate message to each;
/// a failure for one member does not affect the others.
///
/// # Errors
/// [`SendError`]; messages were queued only with [`SendError::Partly`].
pub async fn send_text(
    context: &MemberContext,
    to: &str,
    prose: Prose<'_>,
) -> Result<Vec<Sent>, SendError> {
    if prose.text.trim().is_empty() {
        return Err(SendError::Empty);
    }
    let team = context.team_or_found()?;
    let receivers = receivers(context, &*team, to).await?;
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
        id: None,
    };
    let Delivered { sent, mut failed } = post(&*team, receivers, |_| draft.clone()).await?;
    for one in &sent {
        context.note_sent(&one.to, draft.summary.as_deref().unwrap_or_default());
        context.questions().answers(&one.to);
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

/// Returns all members but the sender.
///
/// # Errors
/// [`SendError::NoOtherMembers`].
pub fn everybody_but(
    sender: &MemberName,
    config: &TeamConfig,
) -> Result<Vec<MemberName>, SendError> {
    let mut names = config.names();
    names.retain(|name| name != sender);
    if names.is_empty() {
        return Err(SendError::NoOtherMembers(config.name.clone()));
    }
    Ok(names)
}

async fn receivers(
    context: &MemberContext,
    team: &dyn Team,
    to: &str,
) -> Result<Vec<MemberName>, SendError> {
    match Recipient::parse(to, team.name())? {
        Recipient::Member(name) if name == context.name => Err(SendError::ToSelf(name)),
        Recipient::Member(name) => Ok(vec![name]),
        Recipient::Everybody => everybody_but(&context.name, &team.config().await?),
    }
}
