//! Validation of Agent calls that fork.

use super::input::Input;

/// Rejects parameters that a fork takes from its parent, because its requests must begin with the
/// same bytes as its parent's.
pub(super) fn reject_overrides(input: &Input) -> Result<(), String> {
    let overrides = [
        ("model", input.model.is_some()),
        ("effort", input.effort.is_some()),
        ("cwd", input.cwd.is_some()),
    ];
    match overrides.into_iter().find(|(_, chosen)| *chosen) {
        Some((name, _)) => Err(format!(
            "Agent was not called: a fork uses its parent's `{name}`. Leave it out, or set `subagent_type` \
             to start an agent with a new conversation"
        )),
        None => Ok(()),
    }
}
