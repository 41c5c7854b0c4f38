//! Parsing of `SKILL.md`, in the Agent Skills format (agentskills.io) with Claude Code's additional
//! fields.

use serde_json::{Map, Value};
use swarm_protocol::{Skill, split_frontmatter, word_list};

use crate::definition_file::{frontmatter_fields, is_true};
use crate::split::split_outside;
use crate::{Rule, nearest};

/// Maximum lengths in characters, defined by the format.
const NAME_CHARS: usize = 64;
const DESCRIPTION_CHARS: usize = 1024;
const COMPATIBILITY_CHARS: usize = 500;

/// The fields of the format, and Claude Code's fields that are supported or affect only its menus.
const FIELDS: [&str; 12] = word_list(
    "name description license compatibility metadata allowed-tools context agent model
    disable-model-invocation argument-hint user-invocable",
);

/// Claude Code fields that are not supported.
const UNUSED: [&str; 6] = word_list("disallowed-tools effort hooks paths shell when_to_use");

/// The frontmatter of a `SKILL.md`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillFile {
    /// The skill, without its name and path.
    pub skill: Skill,
    /// Format errors and unsupported fields, as messages without the file name.
    pub problems: Vec<String>,
}

impl SkillFile {
    /// Parses the text of the `SKILL.md` in a directory of this name. Invalid parts are reported
    /// and ignored.
    pub fn parse(text: &str, directory: &str) -> Self {
        let mut file = Self::default();
        let Some((yaml, _)) = split_frontmatter(text) else {
            file.problem("no frontmatter with `name` and `description`");
            return file;
        };
        let fields = match frontmatter_fields(&yaml) {
            Ok(fields) => Fields(fields),
            Err(why) => {
                file.problem(format!("invalid YAML in the frontmatter: {why}"));
                return file;
            }
        };
        file.check_name(&fields["name"], directory);
        file.take_description(&fields["description"]);
        file.take_tools(&fields["allowed-tools"]);
        file.take_context(&fields);
        file.skill.person_only = is_true(&fields["disable-model-invocation"]);
        file.check_others(&fields);
        file
    }

    fn problem(&mut self, what: impl Into<String>) {
        self.problems.push(what.into());
    }

    fn check_name(&mut self, name: &Value, directory: &str) {
        let Some(name) = name.as_str() else {
            return self.problem("`name` is missing; the directory's name is used");
        };
        let shown = name.escape_debug();
        if let Some(fault) = name_error(name) {
            self.problem(format!("`name` is `{shown}`: {fault}"));
        }
        if name != directory {
            self.problem(format!(
                "`name` is `{shown}`, which differs from the directory `{directory}`; the directory's name is used"
            ));
        }
    }

    fn take_description(&mut self, description: &Value) {
        let text = description.as_str().unwrap_or_default();
        self.skill.description = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let chars = text.chars().count();
        if self.skill.description.is_empty() {
            self.problem("`description` is missing: describe when to use the skill");
        } else if chars > DESCRIPTION_CHARS {
            self.problem(format!(
                "`description` has {chars} characters, more than the maximum of {DESCRIPTION_CHARS}"
            ));
        }
    }

    /// Parses rules, separated by spaces or commas, or as a list.
    fn take_tools(&mut self, tools: &Value) {
        let entries = match tools {
            Value::Null => return,
            Value::String(line) => split_words(line),
            Value::Array(items) => {
                let items = items.iter().filter_map(Value::as_str);
                items.flat_map(split_words).collect()
            }
            _ => {
                return self.problem("`allowed-tools` must be a string or a list; it is ignored");
            }
        };
        for entry in entries {
            match Rule::parse(&entry) {
                Ok(rule) => self.skill.allowed_tools.push(rule.to_string()),
                Err(error) => self.problem(format!("`allowed-tools`: {error}; it is ignored")),
            }
        }
    }

    fn take_context(&mut self, fields: &Fields) {
        let text = |field: &str| fields[field].as_str().map(|text| text.trim().to_owned());
        match text("context").as_deref() {
            Some("fork") => self.skill.fork = true,
            None | Some("inherit") => {}
            Some(other) => self.problem(format!(
                "`context` is `{}`, which has no effect; only `fork` is supported",
                other.escape_debug()
            )),
        }
        self.skill.agent = text("agent");
        self.skill.model = text("model");
        for field in ["agent", "model"] {
            if text(field).is_some() && !self.skill.fork {
                self.problem(format!("`{field}` has no effect without `context: fork`"));
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
                self.problem(format!("unknown field `{}`{meant}", field.escape_debug()));
            }
        }
    }
}

/// Fields by name; a missing one is null.
struct Fields(Map<String, Value>);

impl std::ops::Index<&str> for Fields {
    type Output = Value;

    fn index(&self, field: &str) -> &Value {
        self.0.get(field).unwrap_or(&Value::Null)
    }
}

fn name_error(name: &str) -> Option<String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.chars().count() > NAME_CHARS {
        return Some(format!("a name has 1 to {NAME_CHARS} characters"));
    }
    if !name.chars().all(fits) {
        return Some("a name consists of lowercase letters, digits and hyphens".to_owned());
    }
    if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        return Some("hyphens must be single and between other characters".to_owned());
    }
    None
}

/// Splits a text at spaces and commas outside of parentheses.
fn split_words(line: &str) -> Vec<String> {
    let parts = split_outside(['(', ')'], line, |c| c == ',' || c.is_whitespace());
    let parts = parts.filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valid_skill_is_parsed_without_problems() {
        let text = "---\nname: pdf-forms\ndescription: >-\n  Fills forms.\n  Use it for PDFs.\nlicense: MIT\n\
                    compatibility: needs qpdf\nmetadata:\n  version: '1'\nallowed-tools: Read, Bash(git add *) Bash(make:*)\n\
                    context: fork\nagent: Explore\nmodel: haiku\ndisable-model-invocation: true\n---\nBody";
        let skill = SkillFile::parse(text, "pdf-forms");
        assert_eq!(
            skill,
            SkillFile {
                skill: Skill {
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
                    ..Skill::default()
                },
                problems: Vec::new(),
            }
        );
        let list = "---\nname: a\ndescription: b\nallowed-tools:\n  - Read\n  - Bash(git *)\n---\n";
        assert_eq!(
            SkillFile::parse(list, "a").skill.allowed_tools,
            ["Read", "Bash(git *)"]
        );
    }

    #[test]
    fn each_format_error_is_reported_and_ignored() {
        let long = "d".repeat(1025);
        for (fields, what) in [
            ("description: b", "`name` is missing"),
            ("name: Pdf\ndescription: b", "lowercase letters"),
            ("name: a--b\ndescription: b", "hyphens must be single"),
            ("name: -a\ndescription: b", "hyphens must be single"),
            ("name: other\ndescription: b", "the directory `a`"),
            ("name: a", "`description` is missing"),
            (
                format!("name: a\ndescription: {long}").as_str(),
                "1025 characters",
            ),
            (
                "name: a\ndescription: b\nallowed-tools: Bash(",
                "it is ignored",
            ),
            (
                "name: a\ndescription: b\nagent: Explore",
                "without `context: fork`",
            ),
            (
                "name: a\ndescription: b\ncontext: split",
                "only `fork` is supported",
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
            assert!(
                skill.skill.allowed_tools.is_empty() && !skill.skill.fork,
                "{fields}"
            );
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
