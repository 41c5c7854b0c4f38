//! What swarm uses of tmux, and since when tmux has it (tmux's own list of changes).

use std::fmt;

/// Something that swarm uses, in the words of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feature {
    /// What it is.
    pub what: &'static str,
    /// The first release that has it.
    pub since: (u32, u32),
}

/// Everything that swarm cannot do without. The youngest of it decides which tmux is the oldest that will do.
pub const FEATURES: [Feature; 6] = [
    Feature {
        what: "windows of a fixed size (`resize-window`)",
        since: (2, 9),
    },
    Feature {
        what: "options of a single pane (`set-option -p`)",
        since: (3, 0),
    },
    Feature {
        what: "variables for a pane's program (`respawn-pane -e`)",
        since: (3, 0),
    },
    Feature {
        what: "panes that stay after a failure (`remain-on-exit failed`)",
        since: (3, 2),
    },
    Feature {
        what: "comparing numbers in formats",
        since: (3, 2),
    },
    Feature {
        what: "a border text for each pane (`pane-border-format`)",
        since: (3, 3),
    },
];

/// The oldest release that will do.
pub const OLDEST: (u32, u32) = oldest();

/// The newest release that the tests of this crate were run with.
pub const NEWEST_TRIED: (u32, u32) = (3, 7);

const fn oldest() -> (u32, u32) {
    let mut oldest = (0, 0);
    let mut n = 0;
    while n < FEATURES.len() {
        let since = FEATURES[n].since;
        if since.0 > oldest.0 || (since.0 == oldest.0 && since.1 > oldest.1) {
            oldest = since;
        }
        n += 1;
    }
    oldest
}

/// A version of tmux, as `tmux -V` prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TmuxVersion {
    said: String,
    /// Release numbers; none for a build that has no number of its own, which is newer than any release.
    number: Option<(u32, u32)>,
}

impl TmuxVersion {
    /// Reads `tmux 3.3a`, `tmux next-3.7` or `tmux master`. `None` for anything else.
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
            // A build from the repository calls itself master; OpenBSD's has the system's version.
            _ if word == "master" || word.starts_with("openbsd") => None,
            _ => return None,
        };
        Some(Self {
            said: said.to_owned(),
            number,
        })
    }

    /// What swarm needs and this version has not.
    pub fn missing(&self) -> Vec<Feature> {
        let lacks = |feature: &Feature| self.number.is_some_and(|number| number < feature.since);
        FEATURES.into_iter().filter(lacks).collect()
    }

    /// Whether it is newer than any that swarm was tried with.
    pub fn is_untried(&self) -> bool {
        self.number.is_none_or(|number| number > NEWEST_TRIED)
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
    fn r4_a_version_lacks_what_came_after_it() {
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
    fn r4_a_version_that_nobody_tried_is_known_as_such() {
        let untried = |said: &str| TmuxVersion::parse(said).unwrap().is_untried();
        assert!(!untried("tmux 3.3a"));
        assert!(untried("tmux 9.0") && untried("tmux master"));
        assert!(FEATURES.iter().all(|feature| feature.since <= OLDEST));
        assert!(OLDEST <= NEWEST_TRIED);
    }
}
