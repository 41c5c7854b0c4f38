//! Sources of agent definitions and their precedence.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use swarm_os::replace_alone;
use swarm_permissions::AgentSource;
use swarm_protocol::ErrorKind;

use super::gather::{AgentSearch, FoundAgents, find_agents_in};
use super::places;
use crate::plugins::EnabledPlugins;

struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir_all(machine.path("repo/.git")).unwrap();
        std::fs::create_dir_all(machine.path("repo/src/deep")).unwrap();
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

    fn agent(&self, path: &str, name: &str, fields: &str) {
        let description = path.replace('/', " ");
        let text =
            format!("---\nname: {name}\ndescription: from {description}\n{fields}---\nDo it.");
        self.write(path, &text);
    }

    fn look(&self, flag: Option<&str>, trusted: bool) -> FoundAgents {
        self.search_with(flag, trusted, &[])
    }

    fn search_with(
        &self,
        flag: Option<&str>,
        trusted: bool,
        enabled: &[(&str, bool)],
    ) -> FoundAgents {
        let (root, cwd) = (self.path("root"), self.path("repo/src/deep"));
        let plugins = EnabledPlugins::of_user(enabled);
        let places = places::agent_directories(&self.path("managed"), &root, &cwd, &plugins);
        let search = AgentSearch {
            root: &root,
            cwd: &cwd,
            flag,
            trusted,
            plugins: &plugins,
            aliases: &BTreeMap::from([("small".to_owned(), "openai/tiny".to_owned())]),
        };
        find_agents_in(places, search).unwrap()
    }
}

fn source(found: &FoundAgents, name: &str) -> (AgentSource, String) {
    let definition = found.catalog.find(name).unwrap();
    (definition.source, definition.description.clone())
}

fn said(found: &FoundAgents) -> Vec<String> {
    found.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn the_strongest_source_wins() {
    let machine = Machine::new();
    machine.agent("outside/.claude/agents/a.md", "far", "");
    machine.agent(".claude/agents/a.md", "above-the-repository", "");
    for (path, flag) in [
        ("root/plugins/kit/agents/a.md", None),
        ("root/agents/explore.md", None),
        ("repo/.claude/agents/x/explore.md", None),
        ("repo/src/.claude/agents/explore.md", None),
        ("managed/explore.md", Some("")),
    ] {
        let plugin = path.contains("plugins");
        machine.agent(path, "explore", "");
        let name = if plugin { "kit:explore" } else { "Explore" };
        let description = format!("from {}", path.replace('/', " "));
        let found = machine.look(None, true);
        assert_eq!(source(&found, name).1, description);
        assert_eq!(said(&found), [""; 0]);
        let json = r#"{"explore": {"description": "from a flag", "prompt": "x"}}"#;
        let with_flag = machine.look(Some(json), true);
        let flag_counts = flag.is_none();
        assert_eq!(
            source(&with_flag, "explore").0 == AgentSource::Flag,
            flag_counts,
            "{path}"
        );
    }
    let found = machine.look(None, true);
    assert!(found.catalog.find("above-the-repository").is_none());
    let shadowed = found
        .catalog
        .with_precedence()
        .filter(|(_, counts)| !counts);
    assert_eq!(shadowed.count(), 4, "user, two of the project, built-in");
}

#[test]
fn an_invalid_file_does_not_affect_others() {
    let machine = Machine::new();
    machine.agent("root/agents/good.md", "good", "");
    machine.agent("root/agents/bad.md", "bad/name", "");
    machine.write("root/agents/notes.md", "# Notes");
    machine.write("root/agents/readme.txt", "---\nname: x\n---");
    machine.write("root/agents/huge.md", &"x".repeat(300 * 1024));
    std::fs::create_dir_all(machine.path("root/agents/loop")).unwrap();
    symlink(
        machine.path("root/agents"),
        machine.path("root/agents/loop/again"),
    )
    .unwrap();
    symlink("nowhere.md", machine.path("root/agents/dangling.md")).unwrap();
    let found = machine.look(None, true);
    assert_eq!(source(&found, "good").0, AgentSource::User);
    assert!(found.catalog.find("bad/name").is_none());
    let directory = machine.path("root/agents");
    let at = |file: &str, what: &str| format!("{}/{file}: {what}", directory.display());
    assert_eq!(
        said(&found),
        [
            at(
                "huge.md",
                "refused: the file is larger than 256 KiB, the limit for a definition"
            ),
            at(
                "bad.md:2",
                "refused: `name` is `bad/name`: use letters, digits, `-` and `_`, at most 64, beginning with a letter or digit"
            ),
        ]
    );
}

#[test]
fn c1_an_unknown_model_rejects_the_definition() {
    let machine = Machine::new();
    for (name, model) in [
        ("good", "small"),
        ("same", "inherit"),
        ("full", "anthropic/claude-haiku-4-5"),
        ("bad", "no/such"),
    ] {
        let path = format!("root/agents/{name}.md");
        machine.agent(&path, name, &format!("model: {model}\n"));
    }
    let found = machine.look(None, true);
    for name in ["good", "same", "full"] {
        assert!(found.catalog.find(name).is_some(), "{name}");
    }
    assert!(found.catalog.find("bad").is_none());
    let said = said(&found);
    assert_eq!(said.len(), 1);
    assert!(
        said[0].contains("bad.md:4: refused: invalid `model`: ") && said[0].contains("no/such"),
        "{said:?}"
    );
    assert!(found.problems[0].rejects("bad"));
    let json = r#"{"x": {"description": "d", "prompt": "p", "model": "no/such"}}"#;
    let (root, cwd) = (machine.path("root"), machine.path("repo"));
    let search = AgentSearch {
        root: &root,
        cwd: &cwd,
        flag: Some(json),
        trusted: true,
        plugins: &EnabledPlugins::default(),
        aliases: &BTreeMap::new(),
    };
    let failure = find_agents_in(Vec::new(), search).unwrap_err();
    assert!(
        failure
            .to_string()
            .starts_with("--agents: agent `x`: invalid `model`"),
        "{}",
        failure.to_string()
    );
}

#[test]
fn an_unknown_tool_is_reported_with_a_suggestion() {
    let machine = Machine::new();
    machine.agent(
        "root/agents/a.md",
        "a",
        "tools: Read, Grpe, mcp__x__y, Task(b)\ndisallowedTools: Wriet, NotebookEdit\n",
    );
    let found = machine.look(None, true);
    assert!(found.catalog.find("a").is_some());
    let said = said(&found);
    assert!(
        said[0].ends_with("a.md:4: unknown tool `Grpe` in `tools`: did you mean `Grep`?"),
        "{said:?}"
    );
    assert!(
        said[1]
            .ends_with("a.md:5: unknown tool `Wriet` in `disallowedTools`: did you mean `Write`?"),
        "{said:?}"
    );
    assert_eq!(said.len(), 2);
}

#[test]
fn hooks_and_servers_of_a_repository_require_trust() {
    let machine = Machine::new();
    let fields = "tools: Read\nmcpServers:\n  - shared\n  - own: {command: serve}\nhooks: {Stop: [{hooks: [{type: command, command: x}]}]}\n";
    machine.agent("repo/.claude/agents/a.md", "a", fields);
    let found = machine.look(None, false);
    let definition = found.catalog.find("a").unwrap();
    assert_eq!(definition.mcp_servers.len(), 1);
    assert!(definition.hooks.events.is_empty());
    assert!(said(&found)[0].ends_with(
        "its hooks and private MCP servers are disabled until the repository is trusted (`swarm trust`)"
    ));
    let found = machine.look(None, true);
    let definition = found.catalog.find("a").unwrap();
    assert_eq!(definition.mcp_servers.len(), 2);
    assert_eq!(definition.hooks.events.len(), 1);
    assert_eq!(said(&found), [""; 0]);
}

#[test]
fn types_with_hooks_that_require_trust_are_reported() {
    let machine = Machine::new();
    let guard =
        "hooks: {PreToolUse: [{matcher: Bash, hooks: [{type: command, command: exit 2}]}]}\n";
    machine.agent("repo/.claude/agents/a.md", "guarded", guard);
    machine.agent("repo/.claude/agents/b.md", "hidden", guard);
    machine.agent("repo/.claude/agents/c.md", "plain", "");
    machine.agent("managed/b.md", "hidden", "");
    let waits = machine.look(None, false).trust_warning().unwrap();
    assert!(waits.contains("not trusted (guarded); "), "{waits}");
    assert!(waits.ends_with("`swarm trust`"), "{waits}");
    assert_eq!(machine.look(None, true).trust_warning(), None);
}

#[test]
fn an_error_in_the_flag_has_a_valid_example_as_hint() {
    let (root, cwd) = (Path::new("/nowhere"), Path::new("/nowhere"));
    let aliases = BTreeMap::new();
    let look = |flag| {
        let search = AgentSearch {
            root,
            cwd,
            flag: Some(flag),
            trusted: true,
            plugins: &EnabledPlugins::default(),
            aliases: &aliases,
        };
        find_agents_in(Vec::new(), search)
    };
    let hint = look("{").unwrap_err().hint().unwrap();
    let example = hint.strip_prefix("use the form ").unwrap();
    assert!(look(example).unwrap().catalog.find("reviewer").is_some());
}

#[test]
fn agents_of_a_plugin_have_its_name_as_prefix_and_no_extra_rights() {
    let machine = Machine::new();
    machine.agent(
        "root/plugins/kit/agents/a.md",
        "a",
        "permissionMode: plan\nmcpServers: [x]\nhooks: {Stop: [{hooks: [{type: command, command: x}]}]}\n",
    );
    let found = machine.look(None, true);
    let definition = found.catalog.find("kit:a").unwrap();
    assert_eq!(definition.permission_mode, None);
    assert!(definition.mcp_servers.is_empty() && definition.hooks.events.is_empty());
    assert!(
        said(&found)[0].ends_with(
            "hooks, mcpServers, permissionMode in a plugin's agent definition is ignored"
        )
    );
}

/// Returns the effective plugin agents, each with the end of its file's path.
fn of_plugins(found: &FoundAgents, root: &Path) -> Vec<(String, String)> {
    let counts = found.catalog.winners();
    let plugins = counts.filter(|one| one.source == AgentSource::Plugin);
    let mut named: Vec<_> = plugins
        .map(|one| {
            let path = one.path.as_ref().unwrap().strip_prefix(root).unwrap();
            (one.name.clone(), path.display().to_string())
        })
        .collect();
    named.sort();
    named
}

#[test]
fn plugins_are_found_in_the_directories_of_claude_code_and_only_once() {
    let machine = Machine::new();
    for place in [
        "cache/market/kit/1.9.0",
        "cache/market/kit/1.10.0",
        "cache/market/other/abc123",
        "marketplaces/market/plugins/kit",
        "marketplaces/market/plugins/loose",
        "marketplaces/single",
        "marketplaces/listed/source/inner",
        "marketplaces/listed/source/not-listed",
    ] {
        machine.agent(&format!("root/plugins/{place}/agents/a.md"), "a", "");
    }
    machine.write(
        "root/plugins/marketplaces/listed/.claude-plugin/marketplace.json",
        r#"{"name": "listed", "plugins": [{"name": "inner", "source": "./source/inner"},
            {"name": "far", "source": {"source": "github", "repo": "x/y"}},
            {"name": "out", "source": "../market/plugins/loose"}]}"#,
    );
    machine.write(
        "root/plugins/cache/market/other/abc123/.claude-plugin/plugin.json",
        r#"{"name": "renamed"}"#,
    );
    let root = machine.path("root/plugins");
    let found = machine.look(None, true);
    let named = of_plugins(&found, &root);
    let named: Vec<_> = named
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    assert_eq!(
        named,
        [
            ("inner:a", "marketplaces/listed/source/inner/agents/a.md"),
            ("kit:a", "cache/market/kit/1.10.0/agents/a.md"),
            ("loose:a", "marketplaces/market/plugins/loose/agents/a.md"),
            ("renamed:a", "cache/market/other/abc123/agents/a.md"),
            ("single:a", "marketplaces/single/agents/a.md"),
        ]
    );
    let shadowed = found
        .catalog
        .with_precedence()
        .filter(|(_, counts)| !counts);
    assert_eq!(shadowed.count(), 0);
}

#[test]
fn if_settings_name_plugins_only_enabled_ones_are_used() {
    let machine = Machine::new();
    for place in ["cache/m/kit/1", "cache/m/off/1", "cache/m/unnamed/1", "own"] {
        machine.agent(&format!("root/plugins/{place}/agents/a.md"), "a", "");
    }
    let enabled = [("kit@m", true), ("off@m", false)];
    let found = machine.search_with(None, true, &enabled);
    let counts = of_plugins(&found, &machine.path("root/plugins"));
    let types: Vec<_> = counts.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(types, ["kit:a", "own:a"]);
}

#[test]
fn an_invalid_flag_is_an_error() {
    let search = AgentSearch {
        root: Path::new("/nowhere"),
        cwd: Path::new("/nowhere"),
        flag: Some("{\"a\": {}}"),
        trusted: false,
        plugins: &EnabledPlugins::default(),
        aliases: &BTreeMap::new(),
    };
    let failure = find_agents_in(Vec::new(), search).unwrap_err();
    assert_eq!(failure.kind(), ErrorKind::Usage);
    assert_eq!(
        failure.to_string(),
        "--agents: agent `a`: `prompt` is missing: describe the agent's task"
    );
}
