//! Properties of every parser of foreign data for any input: it terminates, does not panic, and
//! whatever it reads round-trips, including unknown fields. The fuzzer includes this file.

use std::collections::HashSet;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use swarm_model::{ContentBlock, ReplayedApi, replay_answer};
use swarm_panes::PaneStatus;
use swarm_permissions::{HookSettings, McpServerConfig, PermissionSettings, Rule};
use swarm_protocol::{ControlFrame, Envelope, InboxEntry, Task, TeamConfig, TeamName};

/// Name of a parser and the check of its properties, which panics on a violation.
pub(super) type Target = (&'static str, fn(&[u8]));

/// All parsers.
pub const TARGETS: [Target; 9] = [
    ("inbox", inbox),
    ("config", config),
    ("task", task),
    ("frame", frame),
    ("stream", stream),
    ("definition", definition),
    ("settings", settings),
    ("shell", shell),
    ("panes", panes),
];

/// Fields of an inbox entry that are written in swarm's own form.
const OWN_FORM: [&str; 2] = ["read", "swarm"];

fn inbox(bytes: &[u8]) {
    let Ok(parsed) = swarm_protocol::parse_inbox(bytes) else {
        return;
    };
    let again = written(&parsed.entries);
    let second = swarm_protocol::parse_inbox(&again).expect("what was written is an inbox");
    assert!(second.malformed.is_empty(), "{:?}", second.malformed);
    assert_eq!(second.entries, parsed.entries);
    let originals: Vec<Value> = serde_json::from_slice(bytes).unwrap_or_default();
    let originals = originals.iter().filter_map(Value::as_object);
    let entries: Vec<Map<String, Value>> =
        serde_json::from_slice(&again).expect("what was written is JSON");
    // With lone surrogates or malformed entries in between, they cannot be matched.
    if originals.clone().count() == entries.len() && parsed.malformed.is_empty() {
        for (original, entry) in originals.zip(&entries) {
            for (name, value) in original {
                let is_own = OWN_FORM.contains(&name.as_str());
                assert!(is_own || entry.get(name) == Some(value), "`{name}` is lost");
            }
        }
    }
    for entry in &parsed.entries {
        // Any text stays within one envelope.
        let shown = Envelope::of(entry).render();
        assert_eq!(shown.matches("<teammate-message").count(), 1, "{shown}");
        assert_eq!(shown.matches("</teammate-message>").count(), 1, "{shown}");
        framed(entry);
    }
}

fn framed(entry: &InboxEntry) {
    if let Some(frame) = ControlFrame::of_entry(entry) {
        let again = ControlFrame::from_text(&frame.to_text());
        assert_eq!(again.as_ref(), Some(&frame));
    }
}

fn config(bytes: &[u8]) {
    if let Some(config) = same_again::<TeamConfig>(bytes) {
        assert!(config.names().len() <= config.members.len());
        keeps(bytes, &config, &config.rest);
    }
}

fn task(bytes: &[u8]) {
    let Ok(task) = Task::parse(bytes) else {
        return;
    };
    let again = Task::parse(&written(&task)).expect("what was written is a task");
    assert_eq!(again, task);
    keeps(bytes, &task, &task.rest);
    let mut marked = task.clone();
    marked.set_swarm(&task.swarm());
    assert_eq!(marked.swarm(), task.swarm());
    assert_eq!(marked.rest, task.rest);
}

/// Checks that unknown fields are written as they were read.
fn keeps(bytes: &[u8], document: &impl Serialize, unknown: &Map<String, Value>) {
    let Ok(Value::Object(original)) = serde_json::from_slice(bytes) else {
        return;
    };
    let again: Value = serde_json::from_slice(&written(document)).expect("JSON");
    for name in unknown.keys() {
        assert_eq!(again.get(name), original.get(name), "`{name}`");
    }
    let known = original.iter().filter(|(name, value)| {
        !unknown.contains_key(*name) && !value.is_null() && value.as_str() != Some("")
    });
    for (name, value) in known {
        let is_zero = value.as_f64() == Some(0.0);
        assert!(is_zero || again.get(name).is_some(), "`{name}` is lost");
    }
}

fn frame(bytes: &[u8]) {
    let Some(frame) = text(bytes).and_then(ControlFrame::from_text) else {
        return;
    };
    let again = ControlFrame::from_text(&frame.to_text());
    assert_eq!(again, Some(frame));
}

/// The first byte selects the provider and the cuts.
fn stream(bytes: &[u8]) {
    let Some((how, body)) = bytes.split_first() else {
        return;
    };
    let api = if how & 1 == 0 {
        ReplayedApi::Messages
    } else {
        ReplayedApi::ChatCompletions
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let read = |size: usize| {
        let pieces = body.chunks(size.max(1)).map(<[u8]>::to_vec);
        let pieces = pieces.map(Into::into).collect();
        runtime.block_on(replay_answer(api, pieces))
    };
    let (_, whole) = read(body.len());
    let (_, cut) = read(usize::from(how >> 1) + 1);
    assert_eq!(whole.is_ok(), cut.is_ok(), "{whole:?} or in pieces {cut:?}");
    if let (Ok(mut whole), Ok(mut cut)) = (whole, cut) {
        // Calls without an id get a random one.
        for block in whole.content.iter_mut().chain(&mut cut.content) {
            if let ContentBlock::ToolUse { id, .. } = block {
                *id = id.starts_with("call_").to_string();
            }
        }
        assert_eq!(whole, cut, "it depends on how it was cut");
        // It is stored in the transcript in this form, and sent again.
        let again: Vec<ContentBlock> =
            serde_json::from_slice(&written(&whole.content)).expect("what was written is content");
        assert_eq!(written(&again), written(&whole.content));
    }
}

fn definition(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let read = swarm_permissions::read_definition_file(text, "a.md");
    // YAML also treats a single carriage return as a line break.
    let lines = text.split(['\n', '\r']).count();
    for problem in &read.problems {
        assert!(
            problem.line.is_none_or(|line| line <= lines + 1),
            "{problem:?}"
        );
        assert!(!problem.what.is_empty());
    }
    let refused = read.problems.iter().any(|problem| problem.refused);
    assert!(!(refused && read.definition.is_some()), "refused and taken");
    drop(swarm_permissions::read_definitions_json(text, "--agents"));
}

fn settings(bytes: &[u8]) {
    let Ok(document) = serde_json::from_slice::<Value>(bytes) else {
        return;
    };
    let base = Path::new("/base");
    let permissions = PermissionSettings::from_settings(&document, "settings.json", base, None);
    drop(permissions);
    let hooks = document.get("hooks").unwrap_or(&document);
    drop(HookSettings::read(hooks, "settings.json"));
    let servers = document.get("mcpServers").and_then(Value::as_object);
    for entry in servers.into_iter().flat_map(Map::values) {
        drop(McpServerConfig::from_json(entry));
    }
}

/// Shell commands, which models write, and rules, which are in settings of repositories.
fn shell(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let answer = swarm_permissions::bash_is_read_only(text);
    assert_eq!(answer, swarm_permissions::bash_is_read_only(text));
    if let Ok(rule) = Rule::parse(text) {
        let again = Rule::parse(&rule.to_string()).expect("what was written is a rule");
        assert_eq!(again, rule);
    }
}

/// Output of tmux, including titles and options that any program may set. The last field contains
/// the rest of a line.
fn panes(bytes: &[u8]) {
    // Decoded like the output of the program.
    let answer = String::from_utf8_lossy(bytes);
    let team = TeamName::parse("demo").expect("a name");
    let Ok(found) = swarm_panes::replay_panes(&answer, &team) else {
        return;
    };
    let mut ids = HashSet::new();
    for pane in &found {
        let id = pane.pane.id.as_str();
        assert!(ids.insert(id), "{id} is listed twice");
        let is_listed = |line: &str| line.split('\t').next() == Some(id);
        assert!(answer.lines().any(is_listed), "{id} is no pane");
        for text in [pane.team.as_str(), pane.member.as_str()] {
            assert!(answer.contains(text), "{text} is not there");
        }
        assert!(!matches!(pane.status, PaneStatus::Gone), "{id} is listed");
    }
}

/// Checks that a value round-trips.
fn same_again<T>(bytes: &[u8]) -> Option<T>
where
    T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let first: T = serde_json::from_slice(bytes).ok()?;
    let again: T = serde_json::from_slice(&written(&first)).expect("what was written is read");
    assert_eq!(again, first);
    Some(first)
}

fn written(document: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(document).expect("it can be written")
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}
