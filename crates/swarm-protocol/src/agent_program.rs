//! The agent program that responds in a member's turns.

use std::fmt;
use std::str::FromStr;

use crate::{InvalidText, serde_as_text};

/// The agent program of a member, as a person names it: `swarm`, `claude` or `acp:COMMAND`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum AgentProgram {
    /// swarm's own turn loop, which asks a model.
    #[default]
    Swarm,
    /// The user's Claude Code.
    Claude,
    /// A program that speaks the Agent Client Protocol: a preset or a command line.
    Acp(String),
}

impl AgentProgram {
    /// Returns whether swarm asks the model itself.
    pub fn is_swarm(&self) -> bool {
        *self == Self::Swarm
    }

    /// Returns the entry for rosters and reports where other members have `provider/model`.
    pub fn model_label(&self, model: Option<&str>) -> Option<String> {
        match self {
            Self::Swarm => None,
            Self::Claude => Some(format!("claude/{}", model.unwrap_or("default"))),
            Self::Acp(command) => {
                let program = command.split_whitespace().next().unwrap_or_default();
                let name = program.rsplit('/').next().unwrap_or(program);
                Some(format!("acp/{name}"))
            }
        }
    }
}

impl fmt::Display for AgentProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Swarm => f.write_str("swarm"),
            Self::Claude => f.write_str("claude"),
            Self::Acp(command) => write!(f, "acp:{command}"),
        }
    }
}

impl FromStr for AgentProgram {
    type Err = InvalidText;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "swarm" => Ok(Self::Swarm),
            "claude" => Ok(Self::Claude),
            _ => match text.strip_prefix("acp:").map(str::trim) {
                Some(command) if !command.is_empty() => Ok(Self::Acp(command.to_owned())),
                _ => Err(InvalidText::new(
                    text,
                    "a runtime: use swarm, claude or acp:COMMAND",
                )),
            },
        }
    }
}

serde_as_text!(AgentProgram);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_written_form_is_read_back() {
        for text in ["swarm", "claude", "acp:gemini --acp"] {
            assert_eq!(text.parse::<AgentProgram>().unwrap().to_string(), text);
        }
        for text in ["", "acp:", "acp: ", "codex"] {
            assert!(text.parse::<AgentProgram>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_label_has_the_program_without_its_directory_and_arguments() {
        let label = |text: &str| text.parse::<AgentProgram>().unwrap().model_label(None);
        assert_eq!(label("acp:/opt/bin/codex-acp -v").unwrap(), "acp/codex-acp");
        assert_eq!(label("claude").unwrap(), "claude/default");
        assert_eq!(label("swarm"), None);
    }
}
