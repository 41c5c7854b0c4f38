//! `SKILL.md`, in the Agent Skills format (agentskills.io) with the fields that Claude Code adds.

use serde_json::{Map, Value};

use crate::definition_file::{frontmatter_fields, is_true, split_frontmatter};
use crate::{Rule, nearest};

/// Characters that the format allows.
const NAME_CHARS: usize = 64;
const DESCRIPTION_CHARS: usize = 1024;
const COMPATIBILITY_CHARS: usize = 500;

/// The fields of the format, and those of Claude Code that are used or change only its own menus.
const FIELDS: [&str; 12] = [
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
    "context",
    "agent",
    "model",
    "disable-model-invocation",
    "argument-hint",
    "user-invocable",
];

/// Fields of Claude Code that are not used.
const UNUSED: [&str; 6] = [
    "disallowed-tools",
    "effort",
    "hooks",
    "paths",
    "shell",
    "when_to_use",
];

/// What the frontmatter of a `SKILL.md` says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillFile {
    /// When to use it.
    pub description: String,
    /// Permission rules that it wants granted while it is in use.
    pub allowed_tools: Vec<String>,
    /// Whether an agent of its own follows it.
    pub fork: bool,
    /// The type of that agent.
    pub agent: Option<String>,
    /// The model of that agent.
    pub model: Option<String>,
    /// Whether only a person may start it.
    pub person_only: bool,
    /// Where it departs from the format, and what of it is not used: each half a sentence about the file.
    pub problems: Vec<String>,
}

impl SkillFile {
    /// Reads the text of the `SKILL.md` in a directory of this name. What departs from the format is named and costs only
    /// itself.
    pub fn parse(text: &str, directory: &str) -> Self {
        let mut skill = Self::default();
        let Some((yaml, _)) = split_frontmatter(text) else {
            skill.problem("it has no frontmatter with `name` and `description`");
            return skill;
        };
        let fields = match frontmatter_fields(&yaml) {
            Ok(fields) => Fields(fields),
            Err(why) => {
                skill.problem(format!("its frontmatter is not YAML: {why}"));
                return skill;
            }
        };
        skill.check_name(&fields["name"], directory);
        skill.take_description(&fields["description"]);
        skill.take_tools(&fields["allowed-tools"]);
        skill.take_context(&fields);
        skill.person_only = is_true(&fields["disable-model-invocation"]);
        skill.check_others(&fields);
        skill
    }

    fn problem(&mut self, what: impl Into<String>) {
        self.problems.push(what.into());
    }

    fn check_name(&mut self, name: &Value, directory: &str) {
        let Some(name) = name.as_str() else {
            return self.problem("`name` is missing; the directory's name is used");
        };
        let shown = name.escape_debug();
        if let Some(fault) = name_fault(name) {
            self.problem(format!("`name` is `{shown}`: {fault}"));
        }
        if name != directory {
            self.problem(format!(
                "`name` is `{shown}` and the directory `{directory}`; the directory's name is used"
            ));
        }
    }

    fn take_description(&mut self, description: &Value) {
        let text = description.as_str().unwrap_or_default();
        self.description = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let chars = text.chars().count();
        if self.description.is_empty() {
            self.problem("`description` is missing, so that nothing says when to use it");
        } else if chars > DESCRIPTION_CHARS {
            self.problem(format!(
                "`description` has {chars} characters, and {DESCRIPTION_CHARS} are allowed"
            ));
        }
    }

    /// Rules, parted by spaces or commas, or as a list.
    fn take_tools(&mut self, tools: &Value) {
        let entries = match tools {
            Value::Null => return,
            Value::String(line) => apart(line),
            Value::Array(items) => {
                let items = items.iter().filter_map(Value::as_str);
                items.flat_map(apart).collect()
            }
            _ => {
                return self
                    .problem("`allowed-tools` must be one text or a list; it grants nothing");
            }
        };
        for entry in entries {
            match Rule::parse(&entry) {
                Ok(rule) => self.allowed_tools.push(rule.to_string()),
                Err(error) => self.problem(format!("`allowed-tools`: {error}; it grants nothing")),
            }
        }
    }

    fn take_context(&mut self, fields: &Fields) {
        let text = |field: &str| fields[field].as_str().map(|text| text.trim().to_owned());
        match text("context").as_deref() {
            Some("fork") => self.fork = true,
            None | Some("inherit") => {}
            Some(other) => self.problem(format!(
                "`context` is `{}`; it has no effect, only `fork` is known",
                other.escape_debug()
            )),
        }
        self.agent = text("agent");
        self.model = text("model");
        for (field, value) in [("agent", &self.agent), ("model", &self.model)] {
            if value.is_some() && !self.fork {
                let what = format!("`{field}` has no effect without `context: fork`");
                self.problems.push(what);
            }
        }
    }

    fn check_others(&mut self, fields: &Fields) {
        if let Some(text) = fields["compatibility"].as_str()
            && text.chars().count() > COMPATIBILITY_CHARS
        {
            self.problem(format!(
                "`compatibility` is longer than {COMPATIBILITY_CHARS} characters"
            ));
        }
        let metadata = &fields["metadata"];
        if !metadata.is_null() && !metadata.is_object() {
            self.problem("`metadata` must be a mapping");
        }
        for field in fields.0.keys().map(String::as_str) {
            if UNUSED.contains(&field) {
                self.problem(format!("`{field}` is not supported and has no effect"));
            } else if !FIELDS.contains(&field) {
                let meant = nearest(field, FIELDS);
                let meant = meant.map_or_else(String::new, |it| format!("; did you mean `{it}`?"));
                self.problem(format!("`{}` is not a field{meant}", field.escape_debug()));
            }
        }
    }
}

/// Fields by name; one that is absent is null.
struct Fields(Map<String, Value>);

impl std::ops::Index<&str> for Fields {
    type Output = Value;

    fn index(&self, field: &str) -> &Value {
        self.0.get(field).unwrap_or(&Value::Null)
    }
}

/// What is wrong with a name, by the rules of the format.
fn name_fault(name: &str) -> Option<String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.chars().count() > NAME_CHARS {
        return Some(format!("a name has 1 to {NAME_CHARS} characters"));
    }
    if !name.chars().all(fits) {
        return Some("a name has lowercase letters, digits and hyphens".to_owned());
    }
    if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        return Some("hyphens stand alone between other characters".to_owned());
    }
    None
}

/// The parts between spaces and commas that are in no brackets.
fn apart(line: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let parts = line.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c == ',' || c.is_whitespace())
    });
    let parts = parts.filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skill_of_the_format_is_read_without_a_problem() {
        let text = "---\nname: pdf-forms\ndescription: >-\n  Fills forms.\n  Use it for PDFs.\nlicense: MIT\n\
                    compatibility: needs qpdf\nmetadata:\n  version: '1'\nallowed-tools: Read, Bash(git add *) Bash(make:*)\n\
                    context: fork\nagent: Explore\nmodel: haiku\ndisable-model-invocation: true\n---\nBody";
        let skill = SkillFile::parse(text, "pdf-forms");
        assert_eq!(
            skill,
            SkillFile {
                description: "Fills forms. Use it for PDFs.".into(),
                allowed_tools: vec![
                    "Read".into(),
                    "Bash(git add *)".into(),
                    "Bash(make:*)".into()
                ],
                fork: true,
                agent: Some("Explore".into()),
                model: Some("haiku".into()),
                person_only: true,
                problems: Vec::new(),
            }
        );
        let list = "---\nname: a\ndescription: b\nallowed-tools:\n  - Read\n  - Bash(git *)\n---\n";
        assert_eq!(
            SkillFile::parse(list, "a").allowed_tools,
            ["Read", "Bash(git *)"]
        );
    }

    #[test]
    fn each_departure_from_the_format_is_named_and_costs_only_itself() {
        let long = "d".repeat(1025);
        for (fields, what) in [
            ("description: b", "`name` is missing"),
            ("name: Pdf\ndescription: b", "lowercase letters"),
            ("name: a--b\ndescription: b", "hyphens stand alone"),
            ("name: -a\ndescription: b", "hyphens stand alone"),
            ("name: other\ndescription: b", "the directory `a`"),
            ("name: a", "`description` is missing"),
            (
                format!("name: a\ndescription: {long}").as_str(),
                "1025 characters",
            ),
            (
                "name: a\ndescription: b\nallowed-tools: Bash(",
                "it grants nothing",
            ),
            (
                "name: a\ndescription: b\nagent: Explore",
                "without `context: fork`",
            ),
            (
                "name: a\ndescription: b\ncontext: split",
                "only `fork` is known",
            ),
            (
                "name: a\ndescription: b\nhooks: {}",
                "`hooks` is not supported",
            ),
            (
                "name: a\ndescription: b\nalowed-tools: Read",
                "did you mean `allowed-tools`",
            ),
            ("name: a\ndescription: b\nmetadata: x", "must be a mapping"),
        ] {
            let skill = SkillFile::parse(&format!("---\n{fields}\n---\nBody"), "a");
            let all = skill.problems.join("\n");
            assert!(all.contains(what), "{fields}: {all}");
            assert!(skill.allowed_tools.is_empty() && !skill.fork, "{fields}");
        }
        let bare = SkillFile::parse("Body", "a");
        assert!(bare.problems[0].contains("no frontmatter"));
        let wide = "n".repeat(65);
        let text = format!("---\nname: {wide}\ndescription: b\n---\n");
        let skill = SkillFile::parse(&text, &wide);
        assert!(
            skill.problems[0].contains("1 to 64"),
            "{:?}",
            skill.problems
        );
    }
}
