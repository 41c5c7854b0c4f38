//! What a rule does with the calls that it matches.

use swarm_protocol::named_enum;

named_enum! {
    /// The list of a rule.
    pub enum Behavior {
        /// Matching calls run.
        Allow = "allow",
        /// Matching calls are denied.
        Deny = "deny",
        /// Matching calls require approval.
        Ask = "ask",
    }
}
