//! Parsing of field values.

use serde_json::Value;
use swarm_protocol::with_conjunction;

use super::problem::{Notes, ValueError};
use crate::ToolAllowance;
use crate::pool::{ToolSelector, split};

pub(super) fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(60).collect()
}

/// Parses a non-empty string.
pub(super) fn text(value: &Value) -> Result<String, ValueError> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Bool(is) => is.to_string(),
        Value::Null => String::new(),
        _ => return Err("must be a string".into()),
    };
    if text.is_empty() {
        return Err("is empty: add a text or remove the field".into());
    }
    Ok(text)
}

/// Parses words as a list, or as one line separated by commas.
pub(super) fn words(value: &Value) -> Result<Vec<String>, ValueError> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::String(line) => Ok(split(line).collect()),
        Value::Array(items) => items
            .iter()
            .map(|item| text(item).map_err(|_| "must be a list of words".into()))
            .collect(),
        _ => Err("must be a list, or words separated by commas".into()),
    }
}

/// Parses names of allowed tools. `*` means all. Invalid entries allow no tool.
pub(super) fn tools(value: &Value, notes: &mut Notes) -> ToolAllowance {
    let entries = match entries(value) {
        Ok(entries) => entries,
        Err(wrong) => {
            notes.instead(wrong, "the agent gets no tools");
            return ToolAllowance::Only(Vec::new());
        }
    };
    if entries.iter().any(|entry| entry == "*") {
        return ToolAllowance::All;
    }
    let understood = |entry: &String| match ToolSelector::parse(entry) {
        Ok(_) => true,
        Err(error) => {
            notes.instead(
                format!("has an invalid tool: {error}"),
                "the entry is ignored",
            );
            false
        }
    };
    ToolAllowance::Only(entries.into_iter().filter(understood).collect())
}

/// Parses names of disallowed tools. `*` means all. An invalid pattern disallows the whole tool.
pub(super) fn disallowed_tools(value: &Value, notes: &mut Notes) -> Vec<String> {
    let entries = match entries(value) {
        Ok(entries) => entries,
        Err(wrong) => {
            notes.instead(wrong, "every tool is disallowed");
            return vec!["*".to_owned()];
        }
    };
    let understood = |entry: String| {
        if entry == "*" {
            notes.instead("is `*`", "every tool is disallowed");
            return Some(entry);
        }
        let Err(error) = ToolSelector::parse(&entry) else {
            return Some(entry);
        };
        let what = format!("has an invalid tool: {error}");
        let whole = entry
            .split('(')
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned();
        if ToolSelector::parse(&whole).is_ok() {
            notes.instead(what, "the whole tool is disallowed");
            Some(whole)
        } else {
            notes.instead(what, "the entry is ignored");
            None
        }
    };
    entries.into_iter().filter_map(understood).collect()
}

/// Returns the entries of a list of tools, which may also be separated by spaces.
fn entries(value: &Value) -> Result<Vec<String>, ValueError> {
    let apart = |entry: String| {
        if entry.contains('(') {
            vec![entry]
        } else {
            entry.split_whitespace().map(str::to_owned).collect()
        }
    };
    Ok(words(value)?.into_iter().flat_map(apart).collect())
}

/// Parses one of several words.
pub(super) fn choice<T: Copy>(value: &Value, known: &[(&str, T)]) -> Result<T, ValueError> {
    let given = text(value)?;
    let found = known.iter().find(|(word, _)| *word == given);
    found.map(|(_, meaning)| *meaning).ok_or_else(|| {
        let words: Vec<_> = known.iter().map(|(word, _)| *word).collect();
        format!(
            "is `{}`: use {}",
            shown(value).escape_debug(),
            with_conjunction(&words, "or")
        )
    })
}

/// Parses a positive integer.
pub(super) fn count(value: &Value) -> Result<u32, ValueError> {
    let number = match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number
        .and_then(|number| u32::try_from(number).ok())
        .filter(|number| *number > 0)
        .ok_or_else(|| {
            format!(
                "is `{}`: use a whole number above 0",
                shown(value).escape_debug()
            )
        })
}

/// Returns whether the value is `true`; anything else is false, as in Claude Code.
pub(crate) fn is_true(value: &Value) -> bool {
    matches!(value, Value::Bool(true)) || value == "true"
}
