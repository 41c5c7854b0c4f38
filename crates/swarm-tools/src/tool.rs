//! The interface between tools and the engine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use swarm_protocol::{DetailLine, ToolKind};

use crate::one_line::one_line;
use crate::{Confinement, Picture, ToolContext};

/// A tool that a model can call.
#[async_trait]
pub trait Tool: Send + Sync + std::fmt::Debug {
    /// Returns the name, such as `Read`.
    fn name(&self) -> &str;

    /// Returns alternative names that calls may use.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the description for the model.
    fn description(&self) -> String;

    /// Returns the JSON Schema of the input.
    fn input_schema(&self) -> Value;

    /// Whether the schema may be deferred: the model sees only the name until it searches for the
    /// tool.
    fn is_deferrable(&self) -> bool {
        false
    }

    /// Returns the kind of the tool, on which permission modes depend.
    fn kind(&self) -> ToolKind;

    /// Whether a person decides about this call, whatever its kind: no mode, rule or hook does.
    fn asks_person(&self, _input: &Value) -> bool {
        false
    }

    /// Whether this call changes nothing, so that it may run in parallel with other read-only
    /// calls.
    fn is_read_only(&self, _input: &Value) -> bool {
        false
    }

    /// Whether this call may run in parallel with others of the same message: it is read-only or
    /// independent of them.
    fn runs_in_parallel(&self, input: &Value) -> bool {
        self.is_read_only(input)
    }

    /// Summarizes the call in one line for a pane, such as `Read src/lib.rs`. Short and without
    /// control characters.
    fn one_line(&self, input: &Value) -> String;

    /// Validates the names and types of a call's parameters. The error is a message for the model.
    fn check_parameters(&self, _input: &Value) -> Result<(), String> {
        Ok(())
    }

    /// Validates a call before permission is requested. The error is a message for the model.
    fn check(&self, _input: &Value, _ctx: &ToolContext) -> Result<(), String> {
        Ok(())
    }

    /// Returns additional lines for a pane after a successful call. Short and without control
    /// characters.
    fn shown(&self, _input: &Value) -> Vec<String> {
        Vec::new()
    }

    /// Returns the paths that this call accesses, with symbolic links resolved, for the permission
    /// check. Empty for tools without paths in their input.
    fn touches(&self, _input: &Value, _cwd: &Path) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Returns command lines that this call will have run later. The call needs the permission that
    /// Bash would need for each of them.
    fn commands(&self, _input: &Value) -> Vec<String> {
        Vec::new()
    }

    /// Returns the directory to which this tool has moved an agent that started in `origin`; its
    /// calls run there.
    fn workplace(&self, _origin: &Path) -> Option<Workplace> {
        None
    }

    /// Executes the call. Failures are outputs with `is_error`, so that the model can react to
    /// them.
    async fn call(&self, input: Value, ctx: &ToolContext) -> ToolOutput;
}

/// A directory to which an agent has moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workplace {
    /// New working directory.
    pub cwd: PathBuf,
    /// The only writable directory, as resolved when the agent moved.
    pub confine: Arc<Confinement>,
}

/// Result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// Text for the model.
    pub content: String,
    /// Whether the call failed.
    pub is_error: bool,
    /// Summary for a pane, such as `ok, 12 lines`. Short and without control characters.
    pub one_line: String,
    /// Attachments for the model, after the text.
    pub attachments: Vec<Attachment>,
    /// Output or changes of the call, for a pane only.
    pub detail: Vec<DetailLine>,
    /// The result for hooks, in the format of Claude Code's tool of this name; see
    /// [`ToolOutput::response`].
    pub response: Option<Value>,
}

/// A non-text part of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attachment {
    /// An image.
    Picture(Picture),
    /// A PDF file in base64, for models that accept documents ([`ToolContext::documents`]).
    Pdf(String),
    /// Name of a deferred tool whose schema the model receives with this result.
    ToolReference(String),
}

impl ToolOutput {
    /// Creates the output of a successful call.
    pub fn ok(content: impl Into<String>, one_line: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            is_error: false,
            one_line: one_line.into(),
            attachments: Vec::new(),
            detail: Vec::new(),
            response: None,
        }
    }

    /// Creates the output of a failed call; the pane shows the first line of the text, with an
    /// ellipsis if there are more.
    pub fn error(content: impl Into<String>) -> Self {
        let content = content.into();
        let (first, rest) = content.split_once('\n').unwrap_or((&content, ""));
        let mut one_line = one_line(first);
        if !rest.trim().is_empty() && !one_line.ends_with('…') {
            one_line.push_str(" …");
        }
        Self {
            is_error: true,
            ..Self::ok(content, one_line)
        }
    }

    /// Adds output or changes for a pane.
    #[must_use]
    pub fn with_detail(mut self, detail: Vec<DetailLine>) -> Self {
        self.detail = detail;
        self
    }

    /// Adds images.
    #[must_use]
    pub fn with_pictures(self, pictures: Vec<Picture>) -> Self {
        self.with_attachments(pictures.into_iter().map(Attachment::Picture).collect())
    }

    /// Adds attachments.
    #[must_use]
    pub fn with_attachments(mut self, attachments: Vec<Attachment>) -> Self {
        self.attachments = attachments;
        self
    }

    /// Sets the object that hooks receive instead of the text.
    #[must_use]
    pub fn with_response(mut self, response: Value) -> Self {
        self.response = Some(response);
        self
    }

    /// Returns the `tool_response` object for hooks: the one set by the tool, otherwise the text in
    /// the format of an MCP tool result.
    pub fn response(&self) -> Value {
        match &self.response {
            Some(response) => response.clone(),
            None => json!({"content": [{"type": "text", "text": self.content}]}),
        }
    }
}
