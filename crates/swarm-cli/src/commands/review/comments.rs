//! Comments on lines of a diff.

use swarm_ui::print::counted;

use super::diff_lines::{DiffLine, FILE_HEADER, diff_lines};
use crate::failure::{Failure, Result};

/// Sign of a comment in an edited diff.
const SIGN: char = '>';

/// The beginning of a text to edit.
pub(super) const INSTRUCTIONS: &str = "\
# Write comments below the lines that they are about; begin each line of a comment with `>`.
# Comments before the first file concern the whole diff. Without comments, nothing is sent.
";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Comment {
    /// `PATH:LINE` or `PATH`; empty if it concerns everything.
    place: String,
    /// The line in the diff.
    quoted: Option<String>,
    text: String,
}

/// Parses `PATH:LINE` and looks the line up in the diff.
pub(super) fn comment_on(diff: &str, place: &str, text: &str) -> Result<Comment> {
    let parsed = place.rsplit_once(':').and_then(|(path, line)| {
        let line: u64 = line.parse().ok().filter(|line| *line > 0)?;
        Some((path, line)).filter(|(path, _)| !path.is_empty())
    });
    let Some((path, number)) = parsed else {
        let message = format!("`{place}` is not a line: write PATH:LINE, such as src/a.rs:7");
        return Err(Failure::usage(message));
    };
    if text.trim().is_empty() {
        return Err(Failure::usage(format!("the comment on {place} is empty")));
    }
    let lines: Vec<DiffLine> = diff_lines(diff.lines()).flatten().collect();
    if !lines.iter().any(|line| line.path == path) {
        let mut files: Vec<&str> = lines.iter().map(|line| line.path).collect();
        files.dedup();
        let hint = format!("changed files: {}", files.join(", "));
        return Err(Failure::usage(format!("{path} is not in the diff")).with_hint(hint));
    }
    let is_it = |line: &&DiffLine| line.path == path && line.number == Some(number);
    Ok(Comment {
        place: place.to_owned(),
        quoted: lines.iter().find(is_it).map(|line| line.text.to_owned()),
        text: text.trim().to_owned(),
    })
}

pub(super) fn comments_in(edited: &str) -> Vec<Comment> {
    let mut comments: Vec<Comment> = Vec::new();
    let mut above: Option<DiffLine> = None;
    let mut is_continued = false;
    for (line, seen) in edited.lines().zip(diff_lines(edited.lines())) {
        let Some(text) = line.strip_prefix(SIGN) else {
            above = if line.starts_with(FILE_HEADER) {
                seen
            } else {
                seen.or(above)
            };
            is_continued = false;
            continue;
        };
        let text = text.trim();
        match comments.last_mut().filter(|_| is_continued) {
            Some(comment) => comment.text = format!("{}\n{text}", comment.text),
            None => comments.push(Comment {
                text: text.to_owned(),
                ..at(above.as_ref())
            }),
        }
        is_continued = true;
    }
    comments.retain(|comment| !comment.text.trim().is_empty());
    comments
}

fn at(line: Option<&DiffLine<'_>>) -> Comment {
    let place = match line {
        None => String::new(),
        Some(line) => match line.number {
            Some(number) => format!("{}:{number}", line.path),
            None => line.path.to_owned(),
        },
    };
    let is_content = |line: &&DiffLine| {
        let is_removed = line.text.starts_with('-') && !line.text.starts_with("--- ");
        line.number.is_some() || is_removed
    };
    let quoted = line.filter(is_content).map(|line| line.text.to_owned());
    Comment {
        place,
        quoted,
        text: String::new(),
    }
}

pub(super) fn message(branch: &str, comments: &[Comment]) -> String {
    let count = counted(comments.len() as u64, "comment");
    let mut lines = vec![format!("Review of {branch}, {count}:")];
    for comment in comments {
        lines.push(String::new());
        if !comment.place.is_empty() {
            lines.push(comment.place.clone());
        }
        lines.extend(comment.quoted.iter().map(|quoted| format!("    {quoted}")));
        lines.push(comment.text.clone());
    }
    lines.push("\nFix each point and commit, or answer why not.".to_owned());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n";

    #[test]
    fn a_comment_quotes_its_line_and_names_a_changed_file() {
        let comment = comment_on(DIFF, "x:2", " why? ").unwrap();
        let told = message("worktree-alice", &[comment]);
        let expected = "Review of worktree-alice, 1 comment:\n\nx:2\n    +new\nwhy?\n\n\
                        Fix each point and commit, or answer why not.";
        assert_eq!(told, expected);
        assert_eq!(comment_on(DIFF, "x:9", "why?").unwrap().quoted, None);
        for wrong in ["y:1", "x", "x:0", ":1"] {
            comment_on(DIFF, wrong, "why?").unwrap_err();
        }
        comment_on(DIFF, "x:1", " ").unwrap_err();
    }

    #[test]
    fn comments_of_an_edited_diff_belong_to_the_line_above() {
        let edited = "# help\n> all in all\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n> the file\n@@ -1,2 +1,2 @@\n same\n\
                      -old\n> it was better\n> before\n+new\n>\n\
                      diff --git a/y b/y\nold mode 100644\nnew mode 100755\n> why?\n\
                      diff --git a/z b/z\n> binary\nBinary files a/z and b/z differ\n";
        let seen: Vec<_> = comments_in(edited)
            .into_iter()
            .map(|one| (one.place, one.quoted.unwrap_or_default(), one.text))
            .collect();
        let expected = [
            ("", "", "all in all"),
            ("x", "", "the file"),
            ("x", "-old", "it was better\nbefore"),
            ("y", "", "why?"),
            ("z", "", "binary"),
        ];
        let expected =
            expected.map(|(place, quoted, text)| (place.into(), quoted.into(), text.into()));
        assert_eq!(seen, expected);
        assert_eq!(comments_in(DIFF), []);
    }
}
