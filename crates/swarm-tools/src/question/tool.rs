//! The `AskUserQuestion` tool.

use async_trait::async_trait;
use serde_json::{Value, json};
use swarm_protocol::ToolKind;

use super::asked::{answers, questions};
use crate::one_line::{counted, one_line};
use crate::{Tool, ToolContext, ToolOutput};

/// Asks a person. The question goes the way of a permission request, and its answer comes back in the call's input.
#[derive(Debug, Clone, Copy, Default)]
pub struct AskUserQuestion;

#[async_trait]
impl Tool for AskUserQuestion {
    fn name(&self) -> &'static str {
        "AskUserQuestion"
    }

    fn description(&self) -> String {
        "Asks a person up to four questions, each with two to four options, and waits for the answers. Only for what \
         you cannot find out and must not decide yourself: what they want, which of several good ways. They may answer \
         in their own words. Nobody may be there: then you are told so, and go on as you think best."
            .into()
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "questions": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 4,
                    "items": {
                        "type": "object",
                        "properties": {
                            "question": {"type": "string", "description": "The whole question, with its question mark"},
                            "header": {"type": "string", "description": "What it is about, in 12 characters"},
                            "options": {
                                "type": "array",
                                "minItems": 2,
                                "maxItems": 4,
                                "items": {
                                    "type": "object",
                                    "properties": {
                                        "label": {"type": "string", "description": "The option in one to five words"},
                                        "description": {"type": "string", "description": "What choosing it means"}
                                    },
                                    "required": ["label", "description"],
                                    "additionalProperties": false
                                }
                            },
                            "multiSelect": {"type": "boolean", "default": false, "description": "Whether several may be chosen"}
                        },
                        "required": ["question", "header", "options"],
                        "additionalProperties": false
                    }
                }
            },
            "required": ["questions"],
            "additionalProperties": false
        })
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Person
    }

    fn is_read_only(&self, _input: &Value) -> bool {
        false
    }

    fn one_line(&self, input: &Value) -> String {
        let first = input["questions"][0]["question"].as_str();
        one_line(&format!("AskUserQuestion {}", first.unwrap_or_default()))
    }

    fn check(&self, input: &Value, _ctx: &ToolContext) -> Result<(), String> {
        questions(input)?;
        match answers(input) {
            Some(_) => Err("`answers` are not yours to give: leave them out.".into()),
            None => Ok(()),
        }
    }

    /// Runs only once somebody has answered.
    async fn call(&self, input: Value, _ctx: &ToolContext) -> ToolOutput {
        let answers = answers(&input).filter(|answers| !answers.is_empty());
        let Some(answers) = answers else {
            return ToolOutput::error(
                "Somebody saw the question and did not answer it. Go on as you think best.",
            );
        };
        let lines: Vec<String> = answers
            .iter()
            .map(|(question, answer)| {
                let answer = answer
                    .as_str()
                    .map_or_else(|| answer.to_string(), str::to_owned);
                format!("{question}\n-> {answer}")
            })
            .collect();
        let first = answers.values().next().and_then(Value::as_str);
        ToolOutput::ok(
            format!("The answers of a person:\n{}", lines.join("\n")),
            one_line(&match answers.len() {
                1 => first.unwrap_or("answered").to_owned(),
                many => counted(many, "answer"),
            }),
        )
    }
}
