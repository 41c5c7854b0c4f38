//! Skills that a person starts with the prompt `/NAME ARGUMENTS`.

use serde_json::{Value, json};
use swarm_protocol::Skill;
use swarm_tools::{ModeSwitch as _, skill_text};

use crate::{Injected, Session};

/// A prompt that starts a skill.
pub(super) struct Expansion {
    pub(super) skill: Skill,
    arguments: String,
}

impl Expansion {
    /// Returns the fields of the `UserPromptExpansion` hook event.
    pub(super) fn fields(&self, typed: &str) -> Value {
        json!({
            "expansion_type": "slash_command",
            "command_name": self.skill.name,
            "command_args": self.arguments,
            "command_source": "skill",
            "prompt": typed,
        })
    }
}

impl Session {
    /// Returns the skill that a prompt starts, if any.
    pub(super) fn expansion(&self, typed: &str) -> Option<Expansion> {
        let words = typed.trim().strip_prefix('/')?;
        let (name, arguments) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        let skill = self.parts.skills.iter().find(|skill| skill.name == name)?;
        Some(Expansion {
            skill: skill.clone(),
            arguments: arguments.trim().to_owned(),
        })
    }

    /// Replaces a prompt with the skill's text and grants the skill's tools. If the skill cannot be
    /// read, the prompt is left unchanged.
    pub(super) fn expand(&self, expansion: &Expansion, prompt: &mut Injected) {
        let Expansion { skill, arguments } = expansion;
        match skill_text(skill, arguments) {
            Ok(text) => {
                prompt.text = format!("The user starts the skill `{}`.\n\n{text}", skill.name);
                if !skill.allowed_tools.is_empty() {
                    let origin = format!("skill {}", skill.name);
                    self.parts
                        .rights
                        .grant_for_turn(&skill.allowed_tools, &origin);
                }
            }
            Err(error) => self.notice(format!("cannot read {}: {error}", skill.path.display())),
        }
    }
}
