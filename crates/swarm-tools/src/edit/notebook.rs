//! The `NotebookEdit` tool.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use swarm_protocol::ToolKind;

use crate::files::{self, Target};
use crate::notebook::{Change, changed};
use crate::write::refuse_unseen;
use crate::{ToolContext, ToolOutput, TypedTool, blocking, prompt};

/// Changes one cell of a notebook.
#[derive(Debug, Clone, Copy, Default)]
pub struct NotebookEdit;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
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
impl TypedTool for NotebookEdit {
    type Parameters = Parameters;
    const NAME: &'static str = "NotebookEdit";
    const PROMPT: &'static str = prompt!("tools/NotebookEdit");
    const KIND: ToolKind = ToolKind::Edit;
    const PATH: Option<&'static str> = Some("notebook_path");

    async fn call(&self, input: Parameters, ctx: &ToolContext) -> Result<ToolOutput, String> {
        blocking::run(ctx, move |ctx| edit(&input, ctx)).await
    }
}

fn edit(input: &Parameters, ctx: &ToolContext) -> Result<ToolOutput, String> {
    let (change, done) = change(input)?;
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
