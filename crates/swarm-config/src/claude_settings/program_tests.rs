//! Hooks, plugins and programs of settings files, and when those of a repository count.

use swarm_permissions::HookEvent;

use super::ClaudeSettings;
use super::tests::Machine;

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
