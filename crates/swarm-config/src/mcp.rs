//! MCP servers of all sources.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};
use swarm_permissions::{McpBounds, McpServer, McpServerConfig, McpSettings};

use crate::environment::Environment;
use crate::expand::expand;
use crate::plugins::ActivePlugin;
use crate::settings::{Settings, repository_directories};
use crate::trust::Project;

/// The machine's managed servers, in Claude Code's location.
const MANAGED: &str = "/etc/claude-code/managed-mcp.json";

/// The file name in a repository and in the config directory.
const FILE: &str = ".mcp.json";

/// The configured servers and the problems found.
#[derive(Debug, Default)]
pub struct FoundServers {
    /// The usable servers.
    pub settings: McpSettings,
    /// Messages about ignored files and servers.
    pub problems: Vec<String>,
    /// Messages about files of an untrusted repository.
    pub untrusted: Vec<String>,
    /// The first problem in `--mcp-config`, which is an error because it was given for this
    /// command.
    pub refused: Option<String>,
}

/// Returns the limits for MCP servers from the settings.
pub fn mcp_bounds(settings: &Settings) -> McpBounds {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    McpBounds {
        start_ms: millis(settings.mcp_start),
        call_ms: millis(settings.mcp_call),
        result_chars: settings.mcp_result_chars,
    }
}

/// The sources of MCP servers.
#[derive(Debug)]
pub struct ServerSources<'a> {
    /// The environment, for variables in the configuration and the working directory.
    pub env: &'a Environment,
    /// The config directory.
    pub root: &'a Path,
    /// The project, whose servers run if it is trusted.
    pub project: &'a Project,
    /// The values of `--mcp-config`: files or JSON.
    pub given: &'a [String],
    /// The plugins whose servers are used.
    pub plugins: &'a [&'a ActivePlugin],
}

impl ServerSources<'_> {
    /// Loads all servers; those of plugins are named `plugin:PLUGIN:SERVER`. If two share a name,
    /// the stronger source wins: managed, command line, repository (nearest directory first), user.
    pub fn load(&self) -> FoundServers {
        self.load_with(Path::new(MANAGED))
    }

    fn load_with(&self, managed: &Path) -> FoundServers {
        let mut found = FoundServers::default();
        found.add_file(managed, self.env);
        let before = found.problems.len();
        for given in self.given {
            let text = given.trim();
            if text.starts_with('{') {
                found.add_text(text, "--mcp-config", self.env);
            } else {
                let path = self.env.cwd.join(text);
                if !found.add_file(&path, self.env) {
                    found
                        .problems
                        .push(format!("--mcp-config: file {} not found", path.display()));
                }
            }
        }
        found.refused = found.problems.get(before).cloned();
        for path in self.project_files() {
            if self.project.is_trusted {
                found.add_repository_file(&path, self.env);
            } else {
                found.untrusted.push(format!(
                    "{}: its MCP servers are disabled because the repository is not trusted; review the file, then run `swarm trust`",
                    path.display()
                ));
            }
        }
        found.add_file(&self.root.join(FILE), self.env);
        found.add_file(&self.root.join("settings.json"), self.env);
        for plugin in self.plugins {
            found.add_plugin(plugin, self.env);
        }
        found
    }

    /// Returns the files of the repository around the working directory, nearest first; outside of
    /// a repository only that of the directory itself.
    fn project_files(&self) -> Vec<PathBuf> {
        repository_directories(&self.project.directory)
            .filter(|directory| *directory != self.root)
            .map(|directory| directory.join(FILE))
            .filter(|path| path.is_file())
            .collect()
    }
}

impl FoundServers {
    /// Adds the servers of a repository, which run in the sandbox.
    fn add_repository_file(&mut self, path: &Path, env: &Environment) {
        let mut found = Self {
            settings: self.settings.clone(),
            ..Self::default()
        };
        found.add_file(path, env);
        for (name, mut server) in found.settings.servers {
            server.config.run_in_sandbox();
            self.settings.servers.entry(name).or_insert(server);
        }
        self.problems.extend(found.problems);
    }

    /// Adds the servers of a plugin. If only the repository enables it, they run in the sandbox.
    fn add_plugin(&mut self, plugin: &ActivePlugin, env: &Environment) {
        let root = plugin.directory().display().to_string();
        let root = ("CLAUDE_PLUGIN_ROOT".to_owned(), root);
        let env = env.with([root.clone()], &env.cwd);
        for read in plugin.servers() {
            let mut found = Self::default();
            match read {
                Ok((origin, servers)) => found.add_all(&servers, &origin, &env),
                Err(problem) => found.problems.push(problem),
            }
            for (name, mut server) in found.settings.servers {
                if let McpServerConfig::Stdio { env, .. } = &mut server.config {
                    env.entry(root.0.clone()).or_insert_with(|| root.1.clone());
                }
                if plugin.is_of_repository() {
                    server.config.run_in_sandbox();
                }
                self.settings.servers.entry(name).or_insert(server);
            }
            self.problems.extend(found.problems);
        }
    }

    /// Adds the servers in a file; `false` if it does not exist.
    fn add_file(&mut self, path: &Path, env: &Environment) -> bool {
        use std::io::ErrorKind::{NotADirectory, NotFound};
        let origin = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => {
                if !text.trim().is_empty() {
                    self.add_text(&text, &origin, env);
                }
                true
            }
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => false,
            Err(error) => {
                self.problems
                    .push(format!("{origin}: cannot read the file: {error}"));
                true
            }
        }
    }

    fn add_text(&mut self, text: &str, origin: &str, env: &Environment) {
        let document: Value = match serde_json::from_str(text) {
            Ok(document) => document,
            Err(error) => {
                self.problems
                    .push(format!("{origin}: invalid JSON: {error}"));
                return;
            }
        };
        match document.get("mcpServers") {
            None | Some(Value::Null) if origin.ends_with("settings.json") => {}
            Some(Value::Object(servers)) => self.add_all(servers, origin, env),
            _ => self.problems.push(format!(
                "{origin}: no `mcpServers` object; use the form {{\"mcpServers\": {{\"NAME\": {{\"command\": …}}}}}}"
            )),
        }
    }

    fn add_all(&mut self, servers: &Map<String, Value>, origin: &str, env: &Environment) {
        for (name, entry) in servers {
            if entry["disabled"] == true || self.settings.servers.contains_key(name) {
                continue;
            }
            let config = expand(entry, env).and_then(|entry| McpServerConfig::from_json(&entry));
            match config.and_then(|config| swarm_mcp::server_part(name).map(|_| config)) {
                Ok(config) => {
                    let server = McpServer {
                        config,
                        origin: origin.to_owned(),
                        tools: None,
                        resources: false,
                    };
                    self.settings.servers.insert(name.clone(), server);
                }
                Err(why) => self.problems.push(format!(
                    "{origin}: ignoring MCP server `{}`: {why}",
                    name.escape_debug()
                )),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixture {
        directory: tempfile::TempDir,
        vars: Vec<(&'static str, &'static str)>,
        given: Vec<String>,
    }

    impl Fixture {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            for below in ["root", "repo/.git", "repo/deep"] {
                std::fs::create_dir_all(directory.path().join(below)).unwrap();
            }
            Self {
                directory,
                vars: Vec::new(),
                given: Vec::new(),
            }
        }

        #[expect(clippy::disallowed_methods, reason = "a file that only this test sees")]
        fn file(self, name: &str, text: &str) -> Self {
            std::fs::write(self.directory.path().join(name), text).unwrap();
            self
        }

        fn load(&self, trusted: bool) -> FoundServers {
            let env = Environment::new(
                self.vars.iter().copied(),
                &self.directory.path().join("repo/deep"),
            );
            let root = self.directory.path().join("root");
            let sources = ServerSources {
                env: &env,
                root: &root,
                project: &Project {
                    is_trusted: trusted,
                    ..Project::untrusted(&root, &env.cwd)
                },
                given: &self.given,
                plugins: &[],
            };
            sources.load_with(&self.directory.path().join("managed.json"))
        }
    }

    fn server(name: &str, command: &str) -> String {
        format!(r#"{{"mcpServers": {{"{name}": {{"command": "{command}"}}}}}}"#)
    }

    fn command(found: &FoundServers, name: &str) -> String {
        match &found.settings.servers[name].config {
            McpServerConfig::Stdio { command, .. } => command.clone(),
            McpServerConfig::Http { url, .. } => url.clone(),
        }
    }

    #[test]
    fn the_strongest_source_of_a_name_wins() {
        let mut fixture = Fixture::new()
            .file("root/.mcp.json", &server("a", "user"))
            .file("root/settings.json", &server("b", "settings"))
            .file("repo/.mcp.json", &server("a", "top"))
            .file("repo/deep/.mcp.json", &server("a", "near"));
        let found = fixture.load(true);
        assert_eq!(found.problems, Vec::<String>::new());
        assert_eq!(
            (command(&found, "a"), command(&found, "b")),
            ("near".into(), "settings".into())
        );
        fixture.given.push(server("a", "flag"));
        assert_eq!(command(&fixture.load(true), "a"), "flag");
        let fixture = fixture.file("managed.json", &server("a", "machine"));
        assert_eq!(command(&fixture.load(true), "a"), "machine");
    }

    #[test]
    fn servers_of_an_untrusted_repository_are_disabled_with_a_message() {
        let fixture = Fixture::new().file("repo/.mcp.json", &server("evil", "sh"));
        let found = fixture.load(false);
        assert!(found.settings.servers.is_empty());
        assert!(
            found.untrusted[0].contains("swarm trust"),
            "{:?}",
            found.untrusted
        );
        assert!(fixture.load(true).settings.servers.contains_key("evil"));
    }

    #[test]
    fn an_invalid_entry_is_reported_with_its_file_and_the_others_load() {
        let text = r#"{"mcpServers": {
            "old": {"type": "sse", "url": "https://x/sse"},
            "good": {"command": "x"},
            "a__b": {"command": "x"},
            "off": {"command": "x", "disabled": true},
            "unset": {"command": "${UNSET_VARIABLE}"}}}"#;
        let found = Fixture::new().file("repo/.mcp.json", text).load(true);
        let names: Vec<_> = found.settings.servers.keys().collect();
        assert_eq!(names, ["good"]);
        let problems = found.problems.join("\n");
        for words in [
            "`old`",
            "streamable HTTP",
            "`a__b`",
            "`unset`",
            "UNSET_VARIABLE",
            "repo/.mcp.json",
        ] {
            assert!(problems.contains(words), "{words} in {problems}");
        }
        assert!(!problems.contains("`off`"));
    }

    #[test]
    fn an_error_in_the_command_line_option_is_reported_separately() {
        let mut fixture = Fixture::new().file("repo/.mcp.json", "{");
        assert_eq!(fixture.load(true).refused, None);
        fixture.given.push(server("a__b", "x"));
        assert!(fixture.load(true).refused.unwrap().contains("--mcp-config"));
    }

    #[test]
    fn invalid_files_are_reported() {
        let mut fixture = Fixture::new()
            .file("repo/.mcp.json", "{")
            .file("root/.mcp.json", "[]");
        fixture.given.push("missing.json".to_owned());
        let problems = fixture.load(true).problems.join("\n");
        for words in ["invalid JSON", "no `mcpServers` object", "missing.json"] {
            assert!(problems.contains(words), "{words} in {problems}");
        }
    }
}
