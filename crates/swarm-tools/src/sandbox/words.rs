//! The command line of the helper.

/// First argument that makes the program act as the helper.
pub const HELPER_WORD: &str = "__sandbox";

pub(super) const SANDBOX: &str = "--sandbox";

pub(super) const REQUIRED: &str = "--required";

pub(super) const WRITE: &str = "--write";

pub(super) const COMMAND: &str = "--";
