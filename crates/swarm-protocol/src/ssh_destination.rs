//! Destinations of ssh connections.

use std::str::FromStr;

use crate::{InvalidText, serde_as_text, wraps_text};

/// A host, `USER@HOST`, or a name in the configuration of ssh. Nothing that ssh could take for an
/// option: it may come from another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshDestination(String);

wraps_text!(SshDestination);

impl FromStr for SshDestination {
    type Err = InvalidText;

    fn from_str(text: &str) -> Result<Self, InvalidText> {
        let is_usable = |c: char| c.is_ascii_alphanumeric() || "@._-:[]%".contains(c);
        let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[');
        if begins && text.len() <= 255 && text.chars().all(is_usable) {
            return Ok(Self(text.to_owned()));
        }
        let expected = "a destination for ssh: use HOST or USER@HOST";
        Err(InvalidText::new(text, expected))
    }
}

serde_as_text!(SshDestination);

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
