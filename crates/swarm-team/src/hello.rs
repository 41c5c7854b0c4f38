//! Hello: the child reports its effective values, and the spawner compares them with its order.

use std::fmt::Display;
use std::path::Path;

use swarm_permissions::AgentDefinition;
use swarm_protocol::{DefinitionReport, Effort, Hello, PaneId, WorktreeReport};

use crate::{MemberSpec, SpawnOrder};

/// An effective value in the child differs from the order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} is `{reported}` in the child instead of the ordered `{ordered}`")]
pub struct HelloMismatch {
    /// Name of the value.
    pub what: &'static str,
    /// The ordered value.
    pub ordered: String,
    /// The reported value.
    pub reported: String,
}

/// Compares a hello with the order and with the opened pane. Any difference fails the spawn.
///
/// # Errors
/// The first difference.
pub fn check_hello(order: &SpawnOrder, pane: &PaneId, hello: &Hello) -> Result<(), HelloMismatch> {
    let spec = &order.spec;
    same("spawn id", &spec.identity.spawn_id, &hello.spawn_id)?;
    same("program version", &order.version, &hello.version)?;
    same("model", &spec.runtime.model, &hello.model)?;
    same("permission mode", &spec.permissions.mode, &hello.mode)?;
    same("session", &spec.identity.session_id, &hello.session_id)?;
    same(
        "working directory",
        &canonical(&spec.workspace.cwd),
        &canonical(&hello.cwd),
    )?;
    if let Some(ordered) = &spec.workspace.worktree {
        in_worktree(ordered, hello.worktree.as_ref())?;
    }
    if let Some(definition) = &spec.definition.own {
        in_definition(spec, definition, hello.definition.as_ref())?;
    }
    // A child without a terminal knows of no pane.
    same("pane", pane, hello.pane.as_ref().unwrap_or(pane))
}

/// Checks that a child with a worktree is in it, on its branch and at its commit, so that it does
/// not work in the shared checkout by mistake.
fn in_worktree(
    ordered: &WorktreeReport,
    reported: Option<&WorktreeReport>,
) -> Result<(), HelloMismatch> {
    let none = "no worktree".to_owned();
    let branch = |of: &WorktreeReport| of.branch.clone().unwrap_or_else(|| "no branch".to_owned());
    let toplevel = reported.map_or(none.clone(), |found| canonical(&found.toplevel));
    same("worktree", &canonical(&ordered.toplevel), &toplevel)?;
    same(
        "branch",
        &branch(ordered),
        &reported.map_or(none.clone(), branch),
    )?;
    same(
        "commit",
        &ordered.head,
        &reported.map_or(none, |found| found.head.clone()),
    )
}

/// Checks that the child has the ordered definition.
fn in_definition(
    spec: &MemberSpec,
    ordered: &AgentDefinition,
    reported: Option<&DefinitionReport>,
) -> Result<(), HelloMismatch> {
    let none = DefinitionReport::default();
    let reported = reported.unwrap_or(&none);
    same("agent type", &ordered.name, &reported.agent_type)?;
    let turns = ordered.max_turns.unwrap_or(spec.limits.max_requests);
    same("most requests in a turn", &turns, &reported.max_turns)?;
    let effort = spec.definition.config.requests.effort_of(Some(ordered));
    let word = |effort: Option<Effort>| effort.map_or("unset", Effort::name).to_owned();
    same("effort", &word(effort), &word(reported.effort))?;
    same(
        "skills",
        &ordered.skills.join(", "),
        &reported.skills.join(", "),
    )?;
    same(
        "memory",
        &ordered.memory.is_some(),
        &reported.memory.is_some(),
    )?;
    let first = ordered.initial_prompt.is_some();
    same("initial prompt", &first, &reported.initial_prompt)
}

/// A directory can have several paths; the child reports the kernel's.
fn canonical(path: &Path) -> String {
    let found = path.canonicalize();
    found
        .unwrap_or_else(|_| path.to_owned())
        .display()
        .to_string()
}

fn same<T: PartialEq + Display>(
    what: &'static str,
    ordered: &T,
    reported: &T,
) -> Result<(), HelloMismatch> {
    if ordered == reported {
        return Ok(());
    }
    Err(HelloMismatch {
        what,
        ordered: ordered.to_string(),
        reported: reported.to_string(),
    })
}
