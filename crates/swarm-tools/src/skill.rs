//! The Skill tool: skill list, calls and texts.

use std::io;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use swarm_protocol::{Skill, ToolKind, split_frontmatter};

use crate::one_line::counted;
use crate::parameters::parse;
use crate::{ToolContext, ToolOutput, TypedTool, blocking, prompt};

/// Maximum characters of one skill's description in the tool description, and of the whole list.
const DESCRIPTION_CHARS: usize = 250;
const LIST_CHARS: usize = 8_000;

/// Note before a skill that is meant for a separate agent if none can be started.
const NO_AGENT: &str =
    "This skill is meant for a separate agent, which you cannot start. Follow it yourself.";

/// Returns the instructions of a skill.
#[derive(Debug, Clone)]
pub struct SkillTool {
    skills: Vec<Skill>,
}

impl SkillTool {
    /// Creates the tool for these skills. The list in the prompt is sorted by name, so that it is
    /// the same in every run. If two skills have the same name, the first one wins.
    pub fn new(skills: &[Skill]) -> Self {
        let mut skills: Vec<Skill> = skills.to_vec();
        skills.sort_by(|one, other| one.name.cmp(&other.name));
        skills.dedup_by(|later, first| later.name == first.name);
        Self { skills }
    }

    fn list(&self) -> String {
        let mut list = String::new();
        for skill in self.offered() {
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

    /// Returns the skills that a model may load.
    fn offered(&self) -> impl Iterator<Item = &Skill> {
        self.skills.iter().filter(|skill| !skill.person_only)
    }

    /// Returns the skill named in a call, and its arguments. The error is a message for the model.
    pub fn asked(&self, input: Value) -> Result<(Skill, String), String> {
        let input: Parameters = parse(Self::NAME, input)?;
        Ok((self.find(&input.skill)?.clone(), input.args))
    }

    /// Grants the permissions of a skill until the end of the turn in which it is loaded.
    fn grant_for_turn(skill: &Skill, ctx: &ToolContext) {
        let modes = ctx.modes.as_ref();
        if let Some(modes) = modes.filter(|_| !skill.allowed_tools.is_empty()) {
            modes.grant_for_turn(&skill.allowed_tools, &format!("skill {}", skill.name));
        }
    }

    fn find(&self, name: &str) -> Result<&Skill, String> {
        let name = name.trim().trim_start_matches('/');
        let found = self.skills.iter().find(|skill| skill.name == name);
        if found.is_some_and(|skill| skill.person_only) {
            return Err(format!(
                "Only users can start the skill `{name}`: it has `disable-model-invocation`."
            ));
        }
        found.ok_or_else(|| {
            let names: Vec<&str> = self.offered().map(|skill| skill.name.as_str()).collect();
            format!(
                "There is no skill `{}`. Available skills: {}.",
                name.escape_debug(),
                names.join(", ")
            )
        })
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The name of the skill
    skill: String,
    /// Arguments for the skill, if it takes any
    #[serde(default)]
    args: String,
}

#[async_trait]
impl TypedTool for SkillTool {
    type Parameters = Parameters;
    const NAME: &'static str = "Skill";
    const PROMPT: &'static str = prompt!("tools/Skill");
    const KIND: ToolKind = ToolKind::Own;
    const READ_ONLY: bool = true;
    const SUBJECT: &'static str = "skill";

    fn description(&self) -> String {
        Self::PROMPT.replace("{skills}", &self.list())
    }

    async fn call(&self, input: Parameters, ctx: &ToolContext) -> Result<ToolOutput, String> {
        let skill = self.find(&input.skill)?.clone();
        Self::grant_for_turn(&skill, ctx);
        blocking::run(ctx, move |_| {
            let text = skill_text(&skill, &input.args).map_err(|error| {
                let (name, path) = (&skill.name, skill.path.display());
                format!("Cannot read the skill {name} from {path}: {error}.")
            })?;
            let text = if skill.fork {
                format!("{NO_AGENT}\n\n{text}")
            } else {
                text
            };
            let lines = counted(text.lines().count(), "line");
            Ok(ToolOutput::ok(text, lines))
        })
        .await
    }
}

/// Maximum number of bytes read of a `SKILL.md`.
const MAX_SKILL_BYTES: u64 = 1 << 20;

/// Returns the text of a skill for the model: its directory, and its content without the front
/// matter. `$ARGUMENTS` is replaced by `arguments`, `${CLAUDE_SKILL_DIR}` by the directory of the
/// skill, and `${CLAUDE_PLUGIN_ROOT}` by that of its plugin.
pub fn skill_text(skill: &Skill, arguments: &str) -> io::Result<String> {
    use io::Read as _;
    let mut text = String::new();
    std::fs::File::open(&skill.path)?
        .take(MAX_SKILL_BYTES)
        .read_to_string(&mut text)?;
    let directory = skill.path.parent().unwrap_or(&skill.path).display();
    let body = split_frontmatter(&text).map_or(text, |(_, body)| body);
    let body = body.trim_start_matches('\u{feff}').trim();
    let mut body = body.replace("${CLAUDE_SKILL_DIR}", &directory.to_string());
    if let Some(plugin) = &skill.plugin {
        body = body.replace("${CLAUDE_PLUGIN_ROOT}", &plugin.display().to_string());
    }
    let filled = body.replace("$ARGUMENTS", arguments);
    let rest = match (arguments.trim(), filled == body) {
        ("", _) | (_, false) => String::new(),
        (arguments, true) => format!("\n\nArguments: {arguments}"),
    };
    Ok(format!(
        "Directory of this skill: {directory}\n\n{filled}{rest}"
    ))
}
