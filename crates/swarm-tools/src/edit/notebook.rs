//! The `NotebookEdit` tool.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use swarm_protocol::ToolKind;

use crate::files::{self, Target, touched};
use crate::notebook::{Change, changed};
use crate::one_line::with_path;
use crate::parameters::{parse, schema};
use crate::write::refuse_unseen;
use crate::{Tool, ToolContext, ToolOutput, blocking, prompt};

/// Changes one cell of a notebook.
#[derive(Debug, Clone, Copy, Default)]
pub struct NotebookEdit;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Absolute path of the notebook
    notebook_path: String,
    /// The id of the cell, as shown by Read. With `insert`, the new cell is inserted after this
    /// cell, or at the beginning if omitted
    cell_id: Option<String>,
    /// The new source
    new_source: String,
    /// The type of the cell; required with `insert`
    cell_type: Option<CellType>,
    /// Defaults to `replace`
    edit_mode: Option<EditMode>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum CellType {
    Code,
    Markdown,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum EditMode {
    #[default]
    Replace,
    Insert,
    Delete,
}

#[async_trait]
impl Tool for NotebookEdit {
    fn name(&self) -> &'static str {
        "NotebookEdit"
    }

    fn description(&self) -> String {
        prompt!("tools/NotebookEdit").to_owned()
    }

    fn input_schema(&self) -> Value {
        schema::<Parameters>()
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Edit
    }

    fn one_line(&self, input: &Value) -> String {
        let path = input["notebook_path"].as_str().unwrap_or_default();
        with_path("NotebookEdit", path)
    }

    fn touches(&self, input: &Value, cwd: &Path) -> Vec<PathBuf> {
        touched(input, "notebook_path", cwd)
    }

    async fn call(&self, input: Value, ctx: &ToolContext) -> ToolOutput {
        blocking::run(ctx, move |ctx| {
            edit(input, ctx).unwrap_or_else(ToolOutput::error)
        })
        .await
    }
}

fn edit(input: Value, ctx: &ToolContext) -> Result<ToolOutput, String> {
    let input: Parameters = parse("NotebookEdit", input)?;
    let (change, done) = change(&input)?;
    let target = Target::to_write(&input.notebook_path, ctx)?;
    let given = target.given.display();
    // Locked during the whole call, so that concurrent calls on one file are serialized.
    let mut state = ctx.files.lock();
    let Some(existing) = files::load(&target)? else {
        return Err(format!("{given} does not exist. Create it with Write."));
    };
    let (bytes, now) = &existing;
    refuse_unseen(state.check(&target.real, now), &target)?;
    let text = std::str::from_utf8(bytes)
        .map_err(|_| format!("{given} is not a notebook: it is not UTF-8 text."))?;
    let fresh = changed(text, change).map_err(|why| format!("{given} was not changed: {why}."))?;
    let stamp = files::change(&target, Some(&existing), fresh.text.as_bytes(), ctx)?;
    state.record(&target.real, stamp);
    let id = fresh.id;
    Ok(ToolOutput::ok(
        format!("The cell \"{id}\" was {done} in {given}."),
        crate::one_line(&format!("cell {id} {done}")),
    ))
}

/// Returns the requested change and its past participle for the result.
fn change(input: &Parameters) -> Result<(Change<'_>, &'static str), String> {
    let source = &input.new_source;
    let kind = input.cell_type.map(|kind| match kind {
        CellType::Code => "code",
        CellType::Markdown => "markdown",
    });
    let mode = input.edit_mode.unwrap_or_default();
    let cell = input.cell_id.as_deref();
    let named = || {
        cell.ok_or_else(|| {
            "NotebookEdit: `cell_id` is required unless `edit_mode` is `insert`.".to_owned()
        })
    };
    Ok(match mode {
        EditMode::Replace => {
            let cell = named()?;
            (Change::Replace { cell, source, kind }, "changed")
        }
        EditMode::Insert => {
            let kind = kind.ok_or("NotebookEdit: `cell_type` is required to insert a cell.")?;
            let after = cell;
            let change = Change::Insert {
                after,
                source,
                kind,
            };
            (change, "inserted")
        }
        EditMode::Delete => (Change::Delete { cell: named()? }, "deleted"),
    })
}
