//! The layers of settings and their precedence.

use std::path::{Path, PathBuf};

use serde_json::json;
use swarm_protocol::{ErrorKind, OnLost, PermissionMode};

use super::file::parse;
use super::keys::{KEYS, SettableBy, key};
use super::places::built_in;
use super::*;
use crate::environment::Environment;
use crate::error::ConfigError;
use crate::models::{default_model, permitted_model};

/// A machine with a user and a repository.
struct Machine {
    directory: tempfile::TempDir,
    variables: Vec<(&'static str, &'static str)>,
}

impl Machine {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["etc", "root", "repo/.git", "repo/.claude", "repo/deep/down"] {
            std::fs::create_dir_all(directory.path().join(name)).unwrap();
        }
        Self {
            directory,
            variables: Vec::new(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "users write settings with ordinary editors"
    )]
    fn file(self, name: &str, text: &str) -> Self {
        std::fs::write(self.path(name), text).unwrap();
        self
    }

    fn variable(mut self, name: &'static str, value: &'static str) -> Self {
        self.variables.push((name, value));
        self
    }

    fn load_in(&self, cwd: &str) -> Result<Settings, ConfigError> {
        let cwd = self.path(cwd);
        let places = SettingsFiles::below(&self.path("etc"), &self.path("root"), &cwd);
        Settings::load(
            &places,
            &Environment::new(self.variables.iter().copied(), &cwd),
        )
    }

    fn load(&self) -> Result<Settings, ConfigError> {
        self.load_in("repo/deep/down")
    }

    #[track_caller]
    fn refused(&self, words: &[&str]) {
        let failure = self.load().expect_err("the settings are wrong");
        assert_eq!(failure.kind(), ErrorKind::Usage);
        for word in words {
            assert!(failure.to_string().contains(word), "{word} in {failure}");
        }
    }
}

#[test]
fn the_built_in_file_contains_exactly_all_settings() {
    let settings = Settings::built_in().unwrap();
    for key in KEYS {
        assert_eq!(
            settings.sources.of(key.name).last().unwrap().layer,
            Layer::BuiltIn,
            "{}",
            key.name
        );
    }
    for given in built_in().unwrap() {
        let key = key(given.key).unwrap_or_else(|| panic!("unknown: {}", given.key));
        assert!(key.kind.accepts(&given.value), "{given:?}");
    }
    assert_eq!(settings.aliases["haiku"], "anthropic/claude-haiku-4-5");
    assert_eq!(
        (settings.on_lost, settings.remind, settings.max_members),
        (OnLost::Park, true, 0)
    );
}

#[test]
fn a_stronger_layer_wins_and_reports_its_location() {
    let key = key("spawn.hello_timeout_s").unwrap();
    let text = |n: u32| format!("# first line\n[spawn]\nhello_timeout_s = {n}\n");
    let mut machine = Machine::new();
    let mut seconds = Vec::new();
    let mut places = Vec::new();
    let mut look = |machine: &Machine| {
        let settings = machine.load().unwrap();
        seconds.push(settings.hello_timeout.as_secs());
        places.push(settings.sources.effective(key).unwrap().1.place.to_string());
    };
    look(&machine);
    machine = machine.file("etc/swarm.toml", &text(1));
    look(&machine);
    machine = machine.file("root/swarm.toml", &text(2));
    look(&machine);
    machine = machine.variable("SWARM_SPAWN_HELLO_TIMEOUT_S", "3");
    look(&machine);
    machine = machine.file("etc/managed.toml", &text(4));
    look(&machine);
    assert_eq!(seconds, [20, 1, 2, 3, 4]);
    let file = |name: &str| format!("{}:3", machine.path(name).display());
    let variable = "$SWARM_SPAWN_HELLO_TIMEOUT_S".to_owned();
    assert_eq!(
        places[1..],
        [
            file("etc/swarm.toml"),
            file("root/swarm.toml"),
            variable,
            file("etc/managed.toml")
        ]
    );
}

#[test]
fn a_repository_can_only_restrict_limited_settings() {
    let machine = Machine::new()
        .file(
            "root/swarm.toml",
            "[permissions]\nmode = \"acceptEdits\"\n[turn]\nmax_requests = 50",
        )
        .file(
            "repo/.claude/swarm.toml",
            "[permissions]\nmode = \"plan\"\n[turn]\nmax_requests = 20\n[spawn]\nmax_members = 3",
        );
    let settings = machine.load().unwrap();
    assert_eq!(settings.mode, PermissionMode::Plan);
    assert_eq!((settings.max_requests, settings.max_members), (20, 3));
    let wider = machine.file("repo/.claude/swarm.toml", "[permissions]\nmode = \"bypassPermissions\"\n[turn]\nmax_requests = 500\n[spawn]\nmax_members = 0");
    let settings = wider.load().unwrap();
    assert_eq!(settings.mode, PermissionMode::AcceptEdits);
    assert_eq!(settings.max_requests, 50);
}

#[test]
fn settings_forbidden_to_a_repository_are_rejected_with_key_file_and_line() {
    for (table, entry) in [
        ("env", "pass = [\"AWS_SECRET_ACCESS_KEY\"]"),
        ("spawn", "backend = \"headless\""),
        ("model", "default = \"openai/theirs\""),
        ("model", "aliases = { opus = \"scripted/evil.toml\" }"),
        ("tmux", "place = \"hidden\""),
    ] {
        let machine =
            Machine::new().file("repo/.claude/swarm.toml", &format!("[{table}]\n{entry}\n"));
        let key = format!("`{table}.{}`", entry.split(' ').next().unwrap());
        let place = format!("{}:2: ", machine.path("repo/.claude/swarm.toml").display());
        machine.refused(&[&key, &place, "cannot be set by a repository"]);
    }
    let loose = |key: &super::keys::Key| key.settable_by == SettableBy::Anyone;
    let anyones: Vec<_> = KEYS
        .iter()
        .filter(|key| loose(key))
        .map(|key| key.name)
        .collect();
    assert_eq!(
        anyones,
        [
            "model.thinking",
            "model.effort",
            "tasks.remind",
            "worktree.sparse_paths"
        ],
        "a setting that a repository may set freely"
    );
}

#[test]
fn project_settings_are_searched_only_up_to_the_top_of_the_repository() {
    let project = "[turn]\nmax_requests = 7";
    let requests = |machine: &Machine, cwd: &str| machine.load_in(cwd).unwrap().max_requests;
    let machine = Machine::new().file("repo/.claude/swarm.toml", project);
    assert_eq!(requests(&machine, "repo/deep/down"), 7);
    assert_eq!(requests(&machine, "repo"), 7);
    assert_eq!(requests(&machine, "."), 200);
    std::fs::create_dir_all(machine.path("repo/deep/.git")).unwrap();
    assert_eq!(
        requests(&machine, "repo/deep/down"),
        200,
        "a nested repository"
    );
    std::fs::create_dir_all(machine.path("loose/sub")).unwrap();
    std::fs::create_dir_all(machine.path("loose/.claude")).unwrap();
    let machine = machine.file("loose/.claude/swarm.toml", project);
    assert_eq!(requests(&machine, "loose"), 7);
    assert_eq!(requests(&machine, "loose/sub"), 200, "no repository");
}

#[test]
fn the_users_file_is_not_treated_as_a_project_file() {
    let machine = Machine::new();
    std::fs::rename(machine.path("root"), machine.path("gone")).unwrap();
    std::os::unix::fs::symlink(machine.path("repo/.claude"), machine.path("root")).unwrap();
    let machine = machine.file("repo/.claude/swarm.toml", "[env]\npass = [\"RUST_LOG\"]");
    assert_eq!(machine.load().unwrap().pass, ["RUST_LOG"]);
}

#[test]
fn managed_policy_overrides_all_layers() {
    let machine = Machine::new()
        .file(
            "etc/managed.toml",
            "[permissions]\nmode = \"default\"\n[spawn]\nbackend = \"tmux\"\n[env]\npass = []",
        )
        .file(
            "root/swarm.toml",
            "[permissions]\nmode = \"bypassPermissions\"\n[env]\npass = [\"X\"]",
        )
        .variable("SWARM_SPAWN_BACKEND", "headless");
    let settings = machine.load().unwrap();
    assert_eq!(settings.mode, PermissionMode::Default);
    assert_eq!(
        (settings.backend.as_str(), &settings.pass),
        ("tmux", &Vec::new())
    );
    settings.permit("permissions.mode", "plan").unwrap();
    settings.permit("spawn.backend", "tmux").unwrap();
    for (key, value) in [
        ("permissions.mode", "acceptEdits"),
        ("spawn.backend", "auto"),
    ] {
        let refused = settings.permit(key, value).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Refused);
        assert!(
            refused.to_string().contains("managed.toml:"),
            "{}",
            refused.to_string()
        );
    }
}

#[test]
fn a_policy_for_the_model_applies_to_every_notation() {
    let machine = Machine::new()
        .file(
            "etc/managed.toml",
            "[model]\ndefault = \"openai/gpt-oss:20b\"",
        )
        .file(
            "root/swarm.toml",
            "[model.aliases]\nlocal = \"openai/gpt-oss:20b\"\nbig = \"openai/other\"",
        );
    let settings = machine.load().unwrap();
    let permitted = |name| permitted_model(name, &settings, Path::new("/"));
    for name in ["local", "openai/gpt-oss:20b"] {
        assert_eq!(permitted(name).unwrap(), "openai/gpt-oss:20b");
    }
    for name in ["big", "claude-sonnet-4-6", "scripted/play.toml"] {
        assert_eq!(permitted(name).unwrap_err().kind(), ErrorKind::Refused);
    }
    assert_eq!(permitted("no/such").unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn an_invalid_target_of_an_alias_is_reported_with_the_alias_and_its_place() {
    let machine = Machine::new().file(
        "root/swarm.toml",
        "[model]\ndefault = \"fast\"\n[model.aliases]\nfast = \"zip/zap\"",
    );
    let settings = machine.load().unwrap();
    let file = machine.path("root/swarm.toml").display().to_string();
    let named = permitted_model("fast", &settings, Path::new("/")).unwrap_err();
    let named = named.to_string();
    assert!(
        named.starts_with(&format!(
            "alias fast: {file}:3: unknown provider in model zip/zap"
        )),
        "{named}"
    );
    let default = default_model(&settings, Path::new("/")).unwrap_err();
    assert_eq!(default.to_string(), format!("{file}:2: {named}"));
}

#[test]
fn an_unreadable_policy_is_an_error() {
    let machine = Machine::new();
    std::fs::create_dir(machine.path("etc/managed.toml")).unwrap();
    assert_eq!(machine.load().unwrap_err().kind(), ErrorKind::Environment);
}

#[test]
fn unknown_names_are_reported_with_file_line_and_a_suggestion() {
    for (text, words) in [
        (
            "[spawn]\nbackned = \"tmux\"",
            [
                "swarm.toml:2: ",
                "`spawn.backned`",
                "did you mean `spawn.backend`?",
            ],
        ),
        (
            "\n[tmx]\nplace = \"auto\"",
            [
                "swarm.toml:2: ",
                "unknown table `tmx`",
                "did you mean `tmux`?",
            ],
        ),
        (
            "backend = \"tmux\"",
            [
                "swarm.toml:1: ",
                "unknown setting `backend`",
                "did you mean `spawn.backend`?",
            ],
        ),
        (
            "[tmux]\nbackend = \"tmux\"",
            [
                "swarm.toml:2: ",
                "`tmux.backend`",
                "did you mean `spawn.backend`?",
            ],
        ),
        (
            "[spawn]\nzebra = 1",
            ["swarm.toml:2: ", "unknown setting `spawn.zebra`", ""],
        ),
        ("[spawn\n", ["swarm.toml:1: ", "", ""]),
    ] {
        Machine::new().file("root/swarm.toml", text).refused(&words);
    }
}

#[test]
fn all_invalid_values_are_reported_with_the_expected_type() {
    let text = "[turn]\nmax_requests = 0\n[permissions]\nmode = \"yolo\"\ntimeout_s = \"5\"\n[env]\npass = \"X\"\n\
                [scripted]\npace = -1.0\n[tasks]\nremind = 1\n[model]\ndefault = \"\"\n";
    Machine::new().file("root/swarm.toml", text).refused(&[
        "swarm.toml:2: `turn.max_requests` must be a whole number from 1 to 100000, not 0",
        "swarm.toml:4: `permissions.mode` must be plan, dontAsk, default, acceptEdits or bypassPermissions, not \"yolo\"",
        "swarm.toml:5: `permissions.timeout_s` must be a whole number",
        "swarm.toml:7: `env.pass` must be a list of strings",
        "swarm.toml:9: `scripted.pace` must be a number from 0 to 100",
        "swarm.toml:11: `tasks.remind` must be true or false",
        "swarm.toml:13: `model.default` must be a string",
    ]);
}

#[test]
fn a_request_limit_of_an_unknown_provider_is_an_error() {
    let limits = |text: &str| {
        let text = format!("[model.requests_per_minute]\n{text}\n");
        Machine::new().file("root/swarm.toml", &text)
    };
    let known = limits("anthropic = 50\nopenai = 20").load().unwrap();
    assert_eq!(known.rates["openai"], 20);
    for unknown in ["antropic", "\"anthropic/\"", "scripted"] {
        limits(&format!("{unknown} = 50")).refused(&[
            "`model.requests_per_minute` must be a table of whole numbers above 0 for anthropic and openai",
        ]);
    }
}

#[test]
fn a_small_model_of_an_unknown_provider_is_an_error() {
    let small =
        |text: &str| Machine::new().file("root/swarm.toml", &format!("[model.small]\n{text}\n"));
    let known = small("openai = \"openai/tiny\"").load().unwrap();
    assert_eq!(known.small["openai"], "openai/tiny");
    small("opneai = \"openai/tiny\"")
        .refused(&["`model.small` must be a table of model names for anthropic, openai, scripted"]);
}

#[test]
fn other_files_of_a_layer_are_weaker_than_swarm_toml() {
    let given = |layer, value: &str| SettingValue {
        key: "permissions.mode",
        layer,
        place: ValueLocation::File(PathBuf::from("settings.json"), None),
        value: json!(value),
    };
    let machine = Machine::new();
    let mode = |machine: &Machine, given: Vec<SettingValue>| {
        machine.load().unwrap().with(given).unwrap().mode
    };
    assert_eq!(
        mode(&machine, vec![given(Layer::User, "acceptEdits")]),
        PermissionMode::AcceptEdits
    );
    assert_eq!(
        mode(&machine, vec![given(Layer::Project, "acceptEdits")]),
        PermissionMode::Default
    );
    assert_eq!(
        mode(&machine, vec![given(Layer::Project, "plan")]),
        PermissionMode::Plan
    );
    let machine = machine.file("root/swarm.toml", "[permissions]\nmode = \"dontAsk\"");
    assert_eq!(
        mode(&machine, vec![given(Layer::User, "acceptEdits")]),
        PermissionMode::DontAsk
    );
}

#[test]
fn entries_of_a_table_are_added_to_those_of_weaker_layers() {
    let machine = Machine::new().file(
        "root/swarm.toml",
        "[model.aliases]\nbig = \"opus\"\nhaiku = \"openai/small\"",
    );
    let aliases = machine.load().unwrap().aliases;
    assert_eq!(aliases["big"], "opus");
    assert_eq!(aliases["haiku"], "openai/small");
    assert_eq!(aliases["sonnet"], "anthropic/claude-sonnet-4-6");
}

#[test]
fn arbitrary_text_does_not_make_the_parser_panic() {
    use proptest::prelude::*;
    proptest!(|(text in "[\\[\\]a-z.=\"'\\n 0-9{},#\u{e9}_-]{0,80}")| {
        drop(parse(&text, Layer::User, |line| ValueLocation::File(Path::new("f").to_owned(), line)));
    });
}
