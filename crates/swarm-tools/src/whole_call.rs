//! A call in full, for a transcript that a person reads.

use serde_json::Value;
use swarm_protocol::{DetailLine, LineChange};

use crate::detail::whole_diff;

/// Returns the input of a call line by line: the change of a file as a diff, and fields that
/// `line`, its form in one line, does not contain.
pub fn whole_call(tool: &str, input: &Value, line: &str) -> Vec<DetailLine> {
    let text = |key: &str| input[key].as_str();
    match (
        tool,
        text("old_string"),
        text("new_string"),
        text("content"),
    ) {
        ("Edit", Some(before), Some(after), _) => signed(before, after),
        ("Write", _, _, Some(content)) => signed("", content),
        _ => fields(input, line),
    }
}

/// Returns a diff with signs instead of line numbers, which only the tool knows.
fn signed(before: &str, after: &str) -> Vec<DetailLine> {
    let mut lines = whole_diff(before.as_bytes(), after.as_bytes());
    for line in &mut lines {
        let sign = match line.change {
            None => ' ',
            Some(LineChange::Added) => '+',
            Some(LineChange::Removed) => '-',
        };
        line.number = None;
        line.text = format!("{sign} {}", line.text);
    }
    lines
}

fn fields(input: &Value, line: &str) -> Vec<DetailLine> {
    let mut lines = Vec::new();
    let fields = input.as_object().into_iter().flatten();
    for (name, value) in fields {
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let text = text.trim_end();
        if line.ends_with(&format!(" {text}")) {
            continue;
        }
        if text.contains('\n') {
            lines.push(DetailLine::output(format!("{name}:")));
            lines.extend(
                text.lines()
                    .map(|line| DetailLine::output(format!("  {line}"))),
            );
        } else {
            lines.push(DetailLine::output(format!("{name}: {text}")));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(tool: &str, input: &Value, line: &str) -> Vec<String> {
        let lines = whole_call(tool, input, line).into_iter();
        lines.map(|line| line.text).collect()
    }

    #[test]
    fn what_the_line_does_not_show_is_added() {
        let call = json!({"command": "make all", "timeout": 5, "description": "a\nb"});
        assert_eq!(
            shown("Bash", &call, "Bash make all"),
            ["timeout: 5", "description:", "  a", "  b"]
        );
        assert_eq!(shown("Bash", &json!("not an object"), "Bash"), [""; 0]);
    }

    #[test]
    fn changes_of_files_are_diffs() {
        let edit = json!({"file_path": "/a", "old_string": "1\n2\n3", "new_string": "1\ntwo\n3"});
        assert_eq!(
            shown("Edit", &edit, "Edit /a"),
            ["  1", "- 2", "+ two", "  3"]
        );
        let content = "x\n".repeat(1000);
        let write = json!({"file_path": "/a", "content": content});
        assert_eq!(shown("Write", &write, "Write /a").len(), 1000, "in full");
    }
}
