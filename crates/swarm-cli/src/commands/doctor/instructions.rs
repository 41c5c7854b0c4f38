//! Checks of the instruction files: their size and whether they can be read.

use swarm_agent::InstructionFile;
use swarm_config::{Environment, Settings};

use super::finding::Finding;
use crate::agent_config;

const NAME: &str = "instructions";

/// Number of characters above which Claude Code also warns.
const MANY: usize = 40_000;

/// Returns the finding; `None` without instruction files.
pub(super) fn check(env: &Environment, settings: &Settings) -> Vec<Finding> {
    // Another check reports invalid settings.
    let Ok(loaded) = agent_config::instructions(env, settings, &env.cwd) else {
        return Vec::new();
    };
    let size = |file: &InstructionFile| file.text.chars().count();
    let total: usize = loaded.files.iter().map(size).sum();
    let mut findings = Vec::new();
    if let Some(largest) = loaded.files.iter().max_by_key(|file| size(file)) {
        let found = format!("{} files, {total} characters", loaded.files.len());
        findings.push(if total > MANY {
            let hint = format!(
                "more than {MANY} make agents slower and less attentive: shorten {} ({} characters)",
                largest.path.display(),
                size(largest)
            );
            Finding::warning(NAME, found, hint)
        } else {
            Finding::ok(NAME, found)
        });
    }
    let problems = loaded.problems.into_iter();
    findings.extend(
        problems.map(|problem| {
            Finding::warning(NAME, problem, "fix the file; the other files are read")
        }),
    );
    findings
}
