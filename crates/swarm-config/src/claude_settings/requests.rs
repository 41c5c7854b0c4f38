//! The model, thinking, effort, editor mode and excluded instruction files in Claude Code's settings
//! and variables.

use serde_json::{Value, json};
use swarm_model::Provider;
use swarm_protocol::{Effort, Thinking};

use crate::settings::Layer;

/// The setting that `model` sets.
pub(super) const MODEL: &str = "model.default";

/// The setting that `editorMode` sets.
pub(super) const EDITOR_MODE: &str = "lead.editor_mode";

/// The setting that `claudeMdExcludes` sets.
pub(super) const EXCLUDES: &str = "instructions.exclude";

const SMALL_MODELS: &str = "model.small";
const THINKING: &str = "model.thinking";
const EFFORT: &str = "model.effort";
const CLAUDE_MD_EXCLUDES: &str = "claudeMdExcludes";

/// The variables, weakest first if two set the same setting.
const VARIABLES: [(&str, &str); 4] = [
    ("ANTHROPIC_MODEL", MODEL),
    ("ANTHROPIC_SMALL_FAST_MODEL", SMALL_MODELS),
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
    let model = document["model"].as_str().and_then(model);
    let model = model.map(|model| (MODEL, model));
    let editor = (document["editorMode"].as_str()).filter(|mode| matches!(*mode, "normal" | "vim"));
    let editor = editor.map(|mode| (EDITOR_MODE, mode.into()));
    let excludes = (is_list_of_texts(&document[CLAUDE_MD_EXCLUDES]))
        .then(|| (EXCLUDES, document[CLAUDE_MD_EXCLUDES].clone()));
    (thinking.into_iter().chain(effort))
        .chain(model)
        .chain(editor)
        .chain(excludes)
        .collect()
}

/// Returns warnings about values in a `settings.json` that are invalid or have no effect.
pub(super) fn invalid_in(document: &Value, file: &str, layer: Layer) -> Vec<String> {
    let model = match &document["model"] {
        Value::String(name) if name == PLAN_MODEL => Some(format!(
            "{file}: ignoring `model` \"{PLAN_MODEL}\": use the name of one model"
        )),
        Value::String(_) if layer == Layer::Project => Some(format!(
            "{file}: ignoring `model`: a repository cannot choose it; pass `--model`"
        )),
        _ => None,
    };
    let excludes = match &document[CLAUDE_MD_EXCLUDES] {
        Value::Null => None,
        value if !is_list_of_texts(value) => Some("use a list of globs"),
        _ if layer == Layer::Project => {
            Some("a repository cannot set it; set `instructions.exclude` in your swarm.toml")
        }
        _ => None,
    };
    let excludes = excludes.map(|why| format!("{file}: ignoring `{CLAUDE_MD_EXCLUDES}`: {why}"));
    invalid_effort(document, file)
        .into_iter()
        .chain(model)
        .chain(excludes)
        .collect()
}

fn is_list_of_texts(value: &Value) -> bool {
    let is_text = |item: &Value| item.as_str().is_some_and(|text| !text.trim().is_empty());
    (value.as_array()).is_some_and(|items| items.iter().all(is_text))
}

fn invalid_effort(document: &Value, file: &str) -> Option<String> {
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

/// Returns warnings about invalid variables, which `place` sets.
pub(super) fn invalid_variables<'a>(
    place: &str,
    get: impl Fn(&str) -> Option<&'a str>,
) -> Vec<String> {
    let misread = VARIABLES.iter().filter_map(|(name, key)| {
        let text = get(name).filter(|text| !is_default(text))?;
        let expected = match *key {
            THINKING => "a number of tokens",
            MODEL | SMALL_MODELS => "the name of one model",
            _ => "low, medium, high, xhigh or max",
        };
        value(key, text).is_none().then(|| {
            let text = text.escape_debug();
            format!("{place}: ignoring `{name}={text}`: use {expected}")
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
        MODEL => model(text),
        SMALL_MODELS => model(text).map(|name| json!({(Provider::Anthropic.name()): name})),
        _ => effort(text),
    }
}

/// Claude Code's name for one model in plan mode and another one otherwise.
const PLAN_MODEL: &str = "opusplan";

/// Claude Code's suffix for a model with a larger context window.
const LARGE_WINDOW: &str = "[1m]";

fn is_default(text: &str) -> bool {
    matches!(text.trim(), "" | "default")
}

/// Returns the model, without the suffix for a larger window: windows are known per model.
fn model(text: &str) -> Option<Value> {
    let name = text.trim();
    let name = name.strip_suffix(LARGE_WINDOW).unwrap_or(name);
    (!is_default(name) && name != PLAN_MODEL).then(|| name.into())
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
