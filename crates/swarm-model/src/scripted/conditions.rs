//! Whether a turn of a scenario fits a situation.

use std::collections::BTreeMap;

use regex::Regex;

use super::situation::Situation;

/// Named groups that regular expressions captured.
pub(super) type Captured = BTreeMap<String, String>;

/// What has to hold for a turn; what is absent holds always.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    /// Name of the agent.
    pub(super) agent: Option<String>,
    /// Number of the prompt in the conversation, from 1.
    pub(super) nth: Option<usize>,
    /// Parts of the prompt, all of them.
    pub(super) contains: Vec<String>,
    /// On the prompt.
    pub(super) matches: Option<Regex>,
    /// On the system prompt.
    pub(super) system_matches: Option<Regex>,
    /// Each in some text that users said in the whole conversation.
    pub(super) seen_all: Vec<String>,
}

impl Conditions {
    /// The captured groups if everything holds.
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

/// The named groups of the first match; a group that took no part is empty. `None` without a match.
pub(super) fn capture(regex: &Regex, text: &str) -> Option<Captured> {
    let found = regex.captures(text)?;
    let groups = regex.capture_names().flatten().map(|name| {
        let group = found.name(name).map_or("", |group| group.as_str());
        (name.to_owned(), group.to_owned())
    });
    Some(groups.collect())
}
