//! What each settings file may set.

use std::path::{Path, PathBuf};

use swarm_permissions::HookEvent;
use swarm_protocol::{Effort, PermissionMode, Thinking};

use super::ClaudeSettings;
use crate::environment::Environment;
use crate::error::ConfigError;
use crate::models::{default_model, model_names};
use crate::settings::Settings;

/// The settings files of a machine with one repository.
pub(super) struct Machine(tempfile::TempDir);

impl Machine {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["root", "repo/.git", "repo/.claude", "repo/src"] {
            std::fs::create_dir_all(directory.path().join(name)).unwrap();
        }
        Self(directory)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "users write settings with ordinary editors"
    )]
    pub(super) fn file(self, name: &str, text: &str) -> Self {
        std::fs::write(self.path(name), text).unwrap();
        self
    }

    pub(super) fn load(&self) -> Result<ClaudeSettings, ConfigError> {
        let home = Some(Path::new("/home/dev"));
        let cwd = self.path("repo/src");
        ClaudeSettings::load_with(&self.path("managed.json"), &self.path("root"), &cwd, home)
    }

    pub(super) fn mode(&self) -> PermissionMode {
        self.settings([]).mode
    }

    /// Returns the effective settings with these variables.
    pub(super) fn settings<const N: usize>(&self, variables: [(&str, &str); N]) -> Settings {
        let env = Environment::new(variables, &self.path("repo"));
        let given = self.load().unwrap().given(&env);
        Settings::built_in().unwrap().with(given).unwrap()
    }
}

const EVERYTHING: &str = r#"{
    "permissions": {"allow": ["Bash(make:*)"], "deny": ["Read(.env)"], "ask": ["Bash(git push:*)"],
                    "defaultMode": "acceptEdits", "additionalDirectories": ["/srv"]},
    "env": {"FLAVOUR": "sour", "LEVEL": 3, "SWARM_SPAWN_ID": "forged", "CLAUDE_CONFIG_DIR": "/elsewhere"},
    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]},
    "unknownToUs": true
}"#;

#[test]
fn user_and_managed_files_apply_completely() {
    for name in ["root/settings.json", "managed.json"] {
        let settings = Machine::new().file(name, EVERYTHING).load().unwrap();
        let rules = &settings.rules;
        let counts = [
            rules.allow.len(),
            rules.deny.len(),
            rules.ask.len(),
            rules.directories.len(),
        ];
        assert_eq!(counts, [1, 1, 1, 1], "{name}");
        let env: Vec<_> = settings
            .env
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(env, ["FLAVOUR=sour", "LEVEL=3"], "{name}");
        assert!(settings.remarks.is_empty(), "{:?}", settings.remarks);
        let stop = settings
            .hooks
            .effective(false, 9)
            .commands(HookEvent::Stop, None);
        assert_eq!((stop.len(), stop[0].timeout), (1, Some(9)), "{name}");
    }
}

#[test]
fn files_of_a_repository_only_restrict() {
    for name in [
        "repo/.claude/settings.json",
        "repo/.claude/settings.local.json",
    ] {
        let machine = Machine::new().file(name, EVERYTHING);
        let settings = machine.load().unwrap();
        let rules = &settings.rules;
        let counts = [
            rules.allow.len(),
            rules.deny.len(),
            rules.ask.len(),
            rules.directories.len(),
        ];
        assert_eq!(counts, [0, 1, 1, 0], "{name}");
        assert!(settings.env.is_empty(), "{name}");
        assert_eq!(machine.mode(), PermissionMode::Default, "{name}");
        let plan = machine.file(name, r#"{"permissions": {"defaultMode": "plan"}}"#);
        assert_eq!(plan.mode(), PermissionMode::Plan, "{name}");
    }
}

#[test]
fn outside_of_a_repository_only_the_working_directory_is_read() {
    let machine = Machine::new();
    for name in ["shared/.claude", "shared/own/.claude"] {
        std::fs::create_dir_all(machine.path(name)).unwrap();
    }
    let machine = machine
        .file("shared/.claude/settings.json", "another user's file")
        .file("shared/own/.claude/settings.json", EVERYTHING);
    let (managed, root) = (machine.path("managed.json"), machine.path("root"));
    let cwd = machine.path("shared/own");
    let settings = ClaudeSettings::load_with(&managed, &root, &cwd, None).unwrap();
    assert_eq!(settings.rules.deny.len(), 1);
}

#[test]
fn disabling_the_most_permissive_mode_also_applies_to_flags() {
    let text = r#"{"permissions": {"defaultMode": "bypassPermissions", "disableBypassPermissionsMode": "disable"}}"#;
    let machine = Machine::new().file("root/settings.json", text);
    assert_eq!(machine.mode(), PermissionMode::AcceptEdits);
    let settings = machine.settings([]);
    assert!(
        settings
            .permit("permissions.mode", "bypassPermissions")
            .is_err()
    );
}

#[test]
fn errors_name_the_file() {
    for (text, word) in [
        ("{", "invalid JSON"),
        ("[]", "is not a JSON object"),
        (r#"{"env": []}"#, "`env` must be an object"),
        (r#"{"env": {"A": {}}}"#, "`env.A` must be a string"),
        (
            r#"{"env": {"A=B": "x"}}"#,
            "`env.A=B` is not a valid environment variable",
        ),
        (
            r#"{"permissions": {"deny": ["Bash("]}}"#,
            "`permissions.deny`",
        ),
    ] {
        let failure = Machine::new()
            .file("root/settings.json", text)
            .load()
            .unwrap_err();
        assert!(
            failure.to_string().contains(word),
            "{}",
            failure.to_string()
        );
        assert!(
            failure.to_string().contains("root/settings.json"),
            "{}",
            failure.to_string()
        );
    }
    Machine::new()
        .file("root/settings.json", " \n")
        .load()
        .unwrap();
}

#[test]
fn every_error_of_every_file_is_on_a_separate_line() {
    let failure = Machine::new()
        .file(
            "root/settings.json",
            r#"{"permissions": {"allow": ["Bash("], "deny": ["Read()", "Edit"]}}"#,
        )
        .file("repo/.claude/settings.json", "{")
        .load()
        .unwrap_err();
    let text = failure.to_string();
    let lines: Vec<&str> = text.lines().collect();
    let [one, two, three] = lines[..] else {
        panic!("{lines:?}");
    };
    assert!(one.contains("root/settings.json") && one.contains("`Bash(`"));
    assert!(two.contains("root/settings.json") && two.contains("`Read()`"));
    assert!(three.contains("repo/.claude/settings.json") && three.contains("invalid JSON"));
}

#[test]
fn a_rule_with_an_unknown_tool_is_a_warning_also_in_a_repository() {
    for name in ["root/settings.json", "repo/.claude/settings.json"] {
        let settings = Machine::new()
            .file(name, r#"{"permissions": {"deny": ["bash"]}}"#)
            .load()
            .unwrap();
        let [remark] = &settings.remarks[..] else {
            panic!("{:?}", settings.remarks);
        };
        assert!(remark.contains("did you mean `Bash`?"), "{remark}");
    }
}

#[test]
fn thinking_and_effort_are_read_from_settings_and_variables() {
    let machine = Machine::new().file(
        "root/settings.json",
        r#"{"alwaysThinkingEnabled": false, "effortLevel": "high"}"#,
    );
    let settings = machine.settings([]);
    let asked = |settings: &Settings| (settings.thinking, settings.effort);
    assert_eq!(asked(&settings), (Thinking::Off, Some(Effort::High)));
    let variables = [
        ("MAX_THINKING_TOKENS", "9000"),
        ("CLAUDE_CODE_EFFORT_LEVEL", "low"),
    ];
    let settings = machine.settings(variables);
    let expected = (Thinking::Tokens(9000), Some(Effort::Low));
    assert_eq!(asked(&settings), expected);
    let settings = machine.settings([("MAX_THINKING_TOKENS", "0")]);
    assert_eq!(settings.thinking, Thinking::Off);
    let machine = machine.file(
        "repo/.claude/settings.json",
        r#"{"alwaysThinkingEnabled": true, "effortLevel": "unset"}"#,
    );
    assert_eq!(
        asked(&machine.settings([])),
        (Thinking::Adaptive, None),
        "the nearest file wins"
    );
}

#[test]
fn an_invalid_effort_is_reported() {
    let machine = Machine::new().file("root/settings.json", r#"{"effortLevel": "huge"}"#);
    let env = Environment::new([("MAX_THINKING_TOKENS", "lots")], &machine.path("repo"));
    let warnings = machine.load().unwrap().warnings(&env).join("\n");
    assert!(warnings.contains("`effortLevel` \"huge\""), "{warnings}");
    assert!(
        warnings.contains("`MAX_THINKING_TOKENS=lots`"),
        "{warnings}"
    );
    assert_eq!(machine.settings([]).effort, None);
}

#[test]
fn the_model_is_read_from_settings_and_a_variable_but_not_from_a_repository() {
    let machine = Machine::new().file("root/settings.json", r#"{"model": "opus[1m]"}"#);
    assert_eq!(machine.settings([]).model, "opus");
    let by_variable = machine.settings([("ANTHROPIC_MODEL", "claude-haiku-4-5")]);
    assert_eq!(by_variable.model, "claude-haiku-4-5");
    assert_eq!(
        machine.settings([("ANTHROPIC_MODEL", "default")]).model,
        "opus"
    );
    let machine = machine.file("repo/.claude/settings.json", r#"{"model": "haiku"}"#);
    assert_eq!(machine.settings([]).model, "opus");
    let said = machine.load().unwrap().remarks.join("\n");
    assert!(said.contains("a repository cannot choose it"), "{said}");
    let machine = machine.file("root/settings.json", r#"{"model": "opusplan"}"#);
    assert_eq!(machine.settings([]).model, "sonnet");
    let said = machine.load().unwrap().remarks.join("\n");
    assert!(said.contains("use the name of one model"), "{said}");
}

#[test]
fn an_invalid_model_is_reported_with_its_variable_or_file() {
    let machine = Machine::new().file("root/settings.json", r#"{"model": "gpt"}"#);
    let cwd = machine.path("repo");
    let error = default_model(&machine.settings([]), &cwd).unwrap_err();
    let file = machine.path("root/settings.json").display().to_string();
    let error = error.to_string();
    assert!(
        error.starts_with(&format!("{file}: unknown model gpt")),
        "{error}"
    );
    let settings = machine.settings([("ANTHROPIC_MODEL", "gpt-5")]);
    let error = default_model(&settings, &cwd).unwrap_err().to_string();
    assert!(
        error.starts_with("$ANTHROPIC_MODEL: unknown model gpt-5"),
        "{error}"
    );
    let settings = machine.settings([("ANTHROPIC_SMALL_FAST_MODEL", "tiny")]);
    let error = model_names(&settings, &cwd, None).unwrap_err().to_string();
    assert!(
        error.starts_with("$ANTHROPIC_SMALL_FAST_MODEL: unknown model tiny"),
        "{error}"
    );
}

#[test]
fn a_variable_of_a_settings_file_is_reported_with_the_file() {
    let machine = Machine::new().file(
        "root/settings.json",
        r#"{"env": {"ANTHROPIC_MODEL": "gpt-5", "ANTHROPIC_SMALL_FAST_MODEL": "tiny", "DISABLE_COMPACT": "1",
            "MAX_THINKING_TOKENS": "lots"}}"#,
    );
    let (cwd, settings) = (machine.path("repo"), machine.settings([]));
    let file = machine.path("root/settings.json").display().to_string();
    let error = default_model(&settings, &cwd).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("{file}: unknown model gpt-5")),
        "{error}"
    );
    let error = model_names(&settings, &cwd, None).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("{file}: unknown model tiny")),
        "{error}"
    );
    let env = Environment::new([("DISABLE_PROMPT_CACHING", "1")], &cwd);
    let warnings = machine.load().unwrap().warnings(&env).join("\n");
    assert!(
        warnings.contains(&format!(
            "{file}: not supported and ignored: `DISABLE_COMPACT`"
        )) && warnings.contains(&format!("{file}: ignoring `MAX_THINKING_TOKENS=lots`"))
            && warnings
                .contains("environment: not supported and ignored: `DISABLE_PROMPT_CACHING`"),
        "{warnings}"
    );
}

#[test]
fn instruction_files_are_excluded_by_the_user_but_not_by_a_repository() {
    let machine = Machine::new()
        .file("root/settings.json", r#"{"claudeMdExcludes": ["/srv/**"]}"#)
        .file(
            "repo/.claude/settings.json",
            r#"{"claudeMdExcludes": ["/home/**"]}"#,
        );
    assert_eq!(machine.settings([]).instruction_exclude, ["/srv/**"]);
    let said = machine.load().unwrap().remarks.join("\n");
    assert!(said.contains("a repository cannot set it"), "{said}");
    let machine = machine.file("root/settings.json", r#"{"claudeMdExcludes": "x"}"#);
    assert!(machine.settings([]).instruction_exclude.is_empty());
    let said = machine.load().unwrap().remarks.join("\n");
    assert!(said.contains("use a list of globs"), "{said}");
}
