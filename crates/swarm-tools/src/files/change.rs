//! Changes of files by the file tools.

use std::io;

use super::{Stamp, Target, create, replace};
use crate::ToolContext;

/// Gives a file new content, after its earlier content was kept. `existing` is what it has at
/// present.
pub(crate) fn change(
    target: &Target,
    existing: Option<&(Vec<u8>, Stamp)>,
    content: &[u8],
    ctx: &ToolContext,
) -> Result<Stamp, String> {
    let given = target.given.display();
    if let Some((before, _)) = existing
        && let Some(why) = (ctx.protected).change_refusal(&target.real, before, content)
    {
        return Err(why);
    }
    if let Some(history) = &ctx.history {
        let before = existing.map(|(before, _)| before.as_slice());
        history
            .record(&ctx.tool_use_id, &target.real, before, Some(content))
            .map_err(|error| {
                format!(
                    "the earlier content of {given} cannot be kept: {error}. Nothing was changed."
                )
            })?;
    }
    let written = match existing {
        None => create(&target.real, content),
        Some((_, now)) => replace(&target.real, content, now),
    };
    written.map_err(|error| match error.kind() {
        io::ErrorKind::ResourceBusy | io::ErrorKind::AlreadyExists => {
            format!(
                "{given} was changed by another program at the same time; nothing was written. Read it again."
            )
        }
        _ => format!("cannot write {given}: {error}. Nothing was changed."),
    })
}
