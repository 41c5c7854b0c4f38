//! Definitions in JSON, as `--agents` gives them.

use serde_json::Value;

use super::apply::definition;
use super::values::text;
use crate::AgentDefinition;

/// Reads `{"name": {"description": …, "prompt": …, …}}`. Nothing is overlooked here: whoever writes a flag sees at once
/// what is wrong with it.
///
/// # Errors
/// What is wrong, as one sentence.
pub fn read_json(given: &str, origin: &str) -> Result<Vec<AgentDefinition>, String> {
    let document: Value =
        serde_json::from_str(given).map_err(|error| format!("{origin} is not JSON: {error}"))?;
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
                return Err(wrong("`name` stands before it already"));
            }
            let prompt = fields
                .remove("prompt")
                .ok_or_else(|| wrong("`prompt` is missing: say what it shall do"))?;
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
