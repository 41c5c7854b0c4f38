//! Coordinator mode: a lead that only delegates, and the workers that it starts.

use swarm_permissions::{AgentCatalog, AgentConfig, AgentDefinition, AgentSource};
use swarm_protocol::word_list;
use swarm_tools::prompt;

pub(crate) const WORKER: &str = "worker";

const DESCRIPTION: &str = "Does any piece of work: research, implementation or verification. Use it unless another type fits better.";

/// Returns the configuration of a coordinator's process: `worker` is the only built-in type, and
/// forks are disabled.
pub fn coordinated(agent_config: AgentConfig) -> AgentConfig {
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
    agent_config.coordinator = true;
    agent_config
}

/// Returns an error for a worker's prompt that refers to findings instead of stating them.
pub(crate) fn refuse_delegated_understanding(text: &str) -> Result<(), String> {
    match delegating_phrase(text) {
        None => Ok(()),
        Some(phrase) => Err(format!(
            "\"{phrase}\" leaves the understanding to the worker. Read the results yourself, then name the files, the \
             lines, the cause and the exact change"
        )),
    }
}

/// Returns the first phrase of a text that refers to findings instead of stating them. Other findings
/// than the worker's may be named if the text says in which file they are.
fn delegating_phrase(text: &str) -> Option<String> {
    const SOURCES: [&str; 8] = [
        "based on",
        "according to",
        "building on",
        "using",
        "per",
        "from",
        "given",
        "with",
    ];
    const OTHERS: [&str; 8] = [
        "the", "those", "these", "their", "its", "previous", "earlier", "prior",
    ];
    const FINDINGS: [&str; 8] = word_list(
        "findings finding research investigation analysis exploration discoveries understanding",
    );
    const LEARNED: [&str; 6] = word_list("found learned learnt discovered researched know");
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let words = format!(" {} ", words.join(" "));
    let owners = if names_a_file(&lower) {
        &[][..]
    } else {
        &OTHERS
    };
    let owners = std::iter::once("your").chain(owners.iter().copied());
    let references = owners.flat_map(|owner| FINDINGS.map(|what| format!("{owner} {what}")));
    let learned = LEARNED.map(|learned| format!("what you {learned}"));
    let mut phrases = references
        .chain(learned)
        .flat_map(|reference| SOURCES.map(|source| format!("{source} {reference}")));
    phrases.find(|phrase| words.contains(&format!(" {phrase} ")))
}

/// Whether a word of a text has the form of a path or a file name.
fn names_a_file(text: &str) -> bool {
    text.split_whitespace().any(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let has_extension = word.rsplit_once('.').is_some_and(|(name, end)| {
            !name.is_empty() && end.chars().next().is_some_and(char::is_alphabetic)
        });
        word.contains('/') || has_extension
    })
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
            (
                "Using your findings, fix src/a.rs:3.",
                Some("using your findings"),
            ),
            (
                "According to the analysis, fix it",
                Some("according to the analysis"),
            ),
            (
                "Fix src/a.rs:10 based on the analysis in docs/design.md: set warm = true",
                None,
            ),
            ("Report your findings from src/a.rs", None),
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
        let coordinated = coordinated(agent_config);
        let types: Vec<&str> = coordinated
            .agents
            .winners()
            .map(|definition| definition.name.as_str())
            .collect();
        assert_eq!(types, ["reviewer", WORKER]);
        assert!(!coordinated.limits.fork && coordinated.coordinator);
    }
}
