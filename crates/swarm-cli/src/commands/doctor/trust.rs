//! Checks whether the current repository is trusted.

use std::path::Path;

use swarm_config::{Environment, is_trusted, project_top, repository_items};
use swarm_protocol::with_causes;

use super::finding::Finding;

const NAME: &str = "trust";

/// Returns the finding; `None` if the repository has no hooks, servers or definitions.
pub(super) fn check(env: &Environment, root: &Path) -> Option<Finding> {
    let trusted = match is_trusted(root, &env.cwd) {
        Ok(trusted) => trusted,
        Err(error) => {
            let hint = error.hint().unwrap_or_default();
            return Some(Finding::missing(NAME, with_causes(&error), hint));
        }
    };
    let top = project_top(root, &env.cwd);
    let own = repository_items(root, &top);
    let mut list: Vec<_> = own.runs.iter().map(ToString::to_string).collect();
    if !trusted {
        // In a trusted repository, loading reports this.
        let wrong = own.wrong.iter();
        list.extend(wrong.map(|what| format!("after a fix, {what}")));
    }
    if list.is_empty() {
        return None;
    }
    let (top, list) = (top.display(), list.join("; "));
    if trusted {
        return Some(Finding::ok(NAME, format!("{top} is trusted: {list}")));
    }
    let found = format!("{top} is not trusted, so these do not run: {list}");
    Some(Finding::warning(
        NAME,
        found,
        "review them, then run `swarm trust`",
    ))
}
