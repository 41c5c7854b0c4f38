//! MCP servers from every source.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};
use swarm_permissions::{McpBounds, McpServer, McpServerConfig, McpSettings};

use crate::environment::Environment;
use crate::expand::expand;
use crate::settings::{Settings, repository_directories};
use crate::trust::project_directory;

/// The machine's servers, in the place of Claude Code's.
const MANAGED: &str = "/etc/claude-code/managed-mcp.json";

/// The file of a repository, and of the user in the config directory.
const FILE: &str = ".mcp.json";

/// What was found, and what is wrong with the rest.
#[derive(Debug, Default)]
pub struct FoundServers {
    /// The servers that can be tried.
    pub settings: McpSettings,
    /// What is not used, and why: each names file and server.
    pub problems: Vec<String>,
    /// Files of a repository that nobody has trusted.
    pub untrusted: Vec<String>,
    /// The first thing that is wrong with what the command line names: it was meant for this very command.
    pub refused: Option<String>,
}

/// The bounds that the settings give servers.
pub fn mcp_bounds(settings: &Settings) -> McpBounds {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    McpBounds {
        start_ms: millis(settings.mcp_start),
        call_ms: millis(settings.mcp_call),
        result_chars: settings.mcp_result_chars,
    }
}

/// Where servers are looked for.
#[derive(Debug)]
pub struct ServerSources<'a> {
    /// The variables that servers name, and the working directory.
    pub env: &'a Environment,
    /// The config directory.
    pub root: &'a Path,
    /// Whether the repository may run what is its own.
    pub trusted: bool,
    /// What `--mcp-config` says: files, or JSON itself.
    pub given: &'a [String],
}

impl ServerSources<'_> {
    /// All servers; of two with one name that of the stronger source counts: the machine's, the command line's, the
    /// repository's (nearest directory first), the user's.
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
                        .push(format!("--mcp-config: there is no file {}", path.display()));
                }
            }
        }
        found.refused = found.problems.get(before).cloned();
        for path in self.project_files() {
            if self.trusted {
                found.add_file(&path, self.env);
            } else {
                found.untrusted.push(format!(
                    "{}: its MCP servers are not started, as the repository is not trusted; read it, then `swarm trust`",
                    path.display()
                ));
            }
        }
        found.add_file(&self.root.join(FILE), self.env);
        found.add_file(&self.root.join("settings.json"), self.env);
        found
    }

    /// The files of the repository around the present directory, nearest first; outside of one only that of the directory.
    fn project_files(&self) -> Vec<PathBuf> {
        repository_directories(&project_directory(self.root, &self.env.cwd))
            .filter(|directory| *directory != self.root)
            .map(|directory| directory.join(FILE))
            .filter(|path| path.is_file())
            .collect()
    }
}

impl FoundServers {
    /// Adds what stands in a file; `false` if there is none.
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
                    .push(format!("{origin}: it cannot be read: {error}"));
                true
            }
        }
    }

    fn add_text(&mut self, text: &str, origin: &str, env: &Environment) {
        let document: Value = match serde_json::from_str(text) {
            Ok(document) => document,
            Err(error) => {
                self.problems
                    .push(format!("{origin}: it is not JSON: {error}"));
                return;
            }
        };
        match document.get("mcpServers") {
            None | Some(Value::Null) if origin.ends_with("settings.json") => {}
            Some(Value::Object(servers)) => self.add_all(servers, origin, env),
            _ => self.problems.push(format!(
                "{origin}: it has no servers; write {{\"mcpServers\": {{\"NAME\": {{\"command\": …}}}}}}"
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
                    "{origin}: MCP server `{}` is left out: {why}",
                    name.escape_debug()
                )),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scene {
        directory: tempfile::TempDir,
        vars: Vec<(&'static str, &'static str)>,
        given: Vec<String>,
    }

    impl Scene {
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
            let sources = ServerSources {
                env: &env,
                root: &self.directory.path().join("root"),
                trusted,
                given: &self.given,
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
    fn the_strongest_source_of_a_name_counts() {
        let mut scene = Scene::new()
            .file("root/.mcp.json", &server("a", "user"))
            .file("root/settings.json", &server("b", "settings"))
            .file("repo/.mcp.json", &server("a", "top"))
            .file("repo/deep/.mcp.json", &server("a", "near"));
        let found = scene.load(true);
        assert_eq!(found.problems, Vec::<String>::new());
        assert_eq!(
            (command(&found, "a"), command(&found, "b")),
            ("near".into(), "settings".into())
        );
        scene.given.push(server("a", "flag"));
        assert_eq!(command(&scene.load(true), "a"), "flag");
        let scene = scene.file("managed.json", &server("a", "machine"));
        assert_eq!(command(&scene.load(true), "a"), "machine");
    }

    #[test]
    fn a_repository_that_nobody_trusts_starts_no_server_and_this_is_said() {
        let scene = Scene::new().file("repo/.mcp.json", &server("evil", "sh"));
        let found = scene.load(false);
        assert!(found.settings.servers.is_empty());
        assert!(
            found.untrusted[0].contains("swarm trust"),
            "{:?}",
            found.untrusted
        );
        assert!(scene.load(true).settings.servers.contains_key("evil"));
    }

    #[test]
    fn a_bad_entry_is_named_with_its_file_and_the_others_load() {
        let text = r#"{"mcpServers": {
            "old": {"type": "sse", "url": "https://x/sse"},
            "good": {"command": "x"},
            "a__b": {"command": "x"},
            "off": {"command": "x", "disabled": true},
            "unset": {"command": "${NOBODY_HAS_SET_THIS}"}}}"#;
        let found = Scene::new().file("repo/.mcp.json", text).load(true);
        let names: Vec<_> = found.settings.servers.keys().collect();
        assert_eq!(names, ["good"]);
        let problems = found.problems.join("\n");
        for words in [
            "`old`",
            "streamable HTTP",
            "`a__b`",
            "`unset`",
            "NOBODY_HAS_SET_THIS",
            "repo/.mcp.json",
        ] {
            assert!(problems.contains(words), "{words} in {problems}");
        }
        assert!(!problems.contains("`off`"));
    }

    #[test]
    fn a_mistake_in_what_the_command_line_names_is_told_apart() {
        let mut scene = Scene::new().file("repo/.mcp.json", "{");
        assert_eq!(scene.load(true).refused, None);
        scene.given.push(server("a__b", "x"));
        assert!(scene.load(true).refused.unwrap().contains("--mcp-config"));
    }

    #[test]
    fn files_that_cannot_be_understood_are_named() {
        let mut scene = Scene::new()
            .file("repo/.mcp.json", "{")
            .file("root/.mcp.json", "[]");
        scene.given.push("missing.json".to_owned());
        let problems = scene.load(true).problems.join("\n");
        for words in ["is not JSON", "it has no servers", "missing.json"] {
            assert!(problems.contains(words), "{words} in {problems}");
        }
    }
}
