//! Which parts of plugins are used, and under which names.

use std::path::{Path, PathBuf};

use swarm_os::replace_alone;
use swarm_permissions::{HookEvent, McpServerConfig};

use super::*;
use crate::claude_settings::ClaudeSettings;
use crate::environment::Environment;
use crate::mcp::{FoundServers, ServerSources};
use crate::settings::Layer;
use crate::skills::find_skills;
use crate::trust::Project;

struct Machine(tempfile::TempDir);

impl Machine {
    /// A machine with a repository and the installed plugin `kit@m`, which has every part.
    fn new() -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir_all(machine.path("repo/.git")).unwrap();
        for (path, text) in [
            ("commands/git/fix.md", "Fix it."),
            (
                "skills/deploy/SKILL.md",
                "---\nname: deploy\ndescription: d\nallowed-tools: Bash(make *)\n---\nx",
            ),
            (
                "hooks/hooks.json",
                r#"{"description": "d", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/stop"}]}]}}"#,
            ),
            (
                ".mcp.json",
                r#"{"mcpServers": {"db": {"command": "${CLAUDE_PLUGIN_ROOT}/serve"}}}"#,
            ),
            (
                ".claude-plugin/plugin.json",
                r#"{"name": "kit", "mcpServers": {"web": {"command": "web"}}, "hooks": "./more.json"}"#,
            ),
            (
                "more.json",
                r#"{"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}"#,
            ),
        ] {
            machine.write(&format!("root/plugins/cache/m/kit/1.0/{path}"), text);
        }
        machine
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        replace_alone(&path, text.as_bytes()).unwrap();
    }

    /// Enables a plugin in the settings file at `path`.
    fn enable(self, path: &str, plugin: &str) -> Self {
        self.write(
            path,
            &format!(r#"{{"enabledPlugins": {{"{plugin}": true}}}}"#),
        );
        self
    }

    fn settings(&self) -> ClaudeSettings {
        ClaudeSettings::load(&self.path("root"), &self.path("repo"), None).unwrap()
    }

    fn commands(&self, trusted: bool) -> Vec<(String, bool, Option<PathBuf>)> {
        let hooks = self.settings().hooks.effective(trusted, 60);
        let commands = hooks.commands(HookEvent::Stop, None).into_iter();
        commands
            .map(|hook| (hook.action.text().to_owned(), hook.sandboxed, hook.plugin))
            .collect()
    }

    fn servers(&self, trusted: bool) -> FoundServers {
        let env = Environment::new([("A", "b")], &self.path("repo"));
        let settings = self.settings();
        let root = self.path("root");
        let sources = ServerSources {
            env: &env,
            root: &root,
            project: &Project {
                is_trusted: trusted,
                ..Project::untrusted(&root, &env.cwd)
            },
            given: &[],
            plugins: &settings.active_plugins(trusted),
        };
        sources.load()
    }

    fn skills(&self, trusted: bool) -> Vec<(String, usize)> {
        let settings = self.settings();
        let plugins = settings.active_plugins(trusted);
        let found = find_skills(&self.path("repo"), &self.path("root"), trusted, &plugins);
        let skills = found.skills.into_iter();
        skills
            .map(|skill| (skill.name, skill.allowed_tools.len()))
            .collect()
    }

    fn kit(&self) -> PathBuf {
        self.path("root/plugins/cache/m/kit/1.0")
    }
}

fn stdio<'a>(found: &'a FoundServers, name: &str) -> (&'a str, bool, Option<&'a str>) {
    match &found.settings.servers[name].config {
        McpServerConfig::Stdio {
            command,
            sandboxed,
            env,
            ..
        } => (
            command,
            *sandboxed,
            env.get("CLAUDE_PLUGIN_ROOT").map(String::as_str),
        ),
        McpServerConfig::Http { url, .. } => (url, false, None),
    }
}

#[test]
fn all_parts_of_a_plugin_that_the_user_enables_are_used_under_its_name() {
    let machine = Machine::new().enable("root/settings.json", "kit@m");
    let kit = machine.kit();
    let at = |path: &str| kit.join(path).display().to_string();
    assert_eq!(
        machine.commands(false),
        [
            (at("stop"), false, Some(kit.clone())),
            ("true".to_owned(), false, Some(kit.clone())),
        ]
    );
    let servers = machine.servers(false);
    assert_eq!(servers.problems, [""; 0]);
    let root = kit.display().to_string();
    assert_eq!(
        stdio(&servers, "plugin:kit:db"),
        (at("serve").as_str(), false, Some(root.as_str()))
    );
    assert_eq!(stdio(&servers, "plugin:kit:web").0, "web");
    assert_eq!(machine.skills(false), [("kit:deploy".to_owned(), 1)]);
    let settings = machine.settings();
    let [plugin] = settings.active_plugins(false)[..] else {
        panic!("{settings:?}")
    };
    assert_eq!(plugin.locations("commands"), [kit.join("commands")]);
}

#[test]
fn a_plugin_that_no_settings_enable_by_name_has_only_agents() {
    let machine = Machine::new();
    assert!(machine.commands(true).is_empty());
    assert!(machine.servers(true).settings.servers.is_empty());
    assert!(machine.skills(true).is_empty());
}

#[test]
fn a_plugin_that_a_repository_enables_is_used_in_a_trusted_one_and_in_the_sandbox() {
    let machine = Machine::new().enable("repo/.claude/settings.json", "kit@m");
    assert!(machine.commands(false).is_empty());
    assert!(machine.settings().hooks.waits_for_trust());
    assert!(machine.servers(false).settings.servers.is_empty());
    assert!(machine.skills(false).is_empty());
    let all_sandboxed = machine
        .commands(true)
        .iter()
        .all(|(_, sandboxed, _)| *sandboxed);
    assert!(all_sandboxed && machine.commands(true).len() == 2);
    assert!(stdio(&machine.servers(true), "plugin:kit:db").1);
    assert_eq!(machine.skills(true).len(), 1);
}

#[test]
fn policy_decides_before_a_repository() {
    let mut enabled = EnabledPlugins::default();
    let here = Path::new("");
    assert!(enabled.add("kit@m".to_owned(), true, Layer::Managed, here));
    assert!(!enabled.add("kit@m".to_owned(), false, Layer::Project, here));
    assert!(enabled.is_on("kit@m"));
}

#[test]
fn a_repository_cannot_enable_the_programs_of_a_plugin_that_is_only_offered() {
    let machine = Machine::new().enable("repo/.claude/settings.json", "loose@m");
    let hooks = r#"{"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}"#;
    let directory = "root/plugins/marketplaces/m/plugins/loose";
    machine.write(&format!("{directory}/hooks/hooks.json"), hooks);
    assert!(machine.commands(true).is_empty());
    let parts = plugin_parts(&machine.path("root"), &machine.settings().plugins, true);
    let loose = parts.iter().find(|plugin| plugin.name == "loose").unwrap();
    assert_eq!(loose.usage, PluginUse::NotEnabled);
    let machine = machine.enable("root/settings.json", "loose@m");
    assert_eq!(machine.commands(true).len(), 1);
}

#[test]
fn a_repository_cannot_disable_the_hooks_of_a_plugin_that_the_user_enables() {
    let machine = Machine::new().enable("root/settings.json", "kit@m");
    let disabled = r#"{"enabledPlugins": {"kit@m": false}}"#;
    for file in ["settings.json", "settings.local.json"] {
        machine.write(&format!("repo/.claude/{file}"), disabled);
    }
    for trusted in [false, true] {
        assert_eq!(machine.commands(trusted).len(), 2);
        assert_eq!(machine.servers(trusted).settings.servers.len(), 2);
    }
    let env = Environment::new([("A", "b")], Path::new("/"));
    let warnings = machine.settings().warnings(&env);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("settings.json: ignoring `enabledPlugins`"));
}

#[test]
fn command_files_in_a_manifest_are_used_and_missing_ones_reported() {
    let machine = Machine::new().enable("root/settings.json", "kit@m");
    let kit = machine.kit();
    std::fs::remove_dir_all(kit.join("commands")).unwrap();
    std::fs::remove_dir_all(kit.join("skills")).unwrap();
    machine.write("root/plugins/cache/m/kit/1.0/extra/hi.md", "Hi.");
    let manifest = r#"{"commands": ["./extra/hi.md", "./gone"], "skills": "./extra/hi.md"}"#;
    machine.write(
        "root/plugins/cache/m/kit/1.0/.claude-plugin/plugin.json",
        manifest,
    );
    let settings = machine.settings();
    let [plugin] = settings.active_plugins(false)[..] else {
        panic!("{settings:?}")
    };
    let found = [kit.join("commands"), kit.join("extra/hi.md")];
    assert_eq!(plugin.locations("commands"), found);
    assert_eq!(plugin.locations("skills"), [kit.join("skills")]);
    let env = Environment::new([("A", "b")], Path::new("/"));
    let warnings = settings.warnings(&env).join("\n");
    for words in [
        "plugin.json: ignoring `./gone` in `commands`: not a directory or a `.md` file",
        "plugin.json: ignoring `./extra/hi.md` in `skills`: not a directory",
    ] {
        assert!(warnings.contains(words), "{words}: {warnings}");
    }
    let parts = plugin_parts(&machine.path("root"), &settings.plugins, false);
    assert_eq!(parts[0].supported, ["commands", "hooks", "MCP servers"]);
}

#[test]
fn problems_in_the_files_of_a_plugin_are_reported_and_paths_out_of_it_not_followed() {
    let machine = Machine::new().enable("root/settings.json", "kit@m");
    machine.write("root/plugins/cache/m/kit/1.0/.mcp.json", "{");
    machine.write("root/plugins/cache/m/kit/1.0/hooks/hooks.json", "[]");
    machine.write(
        "root/plugins/cache/m/kit/1.0/.claude-plugin/plugin.json",
        r#"{"name": "kit", "hooks": "../../../../../outside.json", "commands": ["../x", "./skills"]}"#,
    );
    machine.write("outside.json", r#"{"Stop": 1}"#);
    let servers = machine.servers(false);
    assert!(
        servers.problems[0].contains(".mcp.json: invalid JSON"),
        "{servers:?}"
    );
    let env = Environment::new([("A", "b")], Path::new("/"));
    let settings = machine.settings();
    let warnings = settings.warnings(&env);
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings[0].contains("`../x` is outside of the plugin"));
    assert!(warnings[1].contains("hooks.json: `hooks` must be an object"));
    assert!(warnings[2].contains("outside.json` is outside of the plugin"));
    let locations = settings.active_plugins(false)[0].locations("commands");
    let kit = machine.kit();
    assert_eq!(locations, [kit.join("commands"), kit.join("skills")]);
}

#[test]
fn the_parts_of_plugins_are_reported() {
    let machine = Machine::new();
    machine.write("root/plugins/guard/hooks/hooks.json", "{}");
    machine.write("root/plugins/guard/output-styles/x.md", "x");
    let root = machine.path("root");
    let parts = |enabled: &EnabledPlugins, trusted| plugin_parts(&root, enabled, trusted);
    let of = |name: &str, supported: &[&'static str], usage| PluginParts {
        name: name.to_owned(),
        supported: supported.to_vec(),
        usage,
        unsupported: Vec::new(),
    };
    let all = ["commands", "skills", "hooks", "MCP servers"];
    let guard = PluginParts {
        unsupported: vec!["output styles"],
        ..of("guard", &["hooks"], PluginUse::NoMarketplace)
    };
    let not_enabled = of("kit", &all, PluginUse::NotEnabled);
    assert_eq!(
        parts(&EnabledPlugins::default(), true)[..],
        [guard, not_enabled]
    );
    let used = of("kit", &all, PluginUse::Used);
    let chosen = EnabledPlugins::of_user(&[("kit@m", true)]);
    assert_eq!(parts(&chosen, false)[1], used);
    let mut of_repository = EnabledPlugins::default();
    of_repository.add("kit@m".to_owned(), true, Layer::Project, Path::new(""));
    let untrusted = of("kit", &all, PluginUse::Untrusted);
    assert_eq!(parts(&of_repository, false)[1], untrusted);
    assert_eq!(parts(&of_repository, true)[1], used);
}
