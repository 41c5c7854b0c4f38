//! Output and changes of a call, for display in a pane.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};
use swarm_protocol::{DetailLine, LineChange};

/// Maximum number of lines in an event. A pane folds them to a few lines and shows at most this
/// many when unfolded.
const MAX_LINES: usize = 400;

/// Maximum length of a line in bytes.
const MAX_LINE_BYTES: usize = 1000;

/// Number of context lines around a change.
const CONTEXT: usize = 2;

/// Time limit for a minimal diff; after that the diff is approximate.
const DIFF_TIMEOUT: Duration = Duration::from_millis(100);

/// Returns the last lines of an output.
pub(crate) fn output_lines(output: &str) -> Vec<DetailLine> {
    let lines: Vec<&str> = output.lines().collect();
    let left_out = lines.len().saturating_sub(MAX_LINES);
    let note = (left_out > 0).then(|| DetailLine::output(format!("[{left_out} earlier lines]")));
    let kept = lines[left_out..].iter();
    note.into_iter()
        .chain(kept.map(|line| DetailLine::output(short(line))))
        .collect()
}

/// Returns the diff of two versions of a file with context lines, limited in size. Empty if one of
/// them is not UTF-8.
pub(crate) fn line_diff(before: &[u8], after: &[u8]) -> Vec<DetailLine> {
    let mut lines = whole_diff(before, after);
    let left_out = lines.len().saturating_sub(MAX_LINES);
    lines.truncate(MAX_LINES);
    for line in &mut lines {
        line.text = short(&line.text);
    }
    if left_out > 0 {
        lines.push(DetailLine::output(format!("[{left_out} more lines]")));
    }
    lines
}

/// Returns the diff of two versions of a file with context lines. Empty if one of them is not
/// UTF-8.
pub(crate) fn whole_diff(before: &[u8], after: &[u8]) -> Vec<DetailLine> {
    let (Ok(before), Ok(after)) = (std::str::from_utf8(before), std::str::from_utf8(after)) else {
        return Vec::new();
    };
    let difference = TextDiff::configure()
        .timeout(DIFF_TIMEOUT)
        .diff_lines(before, after);
    let mut lines = Vec::new();
    for group in difference.grouped_ops(CONTEXT) {
        let changes = group.iter().flat_map(|part| difference.iter_changes(part));
        lines.extend(changes.map(|change| {
            let (number, change_of_line) = match change.tag() {
                ChangeTag::Equal => (change.new_index(), None),
                ChangeTag::Insert => (change.new_index(), Some(LineChange::Added)),
                ChangeTag::Delete => (change.old_index(), Some(LineChange::Removed)),
            };
            DetailLine {
                number: number.map(|number| number as u64 + 1),
                change: change_of_line,
                text: change.value().trim_end_matches(['\r', '\n']).to_owned(),
            }
        }));
    }
    lines
}

fn short(line: &str) -> String {
    line[..line.floor_char_boundary(MAX_LINE_BYTES)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(lines: &[DetailLine]) -> Vec<String> {
        let shown = lines.iter().map(|line| {
            let sign = match line.change {
                None => ' ',
                Some(LineChange::Added) => '+',
                Some(LineChange::Removed) => '-',
            };
            format!("{} {sign} {}", line.number.unwrap_or_default(), line.text)
        });
        shown.collect()
    }

    #[test]
    fn a_diff_shows_the_line_numbers_of_the_file() {
        let before = "a\nb\nc\nd\ne\nf\ng\n";
        let after = "a\nb\nc\nD\nnew\ne\nf\ng\n";
        assert_eq!(
            shown(&line_diff(before.as_bytes(), after.as_bytes())),
            [
                "2   b", "3   c", "4 - d", "4 + D", "5 + new", "6   e", "7   f"
            ]
        );
        assert_eq!(shown(&line_diff(b"", b"x\r\ny")), ["1 + x", "2 + y"]);
        assert_eq!(line_diff(b"\xff", b"x"), []);
    }

    #[test]
    fn long_output_keeps_its_end_and_a_long_diff_its_start() {
        let text: String =
            (0..500).fold(String::new(), |text, line| text + &format!("line {line}\n"));
        let output = output_lines(&text);
        assert_eq!(output.len(), MAX_LINES + 1);
        assert_eq!(output[0].text, "[100 earlier lines]");
        assert_eq!(output.last().unwrap().text, "line 499");
        let written = line_diff(b"", text.as_bytes());
        assert_eq!(written[0].text, "line 0");
        assert_eq!(written.last().unwrap().text, "[100 more lines]");
        assert_eq!(
            output_lines(&"x".repeat(5000))[0].text.len(),
            MAX_LINE_BYTES
        );
    }
}
