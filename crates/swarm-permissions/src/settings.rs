//! The `permissions` object of a `settings.json`.

use std::path::{Path, PathBuf};

use serde_json::Value;
use swarm_protocol::PermissionMode;

use crate::question::absolute;
use crate::{Behavior, Rule, RuleSet};

/// What a settings file says about permissions, and what in it is wrong.
///
/// One bad rule does not take the others with it; whoever loads the file decides whether `errors` are fatal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PermissionSettings {
    /// The rules, with the file as their origin, and `additionalDirectories`.
    pub rules: RuleSet,
    /// `defaultMode`.
    pub default_mode: Option<PermissionMode>,
    /// One sentence for each thing that is wrong, naming the file.
    pub errors: Vec<String>,
    /// One sentence for each rule that speaks of no tool and was probably meant to, naming the file.
    pub remarks: Vec<String>,
}

/// Keys of Claude Code's that mean something there and nothing here.
const PASSED_OVER: [&str; 4] = [
    "disableBypassPermissionsMode",
    "disableAutoMode",
    "skipDangerousModePermissionPrompt",
    "blockedPaths",
];

impl PermissionSettings {
    /// Reads the `permissions` object out of a whole settings document.
    ///
    /// `origin` is what the rules' source is called, normally the file's path. Relative directories start from `base`.
    pub fn from_settings(settings: &Value, origin: &str, base: &Path, home: Option<&Path>) -> Self {
        let mut read = Self::default();
        let permissions = match settings.get("permissions") {
            None | Some(Value::Null) => return read,
            Some(Value::Object(permissions)) => permissions,
            Some(_) => {
                read.errors
                    .push(format!("{origin}: `permissions` must be an object"));
                return read;
            }
        };
        for (key, value) in permissions {
            match key.as_str() {
                "allow" => read.rules_of(Behavior::Allow, key, value, origin),
                "deny" => read.rules_of(Behavior::Deny, key, value, origin),
                "ask" => read.rules_of(Behavior::Ask, key, value, origin),
                "defaultMode" => read.mode(value, origin),
                "additionalDirectories" => read.directories(value, origin, base, home),
                key if PASSED_OVER.contains(&key) => {}
                key => read.errors.push(format!(
                    "{origin}: `permissions.{}` is not known; the keys are allow, deny, ask, defaultMode and \
                     additionalDirectories",
                    key.escape_debug()
                )),
            }
        }
        read
    }

    fn texts<'v>(&mut self, key: &str, value: &'v Value, origin: &str) -> Vec<&'v str> {
        let Value::Array(items) = value else {
            self.errors.push(format!(
                "{origin}: `permissions.{key}` must be a list of texts"
            ));
            return Vec::new();
        };
        let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
        if texts.len() < items.len() {
            self.errors.push(format!(
                "{origin}: `permissions.{key}` holds something that is no text"
            ));
        }
        texts
    }

    fn rules_of(&mut self, behavior: Behavior, key: &str, value: &Value, origin: &str) {
        for text in self.texts(key, value, origin) {
            match Rule::parse(text) {
                Ok(rule) if behavior == Behavior::Allow && rule.tool() == "*" => {
                    self.errors.push(format!(
                        "{origin}: `permissions.allow`: `*` grants nothing; name the tools, or set the mode"
                    ));
                }
                Ok(rule) => {
                    if let Some(meant) = rule.slip() {
                        self.remarks.push(format!(
                            "{origin}: `permissions.{key}`: there is no tool `{}`, so this rule changes nothing; did you mean `{meant}`?",
                            rule.tool()
                        ));
                    }
                    self.rules.add(behavior, rule, origin);
                }
                Err(error) => self
                    .errors
                    .push(format!("{origin}: `permissions.{key}`: {error}")),
            }
        }
    }

    fn mode(&mut self, value: &Value, origin: &str) {
        let mode = match value {
            Value::String(text) if text == "auto" => {
                self.remarks.push(format!(
                    "{origin}: `permissions.defaultMode` is `auto`, which swarm does not have: `default` applies"
                ));
                Ok(PermissionMode::Default)
            }
            // What Claude Code also calls its default.
            Value::String(text) if text == "manual" => Ok(PermissionMode::Default),
            Value::String(text) => text
                .parse::<PermissionMode>()
                .map_err(|error| error.to_string()),
            _ => Err("it must be a text".to_owned()),
        };
        match mode {
            Ok(mode) => self.default_mode = Some(mode),
            Err(error) => self
                .errors
                .push(format!("{origin}: `permissions.defaultMode`: {error}")),
        }
    }

    fn directories(&mut self, value: &Value, origin: &str, base: &Path, home: Option<&Path>) {
        for text in self.texts("additionalDirectories", value, origin) {
            let directory: Option<PathBuf> = match text.strip_prefix("~/") {
                Some(rest) => home.map(|home| absolute(rest, home)),
                None => Some(absolute(text, base)),
            };
            match directory {
                Some(directory) => self.rules.directories.push(directory),
                None => self.errors.push(format!(
                    "{origin}: `permissions.additionalDirectories`: there is no home directory for `{}`",
                    text.escape_debug()
                )),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(settings: &Value) -> PermissionSettings {
        let home = Some(Path::new("/home/dev"));
        PermissionSettings::from_settings(settings, "/p/settings.json", Path::new("/p"), home)
    }

    #[test]
    fn a_settings_file_gives_rules_with_their_origin() {
        let read = read(&json!({"permissions": {
            "allow": ["Bash(git log:*)", "Edit(src/**)"], "deny": ["Read(.env)"], "ask": ["Bash(git push:*)"],
            "defaultMode": "acceptEdits", "additionalDirectories": ["../docs", "~/notes", "/srv"],
            "disableBypassPermissionsMode": "disable"
        }, "hooks": {}}));
        assert_eq!(read.errors, Vec::<String>::new());
        assert_eq!(read.rules.allow.len(), 2);
        assert_eq!(read.rules.deny[0].rule.to_string(), "Read(.env)");
        assert_eq!(read.rules.ask[0].origin, "/p/settings.json");
        assert_eq!(read.default_mode, Some(PermissionMode::AcceptEdits));
        let directories = ["/docs", "/home/dev/notes", "/srv"].map(PathBuf::from);
        assert_eq!(read.rules.directories, directories);
    }

    #[test]
    fn a_rule_with_a_slip_in_the_name_of_its_tool_is_told_of_and_those_for_tools_of_others_are_not()
    {
        let read = read(&json!({"permissions": {
            "allow": ["NotebookEdit", "KillShell", "BashOutput", "mcp__x__y", "Task", "Read"], "deny": ["bash", "WebFecth"],
            "ask": ["Bsh(rm *)"]
        }}));
        assert_eq!(
            read.remarks,
            [("bash", "Bash"), ("WebFecth", "WebFetch")].map(|(slip, meant)| format!(
                "/p/settings.json: `permissions.deny`: there is no tool `{slip}`, so this rule changes nothing; did you mean `{meant}`?"
            ))
        );
        assert_eq!(read.errors.len(), 1, "{:?}", read.errors);
        assert!(
            read.errors[0].contains("there is no tool `Bsh`; did you mean `Bash`?"),
            "{:?}",
            read.errors
        );
    }

    #[test]
    fn one_bad_rule_is_named_and_the_others_hold() {
        let read = read(&json!({"permissions": {
            "allow": ["Bash(", "Read", 7, "*"], "deny": "Bash", "defaultMode": "yolo", "alow": []
        }}));
        assert_eq!(read.rules.allow.len(), 1);
        assert_eq!(read.errors.len(), 6, "{:#?}", read.errors);
        assert!(
            read.errors
                .iter()
                .all(|error| error.starts_with("/p/settings.json: "))
        );
    }

    #[test]
    fn the_mode_auto_means_default_and_stops_nothing() {
        for (word, remarks) in [("auto", 1), ("manual", 0)] {
            let read = read(&json!({"permissions": {"defaultMode": word}}));
            assert_eq!(read.default_mode, Some(PermissionMode::Default), "{word}");
            assert!(read.errors.is_empty(), "{:?}", read.errors);
            assert_eq!(read.remarks.len(), remarks, "{:?}", read.remarks);
        }
    }

    #[test]
    fn no_permissions_are_no_error() {
        for settings in [json!({}), json!({"permissions": null}), json!([])] {
            assert_eq!(read(&settings), PermissionSettings::default());
        }
    }
}
