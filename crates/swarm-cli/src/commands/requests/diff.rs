//! Diff of an edit.

use std::path::Path;

use serde_json::Value;

use crate::output::plain;

/// Number of context lines around a change.
const AROUND: usize = 3;

/// Returns the lines of a call that changes a file, with the change as a diff; `None` for other
/// calls.
pub(super) fn of_call(tool: &str, input: &Value) -> Option<Vec<String>> {
    let text = |key: &str| input[key].as_str();
    let path = text("file_path")?;
    let (before, after) = match tool {
        "Edit" => (text("old_string")?.to_owned(), text("new_string")?),
        "Write" => {
            let before = swarm_os::read_optional(Path::new(path)).ok().flatten();
            let before = String::from_utf8(before.unwrap_or_default()).ok()?;
            (before, text("content")?)
        }
        _ => return None,
    };
    let mut lines = vec![format!("  file: {}", swarm_ui::clean_line(path))];
    if input["replace_all"].as_bool() == Some(true) {
        lines.push("  every occurrence:".to_owned());
    }
    let diff = diff(&before, after).into_iter();
    lines.extend(diff.map(|line| format!("    {}", plain(&line))));
    Some(lines)
}

/// Returns the lines from the first to the last change, with context.
fn diff(before: &str, after: &str) -> Vec<String> {
    let (old, new): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let same = |(one, other): &(&&str, &&str)| one == other;
    let head = old.iter().zip(&new).take_while(same).count();
    let ends = old[head..].iter().rev().zip(new[head..].iter().rev());
    let tail = ends.take_while(same).count();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let marked = |mark: char, lines: &[&str]| -> Vec<String> {
        lines.iter().map(|line| format!("{mark} {line}")).collect()
    };
    let mut lines = marked(' ', &old[head.saturating_sub(AROUND)..head]);
    lines.extend(marked('-', &old[head..old_end]));
    lines.extend(marked('+', &new[head..new_end]));
    lines.extend(marked(' ', &old[old_end..old.len().min(old_end + AROUND)]));
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn edit_shows_removed_and_added_lines() {
        let call = json!({"file_path": "/a", "old_string": "one\ntwo\nthree", "new_string": "one\n2\nthree"});
        assert_eq!(
            of_call("Edit", &call).unwrap(),
            [
                "  file: /a",
                "      one",
                "    - two",
                "    + 2",
                "      three"
            ]
        );
        assert_eq!(of_call("Bash", &json!({"command": "x"})), None);
    }

    #[test]
    fn write_is_compared_with_the_existing_file() {
        let directory = std::env::temp_dir().join(format!("swarm-diff-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("f");
        swarm_os::replace_alone(&path, b"1\n2\n3\n4\n5\n6\n").unwrap();
        let call = json!({"file_path": path, "content": "1\n2\n3\n4\n5\nsix\n"});
        let lines = of_call("Write", &call).unwrap();
        assert_eq!(
            lines[1..],
            ["      3", "      4", "      5", "    - 6", "    + six"]
        );
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
