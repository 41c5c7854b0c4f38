//! The values of `model.thinking` and `model.effort` in Claude Code's settings and variables.

use serde_json::Value;
use swarm_protocol::{Effort, Thinking};

const THINKING: &str = "model.thinking";
const EFFORT: &str = "model.effort";

/// The variables, weakest first if two set the same setting.
const VARIABLES: [(&str, &str); 2] = [
    ("CLAUDE_CODE_EFFORT_LEVEL", EFFORT),
    ("MAX_THINKING_TOKENS", THINKING),
];

/// Returns the names and values of the settings in a `settings.json`.
pub(super) fn in_settings(document: &Value) -> Vec<(&'static str, Value)> {
    let thinking = document["alwaysThinkingEnabled"].as_bool();
    let thinking = thinking.map(|on| {
        if on {
            Thinking::Adaptive
        } else {
            Thinking::Off
        }
    });
    let thinking = thinking.map(|thinking| (THINKING, thinking.to_string().into()));
    let effort = document["effortLevel"].as_str().and_then(effort);
    let effort = effort.map(|word| (EFFORT, word));
    thinking.into_iter().chain(effort).collect()
}

/// Returns a warning about an invalid effort in a `settings.json`.
pub(super) fn invalid_in(document: &Value, file: &str) -> Option<String> {
    let is_misread = match &document["effortLevel"] {
        Value::Null => false,
        Value::String(word) => effort(word).is_none(),
        _ => true,
    };
    is_misread.then(|| {
        let value = &document["effortLevel"];
        format!("{file}: ignoring `effortLevel` {value}: use low, medium, high, xhigh or max")
    })
}

/// Returns the settings set by variables: variable, setting and value.
pub(super) fn in_variables<'a>(
    get: impl Fn(&str) -> Option<&'a str>,
) -> Vec<(&'static str, &'static str, Value)> {
    let said = VARIABLES
        .iter()
        .filter_map(|(name, key)| Some((*name, *key, value(key, get(name)?)?)));
    said.collect()
}

/// Returns warnings about invalid variables.
pub(super) fn invalid_variables<'a>(get: impl Fn(&str) -> Option<&'a str>) -> Vec<String> {
    let misread = VARIABLES.iter().filter_map(|(name, key)| {
        let text = get(name).filter(|text| !text.trim().is_empty())?;
        let expected = match *key {
            THINKING => "a number of tokens",
            _ => "low, medium, high, xhigh or max",
        };
        value(key, text).is_none().then(|| {
            let text = text.escape_debug();
            format!("environment: ignoring `{name}={text}`: use {expected}")
        })
    });
    misread.collect()
}

fn value(key: &str, text: &str) -> Option<Value> {
    match key {
        THINKING => {
            let tokens = text.trim().parse().ok()?;
            Some(Thinking::of_tokens(tokens).to_string().into())
        }
        _ => effort(text),
    }
}

/// Parses an effort. Claude Code writes `unset` or `auto` for the model's default.
fn effort(word: &str) -> Option<Value> {
    match word.trim() {
        "auto" | "unset" => Some("auto".into()),
        word => word
            .parse::<Effort>()
            .ok()
            .map(|effort| effort.name().into()),
    }
}
