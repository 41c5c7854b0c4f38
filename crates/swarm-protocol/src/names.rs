//! Names of teams and members, and the agent id made of both.
//!
//! A name becomes part of a path, so it is checked once, at the border, and is a plain string never again.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::SYSTEM_SENDER;

/// The reserved name of every team's lead.
pub const LEAD_NAME: &str = "team-lead";

/// What events call the person who acts through a command or in a pane.
pub const PERSON: &str = "person";

/// What events call the model of the lead where it answers for its team.
pub const LEAD_AGENT: &str = "lead-agent";

/// The variable that marks every process of a member, and of what works for it: its value is the spawn id.
pub const SPAWN_MARK: &str = "SWARM_SPAWN_ID";

/// The variable that names the config directory of all files, in every process of a member and of what works for it.
pub const ROOT_VARIABLE: &str = "CLAUDE_CONFIG_DIR";

/// Longest name in bytes (`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`, the pattern of Claude Code's Agent tool).
const MAX_NAME: usize = 64;

/// Why a string is not a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The string does not match the pattern of names.
    #[error(
        "`{}` is not a {what} name: use 1 to 64 letters, digits, `_` or `-`, beginning with a letter or digit",
        .given.escape_debug()
    )]
    Pattern {
        /// `team` or `member`.
        what: &'static str,
        /// What was given.
        given: String,
    },
    /// A teammate cannot take the name of the lead or of the program.
    #[error("`{LEAD_NAME}` and `{SYSTEM_SENDER}` are reserved: choose another member name")]
    Reserved,
    /// A team cannot be called like its lead.
    #[error("`{LEAD_NAME}` is reserved for the lead of a team: choose another team name")]
    LeadsName,
    /// An agent id is not `name@team`.
    #[error("`{}` is not an agent id: write it as name@team", .0.escape_debug())]
    AgentId(String),
}

/// What the name of a team is called in errors.
const TEAM: &str = "team";

fn check(what: &'static str, given: &str) -> Result<(), NameError> {
    if what == TEAM && given.eq_ignore_ascii_case(LEAD_NAME) {
        return Err(NameError::LeadsName);
    }
    let bytes = given.as_bytes();
    let good = (1..=MAX_NAME).contains(&bytes.len())
        && bytes[0].is_ascii_alphanumeric()
        && bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'-');
    if good {
        Ok(())
    } else {
        Err(NameError::Pattern {
            what,
            given: given.to_owned(),
        })
    }
}

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, $what:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks a string against the pattern of names.
            ///
            /// # Errors
            /// [`NameError::Pattern`] when it does not match.
            pub fn parse(given: &str) -> Result<Self, NameError> {
                check($what, given)?;
                Ok(Self(given.to_owned()))
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;
            fn from_str(given: &str) -> Result<Self, NameError> {
                Self::parse(given)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(given: String) -> Result<Self, NameError> {
                Self::parse(&given)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }
    };
}

name_type!(
    /// The name of a team, which is also the name of its directories.
    TeamName,
    TEAM
);
name_type!(
    /// The name of a member, which is also the name of its inbox file. The lead's is [`LEAD_NAME`].
    MemberName,
    "member"
);

impl MemberName {
    /// The lead's name.
    pub fn lead() -> Self {
        Self(LEAD_NAME.to_owned())
    }

    /// Whether this is the lead's name.
    pub fn is_lead(&self) -> bool {
        self.0 == LEAD_NAME
    }

    /// Checks a name for a teammate: the pattern, and that it is neither the lead's nor the one under
    /// which the program itself speaks.
    ///
    /// # Errors
    /// [`NameError::Pattern`] or [`NameError::Reserved`].
    pub fn teammate(given: &str) -> Result<Self, NameError> {
        let name = Self::parse(given)?;
        if [LEAD_NAME, SYSTEM_SENDER]
            .iter()
            .any(|taken| name.0.eq_ignore_ascii_case(taken))
        {
            Err(NameError::Reserved)
        } else {
            Ok(name)
        }
    }
}

/// `name@team`, as it stands in rosters and claims.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentId {
    /// The member's name.
    pub name: MemberName,
    /// Its team.
    pub team: TeamName,
}

impl AgentId {
    /// The id of a member of a team.
    pub fn new(name: MemberName, team: TeamName) -> Self {
        Self { name, team }
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.team)
    }
}

impl FromStr for AgentId {
    type Err = NameError;
    fn from_str(given: &str) -> Result<Self, NameError> {
        let (name, team) = given
            .split_once('@')
            .ok_or_else(|| NameError::AgentId(given.to_owned()))?;
        Ok(Self {
            name: MemberName::parse(name)?,
            team: TeamName::parse(team)?,
        })
    }
}

impl TryFrom<String> for AgentId {
    type Error = NameError;
    fn try_from(given: String) -> Result<Self, NameError> {
        given.parse()
    }
}

impl From<AgentId> for String {
    fn from(id: AgentId) -> String {
        id.to_string()
    }
}

/// Whether two names would share a directory or file under one of Claude Code's two sanitizers: one folds case and
/// turns `_` into `-`, the other keeps both, and a file system may fold case by itself.
pub fn sanitized_collision(a: &str, b: &str) -> bool {
    let fold = |s: &str| s.to_ascii_lowercase().replace('_', "-");
    fold(a) == fold(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_team_is_not_called_like_its_lead() {
        for given in ["team-lead", "Team-Lead"] {
            assert_eq!(TeamName::parse(given), Err(NameError::LeadsName));
        }
    }

    #[test]
    fn names_that_leave_a_directory_are_refused() {
        for bad in [
            "",
            ".",
            "..",
            "../x",
            "a/b",
            "/etc",
            "a\\b",
            "a b",
            "-a",
            "_a",
            "a\n",
            "é",
            "a@b",
            "\u{202e}x",
        ] {
            assert!(TeamName::parse(bad).is_err(), "{bad:?}");
            assert!(MemberName::parse(bad).is_err(), "{bad:?}");
        }
        assert!(TeamName::parse(&"a".repeat(64)).is_ok());
        assert!(TeamName::parse(&"a".repeat(65)).is_err());
    }

    #[test]
    fn a_teammate_cannot_be_called_like_the_lead_or_the_program() {
        assert_eq!(MemberName::teammate("team-lead"), Err(NameError::Reserved));
        assert_eq!(MemberName::teammate("Team-Lead"), Err(NameError::Reserved));
        assert_eq!(MemberName::teammate("system"), Err(NameError::Reserved));
        assert!(MemberName::teammate("team-leader").is_ok());
    }

    #[test]
    fn names_under_both_sanitizers_collide() {
        assert!(sanitized_collision("My_Team", "my-team"));
        assert!(!sanitized_collision("my-team", "my-team2"));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

        #[test]
        fn d12_a_name_with_anything_but_plain_letters_is_refused_wherever_it_stands(
            before in "[A-Za-z0-9_-]{0,20}",
            other in "\\PC|[\u{0}-\u{1f}\u{7f}-\u{9f}\u{200b}\u{202e}\u{feff}]|\\.\\.|[/\\\\~@:*?]",
            after in "[A-Za-z0-9_-]{0,20}",
        ) {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            prop_assume!(!other.chars().all(plain));
            let given = format!("{before}{other}{after}");
            prop_assert!(TeamName::parse(&given).is_err(), "{:?}", given);
            prop_assert!(MemberName::parse(&given).is_err(), "{:?}", given);
            prop_assert!(MemberName::teammate(&given).is_err(), "{:?}", given);
        }

        #[test]
        fn d12_the_leads_name_is_taken_however_it_is_written(upper in prop::collection::vec(any::<bool>(), 9)) {
            let cased = |(c, upper): (char, &bool)| if *upper { c.to_ascii_uppercase() } else { c };
            let given: String = LEAD_NAME.chars().zip(&upper).map(cased).collect();
            prop_assert_eq!(MemberName::teammate(&given), Err(NameError::Reserved));
        }
    }

    proptest! {
        #[test]
        fn a_name_is_its_own_file_name(given in "\\PC{0,80}") {
            if let Ok(name) = MemberName::parse(&given) {
                prop_assert_eq!(name.as_str(), given.as_str());
                let path = std::path::Path::new(name.as_str());
                prop_assert_eq!(path.components().count(), 1);
                prop_assert_eq!(path.file_name().and_then(|n| n.to_str()), Some(given.as_str()));
            }
        }

        #[test]
        fn agent_ids_round_trip(name in "[A-Za-z0-9][A-Za-z0-9_-]{0,63}", team in "[A-Za-z0-9][A-Za-z0-9_-]{0,63}") {
            let id: AgentId = format!("{name}@{team}").parse().unwrap();
            prop_assert_eq!(id.to_string(), format!("{name}@{team}"));
        }
    }
}
