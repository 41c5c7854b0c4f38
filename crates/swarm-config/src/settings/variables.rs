//! Settings from environment variables: `SWARM_TABLE_KEY`, such as `SWARM_SPAWN_BACKEND`.

use swarm_permissions::nearest;

use super::given::{Layer, SettingValue, ValueLocation};
use super::keys::KEYS;
use crate::error::ConfigError;

/// Our variables that are not settings.
const OTHERS: [&str; 26] = [
    "SWARM_AGENT_ID",
    "SWARM_API_KEY_HELPER",
    "SWARM_CALL_ID",
    "SWARM_COMPLETE",
    "SWARM_CWD",
    "SWARM_DETACHED_BY",
    "SWARM_HOOK_ID",
    "SWARM_LEAD_PROCESS",
    "SWARM_LINEAGE_END",
    "SWARM_LOG",
    "SWARM_MCP_ID",
    "SWARM_MCP_RELAY",
    "SWARM_NAME",
    "SWARM_NODE_PID",
    "SWARM_PANE_COLOR",
    "SWARM_PANE_MEMBER",
    "SWARM_PANE_NEWEST",
    "SWARM_PANE_TEAM",
    "SWARM_PANE_TITLE",
    "SWARM_RUNTIME_ID",
    "SWARM_SANDBOX",
    "SWARM_SHELL_LINE",
    "SWARM_SPAWN_ID",
    "SWARM_SUB_AGENT_ID",
    "SWARM_TEAM",
    "SWARM_WORKTREE",
];

pub(super) fn variable(key: &str) -> String {
    format!("SWARM_{}", key.replace('.', "_").to_uppercase())
}

/// Returns the settings among these variables.
pub(super) fn read<'a>(
    variables: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<Vec<SettingValue>, ConfigError> {
    let mut given = Vec::new();
    for (name, text) in variables {
        if !name.starts_with("SWARM_") || OTHERS.contains(&name) || text.is_empty() {
            continue;
        }
        let Some(key) = KEYS.iter().find(|key| variable(key.name) == name) else {
            reject_typo(name)?;
            continue;
        };
        let value = key.kind.parse(text).ok_or_else(|| {
            let what = format!("${name} must be {}, not {text:?}", key.kind.expected());
            ConfigError::invalid(what, format!("the variable sets `{}`", key.name))
        })?;
        given.push(SettingValue {
            key: key.name,
            layer: Layer::Environment,
            place: ValueLocation::Variable(name.to_owned()),
            value,
        });
    }
    Ok(given)
}

/// Rejects a misspelled variable. Other variables with the prefix `SWARM_` belong to other
/// programs.
fn reject_typo(name: &str) -> Result<(), ConfigError> {
    let known: Vec<String> = KEYS.iter().map(|key| variable(key.name)).collect();
    match nearest(name, known.iter().map(String::as_str)) {
        Some(known) => Err(ConfigError::invalid(
            format!("unknown variable ${name}; did you mean ${known}?"),
            "rename or unset it",
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_setting_has_the_name_of_another_variable() {
        for key in KEYS {
            assert!(
                !OTHERS.contains(&variable(key.name).as_str()),
                "{}",
                key.name
            );
        }
        let mut names: Vec<_> = KEYS.iter().map(|key| variable(key.name)).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), KEYS.len());
    }

    #[test]
    fn variables_of_other_programs_are_ignored_and_typos_are_reported() {
        let others = [
            ("SWARM_TEAM", "x"),
            ("SWARM_MANAGER_IP", "::1"),
            ("SWARM_PATH", "/"),
            ("SWARM_SPAWN_ID", "7"),
            ("SWARM_PANE_COLOR", "red"),
        ];
        assert_eq!(read(others.into_iter()).unwrap(), []);
        let slip = read([("SWARM_SPAWN_BACKNED", "tmux")].into_iter()).unwrap_err();
        assert!(slip.to_string().contains("$SWARM_SPAWN_BACKEND"), "{slip}");
    }

    #[test]
    fn values_are_parsed_by_the_type_of_the_setting() {
        let given = read(
            [
                ("SWARM_ENV_PASS", "RUST_LOG, CARGO_HOME"),
                ("SWARM_TASKS_REMIND", "off"),
                ("SWARM_TURN_MAX_REQUESTS", "7"),
                ("SWARM_MODEL_ALIASES", "big=opus"),
                ("SWARM_SPAWN_BACKEND", ""),
            ]
            .into_iter(),
        )
        .unwrap();
        let values: Vec<String> = given.iter().map(|given| given.value.to_string()).collect();
        assert_eq!(
            values,
            [
                r#"["RUST_LOG","CARGO_HOME"]"#,
                "false",
                "7",
                r#"{"big":"opus"}"#
            ]
        );
        let wrong = read([("SWARM_TURN_MAX_REQUESTS", "many")].into_iter()).unwrap_err();
        assert_eq!(
            wrong.to_string(),
            r#"$SWARM_TURN_MAX_REQUESTS must be a whole number from 1 to 100000, not "many""#
        );
    }
}
