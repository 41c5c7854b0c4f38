//! Definitions in JSON, as passed to `--agents`.

use serde_json::Value;

use super::apply::definition;
use super::values::text;
use crate::AgentDefinition;

/// Parses `{"name": {"description": …, "prompt": …, …}}`. Every problem is an error, because the
/// user who passed the flag can fix it immediately.
///
/// # Errors
/// A message about the first problem.
pub fn read_json(given: &str, origin: &str) -> Result<Vec<AgentDefinition>, String> {
    let document: Value = serde_json::from_str(given)
        .map_err(|error| format!("invalid JSON in {origin}: {error}"))?;
    let Value::Object(agents) = document else {
        return Err(format!(
            "{origin} must be an object: {{\"name\": {{\"description\": \"…\", \"prompt\": \"…\"}}}}"
        ));
    };
    agents
        .into_iter()
        .map(|(name, fields)| {
            let wrong = |what: &str| format!("{origin}: agent `{}`: {what}", name.escape_debug());
            let Value::Object(mut fields) = fields else {
                return Err(wrong("it must be an object"));
            };
            if fields.contains_key("name") {
                return Err(wrong("`name` is not allowed, the key is the name"));
            }
            let prompt = fields
                .remove("prompt")
                .ok_or_else(|| wrong("`prompt` is missing: describe the agent's task"))?;
            let prompt = text(&prompt).map_err(|what| wrong(&format!("`prompt` {what}")))?;
            fields.insert("name".to_owned(), name.clone().into());
            let (definition, problems) = definition(&fields, &prompt, origin);
            match problems.first() {
                Some(problem) => Err(wrong(&problem.what)),
                None => Ok(definition),
            }
        })
        .collect()
}
