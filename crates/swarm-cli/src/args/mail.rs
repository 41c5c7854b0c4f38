//! `swarm send` and `swarm inbox`.

use clap::{Args, ValueEnum};
use swarm_protocol::MemberName;

/// A message to be sent.
#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// A member, `*` for all but the sender, or an agent id (name@team).
    pub(crate) to: String,
    /// The message, or - for standard input.
    pub(crate) text: String,
    /// A few words for lists; without them the first line.
    #[arg(long)]
    pub(crate) summary: Option<String>,
    /// Let it in between two tool calls instead of at the end of the receiver's turn.
    #[arg(long)]
    pub(crate) urgent: bool,
    /// Send in the name of this member instead of the team lead's.
    #[arg(long, value_name = "NAME")]
    pub(crate) from: Option<MemberName>,
    /// Return only when every receiver has got this far with it.
    #[arg(long, value_enum, value_name = "STATE")]
    pub(crate) wait: Option<WaitFor>,
    /// Seconds to wait at most; without a number as long as it takes.
    #[arg(long, value_name = "SECONDS", requires = "wait")]
    pub(crate) timeout: Option<u64>,
}

/// How far a message has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WaitFor {
    /// It is in the receiver's durable transcript.
    Delivered,
    /// The receiver has acknowledged it.
    Acked,
}

/// An inbox to be looked at.
#[derive(Debug, Args)]
pub(crate) struct InboxArgs {
    /// Whose inbox.
    pub(crate) name: MemberName,
    /// Show only what is not acknowledged.
    #[arg(long)]
    pub(crate) unread: bool,
    /// Go on with messages as they come.
    #[arg(long)]
    pub(crate) follow: bool,
    /// Acknowledge what was shown, for a member that no program reads for.
    #[arg(long)]
    pub(crate) ack: bool,
}
