//! `swarm approve`, `swarm deny` and `swarm permissions`.

use clap::Args;
use swarm_protocol::MemberName;

/// A yes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm approve                      the only pending request
  swarm approve bob --always         bob's request and similar ones
  swarm approve 3nun9be --answer 2   answer a question")]
pub(crate) struct ApproveArgs {
    /// Request ID or a unique part of it, or the name of the requesting member [default: the only pending request].
    pub(crate) id: Option<String>,
    /// Also allow similar requests while the member runs.
    #[arg(long)]
    pub(crate) always: bool,
    /// Answer to a question: the number of an option, or your own text (`other: 7` for a literal number); repeat for each question.
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
    /// Request ID or a unique part of it, or the name of the requesting member [default: the only pending request].
    pub(crate) id: Option<String>,
    /// Reason, shown to the member's model.
    #[arg(long, value_name = "TEXT")]
    pub(crate) why: Option<String>,
}

/// The rules of a member.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm permissions alice")]
pub(crate) struct PermissionsArgs {
    /// Member whose rules are shown.
    pub(crate) name: MemberName,
}
