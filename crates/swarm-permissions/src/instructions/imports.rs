//! `@path` imports in instruction files, in the form that Claude Code documents.

/// Returns the paths that a text imports, in order and as written. Code blocks and code spans are
/// ignored.
pub fn imports(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let trimmed = line.trim_start();
        let marker = ["```", "~~~"]
            .into_iter()
            .find(|marker| trimmed.starts_with(marker));
        match (fence, marker) {
            (None, Some(marker)) => fence = Some(marker),
            (Some(open), Some(marker)) if open == marker => fence = None,
            (None, None) => imports_of_line(line, &mut found),
            _ => {}
        }
    }
    found
}

fn imports_of_line(line: &str, found: &mut Vec<String>) {
    let line = without_code_spans(line);
    for (at, _) in line.match_indices('@') {
        let before = line[..at].chars().next_back();
        let path = path_at(&line[at + 1..]);
        if before.is_none_or(char::is_whitespace) && !path.is_empty() && !path.starts_with('@') {
            found.push(path);
        }
    }
}

/// Returns the path at the beginning of a text: up to unescaped white space, without trailing
/// punctuation.
fn path_at(text: &str) -> String {
    let mut path = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&' ') => path.extend(chars.next()),
            c if c.is_whitespace() => break,
            c => path.push(c),
        }
    }
    let path = path.split('#').next().unwrap_or_default();
    path.trim_end_matches([',', ';', ':', '!', '?', ')', ']', '"', '\'', '.'])
        .to_owned()
}

/// Replaces each code span with a character that cannot precede an import.
fn without_code_spans(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        let ticks = rest[at..].chars().take_while(|c| *c == '`').count();
        let (before, span) = (&rest[..at], &rest[at + ticks..]);
        kept.push_str(before);
        kept.push('`');
        rest = match span.find(&"`".repeat(ticks)) {
            Some(end) => &span[end + ticks..],
            None => span,
        };
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_in_prose_but_not_in_code() {
        let text = "See @README.md and @docs/a.md, also (@no) @~/x\\ y.md.\n\
                    mail me@example.org, `@code`, ``a ` @code``\n\
                    ```sh\n@fenced\n~~~\n@fenced\n```\n- @./last.md#part\n@@twice @";
        assert_eq!(
            imports(text),
            ["README.md", "docs/a.md", "~/x y.md", "./last.md"]
        );
    }
}
