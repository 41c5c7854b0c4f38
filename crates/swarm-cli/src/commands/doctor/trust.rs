//! Whether the present repository may run what is its own.

use super::finding::Finding;
use crate::commands::trust::own_of;
use crate::environment::Environment;
use crate::trust::{is_trusted, top_of};

const NAME: &str = "trust";

/// Nothing for a repository that has nothing of its own to run.
pub(super) fn look(env: &Environment) -> Option<Finding> {
    let root = env.root().ok()?;
    let trusted = match is_trusted(&root, &env.cwd) {
        Ok(trusted) => trusted,
        Err(failure) => {
            let hint = failure.hint.unwrap_or_default();
            return Some(Finding::missing(NAME, failure.message, hint));
        }
    };
    let top = top_of(&env.cwd).ok()?;
    let own = own_of(&top);
    if own.is_empty() {
        return None;
    }
    let list: Vec<_> = own.iter().map(ToString::to_string).collect();
    let (top, list) = (top.display(), list.join("; "));
    if trusted {
        return Some(Finding::ok(NAME, format!("{top} is trusted: {list}")));
    }
    let found = format!("{top} is not trusted, so these wait: {list}");
    Some(Finding::warning(
        NAME,
        found,
        "read them, then `swarm trust`",
    ))
}
