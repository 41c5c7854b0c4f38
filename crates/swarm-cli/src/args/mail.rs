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
    /// Recipient: a member, `*` for everyone else, or an agent ID (NAME@TEAM).
    pub(crate) to: String,
    /// Message text, or - for standard input.
    pub(crate) text: String,
    /// Summary for lists [default: the first line].
    #[arg(long)]
    pub(crate) summary: Option<String>,
    /// Deliver between tool calls instead of after the recipient's turn.
    #[arg(long)]
    pub(crate) urgent: bool,
    /// Replace the sender's unread message with the same key.
    #[arg(long, value_name = "KEY")]
    pub(crate) supersede: Option<String>,
    /// Sender [default: the calling member, else team-lead].
    #[arg(long, value_name = "NAME")]
    pub(crate) from: Option<MemberName>,
    /// Wait until every recipient reaches this state [default: do not wait].
    #[arg(long, value_enum, value_name = "STATE")]
    pub(crate) wait: Option<WaitFor>,
    /// Maximum wait in seconds [default: no limit].
    #[arg(long, value_name = "SECONDS", requires = "wait")]
    pub(crate) timeout: Option<u64>,
}

/// How far a message has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WaitFor {
    /// Stored in the recipient's transcript.
    Delivered,
    /// Acknowledged by the recipient.
    Acked,
}

/// An inbox to be looked at.
#[derive(Debug, Args)]
#[command(after_help = "\
Messages stay unread unless `--ack` is given, which is for members whose inbox no program reads.

Examples:
  swarm inbox alice --unread                      messages she has not read yet
  swarm inbox alice --all                         archived messages too
  swarm inbox team-lead --unread --follow --ack   read new messages")]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command")]
pub(crate) struct InboxArgs {
    /// Member whose inbox is shown.
    pub(crate) name: MemberName,
    /// Show only unread messages.
    #[arg(long)]
    pub(crate) unread: bool,
    /// Include archived messages.
    #[arg(long, conflicts_with = "unread")]
    pub(crate) all: bool,
    /// Keep printing new messages.
    #[arg(long)]
    pub(crate) follow: bool,
    /// Mark the shown messages as read.
    #[arg(long)]
    pub(crate) ack: bool,
}
