//! Lookup of agent types by name.

use swarm_config::FoundAgents;
use swarm_permissions::{AgentDefinition, nearest};
use swarm_protocol::MemberName;

use crate::failure::{Failure, Result};
use crate::output::plain;

/// Returns the definition that is used for a type. The error has the problem of the type's file or
/// the available types.
pub(in crate::commands) fn known<'a>(
    found: &'a FoundAgents,
    name: &str,
) -> Result<&'a AgentDefinition> {
    found.catalog.find(name).ok_or_else(|| {
        if let Some(failure) = refused(found, name) {
            return failure;
        }
        let mut types: Vec<_> = found
            .catalog
            .winners()
            .map(|one| one.name.as_str())
            .collect();
        types.sort_unstable();
        let message = format!(
            "agent type `{}` not found; available: {}",
            name.escape_debug(),
            types.join(", ")
        );
        let hint = match nearest(name, types) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => "run `swarm agents list` to see the types and invalid files".to_owned(),
        };
        Failure::not_found(message).with_hint(hint)
    })
}

/// Like [`known`], for a member that is restarted. If no file is invalid, the type may have been
/// defined by a flag, which is not stored.
pub(in crate::commands) fn known_again<'a>(
    found: &'a FoundAgents,
    name: &str,
    member: &MemberName,
) -> Result<&'a AgentDefinition> {
    known(found, name).map_err(|failure| {
        if refused(found, name).is_some() {
            return failure;
        }
        failure.with_hint(given_again(name, member))
    })
}

fn given_again(name: &str, member: &MemberName) -> String {
    format!(
        "{member} was of type `{}`: if it was defined with `--agents`, pass the same definition again, or choose another type with `--agent`",
        name.escape_debug()
    )
}

/// Returns an error if the file of a type is invalid.
fn refused(found: &FoundAgents, name: &str) -> Option<Failure> {
    let problems = found.problems.iter();
    let why: Vec<_> = problems
        .filter(|problem| problem.rejects(name))
        .map(|problem| plain(&problem.to_string()))
        .collect();
    (!why.is_empty()).then(|| {
        let message = format!(
            "agent type `{}` is not available, its file is invalid: {}",
            name.escape_debug(),
            why.join("; ")
        );
        Failure::not_found(message).with_hint("fix the file, then retry")
    })
}
