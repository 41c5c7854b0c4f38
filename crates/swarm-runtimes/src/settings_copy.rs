//! Copies of the user's settings for an agent program in the sandbox, without what it does not need:
//! such files also contain keys of MCP servers.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

/// Key of the settings of directories.
const PROJECTS: &str = "projects";

/// Key of the MCP servers of the user, or of a directory.
const SERVERS: &str = "mcpServers";

/// What a program gets of settings in JSON files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsCopy {
    /// The files. Those that do not exist or are not JSON objects are not copied.
    pub files: Vec<PathBuf>,
    /// Keys that it needs.
    pub keys: Vec<String>,
    /// Keys that it needs of the settings of its directory and of those above it.
    pub project_keys: Vec<String>,
    /// Names of the MCP servers that it gets.
    pub servers: Vec<String>,
    /// Directory in which it runs.
    pub directory: PathBuf,
}

impl SettingsCopy {
    /// Returns the copy of a file's content. `None` if it is not a JSON object.
    pub(crate) fn of(&self, content: &[u8]) -> Option<Vec<u8>> {
        let Value::Object(mut all) = serde_json::from_slice(content).ok()? else {
            return None;
        };
        let projects = all.remove(PROJECTS);
        let mut copy = self.kept(all, &self.keys);
        if let Some(Value::Object(projects)) = projects {
            let own = projects
                .into_iter()
                .filter(|(path, _)| self.directory.starts_with(Path::new(path)));
            let own = own.filter_map(|(path, project)| match project {
                Value::Object(project) => Some((path, self.kept(project, &self.project_keys))),
                _ => None,
            });
            let own = own.map(|(path, project)| (path, Value::Object(project)));
            copy.insert(PROJECTS.to_owned(), Value::Object(own.collect()));
        }
        serde_json::to_vec(&copy).ok()
    }

    fn kept(&self, mut all: Map<String, Value>, keys: &[String]) -> Map<String, Value> {
        let servers = all.remove(SERVERS);
        all.retain(|key, _| keys.contains(key));
        if let Some(Value::Object(mut servers)) = servers {
            servers.retain(|name, _| self.servers.contains(name));
            all.insert(SERVERS.to_owned(), Value::Object(servers));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_copy_has_what_the_program_needs_and_only_servers_that_the_settings_name() {
        let copy = SettingsCopy {
            files: Vec::new(),
            keys: vec!["theme".to_owned(), "missing".to_owned()],
            project_keys: vec!["trusted".to_owned()],
            servers: vec!["public".to_owned()],
            directory: "/work/repo/inner".into(),
        };
        let server = json!({"env": {"KEY": "SECRET"}});
        let servers = json!({"private": server, "public": {"command": "x"}});
        let project = json!({"trusted": true, "history": ["SECRET"], "mcpServers": servers});
        let settings = json!({
            "theme": "dark",
            "mcpServers": servers,
            "tipsHistory": {"SECRET": 1},
            "projects": {
                "/work/repo": project,
                "/work/repo/inner": {"trusted": false},
                "/work/rep": project,
                "/else/SECRET": project,
                "/work": "SECRET",
            },
        });
        let public = json!({"public": {"command": "x"}});
        let expected = json!({
            "theme": "dark",
            "mcpServers": public,
            "projects": {
                "/work/repo": {"trusted": true, "mcpServers": public},
                "/work/repo/inner": {"trusted": false},
            },
        });
        let copied = copy.of(settings.to_string().as_bytes()).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&copied).unwrap(), expected);
        for other in ["", "[]", "{", "\"SECRET\""] {
            assert_eq!(copy.of(other.as_bytes()), None, "{other}");
        }
    }
}
