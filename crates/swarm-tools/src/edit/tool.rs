//! The Edit tool: parameters and results.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use swarm_protocol::ToolKind;

use super::substitute::{Refusal, Substituted, Substitution, substitute};
use crate::detail::line_diff;
use crate::files::{self, FileState, Target, touched};
use crate::one_line::{counted, with_path};
use crate::parameters::{parse, schema};
use crate::write::refuse_unseen;
use crate::{Tool, ToolContext, ToolOutput, blocking, prompt};

/// Replaces text in a file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Edit;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
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
impl Tool for Edit {
    fn name(&self) -> &'static str {
        "Edit"
    }

    fn description(&self) -> String {
        prompt!("tools/Edit").to_owned()
    }

    fn input_schema(&self) -> Value {
        schema::<Parameters>()
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Edit
    }

    fn one_line(&self, input: &Value) -> String {
        with_path("Edit", input["file_path"].as_str().unwrap_or_default())
    }

    fn touches(&self, input: &Value, cwd: &Path) -> Vec<PathBuf> {
        touched(input, "file_path", cwd)
    }

    async fn call(&self, input: Value, ctx: &ToolContext) -> ToolOutput {
        blocking::run(ctx, move |ctx| {
            edit(input, ctx).unwrap_or_else(ToolOutput::error)
        })
        .await
    }
}

fn edit(input: Value, ctx: &ToolContext) -> Result<ToolOutput, String> {
    let input: Parameters = parse("Edit", input)?;
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
