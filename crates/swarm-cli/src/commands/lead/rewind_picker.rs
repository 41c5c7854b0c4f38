//! The pickers of `/rewind`: the prompt to return to, and whether to do it.

use swarm_agent::{RewindPoint, RewindPoints};
use swarm_ui::{Picker, PickerItem};

/// Name of the picker of prompts.
pub(super) const REWIND: &str = "rewind";

/// Name of the picker that confirms, before the id of the line.
const CONFIRM: &str = "rewind ";

/// Id of the item that confirms.
const CONVERSATION: &str = "conversation";

/// Most effects that are listed one by one.
const LISTED: usize = 8;

/// Returns the line to which a picker of this name rewinds, if its item confirms that.
pub(super) fn confirmed<'a>(list: &'a str, item: &str) -> Option<&'a str> {
    list.strip_prefix(CONFIRM).filter(|_| item == CONVERSATION)
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

/// Returns a picker that confirms a rewind. It lists the calls that are not undone.
pub(super) fn confirm_picker(point: &RewindPoint, effects: &[String]) -> Picker {
    let mut about = Vec::new();
    if !effects.is_empty() {
        about.push("these calls are not undone:".to_owned());
        let first = effects.len().saturating_sub(LISTED);
        if first > 0 {
            about.push(format!("  … {first} earlier calls"));
        }
        about.extend(effects[first..].iter().map(|line| format!("  {line}")));
    }
    let item = |id: &str, title: &str| PickerItem {
        id: id.to_owned(),
        title: title.to_owned(),
        note: String::new(),
    };
    let items = vec![
        item(CONVERSATION, "rewind the conversation, keep the files"),
        item("cancel", "cancel"),
    ];
    let title = format!("Before: {}", one_line(&point.prompt));
    Picker::new(format!("{CONFIRM}{}", point.line), title, items).about(about)
}

fn one_line(prompt: &str) -> String {
    prompt.split_whitespace().collect::<Vec<_>>().join(" ")
}
