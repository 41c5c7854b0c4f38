//! tmux features that swarm uses, and the releases that introduced them (from tmux's CHANGES file).

use std::fmt;

/// A tmux feature, described for a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feature {
    /// Description.
    pub what: &'static str,
    /// First release with the feature.
    pub since: (u32, u32),
}

const fn feature(since: (u32, u32), what: &'static str) -> Feature {
    Feature { what, since }
}

/// All required features, in the order of their releases.
const FEATURES: [Feature; 6] = [
    feature((2, 9), "windows of a fixed size (`resize-window`)"),
    feature((3, 0), "options of a single pane (`set-option -p`)"),
    feature((3, 0), "variables for a pane's program (`respawn-pane -e`)"),
    feature(
        (3, 2),
        "panes that stay after a failure (`remain-on-exit failed`)",
    ),
    feature((3, 2), "comparing numbers in formats"),
    feature((3, 3), "a border text for each pane (`pane-border-format`)"),
];

/// The oldest supported release.
pub const OLDEST: (u32, u32) = FEATURES[FEATURES.len() - 1].since;

/// The newest release with which this crate was tested.
pub(super) const NEWEST_TESTED: (u32, u32) = (3, 7);

/// A tmux version as printed by `tmux -V`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TmuxVersion {
    said: String,
    /// Release number; `None` for a development build without one, which counts as newer than any
    /// release.
    number: Option<(u32, u32)>,
}

impl TmuxVersion {
    /// Parses `tmux 3.3a`, `tmux next-3.7` or `tmux master`. `None` for anything else.
    pub fn parse(said: &str) -> Option<Self> {
        let said = said.trim();
        let word = said
            .strip_prefix("tmux ")?
            .split_ascii_whitespace()
            .next()?;
        let mut numbers = word
            .trim_start_matches("next-")
            .split('.')
            .map(|part| part.trim_end_matches(|c: char| !c.is_ascii_digit()).parse());
        let number = match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Some((major, minor)),
            // A build from the repository reports `master`; OpenBSD's reports the version of the
            // system.
            _ if word == "master" || word.starts_with("openbsd") => None,
            _ => return None,
        };
        Some(Self {
            said: said.to_owned(),
            number,
        })
    }

    /// Returns the required features that this version lacks.
    pub fn missing(&self) -> Vec<Feature> {
        let lacks = |feature: &Feature| self.number.is_some_and(|number| number < feature.since);
        FEATURES.into_iter().filter(lacks).collect()
    }

    /// Returns whether the version is newer than any tested one.
    pub fn is_untested(&self) -> bool {
        self.number.is_none_or(|number| number > NEWEST_TESTED)
    }
}

impl fmt::Display for TmuxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r4_a_version_lacks_later_features() {
        let missing = |said: &str| TmuxVersion::parse(said).unwrap().missing().len();
        for good in [
            "tmux 3.3",
            "tmux 3.3a\n",
            "tmux 3.10",
            "tmux next-3.7",
            "tmux 4.0-rc",
            "tmux master",
            "tmux openbsd-7.6",
        ] {
            assert_eq!(missing(good), 0, "{good}");
        }
        assert_eq!(missing("tmux 3.2a"), 1);
        assert_eq!(missing("tmux 3.1c"), 3);
        assert_eq!(missing("tmux 2.8"), FEATURES.len());
        for unreadable in ["", "tmux", "3.3a", "screen 4.0", "tmux three"] {
            assert_eq!(TmuxVersion::parse(unreadable), None, "{unreadable}");
        }
    }

    #[test]
    fn r4_an_untested_version_is_recognized() {
        let untried = |said: &str| TmuxVersion::parse(said).unwrap().is_untested();
        assert!(!untried("tmux 3.3a"));
        assert!(untried("tmux 9.0") && untried("tmux master"));
        assert!(FEATURES.iter().all(|feature| feature.since <= OLDEST));
        assert!(OLDEST <= NEWEST_TESTED);
    }
}
