//! What Claude Code's settings and variables say about `model.thinking` and `model.effort`.

use serde_json::Value;
use swarm_protocol::{Effort, Thinking};

const THINKING: &str = "model.thinking";
const EFFORT: &str = "model.effort";

/// Variables, weakest first where two speak of one setting.
const VARIABLES: [(&str, &str); 2] = [
    ("CLAUDE_CODE_EFFORT_LEVEL", EFFORT),
    ("MAX_THINKING_TOKENS", THINKING),
];

/// Names and values of the settings of which a `settings.json` speaks.
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

/// A sentence about an effort of a `settings.json` that is none.
pub(super) fn misread_in(document: &Value, file: &str) -> Option<String> {
    let is_misread = match &document["effortLevel"] {
        Value::Null => false,
        Value::String(word) => effort(word).is_none(),
        _ => true,
    };
    is_misread.then(|| {
        let value = &document["effortLevel"];
        format!(
            "{file}: `effortLevel` is {value}: use low, medium, high, xhigh or max; it is ignored"
        )
    })
}

/// The variables that speak of settings: variable, setting and value.
pub(super) fn in_variables<'a>(
    get: impl Fn(&str) -> Option<&'a str>,
) -> Vec<(&'static str, &'static str, Value)> {
    let said = VARIABLES
        .iter()
        .filter_map(|(name, key)| Some((*name, *key, value(key, get(name)?)?)));
    said.collect()
}

/// Sentences about variables whose values are not understood.
pub(super) fn misread_variables<'a>(get: impl Fn(&str) -> Option<&'a str>) -> Vec<String> {
    let misread = VARIABLES.iter().filter_map(|(name, key)| {
        let text = get(name).filter(|text| !text.trim().is_empty())?;
        let expected = match *key {
            THINKING => "a number of tokens",
            _ => "low, medium, high, xhigh or max",
        };
        value(key, text).is_none().then(|| {
            let text = text.escape_debug();
            format!("environment: `{name}` is `{text}`: use {expected}; it is ignored")
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

/// Claude Code writes `unset` or `auto` for the model's own.
fn effort(word: &str) -> Option<Value> {
    match word.trim() {
        "auto" | "unset" => Some("auto".into()),
        word => word
            .parse::<Effort>()
            .ok()
            .map(|effort| effort.name().into()),
    }
}
