//! YAML as people write it: a second pass for what the first one refuses.
//!
//! The text is cut at the lines that begin with `key:`. What stands under one key is read strictly if it can be, and as
//! plain text otherwise, so that a colon in a description costs nobody a definition.

use serde_json::{Map, Value};

use super::apply::FIELDS;
use super::yaml::{self, YamlError};

/// What the second pass made of it.
#[derive(Debug, Default)]
pub(super) struct Loose {
    pub(super) mapping: Map<String, Value>,
    /// Keys that were read as plain text, with their line in the YAML.
    pub(super) taken_as_text: Vec<(String, usize)>,
    /// Lines that belong to no key.
    pub(super) astray: Vec<usize>,
}

/// A key, the line it stands in (from 1), and its lines.
struct Block<'a> {
    key: &'a str,
    line: usize,
    lines: Vec<&'a str>,
}

/// Fields whose structure cannot be told from plain lines.
const STRUCTURED: [&str; 2] = ["mcpServers", "hooks"];

/// Plain keys that real files hold besides the fields that are applied.
const PASSED_OVER: [&str; 1] = ["version"];

/// Fields whose text goes on over lines that may look like keys.
const PROSE: [&str; 2] = ["description", "initialPrompt"];

/// What begins the lines of the examples that descriptions hold.
const DIALOGUE: [&str; 6] = [
    "Context",
    "user",
    "assistant",
    "commentary",
    "example",
    "examples",
];

/// Whether a value is one text or a list of words, which can be told from a line that is no YAML.
fn is_plain(key: &str) -> bool {
    PASSED_OVER.contains(&key) || FIELDS.contains(&key) && !STRUCTURED.contains(&key)
}

/// Reads YAML that is none.
///
/// # Errors
/// [`YamlError`] of the first key whose structure cannot be told from plain lines.
pub(super) fn read(yaml: &str) -> Result<Loose, YamlError> {
    let (blocks, astray) = blocks(yaml);
    let mut loose = Loose {
        astray,
        ..Loose::default()
    };
    for block in blocks {
        // Tabs may stand anywhere but before a YAML key.
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
        // A key that comes twice counts where it comes last, as in other readers.
        loose.mapping.insert(block.key.to_owned(), value);
    }
    Ok(loose)
}

/// Whether YAML drops the end of a plain text because it looks like a comment.
pub(super) fn drops_text(yaml: &str) -> bool {
    blocks(yaml).0.iter().any(cuts_a_comment)
}

fn cuts_a_comment(block: &Block<'_>) -> bool {
    let value = block.lines[0][block.key.len() + 1..].trim();
    let quoted = value.starts_with(['"', '\'', '|', '>', '[', '{', '#', '&', '*']);
    PROSE.contains(&block.key) && !quoted && value.contains(" #")
}

/// The line of each key, for messages.
pub(super) fn line_of(yaml: &str, key: &str) -> Option<usize> {
    let blocks = blocks(yaml).0;
    let found = blocks.iter().rev().find(|block| block.key == key);
    found.map(|block| block.line)
}

fn blocks(yaml: &str) -> (Vec<Block<'_>>, Vec<usize>) {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut astray = Vec::new();
    for (index, line) in yaml.lines().enumerate() {
        let block = blocks.last_mut();
        let key =
            key_of(line).filter(|key| !block.as_ref().is_some_and(|block| goes_on(block, key)));
        match (key, block) {
            (Some(key), _) => blocks.push(Block {
                key,
                line: index + 1,
                lines: vec![line],
            }),
            (None, Some(block)) => block.lines.push(line),
            (None, None) if line.trim().is_empty() || line.trim_start().starts_with('#') => {}
            (None, None) => astray.push(index + 1),
        }
    }
    (blocks, astray)
}

/// Whether a line that begins with such a key belongs to the text of the block before it.
fn goes_on(block: &Block<'_>, key: &str) -> bool {
    let speaks = || DIALOGUE.iter().any(|word| word.eq_ignore_ascii_case(key));
    PROSE.contains(&block.key)
        && !FIELDS.contains(&key)
        && !PASSED_OVER.contains(&key)
        && (block.lines.len() > 1 || speaks())
}

/// The key at the beginning of a line. A word of a text that goes on over several lines is none unless a value or an end
/// of line follows its colon.
fn key_of(line: &str) -> Option<&str> {
    let (key, rest) = line.split_once(':')?;
    let starts = key.starts_with(|c: char| c.is_ascii_alphabetic());
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let ends = rest.is_empty() || rest.starts_with([' ', '\t']);
    (starts && ends && key.chars().all(known)).then_some(key)
}

/// The words of a block as one text, or as a list where each line is an item.
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
    // Indented lines are one paragraph, as in YAML. Others were laid out by their author.
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
