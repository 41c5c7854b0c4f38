//! Conditions for a turn of a scenario.

use std::collections::BTreeMap;

use regex::Regex;

use super::situation::Situation;

/// Named capture groups of regular expressions.
pub(super) type Captured = BTreeMap<String, String>;

/// Conditions of a turn; an absent condition is always true.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    pub(super) agent: Option<String>,
    /// Number of the prompt in the conversation, from 1.
    pub(super) nth: Option<usize>,
    /// Substrings of the prompt; all must occur.
    pub(super) contains: Vec<String>,
    /// Matched against the prompt.
    pub(super) matches: Option<Regex>,
    /// Matched against the system prompt.
    pub(super) system_matches: Option<Regex>,
    /// Substrings that must each occur in some user text of the whole conversation.
    pub(super) seen_all: Vec<String>,
}

impl Conditions {
    /// Returns the captured groups if all conditions are met.
    pub(super) fn check(
        &self,
        agent: &str,
        system: &str,
        situation: &Situation<'_>,
    ) -> Option<Captured> {
        let seen = |part: &String| {
            situation
                .seen
                .iter()
                .any(|text| text.contains(part.as_str()))
        };
        let holds = self.agent.as_ref().is_none_or(|name| name == agent)
            && self.nth.is_none_or(|nth| nth == situation.nth)
            && self
                .contains
                .iter()
                .all(|part| situation.prompt.contains(part.as_str()))
            && self.seen_all.iter().all(seen);
        if !holds {
            return None;
        }
        let mut captured = Captured::new();
        for (regex, text) in [
            (&self.system_matches, system),
            (&self.matches, situation.prompt.as_str()),
        ] {
            if let Some(regex) = regex {
                captured.extend(capture(regex, text)?);
            }
        }
        Some(captured)
    }
}

/// Returns the named groups of the first match, or `None` without a match. A group that did not
/// participate is empty.
pub(super) fn capture(regex: &Regex, text: &str) -> Option<Captured> {
    let found = regex.captures(text)?;
    let groups = regex.capture_names().flatten().map(|name| {
        let group = found.name(name).map_or("", |group| group.as_str());
        (name.to_owned(), group.to_owned())
    });
    Some(groups.collect())
}
