//! Parsing of a definition in a Markdown file.

use serde_json::{Map, Value};
use swarm_protocol::split_frontmatter;

use super::apply::{FIELDS, definition};
use super::problem::{DefinitionProblem, Effect};
use super::yaml::YamlError;
use super::{loose, yaml};
use crate::AgentDefinition;
use crate::nearest;

/// Lines of the file before the YAML.
const LINES_BEFORE: usize = 1;

/// The result of parsing a file.
#[derive(Debug, Default)]
pub struct ReadDefinition {
    /// The definition; `None` if the file contains none or is rejected.
    pub definition: Option<AgentDefinition>,
    /// The problems found.
    pub problems: Vec<DefinitionProblem>,
}

/// Parses the text of a file. Invalid parts of a definition that has a name and a description are
/// reported and ignored. A file without frontmatter, or with that of another kind of page, is plain
/// Markdown: no definition and no problem. A file that appears to be an invalid definition is
/// rejected with a message. `origin` is the file name for messages; the caller sets source and
/// path.
pub fn read_file(text: &str, origin: &str) -> ReadDefinition {
    let problem = |line: Option<usize>, what: String, refused: bool| DefinitionProblem {
        origin: origin.to_owned(),
        line: line.map(|line| line + LINES_BEFORE),
        what,
        refused,
        agent: None,
    };
    let mut read = ReadDefinition::default();
    let Some((yaml, body)) = split_frontmatter(text) else {
        // Fields are in the first lines; further down `name:` may be ordinary text.
        let has_name = |yaml: &String| {
            let head = yaml.split("\n\n").next().unwrap_or_default();
            loose::line_of(head, "name").is_some()
        };
        let open = unclosed(text).filter(has_name);
        read.problems.extend(open.map(|_| {
            let what = "unterminated frontmatter: add a line `---` after the last field";
            problem(Some(0), what.to_owned(), true)
        }));
        return read;
    };
    let fields = match fields(&yaml) {
        Ok((fields, remarks)) => {
            let remarks = remarks.into_iter();
            read.problems
                .extend(remarks.map(|(line, what)| problem(Some(line), what, false)));
            fields
        }
        Err(error) => {
            // Without a name this may be the frontmatter of any other kind of page.
            if loose::line_of(&yaml, "name").is_some() {
                let what = format!("invalid YAML in the frontmatter: {}", error.why);
                read.problems.push(problem(error.line, what, true));
            }
            return read;
        }
    };
    if !fields.contains_key("name") {
        return ReadDefinition {
            definition: None,
            problems: nameless(&fields)
                .map(|(field, what)| problem(loose::line_of(&yaml, field), what, true))
                .into_iter()
                .collect(),
        };
    }
    let (definition, problems) = definition(&fields, &body, origin);
    read.problems.extend(problems.into_iter().map(|found| {
        let line = loose::line_of(&yaml, &found.field);
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

/// Returns the lines after an opening line of dashes without a closing one. Such a text may be plain
/// Markdown that begins with a horizontal rule.
fn unclosed(text: &str) -> Option<String> {
    split_frontmatter(&format!("{text}\n---")).map(|(yaml, _)| yaml)
}

/// Returns the problem of a definition without a name, and its field. Fields belong to a definition
/// if one of them is a misspelled `name`, or if there is a description and another definition
/// field.
fn nameless(fields: &Map<String, Value>) -> Option<(&str, String)> {
    let letters = |word: &str| {
        let mut letters: Vec<char> = word.to_lowercase().chars().collect();
        letters.sort_unstable();
        letters
    };
    let is_typo = |field: &&String| {
        let swapped = letters(field) == letters("name");
        swapped || nearest(field, FIELDS) == Some("name")
    };
    if let Some(field) = fields.keys().find(is_typo) {
        let what = format!("`name` is missing; did you misspell it as `{field}`?");
        return Some((field, what));
    }
    let own = |field: &&String| *field != "description" && FIELDS.contains(&field.as_str());
    let is_definition = fields.contains_key("description") && fields.keys().any(|it| own(&it));
    is_definition.then(|| {
        let what = "`name` is missing, so this does not define an agent type: add a name";
        ("description", what.to_owned())
    })
}

/// Returns the frontmatter fields of another kind of file, with the lenient fallback. The error
/// gives the reason.
pub(crate) fn frontmatter_fields(text: &str) -> Result<Map<String, Value>, String> {
    fields(text)
        .map(|(fields, _)| fields)
        .map_err(|error| error.why)
}

type Remarks = Vec<(usize, String)>;

/// Parses the fields strictly, with the lenient parser as a fallback.
fn fields(text: &str) -> Result<(Map<String, Value>, Remarks), YamlError> {
    let strict = match yaml::mapping(text) {
        Ok(mapping) if !loose::drops_text(text) => return Ok((mapping, Vec::new())),
        strict => strict,
    };
    let read = match loose::read(text) {
        // Text outside of any key indicates that this is not a list of fields.
        Ok(read) if read.unassigned_lines.is_empty() || strict.is_ok() => read,
        Ok(_) => return strict.map(|mapping| (mapping, Vec::new())),
        Err(loose) => return Err(strict.err().unwrap_or(loose)),
    };
    let remark = |(key, line): (String, usize)| {
        let known = FIELDS.contains(&key.as_str());
        known.then(|| {
            let what =
                format!("`{key}` is not valid YAML and is treated as plain text: put it in quotes");
            (line, what)
        })
    };
    let remarks = read.taken_as_text.into_iter().filter_map(remark);
    Ok((read.mapping, remarks.collect()))
}
