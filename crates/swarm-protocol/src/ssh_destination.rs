//! Destinations of ssh connections.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A host, `USER@HOST`, or a name in the configuration of ssh. Nothing that ssh could take for an
/// option: it may come from another machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct SshDestination(String);

/// A text that is not a destination.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a destination for ssh: use HOST or USER@HOST", .0.escape_debug())]
pub struct SshDestinationError(String);

impl SshDestination {
    /// Returns the destination as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SshDestination {
    type Error = SshDestinationError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_usable = |c: char| c.is_ascii_alphanumeric() || "@._-:[]%".contains(c);
        let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[');
        if begins && text.len() <= 255 && text.chars().all(is_usable) {
            Ok(Self(text))
        } else {
            Err(SshDestinationError(text))
        }
    }
}

impl FromStr for SshDestination {
    type Err = SshDestinationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.to_owned().try_into()
    }
}

impl fmt::Display for SshDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_of_ssh_is_not_a_destination() {
        for usable in ["box", "alice@build.example", "[2001:db8::7]", "10.0.0.7"] {
            assert_eq!(usable.parse::<SshDestination>().unwrap().as_str(), usable);
        }
        for wrong in ["", "-oProxyCommand=x", "a b", "box;id", "$(id)", "box\n"] {
            assert!(wrong.parse::<SshDestination>().is_err(), "{wrong}");
            let json = serde_json::to_string(wrong).unwrap();
            assert!(serde_json::from_str::<SshDestination>(&json).is_err());
        }
    }
}
