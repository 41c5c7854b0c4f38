//! A definition in a Markdown file.

use serde_json::{Map, Value};

use super::apply::{FIELDS, definition};
use super::frontmatter::{LINES_BEFORE, split};
use super::problem::DefinitionProblem;
use super::yaml::YamlError;
use super::{loose, yaml};
use crate::AgentDefinition;

/// What a file came to.
#[derive(Debug, Default)]
pub struct ReadDefinition {
    /// The definition; `None` where the file has none, or is refused.
    pub definition: Option<AgentDefinition>,
    /// What its author should know.
    pub problems: Vec<DefinitionProblem>,
}

/// Reads the text of a file. A file without frontmatter, or whose frontmatter has no `name`, is plain Markdown: no
/// definition and no problem. `origin` is the file as messages call it; source and path are the caller's to set.
pub fn read_file(text: &str, origin: &str) -> ReadDefinition {
    let Some(parts) = split(text) else {
        return ReadDefinition::default();
    };
    let problem = |line: Option<usize>, what: String, refused: bool| DefinitionProblem {
        origin: origin.to_owned(),
        line: line.map(|line| line + LINES_BEFORE),
        what,
        refused,
    };
    let mut read = ReadDefinition::default();
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
        return ReadDefinition::default();
    }
    let (definition, problems) = definition(&fields, &parts.body, origin);
    read.problems.extend(problems.into_iter().map(|found| {
        problem(
            loose::line_of(&parts.yaml, &found.field),
            found.what,
            found.refused,
        )
    }));
    if !read.problems.iter().any(|problem| problem.refused) {
        read.definition = Some(definition);
    }
    read
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
