//! Calls that fork.

use super::input::Input;

/// Refuses what a fork cannot have of its own, since its requests must begin as its parent's do.
pub(super) fn refuse_choices(input: &Input) -> Result<(), String> {
    let own = [
        ("model", input.model.is_some()),
        ("effort", input.effort.is_some()),
        ("cwd", input.cwd.is_some()),
    ];
    match own.into_iter().find(|(_, chosen)| *chosen) {
        Some((name, _)) => Err(format!(
            "Agent was not called: a fork has the `{name}` of the agent that it is forked from. Leave it out, or name a \
             subagent_type for an agent that begins afresh"
        )),
        None => Ok(()),
    }
}
