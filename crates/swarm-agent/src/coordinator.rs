//! Coordinator mode: a lead that only delegates, and the workers that it starts.

use std::path::{Path, PathBuf};

use swarm_permissions::{
    AgentCatalog, AgentConfig, AgentDefinition, AgentSource, Behavior, CoordinatorSettings, Rule,
    RuleSet,
};
use swarm_tools::prompt;

/// The built-in type of a worker.
pub(crate) const WORKER: &str = "worker";

const DESCRIPTION: &str = "Does any piece of work: research, implementation or verification. Use it unless another type fits better.";

/// Returns the configuration of a coordinator's process: `worker` is the only built-in type, forks
/// are disabled, and workers write in `scratchpad`.
pub fn coordinated(agent_config: AgentConfig, scratchpad: PathBuf) -> AgentConfig {
    let mut agent_config = agent_config;
    let own = agent_config.agents.winners();
    let own = own.filter(|definition| definition.source != AgentSource::BuiltIn);
    let mut definitions: Vec<AgentDefinition> = own.cloned().collect();
    definitions.push(AgentDefinition {
        source: AgentSource::BuiltIn,
        ..AgentDefinition::new(WORKER, DESCRIPTION, prompt!("worker"))
    });
    agent_config.agents = AgentCatalog::new(definitions);
    agent_config.limits.fork = false;
    agent_config.shell.write.push(scratchpad.clone());
    agent_config.coordinator = Some(CoordinatorSettings { scratchpad });
    agent_config
}

/// Returns the block of a system prompt that names the scratchpad.
pub fn scratchpad_section(scratchpad: &Path) -> String {
    prompt!("scratchpad").replace("{directory}", &scratchpad.display().to_string())
}

/// Returns the rules that let a worker use the scratchpad without approval.
pub(crate) fn scratchpad_rules(scratchpad: &Path) -> RuleSet {
    let mut rules = RuleSet {
        directories: vec![scratchpad.to_owned()],
        ..RuleSet::default()
    };
    // Two slashes start an absolute path in a rule.
    match Rule::parse(&format!("Edit(/{}/**)", scratchpad.display())) {
        Ok(rule) => rules.add(Behavior::Allow, rule, "scratchpad"),
        Err(error) => tracing::warn!(%error, "each change in the scratchpad requires permission"),
    }
    rules
}

/// Returns an error for a worker's prompt that refers to findings instead of stating them.
pub(crate) fn refuse_delegated_understanding(text: &str) -> Result<(), String> {
    match delegating_phrase(text) {
        None => Ok(()),
        Some(phrase) => Err(format!(
            "not sent: \"{phrase}\" leaves the understanding to the worker. Read the results yourself, then name the files, the \
             lines, the cause and the exact change"
        )),
    }
}

/// Returns the first phrase of a text that refers to findings instead of stating them.
fn delegating_phrase(text: &str) -> Option<String> {
    const WHOSE: [&str; 9] = [
        "your", "the", "those", "these", "their", "its", "previous", "earlier", "prior",
    ];
    const WHAT: [&str; 8] = [
        "findings",
        "finding",
        "research",
        "investigation",
        "analysis",
        "exploration",
        "discoveries",
        "understanding",
    ];
    const DID: [&str; 6] = [
        "found",
        "learned",
        "learnt",
        "discovered",
        "researched",
        "know",
    ];
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let delegates = |words: &&[&str]| match **words {
        ["based", "on", whose, what, ..] if WHOSE.contains(&whose) && WHAT.contains(&what) => true,
        ["based", "on", "what", "you", did, ..] => DID.contains(&did),
        _ => false,
    };
    let starts = (0..words.len()).map(|start| &words[start..]);
    let found = starts.filter(|rest| rest.len() >= 4).find(delegates)?;
    let length = if found[2] == "what" { 5 } else { 4 };
    Some(found[..length].join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_that_leave_the_understanding_to_the_worker_are_recognized() {
        for (text, phrase) in [
            (
                "Based on your findings, fix it.",
                Some("based on your findings"),
            ),
            (
                "fix it\nbased  on the\nresearch",
                Some("based on the research"),
            ),
            (
                "BASED ON WHAT YOU FOUND: fix",
                Some("based on what you found"),
            ),
            ("Sort them based on the length", None),
            ("Report your findings based on src/a.rs", None),
            ("based on your", None),
            ("based on what", None),
            ("", None),
        ] {
            assert_eq!(delegating_phrase(text).as_deref(), phrase, "{text:?}");
        }
    }

    #[test]
    fn a_coordinator_has_workers_and_the_users_own_types_and_no_forks() {
        let of = |name: &str, source| AgentDefinition {
            source,
            ..AgentDefinition::new(name, "", "")
        };
        let mut agent_config = AgentConfig {
            agents: AgentCatalog::new(vec![
                of("Explore", AgentSource::BuiltIn),
                of("reviewer", AgentSource::User),
            ]),
            ..AgentConfig::default()
        };
        agent_config.limits.fork = true;
        let coordinated = coordinated(agent_config, "/s".into());
        let types: Vec<&str> = coordinated
            .agents
            .winners()
            .map(|definition| definition.name.as_str())
            .collect();
        assert_eq!(types, ["reviewer", WORKER]);
        assert!(!coordinated.limits.fork);
        assert_eq!(coordinated.shell.write, [PathBuf::from("/s")]);
    }
}
