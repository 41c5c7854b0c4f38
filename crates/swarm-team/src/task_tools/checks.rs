//! Input checks of the task tools.

use serde_json::Value;
use swarm_protocol::MemberName;
use swarm_store::{StoreError, Team};

use crate::MemberContext;
use crate::send::error_for_model;

/// Checks the owner of a task. A teammate may only name members. The lead may name a teammate that
/// it will spawn later; the remark about that is returned.
pub(super) async fn check_owner(
    context: &MemberContext,
    team: &dyn Team,
    owner: Option<&MemberName>,
) -> Result<String, String> {
    let Some(owner) = owner else {
        return Ok(String::new());
    };
    let config = team
        .config()
        .await
        .map_err(|error| error_for_model(&error))?;
    if config.member(owner).is_some() {
        return Ok(String::new());
    }
    if context.is_lead() {
        return Ok(format!(
            ". {owner} is not in the team yet: spawn it under this name"
        ));
    }
    let error = StoreError::member_not_found(team.name(), &config, owner);
    Err(error_for_model(&error))
}

/// Rejects an empty subject.
pub(super) fn check_subject(tool: &str, subject: &str) -> Result<(), String> {
    if subject.trim().is_empty() {
        return Err(format!(
            "{tool}: `subject` is empty: describe the task in a few words"
        ));
    }
    Ok(())
}

/// Rejects empty checks.
pub(super) fn check_commands(checks: &[String]) -> Result<(), String> {
    if checks.iter().any(|check| check.trim().is_empty()) {
        return Err("TaskCreate: a check is empty: give a shell command".to_owned());
    }
    Ok(())
}

/// Returns the task ID of an input, for display.
pub(super) fn named_task(input: &Value) -> String {
    match &input["taskId"] {
        Value::String(id) => id.clone(),
        Value::Number(id) => id.to_string(),
        _ => "?".to_owned(),
    }
}
