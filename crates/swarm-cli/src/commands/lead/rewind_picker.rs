//! The pickers of `/rewind`: the prompt to return to, and what returns.

use std::path::Path;

use swarm_agent::{RewindPoint, RewindPoints};
use swarm_protocol::RewindScope;
use swarm_tools::{ChangedFile, Restoration};
use swarm_ui::{Picker, PickerItem};

/// Name of the picker of prompts.
pub(super) const REWIND: &str = "rewind";

/// Name of the picker of what returns, before the id of the line.
const SCOPE: &str = "rewind ";

/// The choices of what returns: the ids and titles of their items.
const SCOPES: [(&str, RewindScope, &str); 3] = [
    (
        "all",
        RewindScope::All,
        "rewind the conversation and restore the files",
    ),
    (
        "conversation",
        RewindScope::Conversation,
        "rewind the conversation, keep the files",
    ),
    (
        "files",
        RewindScope::Files,
        "restore the files, keep the conversation",
    ),
];

/// Most files, and most calls, that are listed one by one.
const LISTED: usize = 8;

/// Returns the line to which a picker of this name rewinds, and what returns, if its item confirms
/// that.
pub(super) fn confirmed<'a>(list: &'a str, item: &str) -> Option<(&'a str, RewindScope)> {
    let line = list.strip_prefix(SCOPE)?;
    let scope = SCOPES.into_iter().find(|(id, ..)| *id == item);
    scope.map(|(_, scope, _)| (line, scope))
}

/// Returns a picker of the prompts of a conversation, latest first.
pub(super) fn rewind_picker(points: &RewindPoints) -> Picker {
    let items = points.points().iter().rev().map(|point| PickerItem {
        id: point.line.clone(),
        title: one_line(&point.prompt),
        note: match point.effects {
            0 => String::new(),
            1 => "1 call that stays in effect".to_owned(),
            calls => format!("{calls} calls that stay in effect"),
        },
    });
    let title = "Continue before an earlier prompt";
    Picker::new(REWIND, title, items.collect())
}

/// Returns a picker of what returns to its state before a prompt. It lists what happens to changed
/// files, with paths relative to `cwd`, and the calls that are not undone.
pub(super) fn scope_picker(
    point: &RewindPoint,
    effects: &[String],
    files: &[ChangedFile],
    cwd: &Path,
) -> Picker {
    let mut about = Vec::new();
    let of_files = files
        .iter()
        .map(|file| of_file(file, cwd))
        .collect::<Vec<_>>();
    list(&mut about, "files changed since then:", &of_files);
    list(&mut about, "these calls are not undone:", effects);
    let is_restorable = |file: &ChangedFile| !matches!(file.restoration, Restoration::Keep(_));
    let restores = files.iter().any(is_restorable);
    let item = |id: &str, title: &str| PickerItem {
        id: id.to_owned(),
        title: title.to_owned(),
        note: String::new(),
    };
    let offered = SCOPES.into_iter();
    let offered = offered.filter(|(_, scope, _)| restores || *scope == RewindScope::Conversation);
    let titles = offered.map(|(id, _, title)| item(id, title));
    let items = titles.chain([item("cancel", "cancel")]).collect();
    let title = format!("Return to before: {}", one_line(&point.prompt));
    Picker::new(format!("{SCOPE}{}", point.line), title, items).about(about)
}

fn of_file(file: &ChangedFile, cwd: &Path) -> String {
    let path = file.path.strip_prefix(cwd).unwrap_or(&file.path).display();
    match &file.restoration {
        Restoration::Replace => format!("{path}: can be restored"),
        Restoration::Remove => format!("{path}: was created and can be removed"),
        Restoration::Keep(why) => format!("{path}: stays ({why})"),
    }
}

/// Adds the last ones of `lines`, below a title.
fn list(about: &mut Vec<String>, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    about.push(title.to_owned());
    let first = lines.len().saturating_sub(LISTED);
    if first > 0 {
        about.push(format!("  … {first} earlier ones"));
    }
    about.extend(lines[first..].iter().map(|line| format!("  {line}")));
}

fn one_line(prompt: &str) -> String {
    prompt.split_whitespace().collect::<Vec<_>>().join(" ")
}
