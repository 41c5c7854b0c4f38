//! What each settings file may set.

use std::path::{Path, PathBuf};

use swarm_permissions::HookEvent;
use swarm_protocol::{Effort, PermissionMode, Thinking};

use super::ClaudeSettings;
use crate::environment::Environment;
use crate::error::ConfigError;
use crate::models::{default_model, model_names};
use crate::settings::Settings;

struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["root", "repo/.git", "repo/.claude", "repo/src"] {
            std::fs::create_dir_all(directory.path().join(name)).unwrap();
        }
        Self(directory)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "users write settings with ordinary editors"
    )]
    fn file(self, name: &str, text: &str) -> Self {
        std::fs::write(self.path(name), text).unwrap();
        self
    }

    fn load(&self) -> Result<ClaudeSettings, ConfigError> {
        let home = Some(Path::new("/home/dev"));
        let cwd = self.path("repo/src");
        ClaudeSettings::load_with(&self.path("managed.json"), &self.path("root"), &cwd, home)
    }

    fn mode(&self) -> PermissionMode {
        self.settings([]).mode
    }

    /// Returns the effective settings with these variables.
    fn settings<const N: usize>(&self, variables: [(&str, &str); N]) -> Settings {
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
fn hooks_of_a_repository_require_trust_and_policy_overrides() {
    let hook = |line: &str| {
        format!(
            r#""hooks": {{"Stop": [{{"hooks": [{{"type": "command", "command": "{line}"}}]}}]}}"#
        )
    };
    let machine = || {
        Machine::new()
            .file("managed.json", &format!("{{{}}}", hook("policy")))
            .file("root/settings.json", &format!("{{{}}}", hook("mine")))
            .file(
                "repo/.claude/settings.json",
                &format!("{{{}}}", hook("theirs")),
            )
    };
    let run = |machine: &Machine, trusted: bool| -> Vec<String> {
        let hooks = machine.load().unwrap().hooks.effective(trusted, 1);
        let commands = hooks.commands(HookEvent::Stop, None).into_iter();
        commands.map(|hook| hook.action.text().to_owned()).collect()
    };
    assert_eq!(run(&machine(), false), ["policy", "mine"]);
    assert_eq!(run(&machine(), true), ["policy", "mine", "theirs"]);
    let only = format!(r#"{{"allowManagedHooksOnly": true, {}}}"#, hook("policy"));
    assert_eq!(
        run(&machine().file("managed.json", &only), true),
        ["policy"]
    );
    let none = format!(r#"{{"disableAllHooks": true, {}}}"#, hook("mine"));
    assert_eq!(
        run(&machine().file("root/settings.json", &none), true),
        ["policy"]
    );
    assert_eq!(
        run(
            &machine().file("repo/.claude/settings.json", r#"{"disableAllHooks": true}"#),
            true
        ),
        ["policy", "mine"]
    );
}

#[test]
fn errors_in_hooks_are_only_warnings() {
    for (hooks, word) in [
        ("[]", "`hooks` must be an object"),
        (r#"{"Stop": {}}"#, "`hooks.Stop` must be a list"),
        (r#"{"Stop": [{}]}"#, "has no list `hooks`"),
        (r#"{"Stop": [{"matcher": 1, "hooks": []}]}"#, "`matcher`"),
        (r#"{"Stop": [{"hooks": [{}]}]}"#, "has no `type`"),
        (
            r#"{"Stop": [{"hooks": [{"type": "command"}]}]}"#,
            "has no `command`",
        ),
    ] {
        let text = format!(r#"{{"hooks": {hooks}}}"#);
        let settings = Machine::new()
            .file("root/settings.json", &text)
            .load()
            .unwrap();
        assert!(settings.remarks[0].contains(word), "{:?}", settings.remarks);
    }
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
fn hooks_of_a_worktree_are_those_of_the_main_checkout() {
    let hook = |line: &str| {
        format!(
            r#"{{"hooks": {{"Stop": [{{"hooks": [{{"type": "command", "command": "{line}"}}]}}]}},
                "permissions": {{"deny": ["Bash({line}:*)"]}}}}"#
        )
    };
    let machine = Machine::new();
    for name in ["tree/.claude", "tree/src", "repo/.git/worktrees/tree"] {
        std::fs::create_dir_all(machine.path(name)).unwrap();
    }
    let entry = machine.path("repo/.git/worktrees/tree");
    let machine = machine
        .file("tree/.git", &format!("gitdir: {}\n", entry.display()))
        .file("repo/.claude/settings.json", &hook("original"))
        .file("tree/.claude/settings.json", &hook("changed"));
    let back = machine.path("tree/.git").display().to_string();
    let machine = machine
        .file("repo/.git/worktrees/tree/gitdir", &back)
        .file("repo/.git/worktrees/tree/commondir", "../..\n");
    let (managed, root, cwd) = (
        machine.path("managed.json"),
        machine.path("root"),
        machine.path("tree/src"),
    );
    let settings = ClaudeSettings::load_with(&managed, &root, &cwd, None).unwrap();
    let hooks = settings.hooks.effective(true, 9);
    let commands: Vec<_> = hooks
        .commands(HookEvent::Stop, None)
        .into_iter()
        .map(|hook| hook.action.text().to_owned())
        .collect();
    assert_eq!(commands, ["original"]);
    assert_eq!(
        settings.rules.deny.len(),
        1,
        "rules come from the worktree's directory"
    );
}

#[test]
fn a_repository_that_names_plugins_does_not_disable_others() {
    let machine = Machine::new().file(
        "repo/.claude/settings.json",
        r#"{"enabledPlugins": {"a@m": true, "b@m": false}}"#,
    );
    let settings = machine.load().unwrap();
    let on = ["a@m", "b@m", "c@m"].map(|plugin| settings.plugins.is_on(plugin));
    assert_eq!(on, [true, false, true]);
}

#[test]
fn a_repository_changes_nothing_about_plugins_that_the_user_names() {
    let machine = Machine::new()
        .file(
            "root/settings.json",
            r#"{"enabledPlugins": {"a@m": true, "b@m": false, "c@m": true}}"#,
        )
        .file(
            "repo/.claude/settings.json",
            r#"{"enabledPlugins": {"b@m": true, "c@m": false, "d@m": true}}"#,
        );
    let settings = machine.load().unwrap();
    let plugins = ["a@m", "b@m", "c@m", "d@m", "e@m"];
    let on = plugins.map(|plugin| settings.plugins.is_on(plugin));
    assert_eq!(on, [true, false, true, true, false]);
    let [remark] = &settings.remarks[..] else {
        panic!("{:?}", settings.remarks)
    };
    assert!(remark.contains("cannot disable `c@m`"), "{remark}");
}

#[test]
fn the_hooks_of_a_plugin_that_policy_enables_are_managed() {
    let hooks = "root/plugins/cache/m/kit/1.0/hooks";
    let machine = Machine::new();
    std::fs::create_dir_all(machine.path(hooks)).unwrap();
    let machine = machine
        .file(
            &format!("{hooks}/hooks.json"),
            r#"{"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}"#,
        )
        .file(
            "managed.json",
            r#"{"enabledPlugins": {"kit@m": true}, "allowManagedHooksOnly": true}"#,
        );
    let hooks = machine.load().unwrap().hooks.effective(false, 60);
    assert_eq!(hooks.commands(HookEvent::Stop, None).len(), 1);
}

#[test]
fn local_settings_decide_about_plugins_before_the_shared_ones_and_the_nearest_directory() {
    let machine = Machine::new()
        .file(
            "repo/.claude/settings.json",
            r#"{"enabledPlugins": {"a@m": false, "b@m": true}}"#,
        )
        .file(
            "repo/.claude/settings.local.json",
            r#"{"enabledPlugins": {"a@m": true, "b@m": false}}"#,
        );
    let settings = machine.load().unwrap();
    let on = ["a@m", "b@m"].map(|plugin| settings.plugins.is_on(plugin));
    assert_eq!(on, [true, false]);
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

#[test]
fn programs_of_a_repository_need_trust_and_its_nearest_local_file_wins() {
    let line = |command: &str| {
        format!(
            r#"{{"statusLine": {{"type": "command", "command": "{command}"}}, "apiKeyHelper": "key-{command}", "outputStyle": "{command}"}}"#
        )
    };
    let machine = Machine::new()
        .file("root/settings.json", &line("user"))
        .file("repo/.claude/settings.json", &line("shared"))
        .file("repo/.claude/settings.local.json", &line("local"));
    let settings = machine.load().unwrap();
    for (trusted, wins) in [(false, "user"), (true, "local")] {
        assert_eq!(settings.status_line(trusted), Some(wins));
        assert_eq!(settings.output_style(trusted), Some(wins));
        let helper = format!("key-{wins}");
        assert_eq!(settings.api_key_helper(trusted), Some(helper.as_str()));
    }
    let wrong = r#"{"statusLine": "x", "apiKeyHelper": 1, "outputStyle": "Default"}"#;
    let settings = Machine::new()
        .file("root/settings.json", wrong)
        .load()
        .unwrap();
    assert_eq!(
        (settings.status_line(true), settings.output_style(true)),
        (None, None)
    );
    let said = settings.remarks.join("\n");
    assert!(
        said.contains("ignoring `statusLine`") && said.contains("ignoring `apiKeyHelper`"),
        "{said}"
    );
}
