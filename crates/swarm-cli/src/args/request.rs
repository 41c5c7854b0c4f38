//! `swarm approve`, `swarm deny` and `swarm permissions`.

use clap::Args;
use swarm_protocol::MemberName;

/// A yes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm approve                      the only open request
  swarm approve bob --always         bob's, and others like it
  swarm approve 3nun9be --answer 2   an answer to its question")]
pub(crate) struct ApproveArgs {
    /// The request: its ID, the start of its ID or of the end of its ID, or the name of the member that asks
    /// [default: the only open request].
    pub(crate) id: Option<String>,
    /// Also allow those like it, for as long as the member lives.
    #[arg(long)]
    pub(crate) always: bool,
    /// The answer to a question: the number of an option, or your own words (`other: 7` for a number of your own). Once for each
    /// question, in their order.
    #[arg(long, value_name = "TEXT", conflicts_with = "always")]
    pub(crate) answer: Vec<String>,
}

/// A no.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm deny bob
  swarm deny 3nun9be --why \"use the staging database\"")]
pub(crate) struct DenyArgs {
    /// The request: its ID, the start of its ID or of the end of its ID, or the name of the member that asks
    /// [default: the only open request].
    pub(crate) id: Option<String>,
    /// Why; the member's model is told [default: only that it was denied].
    #[arg(long, value_name = "TEXT")]
    pub(crate) why: Option<String>,
}

/// The rules of a member.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm permissions alice")]
pub(crate) struct PermissionsArgs {
    /// The member whose rules are shown.
    pub(crate) name: MemberName,
}
