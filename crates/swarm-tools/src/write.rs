//! The Write tool.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use swarm_protocol::ToolKind;

use crate::detail::line_diff;
use crate::files::{self, Freshness, Target};
use crate::one_line::counted;
use crate::{ToolContext, ToolOutput, TypedTool, blocking, prompt};

/// Writes a whole file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Write;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Absolute path of the file
    file_path: String,
    /// The new content
    content: String,
}

#[async_trait]
impl TypedTool for Write {
    type Parameters = Parameters;
    const NAME: &'static str = "Write";
    const PROMPT: &'static str = prompt!("tools/Write");
    const KIND: ToolKind = ToolKind::Edit;
    const PATH: Option<&'static str> = Some("file_path");

    async fn call(&self, input: Parameters, ctx: &ToolContext) -> Result<ToolOutput, String> {
        blocking::run(ctx, move |ctx| write(&input, ctx)).await
    }
}

fn write(input: &Parameters, ctx: &ToolContext) -> Result<ToolOutput, String> {
    let target = Target::to_write(&input.file_path, ctx)?;
    let content = input.content.as_bytes();
    let given = target.given.display();
    // Locked during the whole call, so that concurrent calls on one file are serialized.
    let mut state = ctx.files.lock();
    let existing = files::load(&target)?;
    let done = match &existing {
        None => "created",
        Some((_, now)) => {
            refuse_unseen(state.check(&target.real, now), &target)?;
            "replaced"
        }
    };
    let stamp = files::change(&target, existing.as_ref(), content, ctx)?;
    state.record(&target.real, stamp);
    let before = existing.as_ref().map_or(&[][..], |(before, _)| before);
    let lines = counted(input.content.lines().count(), "line");
    let response = json!({
        "type": if existing.is_none() { "create" } else { "update" },
        "filePath": target.given,
        "content": input.content,
    });
    let output = ToolOutput::ok(
        format!("{given} was {done}; it has {lines}."),
        format!("{done}, {lines}"),
    )
    .with_detail(line_diff(before, content));
    Ok(output.with_response(response))
}

/// Records the current content of a file as read by the agent, for an agent program that keeps track
/// of its files itself.
pub fn assume_read(path: &str, ctx: &ToolContext) {
    let Ok(target) = Target::to_read(path, ctx) else {
        return;
    };
    let mut state = ctx.files.lock();
    if let Ok(Some((_, stamp))) = files::load(&target) {
        state.record(&target.real, stamp);
    }
}

/// Refuses to overwrite content that the model has not seen.
pub(crate) fn refuse_unseen(freshness: Freshness, target: &Target) -> Result<(), String> {
    let given = target.given.display();
    match freshness {
        Freshness::Known => Ok(()),
        Freshness::NeverRead => Err(format!(
            "{given} exists and was not read in this session. Read it first."
        )),
        Freshness::Changed { seen, now } => Err(format!(
            "{given} changed since you read it (by a person, a program or another agent): its hash was {} \
             and is now {}. Read it again, then apply your change to the current content.",
            hash_text(seen),
            hash_text(now)
        )),
    }
}

/// Formats a hash for the model.
fn hash_text(hash: Option<u64>) -> String {
    hash.map_or_else(
        || "unknown (only part of it was read)".to_owned(),
        |hash| format!("{hash:016x}"),
    )
}
