//! Placeholders that killed sandboxes left in the working directories of members.

use std::collections::BTreeSet;

use anyhow::Error;
use swarm_protocol::TeamName;
use swarm_store::BlockOn as _;
use swarm_tools::sandbox::left_placeholders;

use super::finds::{Find, GcAction, find};
use crate::app::App;
use crate::failure::Failure;

/// Looks in the current directory and in those of the members of all teams. A placeholder is empty,
/// has the mark of a sandbox, and no sandbox has locked it.
pub(super) fn placeholders(app: &App, teams: &[TeamName], dry_run: bool) -> Vec<Find> {
    let config = |team| app.store.team(team).config().block_on().ok();
    let configs = teams.iter().filter_map(config);
    let members = configs.flat_map(|config| config.members);
    let mut directories: BTreeSet<_> = members.map(|member| member.cwd).collect();
    directories.insert(app.env.cwd.clone());
    let left = directories.iter().flat_map(|cwd| left_placeholders(cwd));
    let finds = left.map(|placeholder| {
        let what = placeholder.path().display().to_string();
        let why = "a placeholder that a killed sandbox left".to_owned();
        let mut one = find(GcAction::Remove, what, why);
        if !dry_run {
            let removed = placeholder.remove().map_err(Error::from);
            one.failure = removed.err().map(Failure::from);
        }
        one
    });
    finds.collect()
}
