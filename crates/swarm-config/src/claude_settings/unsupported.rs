//! Claude Code settings and variables that swarm does not support. They produce a warning.

use serde_json::Value;

/// An unsupported name and its replacement, empty if there is none.
type Row = (&'static str, &'static str);

/// Keys of `settings.json`, without those that only change Claude Code's display.
const SETTINGS: &[Row] = &[
    ("agent", ""),
    ("allowManagedMcpServersOnly", ""),
    ("allowManagedPermissionRulesOnly", ""),
    ("allowedHttpHookUrls", ""),
    ("allowedMcpServers", ""),
    ("attribution", ""),
    ("autoMode", ""),
    ("availableModels", ""),
    ("awsAuthRefresh", ""),
    ("awsCredentialExport", ""),
    ("cleanupPeriodDays", ""),
    ("deniedMcpServers", "use deny rules for `mcp__SERVER`"),
    ("disableSkillShellExecution", ""),
    ("disabledMcpjsonServers", ""),
    ("enableAllProjectMcpServers", "run `swarm trust`"),
    ("enabledMcpjsonServers", "run `swarm trust`"),
    ("extraKnownMarketplaces", ""),
    ("fallbackModel", "set `model.fallback` in swarm.toml"),
    ("forceLoginMethod", ""),
    ("forceLoginOrgUUID", ""),
    ("httpHookAllowedEnvVars", ""),
    ("language", ""),
    ("modelOverrides", "set `model.default` in swarm.toml"),
    ("otelHeadersHelper", ""),
    ("plansDirectory", ""),
    ("sandbox", "set `sandbox.bash` in swarm.toml"),
    ("strictKnownMarketplaces", ""),
    ("teammateMode", "set `spawn.backend` in swarm.toml"),
    ("worktree", "set `worktree.*` in swarm.toml"),
];

/// Further keys, whose `false` also has a meaning: Claude Code's default is `true`.
const ON_BY_DEFAULT: &[Row] = &[
    ("autoMemoryEnabled", ""),
    ("includeCoAuthoredBy", ""),
    ("includeGitInstructions", ""),
    ("respectGitignore", ""),
];

/// Keys of the `permissions` object.
const PERMISSIONS: &[Row] = &[("blockedPaths", "use deny rules")];

const VARIABLES: &[Row] = &[
    ("ANTHROPIC_BETAS", ""),
    ("ANTHROPIC_CONFIG_DIR", "set CLAUDE_CONFIG_DIR"),
    ("ANTHROPIC_CUSTOM_HEADERS", ""),
    (
        "ANTHROPIC_DEFAULT_HAIKU_MODEL",
        "set `model.aliases` in swarm.toml",
    ),
    (
        "ANTHROPIC_DEFAULT_OPUS_MODEL",
        "set `model.aliases` in swarm.toml",
    ),
    (
        "ANTHROPIC_DEFAULT_SONNET_MODEL",
        "set `model.aliases` in swarm.toml",
    ),
    ("ANTHROPIC_PROFILE", "set ANTHROPIC_API_KEY"),
    ("BASH_DEFAULT_TIMEOUT_MS", ""),
    ("BASH_MAX_OUTPUT_LENGTH", ""),
    ("BASH_MAX_TIMEOUT_MS", ""),
    (
        "CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS",
        "use deny rules such as `Agent(Explore)`",
    ),
    ("CLAUDE_ASYNC_AGENT_STALL_TIMEOUT_MS", ""),
    ("CLAUDE_AUTO_BACKGROUND_TASKS", "use `run_in_background`"),
    ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", ""),
    (
        "CLAUDE_CODE_DISABLE_CLAUDE_MDS",
        "set `instructions.exclude` in swarm.toml",
    ),
    (
        "CLAUDE_CODE_DISABLE_EXPLORE_PLAN_AGENTS",
        "use deny rules `Agent(Explore)`, `Agent(Plan)`",
    ),
    (
        "CLAUDE_CODE_FORK_SUBAGENT",
        "set `agents.fork` in swarm.toml",
    ),
    (
        "CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS",
        "set `agents.max_concurrent` in swarm.toml",
    ),
    ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", ""),
    (
        "CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH",
        "set `agents.max_depth` in swarm.toml",
    ),
    ("CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY", ""),
    ("CLAUDE_CODE_MESSAGING_SOCKET", ""),
    ("CLAUDE_CODE_MESSAGING_TOKEN", ""),
    (
        "CLAUDE_CODE_OAUTH_TOKEN",
        "set ANTHROPIC_API_KEY, or use `--runtime claude` for teammates",
    ),
    ("CLAUDE_CODE_PLAN_MODE_REQUIRED", "use `--mode plan`"),
    ("CLAUDE_CODE_REMOTE_MEMORY_DIR", ""),
    ("CLAUDE_CODE_SHELL", ""),
    ("CLAUDE_CODE_SHELL_PREFIX", ""),
    ("CLAUDE_CODE_SIMPLE", ""),
    ("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", ""),
    ("CLAUDE_CODE_TASK_LIST_ID", "use `--team`"),
    ("CLAUDE_CODE_TEAMMATE_COMMAND", ""),
    (
        "CLAUDE_CODE_TEAM_TEARDOWN_PARK_TIMEOUT_MS",
        "set `stop.grace_s` in swarm.toml",
    ),
    ("CLAUDE_CODE_USE_BEDROCK", ""),
    ("CLAUDE_CODE_USE_FOUNDRY", ""),
    ("CLAUDE_CODE_USE_VERTEX", ""),
    ("CLAUDE_SUBAGENT_BG_SHELL_MAX_MS", ""),
    ("DISABLE_AUTO_COMPACT", "set `compact.at` in swarm.toml"),
    ("DISABLE_COMPACT", "set `compact.at` in swarm.toml"),
    ("DISABLE_PROMPT_CACHING", ""),
    (
        "MAX_MCP_OUTPUT_TOKENS",
        "set `mcp.result_chars` in swarm.toml",
    ),
    ("MCP_TIMEOUT", "set `mcp.start_timeout_s` in swarm.toml"),
    ("MCP_TOOL_TIMEOUT", "set `mcp.call_timeout_s` in swarm.toml"),
];

/// Further variables, of which `0` and `false` also have a meaning.
const VALUES: &[Row] = &[
    ("API_TIMEOUT_MS", ""),
    ("CLAUDE_CODE_MAX_RETRIES", ""),
    ("ENABLE_TOOL_SEARCH", ""),
    ("TASK_MAX_OUTPUT_LENGTH", ""),
];

/// Variables that would disable features that swarm always has.
const SWITCHES: &[Row] = &[
    (
        "CLAUDE_CODE_ENABLE_TASKS",
        "use deny rules such as `TaskCreate`",
    ),
    (
        "CLAUDE_CODE_ENABLE_TODO_TOOLS",
        "use deny rules such as `TaskCreate`",
    ),
];

const COORDINATOR: &str = "CLAUDE_CODE_COORDINATOR_MODE";

/// Returns a warning about the unsupported keys of a settings file.
pub(super) fn in_settings(document: &Value, file: &str) -> Option<String> {
    let given = |object: &Value, key: &str| match &object[key] {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    };
    let top = SETTINGS.iter().filter(|(key, _)| given(document, key));
    let on = ON_BY_DEFAULT.iter();
    let on = on.filter(|(key, _)| !document[*key].is_null());
    let permissions = &document["permissions"];
    let nested = PERMISSIONS
        .iter()
        .filter(|(key, _)| given(permissions, key));
    sentence(file, top.chain(on).chain(nested))
}

/// Returns a warning about unsupported variables, which `place` sets.
pub(super) fn in_variables<'a>(
    place: &str,
    get: impl Fn(&str) -> Option<&'a str>,
) -> Option<String> {
    let given = VARIABLES.iter().filter(|(name, _)| is_on(get(name)));
    let off = SWITCHES
        .iter()
        .filter(|(name, _)| matches!(get(name), Some("0" | "false")));
    let values = VALUES.iter();
    let values = values.filter(|(name, _)| get(name).is_some_and(|value| !value.is_empty()));
    sentence(place, given.chain(values).chain(off))
}

/// Whether a variable asks for a coordinator in place of a lead.
pub fn wants_coordinator<'a>(get: impl Fn(&str) -> Option<&'a str>) -> bool {
    is_on(get(COORDINATOR))
}

fn is_on(value: Option<&str>) -> bool {
    value.is_some_and(|value| !matches!(value, "" | "0" | "false"))
}

fn sentence<'r>(place: &str, rows: impl Iterator<Item = &'r Row>) -> Option<String> {
    let names: Vec<String> = rows
        .map(|(name, instead)| match *instead {
            "" => format!("`{name}`"),
            instead => format!("`{name}` ({instead})"),
        })
        .collect();
    (!names.is_empty()).then(|| format!("{place}: not supported and ignored: {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unsupported_settings_are_reported_with_their_replacement() {
        let document = json!({
            "$schema": "x", "env": {"A": "b"}, "language": "german", "worktree": {"a": 1},
            "outputStyle": "a", "alwaysThinkingEnabled": false,
            "permissions": {"allow": ["Read"], "blockedPaths": ["/etc"]}
        });
        assert_eq!(
            in_settings(&document, "s.json").unwrap(),
            "s.json: not supported and ignored: `language`, `worktree` (set `worktree.*` in swarm.toml), \
             `blockedPaths` (use deny rules)"
        );
        assert_eq!(in_settings(&json!({"permissions": {}}), "s.json"), None);
    }

    #[test]
    fn unsupported_variables_are_reported() {
        let set = |name: &str| match name {
            "CLAUDE_CODE_SIMPLE" => Some("1"),
            "CLAUDE_CODE_USE_BEDROCK" => Some("0"),
            "CLAUDE_CODE_SUBAGENT_MODEL" => Some("haiku"),
            _ => None,
        };
        let said = in_variables("environment", set).unwrap();
        assert_eq!(
            said,
            "environment: not supported and ignored: `CLAUDE_CODE_SIMPLE`"
        );
        assert_eq!(in_variables("environment", |_| None), None);
    }

    #[test]
    fn every_unsupported_variable_and_setting_is_reported() {
        for name in [
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_MESSAGING_TOKEN",
            "CLAUDE_AUTO_BACKGROUND_TASKS",
            "CLAUDE_ASYNC_AGENT_STALL_TIMEOUT_MS",
            "CLAUDE_SUBAGENT_BG_SHELL_MAX_MS",
            "CLAUDE_CODE_TEAM_TEARDOWN_PARK_TIMEOUT_MS",
            "CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS",
            "CLAUDE_CODE_REMOTE_MEMORY_DIR",
            "ANTHROPIC_PROFILE",
            "ANTHROPIC_CONFIG_DIR",
            "ANTHROPIC_BETAS",
            "CLAUDE_CODE_SHELL",
            "CLAUDE_CODE_SHELL_PREFIX",
            "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS",
            "CLAUDE_CODE_DISABLE_CLAUDE_MDS",
            "DISABLE_AUTO_COMPACT",
            "DISABLE_COMPACT",
            "DISABLE_PROMPT_CACHING",
        ] {
            let said = in_variables("environment", |asked| (asked == name).then_some("x"));
            assert!(said.unwrap_or_default().contains(name), "{name}");
        }
        for key in [
            "cleanupPeriodDays",
            "attribution",
            "allowManagedMcpServersOnly",
            "disableSkillShellExecution",
            "fallbackModel",
            "plansDirectory",
        ] {
            let said = in_settings(&json!({key: {"x": 1}}), "s.json");
            assert!(said.unwrap_or_default().contains(key), "{key}");
        }
    }

    #[test]
    fn a_value_that_turns_something_off_is_reported_where_it_has_a_meaning() {
        for (key, _) in ON_BY_DEFAULT {
            let said = in_settings(&json!({ (*key): false }), "s.json");
            assert!(said.unwrap_or_default().contains(key), "{key}");
        }
        for (name, _) in VALUES {
            let said = in_variables("environment", |asked| (asked == *name).then_some("0"));
            assert!(said.unwrap_or_default().contains(name), "{name}");
            let empty = in_variables("environment", |asked| (asked == *name).then_some(""));
            assert_eq!(empty, None, "{name}");
        }
    }

    #[test]
    fn a_switch_is_reported_only_if_it_disables_a_feature() {
        for (name, _) in SWITCHES {
            for (value, is_named) in [("0", true), ("false", true), ("1", false), ("", false)] {
                let said = in_variables("environment", |asked| (asked == *name).then_some(value));
                assert_eq!(said.is_some(), is_named, "{name}={value}");
            }
        }
    }

    #[test]
    fn the_variable_of_coordinator_mode_is_supported() {
        for (value, wanted) in [("1", true), ("true", true), ("0", false), ("", false)] {
            let get = |name: &str| (name == COORDINATOR).then_some(value);
            assert_eq!(wants_coordinator(get), wanted, "{value}");
            assert_eq!(in_variables("environment", get), None, "{value}");
        }
    }
}
