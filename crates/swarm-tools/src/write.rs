//! The Write tool.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use async_trait::async_trait;
use serde_json::{Value, json};
use swarm_protocol::ToolKind;

use crate::files::{self, Freshness, Target, touched};
use crate::input::Input;
use crate::one_line::{counted, with_path};
use crate::{Tool, ToolContext, ToolOutput, blocking};

/// Writes a whole file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Write;

#[async_trait]
impl Tool for Write {
    fn name(&self) -> &'static str {
        "Write"
    }

    fn description(&self) -> String {
        "Writes a file as a whole, and makes the folders that lead to it. A file that exists is replaced, for which it \
         must have been read with Read in this session and be unchanged since. To change a part of a file, Edit is \
         the better tool."
            .into()
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "file_path": {"type": "string", "description": "The absolute path of the file"},
                "content": {"type": "string", "description": "The new content of the file"}
            },
            "required": ["file_path", "content"],
            "additionalProperties": false
        })
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Edit
    }

    fn is_read_only(&self, _input: &Value) -> bool {
        false
    }

    fn one_line(&self, input: &Value) -> String {
        with_path("Write", input["file_path"].as_str().unwrap_or_default())
    }

    fn touches(&self, input: &Value, cwd: &Path) -> Vec<PathBuf> {
        touched(input, "file_path", cwd)
    }

    async fn call(&self, input: Value, ctx: &ToolContext) -> ToolOutput {
        blocking::run(ctx, move |ctx| {
            write(&input, ctx).unwrap_or_else(ToolOutput::error)
        })
        .await
    }
}

fn write(input: &Value, ctx: &ToolContext) -> Result<ToolOutput, String> {
    let input = Input::new("Write", input, &["file_path", "content"])?;
    let target = Target::to_write(input.text("file_path")?, ctx)?;
    let content = input.text("content")?.as_bytes();
    let given = target.given.display();
    // Held throughout: of two calls on one file, the later one sees what the earlier one did.
    let mut state = ctx.files.lock().unwrap_or_else(PoisonError::into_inner);
    let existing = files::load(&target)?;
    let (stamp, done) = match existing {
        None => (files::create(&target.real, content), "created"),
        Some((_, now)) => {
            refuse_unseen(state.check(&target.real, &now), &target)?;
            (files::replace(&target.real, content, &now), "replaced")
        }
    };
    let stamp = stamp.map_err(|error| write_error(&error, &target))?;
    state.saw(&target.real, stamp);
    let lines = counted(input.text("content")?.lines().count(), "line");
    Ok(ToolOutput::ok(
        format!("{given} was {done}; it has {lines}."),
        format!("{done}, {lines}"),
    ))
}

/// Refuses to overwrite what the model has not seen.
pub(crate) fn refuse_unseen(freshness: Freshness, target: &Target) -> Result<(), String> {
    let given = target.given.display();
    match freshness {
        Freshness::Known => Ok(()),
        Freshness::NeverRead => Err(format!(
            "{given} exists and was not read in this session. Read it first."
        )),
        Freshness::Changed { seen, now } => Err(format!(
            "{given} was changed since it was last read, by a person, a program or another agent: its content was {} \
             then and is {} now. Read it again, then redo the change on what it holds now.",
            named(seen),
            named(now)
        )),
    }
}

/// A hash as the model reads it.
fn named(hash: Option<u64>) -> String {
    hash.map_or_else(
        || "seen in part only".to_owned(),
        |hash| format!("{hash:016x}"),
    )
}

/// What a failed write means to the model.
pub(crate) fn write_error(error: &io::Error, target: &Target) -> String {
    let given = target.given.display();
    match error.kind() {
        io::ErrorKind::ResourceBusy | io::ErrorKind::AlreadyExists => {
            format!(
                "{given} was changed by somebody else at this very moment; nothing was written. Read it again."
            )
        }
        _ => format!("{given} cannot be written: {error}. Nothing was changed."),
    }
}
