//! `swarm send` and `swarm inbox`.

use clap::{Args, ValueEnum};
use swarm_protocol::MemberName;

/// A message to be sent.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm send alice \"And the tests?\"
  swarm send bob - --urgent < notes.txt
  swarm send '*' \"The branch is frozen until noon\" --wait acked --timeout 60")]
pub(crate) struct SendArgs {
    /// A member, `*` for all but the sender, or an agent id (name@team).
    pub(crate) to: String,
    /// The message, or - for standard input.
    pub(crate) text: String,
    /// A few words that lists show [default: the first line].
    #[arg(long)]
    pub(crate) summary: Option<String>,
    /// Let it in between two tool calls instead of after the receiver's turn.
    #[arg(long)]
    pub(crate) urgent: bool,
    /// Replace the sender's unread message that has the same key.
    #[arg(long, value_name = "KEY")]
    pub(crate) supersede: Option<String>,
    /// The member in whose name it is sent [default: a member's own, else team-lead].
    #[arg(long, value_name = "NAME")]
    pub(crate) from: Option<MemberName>,
    /// Return only when every receiver has got this far with it [default: return at once].
    #[arg(long, value_enum, value_name = "STATE")]
    pub(crate) wait: Option<WaitFor>,
    /// Seconds to wait at most [default: as long as it takes].
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
#[command(after_help = "\
Looking acknowledges nothing: that takes `--ack`, and is for a member whose inbox no program reads.

Examples:
  swarm inbox alice --unread                      what she has still to read
  swarm inbox alice --all                         everything, archived messages included
  swarm inbox team-lead --unread --follow --ack   read mail as it comes")]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command")]
pub(crate) struct InboxArgs {
    /// The member whose inbox it is.
    pub(crate) name: MemberName,
    /// Show only what is not acknowledged.
    #[arg(long)]
    pub(crate) unread: bool,
    /// Show archived messages too: older ones that were acknowledged.
    #[arg(long, conflicts_with = "unread")]
    pub(crate) all: bool,
    /// Go on with messages as they come.
    #[arg(long)]
    pub(crate) follow: bool,
    /// Acknowledge what was shown.
    #[arg(long)]
    pub(crate) ack: bool,
}
