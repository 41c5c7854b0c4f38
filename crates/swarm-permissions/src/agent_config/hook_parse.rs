//! Parsing of a `hooks` object, from settings or a definition.

use serde::de::DeserializeOwned;
use serde_json::Value;
use swarm_protocol::word_list;

use super::hook_matcher::matcher_error;
use super::{HookAction, HookCommand, HookEvent, HookGroup, HookSettings};
use crate::nearest;

impl HookSettings {
    /// Parses the `hooks` object of `origin`: `{EVENT: [{matcher?, hooks: [{type: "command",
    /// command, timeout?}]}]}`, in Claude Code's format, including the types `http` and `prompt`.
    /// Invalid parts are ignored, each with a warning.
    pub fn read(hooks: &Value, origin: &str) -> (Self, Vec<String>) {
        let mut read = Self::default();
        let mut remarks = Vec::new();
        let events = match hooks {
            Value::Null => return (read, remarks),
            Value::Object(events) => events,
            _ => return (read, vec!["`hooks` must be an object".to_owned()]),
        };
        for (name, groups) in events {
            let Some(event) = HookEvent::named(name) else {
                let names = HookEvent::ALL.map(HookEvent::name);
                let meant = nearest(name, names)
                    .map(|meant| format!("; did you mean `{meant}`?"))
                    .unwrap_or_default();
                remarks.push(format!(
                    "unsupported hook event `{}`: its hooks are ignored{meant}",
                    name.escape_debug()
                ));
                continue;
            };
            let Some(groups) = groups.as_array() else {
                remarks.push(format!("`hooks.{name}` must be a list"));
                continue;
            };
            for one in groups {
                remarks.extend(typo_warnings(one, &["matcher", "hooks"], event));
                match group(one, event, origin, &mut remarks) {
                    Ok(group) if group.hooks.is_empty() => {}
                    Ok(group) => read.events.entry(event).or_default().push(group),
                    Err(remark) => remarks.push(remark),
                }
            }
        }
        (read, remarks)
    }
}

/// The fields of a hook.
const FIELDS: [&str; 10] = word_list(
    "type command timeout onFailure url headers allowedEnvVars prompt model continueOnBlock",
);

/// Claude Code fields that would change when or how a hook runs.
const UNSUPPORTED: [&str; 5] = ["if", "args", "async", "asyncRewake", "once"];

/// Events that support `prompt` hooks, as in Claude Code: those with a decision.
const PROMPT_EVENTS: [HookEvent; 11] = [
    HookEvent::PreToolUse,
    HookEvent::PostToolUse,
    HookEvent::PostToolUseFailure,
    HookEvent::PostToolBatch,
    HookEvent::PermissionRequest,
    HookEvent::UserPromptSubmit,
    HookEvent::UserPromptExpansion,
    HookEvent::Stop,
    HookEvent::SubagentStop,
    HookEvent::TaskCreated,
    HookEvent::TaskCompleted,
];

/// Returns warnings about misspelled fields, which would change when a hook runs. Fields of other
/// Claude Code versions are ignored.
fn typo_warnings(object: &Value, known: &[&str], event: HookEvent) -> Vec<String> {
    let fields = object.as_object().into_iter().flat_map(|it| it.keys());
    let meant = |field: &String| {
        let is_known = known.contains(&field.as_str());
        let meant = nearest(field, known.iter().copied()).filter(|_| !is_known)?;
        let field = field.escape_debug();
        Some(format!(
            "unknown field `{field}` in `hooks.{event}` is ignored; did you mean `{meant}`?"
        ))
    };
    fields.filter_map(meant).collect()
}

fn group(
    group: &Value,
    event: HookEvent,
    origin: &str,
    remarks: &mut Vec<String>,
) -> Result<HookGroup, String> {
    let Some(hooks) = group["hooks"].as_array() else {
        return Err(format!("a group of `hooks.{event}` has no list `hooks`"));
    };
    let matcher = match &group["matcher"] {
        Value::Null => None,
        Value::String(matcher) => Some(matcher.clone()),
        _ => return Err(format!("a `matcher` of `hooks.{event}` must be a string")),
    };
    if let Some((matcher, reason)) = matcher
        .as_ref()
        .and_then(|it| Some((it, matcher_error(it)?)))
    {
        return Err(format!(
            "the matcher `{matcher}` of `hooks.{event}` is not a valid regular expression ({reason}): its hooks are ignored"
        ));
    }
    let names_nothing = matcher.as_deref().is_none_or(|it| matches!(it, "" | "*"));
    if event == HookEvent::FileChanged && names_nothing {
        return Err(format!(
            "a group of `hooks.{event}` needs a `matcher` with file names separated by `|`"
        ));
    }
    let mut commands = Vec::new();
    for hook in hooks {
        let unsupported = UNSUPPORTED.iter().filter(|field| {
            let value = &hook[**field];
            !value.is_null() && *value != Value::Bool(false)
        });
        remarks.extend(unsupported.map(|field| {
            format!("`{field}` of a hook of `hooks.{event}` is not supported and ignored")
        }));
        remarks.extend(typo_warnings(hook, &FIELDS, event));
        match command(hook, event) {
            Ok(command) => commands.push(command),
            Err(remark) => remarks.push(remark),
        }
    }
    Ok(HookGroup {
        matcher,
        hooks: commands,
        origin: origin.to_owned(),
    })
}

fn command(hook: &Value, event: HookEvent) -> Result<HookCommand, String> {
    Ok(HookCommand {
        action: action(hook, event)?,
        timeout: timeout(&hook["timeout"], event)?,
        failure_blocks: failure_blocks(&hook["onFailure"], event)?,
        sandboxed: false,
        plugin: None,
    })
}

fn action(hook: &Value, event: HookEvent) -> Result<HookAction, String> {
    let text = |field: &str| {
        let text = hook[field].as_str().map(str::trim).unwrap_or_default();
        match text {
            "" => Err(format!("a hook of `hooks.{event}` has no `{field}`")),
            text => Ok(text.to_owned()),
        }
    };
    match hook["type"].as_str() {
        None => Err(format!("a hook of `hooks.{event}` has no `type`")),
        Some("command") => Ok(HookAction::Command {
            command: text("command")?,
        }),
        Some("http") => Ok(HookAction::Http {
            url: checked_url(text("url")?, event)?,
            headers: list(&hook["headers"], "headers", event)?,
            allowed_env_vars: list(&hook["allowedEnvVars"], "allowedEnvVars", event)?,
        }),
        Some("prompt") => {
            if !PROMPT_EVENTS.contains(&event) {
                return Err(format!(
                    "a hook of `hooks.{event}` has the type `prompt`, which this event does not support"
                ));
            }
            Ok(HookAction::Prompt {
                prompt: text("prompt")?,
                model: hook["model"].as_str().map(str::to_owned),
                continue_on_block: hook["continueOnBlock"] == Value::Bool(true),
            })
        }
        Some(other) => Err(format!(
            "a hook of `hooks.{event}` has the unsupported type `{}`; use `command`, `http` or `prompt`",
            other.escape_debug()
        )),
    }
}

fn checked_url(url: String, event: HookEvent) -> Result<String, String> {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    match scheme.map(str::to_ascii_lowercase).as_deref() {
        Some("http" | "https") => Ok(url),
        _ => Err(format!(
            "the `url` of a hook of `hooks.{event}` must begin with `http://` or `https://`"
        )),
    }
}

/// Parses a list or an object of strings; empty if absent.
fn list<T: Default + DeserializeOwned>(
    value: &Value,
    field: &str,
    event: HookEvent,
) -> Result<T, String> {
    if value.is_null() {
        return Ok(T::default());
    }
    T::deserialize(value)
        .map_err(|_| format!("`{field}` of a hook of `hooks.{event}` must contain only strings"))
}

/// Parses `onFailure`, a field of newer Claude Code versions. The end of a turn or task is blocked
/// only by a hook's decision.
fn failure_blocks(value: &Value, event: HookEvent) -> Result<bool, String> {
    const NEVER: [HookEvent; 4] = [
        HookEvent::Stop,
        HookEvent::SubagentStop,
        HookEvent::TaskCompleted,
        HookEvent::TeammateIdle,
    ];
    match value {
        Value::Null => Ok(false),
        Value::String(word) if word == "continue" => Ok(false),
        Value::String(word) if word == "block" => Ok(!NEVER.contains(&event)),
        _ => Err(format!(
            "`onFailure` of `hooks.{event}` must be `continue` or `block`"
        )),
    }
}

/// Parses a timeout in seconds, rounded up.
fn timeout(value: &Value, event: HookEvent) -> Result<Option<u64>, String> {
    if value.is_null() {
        return Ok(None);
    }
    let wrong = || format!("a `timeout` of `hooks.{event}` must be a number of seconds above 0");
    let seconds = value.as_f64().filter(|seconds| *seconds > 0.0);
    let seconds = seconds.ok_or_else(wrong)?.ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is above 0, and a float too large becomes the largest number"
    )]
    Ok(Some(seconds as u64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_settings_object_is_read() {
        let (read, remarks) = HookSettings::read(
            &json!({
                "PreToolUse": [
                    {"matcher": "Bash", "hooks": [{"type": "command", "command": "./guard", "timeout": 1.5}]},
                    {"hooks": [{"type": "command", "command": "./log"}, {"type": "command", "command": "./guard", "timeout": 9}]}
                ],
                "Stop": [{"hooks": [{"type": "command", "command": "notify"}]}]
            }),
            "here",
        );
        assert!(remarks.is_empty(), "{remarks:?}");
        let of = |event, subject| -> Vec<_> {
            let commands = read.commands(event, subject).into_iter();
            commands
                .map(|hook| (hook.action.text().to_owned(), hook.timeout))
                .collect()
        };
        let guard = |timeout| ("./guard".to_owned(), Some(timeout));
        let log = ("./log".to_owned(), None);
        assert_eq!(
            of(HookEvent::PreToolUse, Some("Bash")),
            [guard(9), log.clone()]
        );
        assert_eq!(of(HookEvent::PreToolUse, Some("Read")), [log, guard(9)]);
        assert_eq!(of(HookEvent::Stop, None).len(), 1);
        assert!(of(HookEvent::SessionEnd, None).is_empty());
    }

    #[test]
    fn invalid_hooks_are_reported_and_the_others_run() {
        let good = json!({"hooks": [{"type": "command", "command": "true"}]});
        for (wrong, word) in [
            (
                json!({"hooks": [{"type": "agent", "prompt": "x"}]}),
                "unsupported type `agent`",
            ),
            (
                json!({"hooks": [{"type": "prompt", "prompt": " "}]}),
                "has no `prompt`",
            ),
            (json!({"hooks": [{"type": "http"}]}), "has no `url`"),
            (
                json!({"hooks": [{"type": "http", "url": "file:///etc/passwd"}]}),
                "must begin with `http://`",
            ),
            (
                json!({"hooks": [{"type": "http", "url": "http://a", "headers": {"a": 1}}]}),
                "`headers`",
            ),
            (json!({"hooks": [{"command": "x"}]}), "has no `type`"),
            (
                json!({"hooks": [{"type": "command", "command": "x", "onFailure": "stop"}]}),
                "`onFailure`",
            ),
            (json!({"hooks": [{"type": "command"}]}), "has no `command`"),
            (
                json!({"hooks": [{"type": "command", "command": " "}]}),
                "has no `command`",
            ),
            (
                json!({"hooks": [{"type": "command", "command": "x", "timeout": 0}]}),
                "`timeout`",
            ),
            (
                json!({"hooks": [{"type": "command", "command": "x", "timeout": "1"}]}),
                "`timeout`",
            ),
            (
                json!({"matcher": "[", "hooks": []}),
                "not a valid regular expression",
            ),
            (json!({"matcher": 1, "hooks": []}), "must be a string"),
            (json!({}), "has no list"),
        ] {
            let (read, remarks) = HookSettings::read(&json!({"Stop": [wrong, good]}), "here");
            assert!(remarks[0].contains(word), "{remarks:?}");
            assert_eq!(read.commands(HookEvent::Stop, None).len(), 1, "{wrong}");
        }
        for (wrong, word) in [
            (json!([]), "must be an object"),
            (json!({"Stop": {}}), "must be a list"),
            (json!({"MessageDisplay": [good]}), "unsupported hook event"),
            (json!({"FileChanged": [good]}), "file names"),
            (json!({"PreTooluse": [good]}), "did you mean `PreToolUse`?"),
        ] {
            let (read, remarks) = HookSettings::read(&wrong, "here");
            assert!(remarks[0].contains(word), "{remarks:?}");
            assert!(read.is_empty());
        }
    }

    #[test]
    fn a_misspelled_field_is_reported_and_its_hook_runs() {
        let hook = json!({"type": "command", "command": "true", "timout": 5, "statusMessage": "…", "async": true});
        let groups = json!({"PreToolUse": [{"Matcher": "Bash", "hooks": [hook]}]});
        let (read, remarks) = HookSettings::read(&groups, "here");
        assert_eq!(
            remarks,
            [
                "unknown field `Matcher` in `hooks.PreToolUse` is ignored; did you mean `matcher`?",
                "`async` of a hook of `hooks.PreToolUse` is not supported and ignored",
                "unknown field `timout` in `hooks.PreToolUse` is ignored; did you mean `timeout`?",
            ]
        );
        assert_eq!(read.commands(HookEvent::PreToolUse, Some("Read")).len(), 1);
    }

    #[test]
    fn http_and_prompt_hooks_are_parsed_for_supported_events() {
        let http = json!({"type": "http", "url": "HTTPS://example.org/hook", "headers": {"Authorization": "Bearer $T"},
            "allowedEnvVars": ["T"]});
        let prompt = json!({"type": "prompt", "prompt": "Is it done?", "model": "haiku"});
        let groups = json!([{"hooks": [http, prompt]}]);
        let (read, remarks) =
            HookSettings::read(&json!({"Stop": groups, "SessionEnd": groups}), "here");
        assert_eq!(remarks.len(), 1, "{remarks:?}");
        assert!(remarks[0].contains("`prompt`, which this event does not support"));
        let read = read.with_time_limit(600);
        let stop = read.commands(HookEvent::Stop, None);
        assert!(
            matches!(&stop[0].action, HookAction::Http { allowed_env_vars, .. } if *allowed_env_vars == ["T"])
        );
        assert_eq!((stop[0].timeout, stop[1].timeout), (Some(600), Some(30)));
        assert_eq!(stop[1].action.text(), "Is it done?");
        assert_eq!(read.commands(HookEvent::SessionEnd, None).len(), 1);
        let text = serde_json::to_string(&read).unwrap();
        assert_eq!(serde_json::from_str::<HookSettings>(&text).unwrap(), read);
    }

    #[test]
    fn a_stop_hook_of_a_definition_runs_at_subagent_stop() {
        let one = |command: &str| json!([{"hooks": [{"type": "command", "command": command}]}]);
        let hooks = json!({"Stop": one("stop"), "SubagentStop": one("end")});
        let (read, _) = HookSettings::read(&hooks, "a definition");
        let read = read.for_subagent().with_time_limit(7);
        let end = read.commands(HookEvent::SubagentStop, Some("reviewer"));
        let commands: Vec<_> = end.iter().map(|hook| hook.action.text()).collect();
        assert_eq!(commands, ["stop", "end"]);
        assert!(end.iter().all(|hook| hook.timeout == Some(7)));
        assert!(read.commands(HookEvent::Stop, None).is_empty());
    }
}
