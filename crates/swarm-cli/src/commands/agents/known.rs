//! A type that somebody names.

use swarm_policy::{AgentCatalog, AgentDefinition};
use swarm_protocol::ErrorKind;

use crate::failure::Failure;

/// How alike two words must be for one to be offered in place of the other.
const ALIKE: f64 = 0.8;

/// The definition that counts for a type.
///
/// # Errors
/// [`ErrorKind::NotFound`], with the types that there are.
pub(in crate::commands) fn known<'a>(
    catalog: &'a AgentCatalog,
    name: &str,
) -> Result<&'a AgentDefinition, Failure> {
    catalog.find(name).ok_or_else(|| {
        let mut types: Vec<_> = catalog.winners().map(|one| one.name.as_str()).collect();
        types.sort_unstable();
        let message = format!(
            "there is no agent type `{}`; there are {}",
            name.escape_debug(),
            types.join(", ")
        );
        let wanted = name.to_lowercase();
        let nearest = types
            .iter()
            .map(|known| (strsim::jaro_winkler(&wanted, &known.to_lowercase()), known))
            .filter(|(alike, _)| *alike >= ALIKE)
            .max_by(|(one, _), (other, _)| one.total_cmp(other));
        let hint = match nearest {
            Some((_, nearest)) => format!("did you mean `{nearest}`?"),
            None => "`swarm agents list` shows where each comes from, and files that are wrong"
                .to_owned(),
        };
        Failure::new(ErrorKind::NotFound, message).with_hint(hint)
    })
}
