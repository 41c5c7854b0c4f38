//! Which file may say what.

use std::path::{Path, PathBuf};

use swarm_permissions::HookEvent;
use swarm_protocol::{Effort, PermissionMode, Thinking};

use super::ClaudeSettings;
use crate::environment::Environment;
use crate::error::ConfigError;
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
        reason = "people write settings with editors of their own"
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

    /// The settings in force with these variables.
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
fn the_users_file_and_the_machines_say_everything() {
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
            .in_force(false, 9)
            .commands(HookEvent::Stop, None);
        assert_eq!((stop.len(), stop[0].timeout), (1, Some(9)), "{name}");
    }
}

#[test]
fn a_repositorys_files_only_tighten() {
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
fn outside_of_a_repository_only_the_present_directory_speaks() {
    let machine = Machine::new();
    for name in ["shared/.claude", "shared/own/.claude"] {
        std::fs::create_dir_all(machine.path(name)).unwrap();
    }
    let machine = machine
        .file("shared/.claude/settings.json", "somebody's joke")
        .file("shared/own/.claude/settings.json", EVERYTHING);
    let (managed, root) = (machine.path("managed.json"), machine.path("root"));
    let cwd = machine.path("shared/own");
    let settings = ClaudeSettings::load_with(&managed, &root, &cwd, None).unwrap();
    assert_eq!(settings.rules.deny.len(), 1);
}

#[test]
fn a_ban_of_the_widest_mode_holds_against_flags() {
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
fn what_is_wrong_is_told_with_its_file() {
    for (text, word) in [
        ("{", "is not JSON"),
        ("[]", "is not a JSON object"),
        (r#"{"env": []}"#, "`env` must be an object"),
        (r#"{"env": {"A": {}}}"#, "`env.A` must be a text"),
        (r#"{"env": {"A=B": "x"}}"#, "`env.A=B` cannot be a variable"),
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
fn every_slip_of_every_file_is_told_on_a_line_of_its_own() {
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
    assert!(three.contains("repo/.claude/settings.json") && three.contains("is not JSON"));
}

#[test]
fn hooks_of_a_repository_wait_for_trust_and_policy_has_the_last_word() {
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
        let hooks = machine.load().unwrap().hooks.in_force(trusted, 1);
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
fn mistakes_in_hooks_are_remarks_and_stop_nobody() {
    for (hooks, word) in [
        ("[]", "`hooks` must be an object"),
        (r#"{"Stop": {}}"#, "`hooks.Stop` must be a list"),
        (r#"{"Stop": [{}]}"#, "lacks its list of `hooks`"),
        (r#"{"Stop": [{"matcher": 1, "hooks": []}]}"#, "`matcher`"),
        (r#"{"Stop": [{"hooks": [{}]}]}"#, "lacks its `type`"),
        (
            r#"{"Stop": [{"hooks": [{"type": "command"}]}]}"#,
            "lacks its `command`",
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
fn a_rule_for_no_tool_is_a_remark_also_in_a_repository() {
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
fn hooks_of_a_work_tree_are_those_of_the_main_checkout() {
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
    let hooks = settings.hooks.in_force(true, 9);
    let commands: Vec<_> = hooks
        .commands(HookEvent::Stop, None)
        .into_iter()
        .map(|hook| hook.action.text().to_owned())
        .collect();
    assert_eq!(commands, ["original"]);
    assert_eq!(
        settings.rules.deny.len(),
        1,
        "rules are those of the directory"
    );
}

#[test]
fn a_repository_that_names_plugins_turns_off_no_other() {
    let machine = Machine::new().file(
        "repo/.claude/settings.json",
        r#"{"enabledPlugins": {"a@m": true, "b@m": false}}"#,
    );
    let settings = machine.load().unwrap();
    let on = ["a@m", "b@m", "c@m"].map(|plugin| settings.plugins.is_on(plugin));
    assert_eq!(on, [true, false, true]);
}

#[test]
fn a_repository_turns_on_no_plugin_that_the_user_has_turned_off() {
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
    assert_eq!(on, [true, false, false, true, false]);
    assert!(settings.remarks.is_empty(), "{:?}", settings.remarks);
}

#[test]
fn thinking_and_effort_are_taken_from_settings_and_variables() {
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
        "the nearer file wins"
    );
}

#[test]
fn an_effort_that_is_none_is_reported() {
    let machine = Machine::new().file("root/settings.json", r#"{"effortLevel": "huge"}"#);
    let env = Environment::new([("MAX_THINKING_TOKENS", "lots")], &machine.path("repo"));
    let warnings = machine.load().unwrap().warnings(&env).join("\n");
    assert!(warnings.contains("`effortLevel` is \"huge\""), "{warnings}");
    assert!(
        warnings.contains("`MAX_THINKING_TOKENS` is `lots`"),
        "{warnings}"
    );
    assert_eq!(machine.settings([]).effort, None);
}
