//! Settings, completion and the manual in a shell.

use std::fs;

use crate::scene::{column, world, world_with_team};

#[test]
fn effective_settings_are_listed_with_their_origins() {
    let world = world();
    world.commit_project();
    world.write("root/swarm.toml", "[turn]\nmax_requests = 50\n");
    let project = world.write(
        "project/.claude/swarm.toml",
        "[turn]\nmax_requests = 20\n\n[stop]\n",
    );
    world.write(
        "root/settings.json",
        r#"{"permissions": {"defaultMode": "acceptEdits"}}"#,
    );
    let world = world.with_variable("SWARM_TMUX_PLACE", "hidden");
    let listed = world
        .swarm(&["config", "list", "--origins", "--json"])
        .json();
    let of = |key: &str| {
        let found = listed
            .as_array()
            .unwrap()
            .iter()
            .find(|it| it["key"] == key);
        found.unwrap_or_else(|| panic!("{key} in {listed}")).clone()
    };
    let requests = of("turn.max_requests");
    assert_eq!(
        (&requests["value"], &requests["layer"]),
        (&20.into(), &"project".into())
    );
    assert_eq!(
        requests["place"],
        format!("{}:2", fs::canonicalize(project).unwrap().display())
    );
    assert_eq!(column(&requests["origins"], "value"), ["20", "50", "200"]);
    assert_eq!(
        column(&requests["origins"], "state"),
        ["in-force", "overridden", "overridden"]
    );
    assert_eq!(of("permissions.mode")["value"], "acceptEdits");
    assert_eq!(of("tmux.place")["layer"], "environment");
    assert_eq!(of("spawn.backend")["layer"], "built-in");
    let one = world.swarm(&["config", "list", "turn"]);
    let words: Vec<&str> = one.ok().stdout.split_whitespace().collect();
    assert_eq!(
        words,
        [
            "SETTING",
            "VALUE",
            "FROM",
            "turn.max_requests",
            "20",
            "project"
        ]
    );
    let unknown = world
        .swarm(&["config", "list", "turn.max_request", "--json"])
        .error(3);
    assert!(
        unknown["hint"]
            .as_str()
            .unwrap()
            .contains("turn.max_requests"),
        "{unknown}"
    );
}

#[test]
fn a_setting_is_changed_in_the_users_file_and_read_back() {
    let world = world();
    let file = world.write(
        "root/swarm.toml",
        "# mine\n[turn]\nmax_requests = 50 # enough\n",
    );
    world
        .swarm(&["config", "set", "turn.max_requests", "60"])
        .ok();
    world
        .swarm(&["config", "set", "model.aliases.fast", "openai/a"])
        .ok();
    let text = fs::read_to_string(file).unwrap();
    assert!(
        text.starts_with("# mine\n[turn]\nmax_requests = 60 # enough\n"),
        "{text}"
    );
    let get = |key: &str| world.swarm(&["config", "get", key]).ok().stdout.clone();
    assert_eq!(get("turn.max_requests"), "60\n");
    assert_eq!(get("model.aliases.fast"), "openai/a\n");
    world.swarm(&["config", "get", "turn"]).assert_code(2);

    let wrong = |key: &str, value: &str, code: i32| {
        let error = world
            .swarm(&["config", "set", key, value, "--json"])
            .error(code);
        error["message"].as_str().unwrap().to_owned()
    };
    assert!(wrong("turn.max_request", "1", 3).contains("did you mean `turn.max_requests`"));
    assert!(wrong("turn.max_requests", "-1", 2).contains("a whole number"));
    let world = world.with_variable("SWARM_TURN_MAX_REQUESTS", "70");
    let set = world.swarm(&["config", "set", "turn.max_requests", "80"]);
    set.ok()
        .stderr_has("because $SWARM_TURN_MAX_REQUESTS overrides it");
    let by_agent = world.with_variable("CLAUDECODE", "1");
    by_agent
        .swarm(&["config", "set", "permissions.mode", "bypassPermissions"])
        .assert_code(5);
}

#[test]
fn invalid_settings_are_reported_and_do_not_prevent_a_shutdown() {
    let world = world_with_team("demo");
    world.write("root/swarm.toml", "[spawn]\nbackned = \"tmux\"\n");
    for command in [&["status"][..], &["spawn", "bob"], &["config", "list"]] {
        let error = world.swarm(&[command, &["--json"]].concat()).error(2);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("swarm.toml:2: "), "{message}");
        assert!(
            message.contains("did you mean `spawn.backend`?"),
            "{message}"
        );
    }
    for command in [
        &["completions", "bash"][..],
        &["man"],
        &["kill", "--all"],
        &["team", "delete"],
    ] {
        world.swarm(command).ok();
    }
}

#[test]
fn a_shell_completes_names_of_teams_members_and_tasks() {
    let world = world_with_team("crew");
    world.swarm(&["task", "create", "write it"]).ok();
    world.swarm(&["team", "create", "other"]).ok();
    let complete = |line: &str| {
        let words: Vec<String> = line.split(' ').map(|word| format!("'{word}'")).collect();
        let script = format!(
            "source <(swarm completions bash)\nCOMP_WORDS=({})\nCOMP_CWORD={}\nCOMP_TYPE=9\n\
             _clap_complete_swarm swarm \"${{COMP_WORDS[COMP_CWORD]}}\"\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words.join(" "),
            words.len() - 1
        );
        let asked = world
            .command("bash")
            .args(["--norc", "-c", &script])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&asked.stderr), "", "{line}");
        let offered = String::from_utf8_lossy(&asked.stdout);
        // bash separates them by a vertical tab.
        let offered = offered.trim().split(['\n', '\u{b}']);
        offered.map(str::to_owned).collect::<Vec<String>>()
    };
    assert_eq!(complete("swarm --team "), ["crew", "other"]);
    assert_eq!(complete("swarm inbox --team crew team"), ["team-lead"]);
    assert_eq!(complete("swarm --team crew task show 1"), ["1"]);
    assert_eq!(complete("swarm conf"), ["config"]);
    assert_eq!(complete("swarm config list turn"), ["turn.max_requests"]);
    assert_eq!(complete("swarm run --mode ac"), ["acceptEdits"]);
    world.write("root/swarm.toml", "what is this");
    assert_eq!(complete("swarm --team "), ["crew", "other"]);
}

#[test]
fn every_command_has_a_manual_page() {
    let world = world();
    world
        .swarm(&["man", "task", "create"])
        .ok()
        .stdout_has(".TH SWARM-TASK-CREATE 1");
    let names = world.swarm(&["man", "--dir", "pages", "--json"]).json();
    let names = names.as_array().unwrap();
    assert!(names.iter().any(|name| name == "swarm.1"));
    for name in names {
        let path = world.project().join("pages").join(name.as_str().unwrap());
        assert!(fs::read_to_string(path).unwrap().contains(".SH NAME"));
    }
    world.swarm(&["man", "task", "nonsense", "--json"]).error(3);
}

#[test]
fn a_person_trusts_a_repository_and_sees_what_it_runs() {
    let world = world();
    world.commit_project();
    let hook = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./notify.sh"}]}],
                             "PreTolUse": [{"hooks": [{"type": "command", "command": "./guard.sh"}]}]},
                   "mcpServers": {"elsewhere": {"command": "npx"}}}"#;
    world.write("project/.claude/settings.json", hook);
    world.write(
        "project/.mcp.json",
        r#"{"mcpServers": {"tickets": {"command": "npx", "args": ["tickets"]}}}"#,
    );
    world.write(
        "project/.claude/agents/deep/judge.md",
        "---\nname: judge\ndescription: d\nhooks: {Stop: [{hooks: [{type: command, command: ./x}]}]}\n---\nJudge.",
    );
    world.write(
        "project/.claude/agents/plain.md",
        "---\nname: plain\ndescription: runs nothing\n---\nDo it.",
    );
    world.write(
        "project/.claude/agents/wrong.md",
        "---\nnmae: typo\ndescription: d\n---\nDo it.",
    );
    world.write("root/plugins/guard/hooks/hooks.json", "{}");
    let waits = world.swarm(&["doctor"]).stdout;
    for words in [
        "only the agents are used, since a plugin in plugins/NAME is from no marketplace: guard (hooks)",
        "is not trusted, so these do not run",
        "unsupported hook event `PreTolUse`: its hooks are ignored; did you mean `PreToolUse`?",
        "its MCP servers are disabled because the repository is not trusted",
        "wrong.md:2: refused: `name` is missing; did you misspell it as `nmae`?",
    ] {
        assert!(waits.contains(words), "{words}: {waits}");
    }
    let told = world.swarm(&["trust", "--json"]).json();
    let runs = &told["runs"];
    assert_eq!(column(runs, "kind"), ["hook", "mcp server", "definition"]);
    assert_eq!(column(runs, "name"), ["Stop", "tickets", "judge"]);
    assert_eq!(runs[1]["command"], "npx tickets");
    assert_eq!(told["changed"], true);
    assert_eq!(world.swarm(&["trust", "--json"]).json()["changed"], false);
    let listed = world.swarm(&["trust", "--list", "--json"]).json();
    assert_eq!(listed[0]["path"], told["path"]);
    let trusted = world.swarm(&["doctor"]).stdout;
    for words in [
        "is trusted: hook Stop",
        "Stop runs `./notify.sh`",
        "until then it has no effect",
    ] {
        assert!(trusted.contains(words), "{words}: {trusted}");
    }
    assert!(!trusted.contains("guard.sh"), "{trusted}");
    // Who asks for a type whose file is refused hears of the file; others hear little of it.
    world
        .swarm(&["agents", "show", "wrong"])
        .code(3)
        .stderr_has("`nmae`");
    world
        .swarm(&["agents", "show", "jugde"])
        .code(3)
        .stderr_has("did you mean `judge`?");
    world.swarm(&["trust", "--remove"]).ok();
    assert_eq!(world.swarm(&["trust", "--remove"]).code, Some(3));
    assert_eq!(world.swarm(&["trust", "nowhere"]).code, Some(3));
}

#[test]
fn what_claude_code_has_and_swarm_does_not_support_is_named() {
    let world = world();
    world.write("root/settings.json", r#"{"language": "german"}"#);
    let world = world.with_variable("CLAUDE_CODE_COORDINATOR_MODE", "1");
    let seen = world.swarm(&["doctor"]).stdout;
    let words = "settings.json: not supported and ignored: `language`";
    assert!(seen.contains(words), "{seen}");
    assert!(!seen.contains("CLAUDE_CODE_COORDINATOR_MODE"), "{seen}");
}

#[test]
fn doctor_reports_an_unknown_model_with_its_file_or_variable() {
    for name in [
        "ANTHROPIC_MODEL",
        "ANTHROPIC_SMALL_FAST_MODEL",
        "SWARM_MODEL_FALLBACK",
    ] {
        let world = world().with_variable(name, "foo/bar");
        let seen = world.swarm(&["doctor"]).stdout;
        let words = format!("${name}: unknown provider in model foo/bar");
        assert!(seen.contains(&words), "{words}: {seen}");
    }
    let world = world();
    let file = world.write(
        "root/swarm.toml",
        "[model.small]\nanthropic = \"foo/bar\"\n",
    );
    let seen = world.swarm(&["doctor"]).code(7).stdout;
    let words = format!("{}:1: unknown provider in model foo/bar", file.display());
    assert!(seen.contains(&words), "{words}: {seen}");
}
