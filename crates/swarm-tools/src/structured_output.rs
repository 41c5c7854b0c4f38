//! The `StructuredOutput` tool: the result of a run as JSON that matches a schema.

use std::sync::Arc;

use async_trait::async_trait;
use boon::{CompileError, Compiler, SchemaIndex, Schemas};
use parking_lot::Mutex;
use serde_json::Value;
use swarm_protocol::{ToolKind, partial_debug};

use crate::{Tool, ToolContext, ToolOutput, prompt};

/// How often a run asks for its output, and how many outputs may fail, as in Claude Code.
const ATTEMPTS: u32 = 5;

/// The address of the schema, for references in it.
const ADDRESS: &str = "swarm:///output.json";

/// A text is not a schema for the result of a run.
#[derive(Debug, thiserror::Error)]
#[error("not a JSON schema for a result: {0}")]
pub struct OutputSchemaError(String);

/// The result of a run that must match a schema.
pub struct RequiredOutput {
    schema: Value,
    schemas: Schemas,
    index: SchemaIndex,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    value: Option<Value>,
    /// Requests and failures so far.
    attempts: u32,
}

partial_debug!(RequiredOutput: schema, state);

impl RequiredOutput {
    /// Parses a JSON schema (drafts 4 to 2020-12) of an object. Nothing is fetched for it.
    ///
    /// # Errors
    /// [`OutputSchemaError`] if it is not JSON, not a schema, or does not describe an object, which
    /// the input of a tool must be.
    pub fn parse(text: &str) -> Result<Self, OutputSchemaError> {
        let schema: Value =
            serde_json::from_str(text).map_err(|error| OutputSchemaError(error.to_string()))?;
        if schema["type"] != "object" {
            let why = "its `type` must be `object`".to_owned();
            return Err(OutputSchemaError(why));
        }
        let mut schemas = Schemas::new();
        let mut compiler = Compiler::new();
        let unusable = |error: CompileError| OutputSchemaError(format!("{error:#}"));
        let added = compiler.add_resource(ADDRESS, schema.clone());
        added.map_err(unusable)?;
        let index = compiler.compile(ADDRESS, &mut schemas);
        let index = index.map_err(unusable)?;
        Ok(Self {
            schema,
            schemas,
            index,
            state: Mutex::default(),
        })
    }

    /// Returns the last output that matched.
    pub fn value(&self) -> Option<Value> {
        self.state.lock().value.clone()
    }

    /// Returns whether the model may be asked for its output once more.
    pub fn may_ask(&self) -> bool {
        let mut state = self.state.lock();
        state.attempts += 1;
        state.attempts <= ATTEMPTS
    }

    /// Keeps an output that matches. Returns what is wrong with any other.
    fn take(&self, value: Value) -> Result<(), String> {
        let checked = self.schemas.validate(&value, self.index);
        let checked = checked.map_err(|error| format!("{error:#}"));
        let mut state = self.state.lock();
        match checked {
            Ok(()) => {
                state.value = Some(value);
                Ok(())
            }
            Err(why) => {
                state.attempts += 1;
                Err(why)
            }
        }
    }
}

/// Takes the result of the run.
#[derive(Debug, Clone)]
pub struct StructuredOutput(pub Arc<RequiredOutput>);

impl StructuredOutput {
    /// Name of the tool.
    pub const NAME: &'static str = "StructuredOutput";
}

#[async_trait]
impl Tool for StructuredOutput {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn description(&self) -> String {
        prompt!("tools/StructuredOutput").to_owned()
    }

    fn input_schema(&self) -> Value {
        self.0.schema.clone()
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Team
    }

    fn one_line(&self, _input: &Value) -> String {
        Self::NAME.to_owned()
    }

    async fn call(&self, input: Value, _ctx: &ToolContext) -> ToolOutput {
        match self.0.take(input) {
            Ok(()) => ToolOutput::ok("Structured output provided successfully", "valid"),
            Err(why) => ToolOutput::error(format!(
                "Output does not match required schema: {why}. Call StructuredOutput again with a corrected output."
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SCHEMA: &str = r#"{"type": "object", "properties": {"count": {"type": "integer", "minimum": 1}}, "required": ["count"]}"#;

    #[test]
    fn only_a_schema_of_an_object_is_accepted() {
        for wrong in [
            "{",
            "[]",
            r#"{"type": "string"}"#,
            r#"{"type": "object", "required": 1}"#,
        ] {
            let error = RequiredOutput::parse(wrong).unwrap_err().to_string();
            assert!(error.starts_with("not a JSON schema"), "{error}");
        }
        RequiredOutput::parse(SCHEMA).unwrap();
    }

    #[test]
    fn an_output_is_kept_only_if_it_matches_and_failures_count() {
        let output = RequiredOutput::parse(SCHEMA).unwrap();
        let why = output.take(json!({"count": 0})).unwrap_err();
        assert!(why.contains("/count"), "{why}");
        assert!(output.take(json!({})).unwrap_err().contains("count"));
        assert_eq!(output.value(), None);
        output.take(json!({"count": 2})).unwrap();
        assert_eq!(output.value(), Some(json!({"count": 2})));
        let asked = (0..9).filter(|_| output.may_ask()).count();
        assert_eq!(asked, 3);
    }
}
