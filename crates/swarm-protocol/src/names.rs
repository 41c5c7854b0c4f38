//! Names of teams and members, and agent ids.
//!
//! A name becomes part of a path, so it is validated once, on input, and is never handled as a
//! plain string afterwards.

use std::fmt;
use std::str::FromStr;

use crate::{serde_as_text, wraps_text};

/// Reserved name of every team's lead.
pub const LEAD_NAME: &str = "team-lead";

/// Name in events for the person who acts through a command or a pane.
pub const PERSON: &str = "person";

/// Sender name of messages from a person to the lead.
pub const PERSON_SENDER: &str = "user";

/// Name in events for the lead's model when it answers on behalf of its team.
pub const LEAD_AGENT: &str = "lead-agent";

/// Environment variable that marks every process of a member and its descendants; the value is the
/// spawn id.
pub const SPAWN_MARK: &str = "SWARM_SPAWN_ID";

/// Environment variable with the config directory, set in every process of a member and its
/// descendants.
pub const ROOT_VARIABLE: &str = "CLAUDE_CONFIG_DIR";

/// Longest name in bytes (`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`, the pattern of Claude Code's Agent tool).
const MAX_NAME: usize = 64;

/// Reason for which a string is not a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The string does not match the name pattern.
    #[error(
        "`{}` is not a {what} name: use 1 to 64 letters, digits, `_` or `-`, beginning with a letter or digit",
        .given.escape_debug()
    )]
    Pattern {
        /// `team`, `member`, `node` or `label`.
        what: &'static str,
        /// The given string.
        given: String,
    },
    /// The name of the lead or of the program cannot be used for a teammate.
    #[error("`{LEAD_NAME}` and `{SYSTEM_SENDER}` are reserved: choose another member name")]
    Reserved,
    /// The name of the lead cannot be used for a team.
    #[error("`{LEAD_NAME}` is reserved for the lead of a team: choose another team name")]
    LeadsName,
    /// The string is not of the form `name@team`.
    #[error("`{}` is not an agent id: write it as name@team", .0.escape_debug())]
    AgentId(String),
}

/// Word for a team name in errors.
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
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Parses a name.
            ///
            /// # Errors
            /// [`NameError::Pattern`] if it does not match the pattern.
            pub fn parse(given: &str) -> Result<Self, NameError> {
                check($what, given)?;
                Ok(Self(given.to_owned()))
            }
        }

        wraps_text!($name);

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

        serde_as_text!($name);

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }
    };
}

name_type!(
    /// Name of a team; also the name of its directories.
    TeamName,
    TEAM
);
name_type!(
    /// Name of a member; also the name of its inbox file. The lead's is [`LEAD_NAME`].
    MemberName,
    "member"
);
name_type!(
    /// Name of a node of a hub.
    NodeName,
    "node"
);
name_type!(
    /// Label of nodes.
    NodeLabel,
    "label"
);

impl TeamName {
    /// Returns the name under which a hub stores its nodes. No team can have it.
    pub fn nodes() -> Self {
        Self("_nodes".to_owned())
    }
}

impl NodeName {
    /// Returns the name under which the node holds its lease.
    pub fn holder(&self) -> MemberName {
        MemberName(self.0.clone())
    }
}

impl MemberName {
    /// Returns a name that no member and no node can have.
    pub(crate) fn reserved(id: impl fmt::Display) -> Self {
        Self(format!("_{id}"))
    }

    /// Returns the lead's name.
    pub fn lead() -> Self {
        Self(LEAD_NAME.to_owned())
    }

    /// Returns whether this is the lead's name.
    pub fn is_lead(&self) -> bool {
        self.0 == LEAD_NAME
    }

    /// Parses the name of a teammate, which must match the pattern and must not be the name of the
    /// lead or of the program.
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

/// `name@team`, as in rosters and claims.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AgentId {
    /// Name of the member.
    pub name: MemberName,
    /// Name of the team.
    pub team: TeamName,
}

impl AgentId {
    /// Creates the id of a team member.
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

serde_as_text!(AgentId);

/// Returns whether two names map to the same path under either of Claude Code's two sanitizers: one
/// folds case and turns `_` into `-`, the other keeps both, and a file system may fold case itself.
pub fn sanitized_collision(a: &str, b: &str) -> bool {
    let fold = |s: &str| s.to_ascii_lowercase().replace('_', "-");
    fold(a) == fold(b)
}

/// Sender name of messages that the program writes.
pub const SYSTEM_SENDER: &str = "system";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_team_cannot_have_the_name_of_its_lead() {
        for given in ["team-lead", "Team-Lead"] {
            assert_eq!(TeamName::parse(given), Err(NameError::LeadsName));
        }
    }

    #[test]
    fn names_that_escape_their_directory_are_rejected() {
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
    fn a_teammate_cannot_have_the_name_of_the_lead_or_the_program() {
        assert_eq!(MemberName::teammate("team-lead"), Err(NameError::Reserved));
        assert_eq!(MemberName::teammate("Team-Lead"), Err(NameError::Reserved));
        assert_eq!(MemberName::teammate("system"), Err(NameError::Reserved));
        assert!(MemberName::teammate("team-leader").is_ok());
    }

    #[test]
    fn names_that_either_sanitizer_maps_to_one_path_collide() {
        assert!(sanitized_collision("My_Team", "my-team"));
        assert!(!sanitized_collision("my-team", "my-team2"));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

        #[test]
        fn d12_a_name_with_a_forbidden_character_at_any_position_is_rejected(
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
        fn d12_the_name_of_the_lead_is_reserved_in_any_case(upper in prop::collection::vec(any::<bool>(), 9)) {
            let cased = |(c, upper): (char, &bool)| if *upper { c.to_ascii_uppercase() } else { c };
            let given: String = LEAD_NAME.chars().zip(&upper).map(cased).collect();
            prop_assert_eq!(MemberName::teammate(&given), Err(NameError::Reserved));
        }
    }

    proptest! {
        #[test]
        fn a_valid_name_is_a_single_path_component(given in "\\PC{0,80}") {
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
