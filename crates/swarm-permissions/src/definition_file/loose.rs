//! Lenient YAML: a second pass for frontmatter that the strict parser rejects.
//!
//! The text is split at lines that begin with `key:`. The value of a key is parsed strictly if
//! possible and taken as plain text otherwise, so that a colon in a description does not invalidate
//! a definition.

use serde_json::{Map, Value};
use swarm_protocol::word_list;

use super::apply::FIELDS;
use super::yaml::{self, YamlError};

/// The result of the second pass.
#[derive(Debug, Default)]
pub(super) struct LenientYaml {
    pub(super) mapping: Map<String, Value>,
    /// Keys whose values were taken as plain text, with their line in the YAML.
    pub(super) taken_as_text: Vec<(String, usize)>,
    /// Lines that belong to no key.
    pub(super) unassigned_lines: Vec<usize>,
}

/// A key, its line (counted from 1) and all its lines.
struct Block<'a> {
    key: &'a str,
    line: usize,
    lines: Vec<&'a str>,
}

/// Fields with a nested structure, which plain text cannot express.
const STRUCTURED: [&str; 2] = ["mcpServers", "hooks"];

/// Plain keys of existing files that are not supported fields.
const IGNORED_KEYS: [&str; 1] = ["version"];

/// Fields whose text may continue over lines that look like keys.
const PROSE: [&str; 2] = ["description", "initialPrompt"];

/// Words that begin lines of the examples in descriptions.
const DIALOGUE: [&str; 6] = word_list("Context user assistant commentary example examples");

/// Returns whether a value is a string or a list of words, which plain text can express.
fn is_plain(key: &str) -> bool {
    IGNORED_KEYS.contains(&key) || FIELDS.contains(&key) && !STRUCTURED.contains(&key)
}

/// Parses lenient YAML. The error is that of the first key with an invalid nested structure.
pub(super) fn read(yaml: &str) -> Result<LenientYaml, YamlError> {
    let (blocks, unassigned_lines) = blocks(yaml);
    let mut loose = LenientYaml {
        unassigned_lines,
        ..LenientYaml::default()
    };
    for block in blocks {
        // YAML does not allow tabs in indentation.
        let text = block.lines.join("\n").replace('\t', "  ");
        let value = match yaml::mapping(&text) {
            Ok(mut mapping) if !cuts_a_comment(&block) => mapping.remove(block.key),
            Ok(_) => None,
            Err(_) if is_plain(block.key) => None,
            Err(error) => {
                return Err(YamlError {
                    line: Some(error.line.unwrap_or(1) + block.line - 1),
                    ..error
                });
            }
        };
        let value = value.unwrap_or_else(|| {
            loose.taken_as_text.push((block.key.to_owned(), block.line));
            plain(&block)
        });
        // The last of several equal keys wins, as in other parsers.
        loose.mapping.insert(block.key.to_owned(), value);
    }
    Ok(loose)
}

/// Returns whether YAML would drop the end of a plain text as a comment.
pub(super) fn drops_text(yaml: &str) -> bool {
    blocks(yaml).0.iter().any(cuts_a_comment)
}

fn cuts_a_comment(block: &Block<'_>) -> bool {
    let value = block.lines[0][block.key.len() + 1..].trim();
    let quoted = value.starts_with(['"', '\'', '|', '>', '[', '{', '#', '&', '*']);
    PROSE.contains(&block.key) && !quoted && value.contains(" #")
}

/// Returns the line of a key, for messages.
pub(super) fn line_of(yaml: &str, key: &str) -> Option<usize> {
    let blocks = blocks(yaml).0;
    let found = blocks.iter().rev().find(|block| block.key == key);
    found.map(|block| block.line)
}

fn blocks(yaml: &str) -> (Vec<Block<'_>>, Vec<usize>) {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut unassigned_lines = Vec::new();
    for (index, line) in yaml.lines().enumerate() {
        let block = blocks.last_mut();
        let key =
            key_of(line).filter(|key| !block.as_ref().is_some_and(|block| continues(block, key)));
        match (key, block) {
            (Some(key), _) => blocks.push(Block {
                key,
                line: index + 1,
                lines: vec![line],
            }),
            (None, Some(block)) => block.lines.push(line),
            (None, None) if line.trim().is_empty() || line.trim_start().starts_with('#') => {}
            (None, None) => unassigned_lines.push(index + 1),
        }
    }
    (blocks, unassigned_lines)
}

/// Returns whether a line that begins with such a key continues the text of the previous block.
fn continues(block: &Block<'_>, key: &str) -> bool {
    let speaks = || DIALOGUE.iter().any(|word| word.eq_ignore_ascii_case(key));
    PROSE.contains(&block.key)
        && !FIELDS.contains(&key)
        && !IGNORED_KEYS.contains(&key)
        && (block.lines.len() > 1 || speaks())
}

/// Returns the key at the beginning of a line. A colon that is not followed by a space or the end
/// of the line is part of a text.
fn key_of(line: &str) -> Option<&str> {
    let (key, rest) = line.split_once(':')?;
    let starts = key.starts_with(|c: char| c.is_ascii_alphabetic());
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let ends = rest.is_empty() || rest.starts_with([' ', '\t']);
    (starts && ends && key.chars().all(known)).then_some(key)
}

/// Returns the content of a block as one string, or as a list if each line is an item.
fn plain(block: &Block<'_>) -> Value {
    let first = block.lines[0][block.key.len() + 1..].trim();
    let rest = || block.lines[1..].iter().map(|line| line.trim());
    let is_block = |mark: char| first.starts_with(mark) && first.len() <= 2;
    if is_block('|') {
        return rest().collect::<Vec<_>>().join("\n").trim().into();
    }
    let items: Vec<_> = rest().filter(|line| !line.is_empty()).collect();
    if first.is_empty() && !items.is_empty() && items.iter().all(|line| line.starts_with("- ")) {
        return items.iter().map(|line| unquoted(&line[2..])).collect();
    }
    let first = Some(first).filter(|_| !is_block('>'));
    // Indented lines form one paragraph, as in YAML. Unindented ones keep their line breaks.
    let is_laid_out = block.lines[1..]
        .iter()
        .any(|line| line.starts_with(|c: char| !c.is_whitespace()));
    if is_laid_out && PROSE.contains(&block.key) {
        let lines: Vec<_> = first.into_iter().chain(rest()).collect();
        return unquoted(lines.join("\n").trim()).into();
    }
    let words: Vec<_> = first.into_iter().chain(items).collect();
    unquoted(words.join(" ").trim()).into()
}

fn unquoted(text: &str) -> String {
    let text = text.trim();
    for quote in ['"', '\''] {
        let inner = text
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner {
            return inner.to_owned();
        }
    }
    text.to_owned()
}
