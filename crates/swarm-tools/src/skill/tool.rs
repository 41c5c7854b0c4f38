//! What a model sees of skills.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use swarm_protocol::{Skill, ToolKind};

use super::skill_text;
use crate::one_line::{counted, one_line};
use crate::parameters::{parse, schema};
use crate::{Tool, ToolContext, ToolOutput, blocking, prompt};

/// Characters of one skill's description that the model is told beforehand, and of all of them.
const DESCRIPTION_CHARS: usize = 250;
const LIST_CHARS: usize = 8_000;

/// Hands out the instructions of a skill.
#[derive(Debug, Clone)]
pub struct SkillTool {
    skills: Vec<Skill>,
}

impl SkillTool {
    /// The tool for these skills. Their order does not matter: the model is told of them by name, so that its prompt is
    /// the same from one run to the next. Of two of one name the first is taken.
    pub fn new(skills: &[Skill]) -> Self {
        let mut skills = skills.to_vec();
        skills.sort_by(|one, other| one.name.cmp(&other.name));
        skills.dedup_by(|later, first| later.name == first.name);
        Self { skills }
    }

    fn list(&self) -> String {
        let mut list = String::new();
        for skill in &self.skills {
            let about: String = skill.description.chars().take(DESCRIPTION_CHARS).collect();
            let line = match about.trim() {
                "" => format!("\n- {}", skill.name),
                about => format!("\n- {}: {about}", skill.name),
            };
            if list.chars().count() + line.chars().count() > LIST_CHARS {
                list.push_str("\n- …");
                break;
            }
            list.push_str(&line);
        }
        list
    }

    fn find(&self, name: &str) -> Result<&Skill, String> {
        let name = name.trim().trim_start_matches('/');
        let found = self.skills.iter().find(|skill| skill.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self
                .skills
                .iter()
                .map(|skill| skill.name.as_str())
                .collect();
            format!(
                "There is no skill `{}`. The skills are: {}.",
                name.escape_debug(),
                names.join(", ")
            )
        })
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// The name of the skill
    skill: String,
    /// Arguments for the skill, if it takes any
    #[serde(default)]
    args: String,
}

#[async_trait]
impl Tool for SkillTool {
    fn name(&self) -> &'static str {
        "Skill"
    }

    fn description(&self) -> String {
        prompt!("tools/Skill").replace("{skills}", &self.list())
    }

    fn input_schema(&self) -> Value {
        schema::<Parameters>()
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Own
    }

    fn is_read_only(&self, _input: &Value) -> bool {
        true
    }

    fn one_line(&self, input: &Value) -> String {
        one_line(&format!(
            "Skill {}",
            input["skill"].as_str().unwrap_or_default()
        ))
    }

    async fn call(&self, input: Value, ctx: &ToolContext) -> ToolOutput {
        let found = parse("Skill", input)
            .and_then(|input: Parameters| Ok((self.find(&input.skill)?.clone(), input.args)));
        let (skill, arguments) = match found {
            Ok(found) => found,
            Err(why) => return ToolOutput::error(why),
        };
        blocking::run(ctx, move |_| match skill_text(&skill, &arguments) {
            Ok(text) => {
                let lines = counted(text.lines().count(), "line");
                ToolOutput::ok(text, lines)
            }
            Err(error) => ToolOutput::error(format!(
                "The skill {} cannot be read from {}: {error}.",
                skill.name,
                skill.path.display()
            )),
        })
        .await
    }
}
