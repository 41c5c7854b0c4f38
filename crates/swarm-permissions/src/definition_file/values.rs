//! What the values of fields may be.

use serde_json::Value;

use super::apply::Notes;
use crate::pool::split;
use crate::{ToolAllowance, ToolSelector};

/// Why a value is none that can be applied, as half a sentence about the field.
pub(super) type Wrong = String;

pub(super) fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(60).collect()
}

/// One text that says something.
pub(super) fn text(value: &Value) -> Result<String, Wrong> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Bool(is) => is.to_string(),
        Value::Null => String::new(),
        _ => return Err("must be one text".into()),
    };
    if text.is_empty() {
        return Err("says nothing; write a text or leave it out".into());
    }
    Ok(text)
}

/// Words as a list, or in one line with commas.
pub(super) fn words(value: &Value) -> Result<Vec<String>, Wrong> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::String(line) => Ok(split(line).collect()),
        Value::Array(items) => items
            .iter()
            .map(|item| text(item).map_err(|_| "must be a list of words".into()))
            .collect(),
        _ => Err("must be words with commas between them, or a list".into()),
    }
}

/// Names of tools. A star is all of them. What is not understood gives no tool.
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
                format!("names what is not a tool: {error}"),
                "the entry gives no tool",
            );
            false
        }
    };
    ToolAllowance::Only(entries.into_iter().filter(understood).collect())
}

/// Names of tools that are taken away. A star is all of them. Where a pattern is not understood the whole tool goes.
pub(super) fn tools_taken(value: &Value, notes: &mut Notes) -> Vec<String> {
    let entries = match entries(value) {
        Ok(entries) => entries,
        Err(wrong) => {
            notes.instead(wrong, "every tool is taken away");
            return vec!["*".to_owned()];
        }
    };
    let understood = |entry: String| {
        if entry == "*" {
            notes.instead("is `*`", "every tool is taken away");
            return Some(entry);
        }
        let Err(error) = ToolSelector::parse(&entry) else {
            return Some(entry);
        };
        let what = format!("names what is not a tool: {error}");
        let whole = entry
            .split('(')
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned();
        if ToolSelector::parse(&whole).is_ok() {
            notes.instead(what, "the whole tool is taken away");
            Some(whole)
        } else {
            notes.instead(what, "the entry takes nothing away");
            None
        }
    };
    entries.into_iter().filter_map(understood).collect()
}

/// The entries of a list of tools. Spaces part names too, as some write them.
fn entries(value: &Value) -> Result<Vec<String>, Wrong> {
    let apart = |entry: String| {
        if entry.contains('(') {
            vec![entry]
        } else {
            entry.split_whitespace().map(str::to_owned).collect()
        }
    };
    Ok(words(value)?.into_iter().flat_map(apart).collect())
}

/// One of several words.
pub(super) fn choice<T: Copy>(value: &Value, known: &[(&str, T)]) -> Result<T, Wrong> {
    let given = text(value)?;
    let found = known.iter().find(|(word, _)| *word == given);
    found.map(|(_, meaning)| *meaning).ok_or_else(|| {
        let words: Vec<_> = known.iter().map(|(word, _)| *word).collect();
        format!(
            "is `{}`: use {}",
            shown(value).escape_debug(),
            either(&words)
        )
    })
}

/// A whole number above 0.
pub(super) fn count(value: &Value) -> Result<u32, Wrong> {
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
                "is `{}`: write a whole number above 0",
                shown(value).escape_debug()
            )
        })
}

/// Only `true` is; anything else is not, as in Claude Code.
pub(crate) fn is_true(value: &Value) -> bool {
    matches!(value, Value::Bool(true)) || value == "true"
}

/// Words as a person lists them.
pub(super) fn either(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [rest @ .., last] => format!("{} or {last}", rest.join(", ")),
    }
}
