//! The Edit tool: parameters and results.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use swarm_protocol::ToolKind;

use super::substitute::{Refusal, Substituted, Substitution, substitute};
use crate::detail::line_diff;
use crate::files::{self, FileState, Target};
use crate::one_line::counted;
use crate::write::refuse_unseen;
use crate::{ToolContext, ToolOutput, TypedTool, blocking, prompt};

/// Replaces text in a file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Edit;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Absolute path of the file
    file_path: String,
    /// The text to replace
    old_string: String,
    /// The replacement; must differ from `old_string`
    new_string: String,
    /// Replace all occurrences
    #[serde(default)]
    replace_all: bool,
}

#[async_trait]
impl TypedTool for Edit {
    type Parameters = Parameters;
    const NAME: &'static str = "Edit";
    const PROMPT: &'static str = prompt!("tools/Edit");
    const KIND: ToolKind = ToolKind::Edit;
    const PATH: Option<&'static str> = Some("file_path");

    async fn call(&self, input: Parameters, ctx: &ToolContext) -> Result<ToolOutput, String> {
        blocking::run(ctx, move |ctx| edit(&input, ctx)).await
    }
}

fn edit(input: &Parameters, ctx: &ToolContext) -> Result<ToolOutput, String> {
    let what = Substitution {
        old: &input.old_string,
        new: &input.new_string,
        everywhere: input.replace_all,
    };
    let target = Target::to_write(&input.file_path, ctx)?;
    if what.old == what.new {
        return Err("`old_string` and `new_string` are identical: nothing would change.".into());
    }
    // Locked during the whole call, so that concurrent calls on one file are serialized.
    let mut state = ctx.files.lock();
    let output = if what.old.is_empty() {
        create(&mut state, &target, what.new, ctx)
    } else {
        change(&mut state, &target, what, ctx)
    };
    Ok(output?.with_response(json!({
        "filePath": target.given,
        "oldString": what.old,
        "newString": what.new,
        "replaceAll": what.everywhere,
        "userModified": false,
    })))
}

fn create(
    state: &mut FileState,
    target: &Target,
    content: &str,
    ctx: &ToolContext,
) -> Result<ToolOutput, String> {
    let given = target.given.display();
    let existing = files::load(target)?;
    if existing
        .as_ref()
        .is_some_and(|(bytes, _)| !bytes.is_empty())
    {
        return Err(format!(
            "{given} exists and is not empty. Set `old_string` to the text to replace, or use Write to replace the whole file."
        ));
    }
    let stamp = files::change(target, existing.as_ref(), content.as_bytes(), ctx)?;
    state.record(&target.real, stamp);
    let lines = counted(content.lines().count(), "line");
    Ok(ToolOutput::ok(
        format!("{given} was created; it has {lines}."),
        format!("created, {lines}"),
    )
    .with_detail(line_diff(&[], content.as_bytes())))
}

fn change(
    state: &mut FileState,
    target: &Target,
    what: Substitution<'_>,
    ctx: &ToolContext,
) -> Result<ToolOutput, String> {
    let given = target.given.display();
    let Some(existing) = files::load(target)? else {
        return Err(format!(
            "{given} does not exist. To create it, leave `old_string` empty or use Write."
        ));
    };
    let (bytes, now) = &existing;
    refuse_unseen(state.check(&target.real, now), target)?;
    let done = substitute(bytes, what).map_err(|refusal| match refusal {
        Refusal::Absent => format!(
            "`old_string` was not found in {given}. It must match exactly, including whitespace, without line numbers; \
             read that part of the file again."
        ),
        Refusal::Ambiguous(count) => format!(
            "`old_string` occurs {count} times in {given}. Include more surrounding lines, or set `replace_all`."
        ),
    })?;
    let stamp = files::change(target, Some(&existing), &done.bytes, ctx)?;
    state.record(&target.real, stamp);
    Ok(changed(target, what, &done).with_detail(line_diff(bytes, &done.bytes)))
}

fn changed(target: &Target, what: Substitution<'_>, done: &Substituted) -> ToolOutput {
    let given = target.given.display();
    let (added, removed) = (
        what.new.lines().count() * done.count,
        what.old.lines().count() * done.count,
    );
    let content = if done.count == 1 {
        format!("{given} was changed at line {}.", done.line)
    } else {
        format!(
            "{given} was changed in {} places, the first at line {}.",
            done.count, done.line
        )
    };
    ToolOutput::ok(content, format!("+{added} -{removed} lines"))
}
