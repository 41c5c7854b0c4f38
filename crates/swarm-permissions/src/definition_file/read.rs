//! A definition in a Markdown file.

use serde_json::{Map, Value};

use super::apply::{Effect, FIELDS, definition};
use super::frontmatter::{LINES_BEFORE, split, unclosed};
use super::problem::DefinitionProblem;
use super::yaml::YamlError;
use super::{loose, yaml};
use crate::AgentDefinition;
use crate::nearest;

/// What a file came to.
#[derive(Debug, Default)]
pub struct ReadDefinition {
    /// The definition; `None` where the file has none, or is refused.
    pub definition: Option<AgentDefinition>,
    /// What its author should know.
    pub problems: Vec<DefinitionProblem>,
}

/// Reads the text of a file. What is not understood of a definition with a name and a description is reported and costs
/// only itself. A file without frontmatter, or whose frontmatter is that of some other page, is plain
/// Markdown: no definition and no problem. One that looks as if it were to be a definition is refused by name. `origin` is the file as messages call it; source and path are the caller's to set.
pub fn read_file(text: &str, origin: &str) -> ReadDefinition {
    let problem = |line: Option<usize>, what: String, refused: bool| DefinitionProblem {
        origin: origin.to_owned(),
        line: line.map(|line| line + LINES_BEFORE),
        what,
        refused,
        agent: None,
    };
    let mut read = ReadDefinition::default();
    let Some(parts) = split(text) else {
        // Fields stand in the first lines; further down `name:` may be anything.
        let has_name = |yaml: &String| {
            let head = yaml.split("\n\n").next().unwrap_or_default();
            loose::line_of(head, "name").is_some()
        };
        let open = unclosed(text).filter(has_name);
        read.problems.extend(open.map(|_| {
            let what = "the frontmatter that begins here has no end: put a line `---` behind its last field";
            problem(Some(0), what.to_owned(), true)
        }));
        return read;
    };
    let fields = match fields(&parts.yaml) {
        Ok((fields, remarks)) => {
            let remarks = remarks.into_iter();
            read.problems
                .extend(remarks.map(|(line, what)| problem(Some(line), what, false)));
            fields
        }
        Err(error) => {
            // Without a name it may be the head of any other kind of page.
            if loose::line_of(&parts.yaml, "name").is_some() {
                let what = format!("the frontmatter is not YAML: {}", error.why);
                read.problems.push(problem(error.line, what, true));
            }
            return read;
        }
    };
    if !fields.contains_key("name") {
        return ReadDefinition {
            definition: None,
            problems: nameless(&fields)
                .map(|(field, what)| problem(loose::line_of(&parts.yaml, field), what, true))
                .into_iter()
                .collect(),
        };
    }
    let (definition, problems) = definition(&fields, &parts.body, origin);
    read.problems.extend(problems.into_iter().map(|found| {
        let line = loose::line_of(&parts.yaml, &found.field);
        let what = match found.effect {
            Effect::Instead(instead) => format!("{}; {instead}", found.what),
            Effect::Refused | Effect::None => found.what,
        };
        problem(line, what, found.effect == Effect::Refused)
    }));
    for problem in &mut read.problems {
        problem.agent = Some(definition.name.clone()).filter(|name| !name.is_empty());
    }
    if !read.problems.iter().any(|problem| problem.refused) {
        read.definition = Some(definition);
    }
    read
}

/// What is wrong with fields that lack a name, and at which of them, if they are those of a definition: one of them is
/// `name` with a slip of the finger, or a description stands beside another field of definitions.
fn nameless(fields: &Map<String, Value>) -> Option<(&str, String)> {
    let letters = |word: &str| {
        let mut letters: Vec<char> = word.to_lowercase().chars().collect();
        letters.sort_unstable();
        letters
    };
    let is_slip = |field: &&String| {
        let swapped = letters(field) == letters("name");
        swapped || nearest(field, FIELDS) == Some("name")
    };
    if let Some(field) = fields.keys().find(is_slip) {
        let what = format!("there is no `name`; did you mean it by `{field}`?");
        return Some((field, what));
    }
    let own = |field: &&String| *field != "description" && FIELDS.contains(&field.as_str());
    let is_definition = fields.contains_key("description") && fields.keys().any(|it| own(&it));
    is_definition.then(|| {
        let what = "there is no `name`, so this is no agent type: say what it is called";
        ("description", what.to_owned())
    })
}

/// The fields of another kind of file, read strictly, or else as people write them. The error says where it breaks.
pub(crate) fn frontmatter_fields(text: &str) -> Result<Map<String, Value>, String> {
    fields(text)
        .map(|(fields, _)| fields)
        .map_err(|error| error.why)
}

type Remarks = Vec<(usize, String)>;

/// The fields, read strictly, or else as people write them.
fn fields(text: &str) -> Result<(Map<String, Value>, Remarks), YamlError> {
    let strict = match yaml::mapping(text) {
        Ok(mapping) if !loose::drops_text(text) => return Ok((mapping, Vec::new())),
        strict => strict,
    };
    let read = match loose::read(text) {
        // Words that stand nowhere are a sign that this is no list of fields at all.
        Ok(read) if read.astray.is_empty() || strict.is_ok() => read,
        Ok(_) => return strict.map(|mapping| (mapping, Vec::new())),
        Err(loose) => return Err(strict.err().unwrap_or(loose)),
    };
    let remark = |(key, line): (String, usize)| {
        let known = FIELDS.contains(&key.as_str());
        known.then(|| {
            let what = format!("`{key}` is not YAML and was taken as plain text: put it in quotes");
            (line, what)
        })
    };
    let remarks = read.taken_as_text.into_iter().filter_map(remark);
    Ok((read.mapping, remarks.collect()))
}
