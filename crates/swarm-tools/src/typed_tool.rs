//! Tools whose parameters have a Rust type.

use std::fmt;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use swarm_protocol::ToolKind;

use crate::files::touched;
use crate::one_line::{one_line, with_path};
use crate::parameters::{parse, schema};
use crate::{Tool, ToolContext, ToolOutput, Workplace};

/// A [`Tool`] that is described by constants and whose calls are parsed before they run.
#[async_trait]
pub trait TypedTool: Send + Sync + fmt::Debug {
    /// The parameters. Comments on its fields are descriptions for the model.
    type Parameters: JsonSchema + DeserializeOwned + Send;

    /// Name, such as `Read`.
    const NAME: &'static str;

    /// Alternative names that calls may use.
    const ALIASES: &'static [&'static str] = &[];

    /// Description for the model.
    const PROMPT: &'static str;

    /// Kind, on which permission modes depend.
    const KIND: ToolKind;

    /// Whether calls change nothing.
    const READ_ONLY: bool = false;

    /// Parameter with the path that a call accesses, if there is one.
    const PATH: Option<&'static str> = None;

    /// Parameter that is shown after the name in the line of a call without a path.
    const SUBJECT: &'static str = "";

    /// See [`Tool::description`].
    fn description(&self) -> String {
        Self::PROMPT.to_owned()
    }

    /// See [`Tool::one_line`].
    fn one_line(&self, input: &Value) -> String {
        let text = |field: &str| input[field].as_str().unwrap_or_default();
        match Self::PATH {
            Some(field) => with_path(Self::NAME, text(field)),
            None => one_line(&format!("{} {}", Self::NAME, text(Self::SUBJECT))),
        }
    }

    /// See [`Tool::check`].
    fn check(&self, _input: &Value, _ctx: &ToolContext) -> Result<(), String> {
        Ok(())
    }

    /// See [`Tool::shown`].
    fn shown(&self, _input: &Value) -> Vec<String> {
        Vec::new()
    }

    /// See [`Tool::touches`].
    fn touches(&self, input: &Value, cwd: &Path) -> Vec<PathBuf> {
        Self::PATH.map_or_else(Vec::new, |field| touched(input, field, cwd))
    }

    /// See [`Tool::commands`].
    fn commands(&self, _input: &Value) -> Vec<String> {
        Vec::new()
    }

    /// See [`Tool::workplace`].
    fn workplace(&self, _origin: &Path) -> Option<Workplace> {
        None
    }

    /// Executes the call. The error is a message for the model.
    async fn call(&self, input: Self::Parameters, ctx: &ToolContext) -> Result<ToolOutput, String>;
}

#[async_trait]
impl<T: TypedTool> Tool for T {
    fn name(&self) -> &str {
        T::NAME
    }

    fn aliases(&self) -> &'static [&'static str] {
        T::ALIASES
    }

    fn description(&self) -> String {
        TypedTool::description(self)
    }

    fn input_schema(&self) -> Value {
        schema::<T::Parameters>()
    }

    fn kind(&self) -> ToolKind {
        T::KIND
    }

    fn is_read_only(&self, _input: &Value) -> bool {
        T::READ_ONLY
    }

    fn one_line(&self, input: &Value) -> String {
        TypedTool::one_line(self, input)
    }

    fn check_parameters(&self, input: &Value) -> Result<(), String> {
        parse::<T::Parameters>(T::NAME, input.clone()).map(drop)
    }

    fn check(&self, input: &Value, ctx: &ToolContext) -> Result<(), String> {
        TypedTool::check(self, input, ctx)
    }

    fn shown(&self, input: &Value) -> Vec<String> {
        TypedTool::shown(self, input)
    }

    fn touches(&self, input: &Value, cwd: &Path) -> Vec<PathBuf> {
        TypedTool::touches(self, input, cwd)
    }

    fn commands(&self, input: &Value) -> Vec<String> {
        TypedTool::commands(self, input)
    }

    fn workplace(&self, origin: &Path) -> Option<Workplace> {
        TypedTool::workplace(self, origin)
    }

    async fn call(&self, input: Value, ctx: &ToolContext) -> ToolOutput {
        let output = match parse(T::NAME, input) {
            Ok(input) => TypedTool::call(self, input, ctx).await,
            Err(why) => Err(why),
        };
        output.unwrap_or_else(ToolOutput::error)
    }
}
