//! Checks of agent definitions, skills, plugins and hooks.

use std::path::{Path, PathBuf};

use swarm_config::{
    AgentSearch, ClaudeSettings, Environment, PluginUse, Settings, find_agents, find_skills,
    is_trusted, plugin_parts, project_directory, project_top,
};
use swarm_permissions::{HookAction, HookSettings};

use super::finding::Finding;

/// Returns the findings; empty if nothing is configured.
pub(super) fn check(env: &Environment, settings: &Settings, root: &Path) -> Vec<Finding> {
    let trusted = is_trusted(root, &env.cwd).unwrap_or_default();
    let claude = ClaudeSettings::load_lenient(root, &env.cwd, env.home().as_deref()).0;
    let mut findings = definitions(env, settings, root, &claude, trusted);
    findings.extend(plugins(root, &claude, trusted));
    findings.extend(skills(root, env, &claude, trusted));
    let limit = settings.hook_timeout.as_secs();
    findings.extend(hooks(env, root, &claude.hooks.effective(trusted, limit)));
    findings
}

/// Reports skills whose files deviate from the Agent Skills format.
fn skills(root: &Path, env: &Environment, claude: &ClaudeSettings, trusted: bool) -> Vec<Finding> {
    let plugins = claude.active_plugins(trusted);
    let found = find_skills(&env.cwd, root, trusted, &plugins);
    let problems = found.problems.into_iter();
    let hint = "fix the file; until then only its valid parts are used";
    problems
        .map(|problem| Finding::warning("skills", problem, hint))
        .collect()
}

/// Reports which parts of plugins are used; a plugin's hook may be a safeguard.
fn plugins(root: &Path, claude: &ClaudeSettings, trusted: bool) -> Vec<Finding> {
    const NAME: &str = "plugins";
    let all = plugin_parts(root, &claude.plugins, trusted);
    let of = |usage: PluginUse| {
        let plugins = all.iter().filter(|plugin| plugin.usage == usage);
        listed(plugins.map(|plugin| (plugin.name.as_str(), &*plugin.supported)))
    };
    let unsupported = all.iter();
    let unsupported = unsupported.map(|plugin| (plugin.name.as_str(), &*plugin.unsupported));
    let mut findings = Vec::new();
    let used = of(PluginUse::Used);
    if !used.is_empty() {
        findings.push(Finding::ok(NAME, used));
    }
    for (unused, why, hint) in [
        (
            of(PluginUse::NotEnabled),
            "only the agents are used, since your settings do not enable the plugin by name",
            "enable it with `\"enabledPlugins\": {\"PLUGIN@MARKETPLACE\": true}` in settings.json of the config directory",
        ),
        (
            of(PluginUse::NoMarketplace),
            "only the agents are used, since a plugin in plugins/NAME is from no marketplace",
            "move it to plugins/marketplaces/MARKETPLACE/plugins/NAME, and enable it with \
             `\"enabledPlugins\": {\"NAME@MARKETPLACE\": true}` in settings.json of the config directory",
        ),
        (
            of(PluginUse::Untrusted),
            "only the agents are used, since the repository that enables the plugin is not trusted",
            "review its .claude/settings.json, then run `swarm trust`",
        ),
        (
            listed(unsupported),
            "not supported and ignored",
            "nothing else of the plugin is affected",
        ),
    ] {
        if !unused.is_empty() {
            findings.push(Finding::warning(NAME, format!("{why}: {unused}"), hint));
        }
    }
    findings
}

/// Lists plugins with some of their parts; those without any are left out.
fn listed<'a>(plugins: impl Iterator<Item = (&'a str, &'a [&'static str])>) -> String {
    let plugins = plugins.filter(|(_, parts)| !parts.is_empty());
    let named = plugins.map(|(name, parts)| format!("{name} ({})", parts.join(", ")));
    named.collect::<Vec<_>>().join("; ")
}

fn definitions(
    env: &Environment,
    settings: &Settings,
    root: &Path,
    claude: &ClaudeSettings,
    trusted: bool,
) -> Vec<Finding> {
    const NAME: &str = "agents";
    let Ok(found) = find_agents(AgentSearch {
        root,
        cwd: &project_directory(root, &env.cwd),
        flag: None,
        trusted,
        plugins: &claude.plugins,
        aliases: &settings.aliases,
    }) else {
        return Vec::new();
    };
    let problems = found.problems.iter().map(|problem| {
        let hint = if problem.refused {
            "fix the file; until then the agent type is not available"
        } else {
            "the definition is used anyway"
        };
        Finding::warning(NAME, problem.to_string(), hint)
    });
    problems.collect()
}

/// Reports the hooks that run and those whose program is missing.
fn hooks(env: &Environment, root: &Path, hooks: &HookSettings) -> Vec<Finding> {
    const NAME: &str = "hooks";
    let project = project_top(root, &env.cwd);
    let mut findings = Vec::new();
    let mut well = Vec::new();
    for (event, groups) in &hooks.events {
        let name = event.name();
        let commands = groups.iter().flat_map(|group| {
            let of_group = |hook| (hook, group.origin.as_str());
            group.hooks.iter().map(of_group)
        });
        let mut count = 0_u64;
        for (hook, origin) in commands {
            count += 1;
            let HookAction::Command { command } = &hook.action else {
                continue;
            };
            if let Some(missing) = missing(env, &project, command) {
                let effect = if hook.failure_blocks {
                    "until then it blocks every call (`onFailure`)"
                } else {
                    "until then it has no effect"
                };
                findings.push(Finding::warning(
                    NAME,
                    format!("{name} runs `{command}` ({origin}), and {missing}"),
                    format!("fix the command; {effect}"),
                ));
            }
        }
        well.push(format!("{name} {count}"));
    }
    if !well.is_empty() {
        findings.insert(0, Finding::ok(NAME, well.join(", ")));
    }
    findings
}

/// Returns what is missing of the program that a command line starts with. Does not run the
/// command, so a line that does not start with a plain path or name is skipped.
fn missing(env: &Environment, project: &Path, line: &str) -> Option<String> {
    let first = first_word(line)?;
    let home = env.home().map(|home| home.display().to_string());
    let directory = project.display().to_string();
    let mut word = first;
    for name in ["${CLAUDE_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR"] {
        word = word.replace(name, &directory);
    }
    if let Some(home) = home {
        let below = word
            .strip_prefix("~/")
            .map(|below| format!("{home}/{below}"));
        word = below.unwrap_or(word).replace("$HOME", &home);
    }
    if !word.contains('/') || word.contains(['$', '`', '*', '=', '(']) {
        return None;
    }
    let path: PathBuf = project.join(&word).components().collect();
    match path.metadata() {
        Err(_) => Some(format!("file not found: {}", path.display())),
        Ok(found) if found.is_dir() => Some(format!("{} is a directory", path.display())),
        Ok(found) if !is_executable(&found) => {
            Some(format!("{} is not executable", path.display()))
        }
        Ok(_) => None,
    }
}

fn is_executable(found: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    found.permissions().mode() & 0o111 != 0
}

/// Returns the first word, unquoted as in a shell; `None` if it requires expansion.
fn first_word(line: &str) -> Option<String> {
    let mut word = String::new();
    let mut quote = None;
    for character in line.trim_start().chars() {
        match (quote, character) {
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), close) if open == close => quote = None,
            (None, '\\') => return None,
            (None, space) if space.is_whitespace() || ";|&<>".contains(space) => break,
            (_, other) => word.push(other),
        }
    }
    (quote.is_none() && !word.is_empty()).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_hook_program_is_reported_only_if_certain() {
        let directory = tempfile::tempdir().unwrap();
        let env = Environment::new([("HOME", "/nobody")], directory.path());
        std::fs::File::create(directory.path().join("plain")).unwrap();
        for (line, why) in [
            ("./guard --now", "file not found"),
            ("\"$CLAUDE_PROJECT_DIR\"/hooks/guard", "file not found"),
            ("'./my guard'; true", "file not found"),
            ("~/bin/guard", "/nobody/bin/guard"),
            ("./plain", "is not executable"),
            ("/", "is a directory"),
        ] {
            let missing = missing(&env, directory.path(), line).unwrap();
            assert!(missing.contains(why), "{line}: {missing}");
        }
        for line in [
            "/bin/sh -c true",
            "jq .x",
            "if [ -e ./x ]; then ./y; fi",
            "$OTHER/guard",
            "A=./b c",
            "(./x)",
            "",
        ] {
            assert_eq!(missing(&env, directory.path(), line), None, "{line}");
        }
    }
}
