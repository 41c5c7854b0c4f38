//! Reading a `hooks` object, of settings or of a definition.

use serde_json::Value;

use super::hook_matcher::fault;
use super::{HookCommand, HookEvent, HookGroup, HookSettings};
use crate::nearest;

impl HookSettings {
    /// Reads the `hooks` object that stands in `origin`: `{EVENT: [{matcher?, hooks: [{type: "command", command,
    /// timeout?}]}]}`, in Claude Code's shape. What is not understood is left out, with a sentence for each such thing.
    pub fn read(hooks: &Value, origin: &str) -> (Self, Vec<String>) {
        let mut read = Self::default();
        let mut remarks = Vec::new();
        let events = match hooks {
            Value::Null => return (read, remarks),
            Value::Object(events) => events,
            _ => return (read, vec!["`hooks` must be an object".to_owned()]),
        };
        for (name, groups) in events {
            let Some(event) = HookEvent::parse(name) else {
                let names = HookEvent::ALL.map(HookEvent::name);
                let meant = nearest(name, names)
                    .map(|meant| format!("; did you mean `{meant}`?"))
                    .unwrap_or_default();
                remarks.push(format!(
                    "`{}` is no event of swarm, so its hooks do not run{meant}",
                    name.escape_debug()
                ));
                continue;
            };
            let Some(groups) = groups.as_array() else {
                remarks.push(format!("`hooks.{name}` must be a list"));
                continue;
            };
            for one in groups {
                remarks.extend(slips(one, &["matcher", "hooks"], name));
                match group(one, name, origin, &mut remarks) {
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
const FIELDS: [&str; 4] = ["type", "command", "timeout", "onFailure"];

/// Fields that are none, where one of these is meant: without a word, a hook would run at other times than its writer
/// believes. Those of other versions of Claude Code are nobody's slip.
fn slips(object: &Value, known: &[&str], event: &str) -> Vec<String> {
    let fields = object.as_object().into_iter().flat_map(|it| it.keys());
    let meant = |field: &String| {
        let is_known = known.contains(&field.as_str());
        let meant = nearest(field, known.iter().copied()).filter(|_| !is_known)?;
        let field = field.escape_debug();
        Some(format!(
            "`{field}` in `hooks.{event}` is no field and changes nothing; did you mean `{meant}`?"
        ))
    };
    fields.filter_map(meant).collect()
}

fn group(
    group: &Value,
    event: &str,
    origin: &str,
    remarks: &mut Vec<String>,
) -> Result<HookGroup, String> {
    let Some(hooks) = group["hooks"].as_array() else {
        return Err(format!(
            "a group of `hooks.{event}` lacks its list of `hooks`"
        ));
    };
    let matcher = match &group["matcher"] {
        Value::Null => None,
        Value::String(matcher) => Some(matcher.clone()),
        _ => return Err(format!("a `matcher` of `hooks.{event}` must be a text")),
    };
    if let Some((matcher, fault)) = matcher.as_ref().and_then(|it| Some((it, fault(it)?))) {
        return Err(format!(
            "the matcher `{matcher}` of `hooks.{event}` is no regular expression ({fault}), so its hooks do not run"
        ));
    }
    let mut commands = Vec::new();
    for hook in hooks {
        remarks.extend(slips(hook, &FIELDS, event));
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

fn command(hook: &Value, event: &str) -> Result<HookCommand, String> {
    match hook["type"].as_str() {
        None => return Err(format!("a hook of `hooks.{event}` lacks its `type`")),
        Some("command") => {}
        Some(other) => {
            return Err(format!(
                "a hook of `hooks.{event}` has the type `{}`, and only `command` runs",
                other.escape_debug()
            ));
        }
    }
    let command = hook["command"].as_str().map(str::trim).unwrap_or_default();
    if command.is_empty() {
        return Err(format!("a hook of `hooks.{event}` lacks its `command`"));
    }
    Ok(HookCommand {
        command: command.to_owned(),
        timeout: timeout(&hook["timeout"], event)?,
        failure_blocks: failure_blocks(&hook["onFailure"], event)?,
    })
}

/// `onFailure`, as newer versions of Claude Code have it. The ends of turns and tasks are held up by refusals alone.
fn failure_blocks(value: &Value, event: &str) -> Result<bool, String> {
    const NEVER: [HookEvent; 4] = [
        HookEvent::Stop,
        HookEvent::SubagentStop,
        HookEvent::TaskCompleted,
        HookEvent::TeammateIdle,
    ];
    let wrong = || format!("`onFailure` of `hooks.{event}` is `continue` or `block`");
    match value {
        Value::Null => Ok(false),
        Value::String(word) if word == "continue" => Ok(false),
        Value::String(word) if word == "block" => {
            Ok(HookEvent::parse(event).is_none_or(|event| !NEVER.contains(&event)))
        }
        _ => Err(wrong()),
    }
}

/// Seconds; a part of one counts as one.
fn timeout(value: &Value, event: &str) -> Result<Option<u64>, String> {
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
            commands.map(|hook| (hook.command, hook.timeout)).collect()
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
    fn what_is_not_understood_is_named_and_the_rest_runs() {
        let good = json!({"hooks": [{"type": "command", "command": "true"}]});
        for (wrong, word) in [
            (
                json!({"hooks": [{"type": "prompt", "prompt": "x"}]}),
                "only `command` runs",
            ),
            (json!({"hooks": [{"command": "x"}]}), "lacks its `type`"),
            (
                json!({"hooks": [{"type": "command", "command": "x", "onFailure": "stop"}]}),
                "`onFailure`",
            ),
            (
                json!({"hooks": [{"type": "command"}]}),
                "lacks its `command`",
            ),
            (
                json!({"hooks": [{"type": "command", "command": " "}]}),
                "lacks its `command`",
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
                "no regular expression",
            ),
            (json!({"matcher": 1, "hooks": []}), "must be a text"),
            (json!({}), "lacks its list"),
        ] {
            let (read, remarks) = HookSettings::read(&json!({"Stop": [wrong, good]}), "here");
            assert!(remarks[0].contains(word), "{remarks:?}");
            assert_eq!(read.commands(HookEvent::Stop, None).len(), 1, "{wrong}");
        }
        for (wrong, word) in [
            (json!([]), "must be an object"),
            (json!({"Stop": {}}), "must be a list"),
            (json!({"Notification": [good]}), "no event of swarm"),
            (json!({"PreTooluse": [good]}), "did you mean `PreToolUse`?"),
        ] {
            let (read, remarks) = HookSettings::read(&wrong, "here");
            assert!(remarks[0].contains(word), "{remarks:?}");
            assert!(read.is_empty());
        }
    }

    #[test]
    fn a_slip_in_a_fields_name_is_told_and_its_hook_runs() {
        let hook = json!({"type": "command", "command": "true", "timout": 5, "statusMessage": "…", "async": true});
        let groups = json!({"PreToolUse": [{"Matcher": "Bash", "hooks": [hook]}]});
        let (read, remarks) = HookSettings::read(&groups, "here");
        assert_eq!(
            remarks,
            [
                "`Matcher` in `hooks.PreToolUse` is no field and changes nothing; did you mean `matcher`?",
                "`timout` in `hooks.PreToolUse` is no field and changes nothing; did you mean `timeout`?",
            ]
        );
        assert_eq!(read.commands(HookEvent::PreToolUse, Some("Read")).len(), 1);
    }

    #[test]
    fn stop_of_a_definition_is_the_end_of_a_sub_agent() {
        let one = |command: &str| json!([{"hooks": [{"type": "command", "command": command}]}]);
        let hooks = json!({"Stop": one("stop"), "SubagentStop": one("end")});
        let (read, _) = HookSettings::read(&hooks, "a definition");
        let read = read.for_subagent().with_time_limit(7);
        let end = read.commands(HookEvent::SubagentStop, Some("reviewer"));
        let commands: Vec<_> = end.iter().map(|hook| hook.command.as_str()).collect();
        assert_eq!(commands, ["stop", "end"]);
        assert!(end.iter().all(|hook| hook.timeout == Some(7)));
        assert!(read.commands(HookEvent::Stop, None).is_empty());
    }
}
