//! The `AskUserQuestion` tool.

use async_trait::async_trait;
use serde_json::Value;
use swarm_protocol::ToolKind;

use super::asked::{Parameters, given_answers, questions};
use crate::one_line::{counted, one_line};
use crate::parameters::schema;
use crate::{Tool, ToolContext, ToolOutput, prompt};

/// Asks the user questions. A call is sent as a permission request, and the answers are returned in
/// the call's input.
#[derive(Debug, Clone, Copy, Default)]
pub struct AskUserQuestion;

#[async_trait]
impl Tool for AskUserQuestion {
    fn name(&self) -> &'static str {
        "AskUserQuestion"
    }

    fn description(&self) -> String {
        prompt!("tools/AskUserQuestion").to_owned()
    }

    fn input_schema(&self) -> Value {
        schema::<Parameters>()
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Person
    }

    fn one_line(&self, input: &Value) -> String {
        let first = input["questions"][0]["question"].as_str();
        one_line(&format!("AskUserQuestion {}", first.unwrap_or_default()))
    }

    fn check(&self, input: &Value, _ctx: &ToolContext) -> Result<(), String> {
        questions(input)?;
        match given_answers(input) {
            Some(_) => Err("`answers` must not be set: the user answers.".into()),
            None => Ok(()),
        }
    }

    /// Runs only after the questions were answered or skipped.
    async fn call(&self, input: Value, _ctx: &ToolContext) -> ToolOutput {
        let answers = given_answers(&input).filter(|answers| !answers.is_empty());
        let Some(answers) = answers else {
            return ToolOutput::error(
                "The question was seen but not answered. Continue with your best judgement.",
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
            format!("Answers:\n{}", lines.join("\n")),
            one_line(&match answers.len() {
                1 => first.unwrap_or("answered").to_owned(),
                many => counted(many, "answer"),
            }),
        )
    }
}
