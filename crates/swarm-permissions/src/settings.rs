//! The `permissions` object of a `settings.json`.

use std::path::{Path, PathBuf};

use serde_json::Value;
use swarm_protocol::{PermissionMode, word_list};

use crate::question::absolute;
use crate::{Behavior, Rule, RuleSet};

/// The permissions of a settings file, and the problems in it.
///
/// An invalid rule does not affect the others; the caller decides whether `errors` are fatal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PermissionSettings {
    /// The rules, with the file as their origin, and `additionalDirectories`.
    pub rules: RuleSet,
    /// `defaultMode`.
    pub default_mode: Option<PermissionMode>,
    /// Error messages, each with the file name.
    pub errors: Vec<String>,
    /// Warnings about rules with a misspelled tool name, each with the file name.
    pub remarks: Vec<String>,
}

/// Claude Code keys that have no effect here.
const IGNORED_KEYS: [&str; 4] = word_list(
    "disableBypassPermissionsMode disableAutoMode skipDangerousModePermissionPrompt blockedPaths",
);

impl PermissionSettings {
    /// Parses the `permissions` object of a whole settings document.
    ///
    /// `origin` names the source in messages, normally the file's path. Relative directories are
    /// resolved against `base`.
    pub fn from_settings(settings: &Value, origin: &str, base: &Path, home: Option<&Path>) -> Self {
        let mut read = Self::default();
        match settings.get("permissions") {
            None | Some(Value::Null) => {}
            Some(Value::Object(permissions)) => {
                for (key, value) in permissions {
                    read.entry(key, value, origin, base, home);
                }
            }
            Some(_) => read.error("`permissions` must be an object"),
        }
        for message in read.errors.iter_mut().chain(&mut read.remarks) {
            message.insert_str(0, &format!("{origin}: "));
        }
        read
    }

    fn error(&mut self, what: impl Into<String>) {
        self.errors.push(what.into());
    }

    fn entry(&mut self, key: &str, value: &Value, origin: &str, base: &Path, home: Option<&Path>) {
        match (key, Behavior::named(key)) {
            (_, Some(behavior)) => self.rules_of(behavior, value, origin),
            ("defaultMode", _) => self.mode(value),
            ("additionalDirectories", _) => self.directories(value, base, home),
            _ if IGNORED_KEYS.contains(&key) => {}
            _ => self.error(format!(
                "unknown key `permissions.{}`; the keys are allow, deny, ask, defaultMode and additionalDirectories",
                key.escape_debug()
            )),
        }
    }

    fn texts<'v>(&mut self, key: &str, value: &'v Value) -> Vec<&'v str> {
        let Value::Array(items) = value else {
            self.error(format!("`permissions.{key}` must be a list of strings"));
            return Vec::new();
        };
        let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
        if texts.len() < items.len() {
            let what = "contains an element that is not a string";
            self.error(format!("`permissions.{key}` {what}"));
        }
        texts
    }

    fn rules_of(&mut self, behavior: Behavior, value: &Value, origin: &str) {
        for text in self.texts(behavior.name(), value) {
            match Rule::parse(text) {
                Ok(rule) if behavior == Behavior::Allow && rule.tool() == "*" => self.error(
                    "`permissions.allow`: `*` allows nothing; name the tools or set the mode",
                ),
                Ok(rule) => {
                    if let Some(meant) = rule.suggested_tool() {
                        self.remarks.push(format!(
                            "`permissions.{behavior}`: unknown tool `{}`, so this rule has no effect; did you mean `{meant}`?",
                            rule.tool()
                        ));
                    }
                    self.rules.add(behavior, rule, origin);
                }
                Err(error) => self.error(format!("`permissions.{behavior}`: {error}")),
            }
        }
    }

    fn mode(&mut self, value: &Value) {
        let mode = match value {
            Value::String(text) if text == "auto" => {
                let what = "`permissions.defaultMode` is `auto`, which is not supported: `default` applies";
                self.remarks.push(what.to_owned());
                Ok(PermissionMode::Default)
            }
            // Claude Code's other name for the default mode.
            Value::String(text) if text == "manual" => Ok(PermissionMode::Default),
            Value::String(text) => text
                .parse::<PermissionMode>()
                .map_err(|error| error.to_string()),
            _ => Err("must be a string".to_owned()),
        };
        match mode {
            Ok(mode) => self.default_mode = Some(mode),
            Err(error) => self.error(format!("`permissions.defaultMode`: {error}")),
        }
    }

    fn directories(&mut self, value: &Value, base: &Path, home: Option<&Path>) {
        for text in self.texts("additionalDirectories", value) {
            let directory: Option<PathBuf> = match text.strip_prefix("~/") {
                Some(rest) => home.map(|home| absolute(rest, home)),
                None => Some(absolute(text, base)),
            };
            match directory {
                Some(directory) => self.rules.directories.push(directory),
                None => self.error(format!(
                    "`permissions.additionalDirectories`: unknown home directory for `{}`",
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
    fn rules_of_a_settings_file_have_their_origin() {
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
    fn a_misspelled_tool_name_is_reported_but_unknown_tools_are_accepted() {
        let read = read(&json!({"permissions": {
            "allow": ["NotebookEdit", "KillShell", "BashOutput", "mcp__x__y", "Task", "Read"], "deny": ["bash", "WebFecth"],
            "ask": ["Bsh(rm *)"]
        }}));
        assert_eq!(
            read.remarks,
            [("bash", "Bash"), ("WebFecth", "WebFetch")].map(|(slip, meant)| format!(
                "/p/settings.json: `permissions.deny`: unknown tool `{slip}`, so this rule has no effect; did you mean `{meant}`?"
            ))
        );
        assert_eq!(read.errors.len(), 1, "{:?}", read.errors);
        assert!(
            read.errors[0].contains("unknown tool `Bsh`; did you mean `Bash`?"),
            "{:?}",
            read.errors
        );
    }

    #[test]
    fn an_invalid_rule_is_reported_and_the_others_apply() {
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
    fn the_mode_auto_means_default_without_an_error() {
        for (word, remarks) in [("auto", 1), ("manual", 0)] {
            let read = read(&json!({"permissions": {"defaultMode": word}}));
            assert_eq!(read.default_mode, Some(PermissionMode::Default), "{word}");
            assert!(read.errors.is_empty(), "{:?}", read.errors);
            assert_eq!(read.remarks.len(), remarks, "{:?}", read.remarks);
        }
    }

    #[test]
    fn missing_permissions_are_not_an_error() {
        for settings in [json!({}), json!({"permissions": null}), json!([])] {
            assert_eq!(read(&settings), PermissionSettings::default());
        }
    }
}
