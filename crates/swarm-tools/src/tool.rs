//! What a tool is to the engine, and what it hands back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use swarm_protocol::{DetailLine, ToolKind};

use crate::one_line::one_line;
use crate::{
    AskUserQuestion, Bash, Confinement, Edit, EnterPlanMode, ExitPlanMode, Glob, Grep,
    NotebookEdit, Picture, Read, TodoWrite, ToolContext, Write,
};

/// Something a model can call.
#[async_trait]
pub trait Tool: Send + Sync + std::fmt::Debug {
    /// The name the model calls, such as `Read`.
    fn name(&self) -> &str;

    /// Other names under which models know it; a call of one is a call of the tool.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// What the model is told about the tool.
    fn description(&self) -> String;

    /// JSON Schema of the input.
    fn input_schema(&self) -> Value;

    /// Whether a model may be told only its name until it asks for the rest, where there are too many such tools.
    fn is_deferrable(&self) -> bool {
        false
    }

    /// The family that permission modes speak of.
    fn kind(&self) -> ToolKind;

    /// Whether this call changes nothing, so that it may run in parallel with other such calls.
    fn is_read_only(&self, _input: &Value) -> bool {
        false
    }

    /// Whether this very call may run beside others of the same message: it only reads, or it minds its own business.
    fn runs_beside_others(&self, input: &Value) -> bool {
        self.is_read_only(input)
    }

    /// The call as one line for a pane, such as `Read src/lib.rs`. Short and free of control characters.
    fn one_line(&self, input: &Value) -> String;

    /// Refuses a call that could not work, before anybody is asked about it. The error is for the model.
    fn check(&self, _input: &Value, _ctx: &ToolContext) -> Result<(), String> {
        Ok(())
    }

    /// Further lines for a pane when the call has worked. Short and free of control characters.
    fn shown(&self, _input: &Value) -> Vec<String> {
        Vec::new()
    }

    /// The paths that this call would touch, with every symbolic link resolved, for the permission decision.
    ///
    /// Empty for tools that name no path in their input.
    fn touches(&self, _input: &Value, _cwd: &Path) -> Vec<PathBuf> {
        Vec::new()
    }

    /// The directory to which this tool has moved an agent that began in `origin`: its calls run there.
    fn workplace(&self, _origin: &Path) -> Option<Workplace> {
        None
    }

    /// Does it. Failures are outputs with `is_error`, since the model is the one to react to them.
    async fn call(&self, input: Value, ctx: &ToolContext) -> ToolOutput;
}

/// A directory to which an agent has moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workplace {
    /// Its working directory there.
    pub cwd: PathBuf,
    /// The directory outside of which nothing is written there, as it was found when the agent moved.
    pub confine: Arc<Confinement>,
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// What the model reads.
    pub content: String,
    /// Whether the call failed.
    pub is_error: bool,
    /// The outcome for a pane, such as `ok, 12 lines`. Short and free of control characters.
    pub one_line: String,
    /// What the model sees behind the text.
    pub attachments: Vec<Attachment>,
    /// What the call printed or changed, for a pane. The model does not see it.
    pub detail: Vec<DetailLine>,
    /// The result as hooks read it, in the shape of the tool of this name in Claude Code; see [`ToolOutput::response`].
    pub response: Option<Value>,
}

/// Something that is no text, behind the text of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attachment {
    /// A picture.
    Picture(Picture),
    /// A PDF file in base64, for models that take documents ([`ToolContext::documents`]).
    Pdf(String),
    /// The name of a deferred tool whose schema the model gets with this result.
    ToolReference(String),
}

impl ToolOutput {
    /// The output of a call that worked.
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

    /// The output of a call that failed; the pane gets the first line of the text, with a mark if there are more.
    pub fn error(content: impl Into<String>) -> Self {
        let content = content.into();
        let (first, rest) = content.split_once('\n').unwrap_or((&content, ""));
        let mut one_line = one_line(first);
        if !rest.trim().is_empty() && !one_line.ends_with('…') {
            one_line.push_str(" …");
        }
        Self {
            content,
            is_error: true,
            one_line,
            attachments: Vec::new(),
            detail: Vec::new(),
            response: None,
        }
    }

    /// The same with what the call printed or changed.
    #[must_use]
    pub fn with_detail(mut self, detail: Vec<DetailLine>) -> Self {
        self.detail = detail;
        self
    }

    /// The same with pictures behind the text.
    #[must_use]
    pub fn with_pictures(self, pictures: Vec<Picture>) -> Self {
        self.with_attachments(pictures.into_iter().map(Attachment::Picture).collect())
    }

    /// The same with attachments behind the text.
    #[must_use]
    pub fn with_attachments(mut self, attachments: Vec<Attachment>) -> Self {
        self.attachments = attachments;
        self
    }

    /// The same with an object that hooks read in place of the text.
    #[must_use]
    pub fn with_response(mut self, response: Value) -> Self {
        self.response = Some(response);
        self
    }

    /// The result as an object, as `tool_response` of hooks has it: what the tool says itself, else the text in the
    /// shape of a tool result of MCP.
    pub fn response(&self) -> Value {
        match &self.response {
            Some(response) => response.clone(),
            None => json!({"content": [{"type": "text", "text": self.content}]}),
        }
    }
}

/// The built-in tools in the order in which a model is told of them.
pub fn builtin() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(Read),
        Arc::new(Write),
        Arc::new(Edit),
        Arc::new(NotebookEdit),
        Arc::new(Glob),
        Arc::new(Grep),
        Arc::new(Bash),
        Arc::new(TodoWrite),
        Arc::new(AskUserQuestion),
        Arc::new(EnterPlanMode),
        Arc::new(ExitPlanMode),
    ]
}
