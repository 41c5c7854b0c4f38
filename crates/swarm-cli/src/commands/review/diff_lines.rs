//! Positions in a unified diff.

/// The beginning of the first line of each file.
pub(super) const FILE_HEADER: &str = "diff --git ";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DiffLine<'a> {
    /// The file, as it is after the change; before it if the file was deleted.
    pub(super) path: &'a str,
    /// The number in that file; `None` for headers and removed lines.
    pub(super) number: Option<u64>,
    /// The line with its sign.
    pub(super) text: &'a str,
}

/// Returns the lines of a diff that belong to a file. Other lines between them, such as comments,
/// are left out, so that an edited diff has the positions of the original one.
pub(super) fn diff_lines<'a>(
    lines: impl Iterator<Item = &'a str>,
) -> impl Iterator<Item = Option<DiffLine<'a>>> {
    let (mut path, mut next, mut in_hunk) = ("", 0, false);
    lines.map(move |text| {
        let mut number = None;
        if let Some(names) = text.strip_prefix(FILE_HEADER) {
            (path, in_hunk) = (unchanged_name(names).unwrap_or_default(), false);
        } else if let Some(header) = text.strip_prefix("@@ ") {
            (next, in_hunk) = (first_line(header)?, true);
        } else if in_hunk {
            match text.as_bytes().first() {
                Some(b' ' | b'+') => {
                    number = Some(next);
                    next += 1;
                }
                Some(b'-' | b'\\') => {}
                _ => return None,
            }
        } else if let Some(name) = header_name(text, "rename to ", "") {
            path = name;
        } else if let Some(name) = header_name(text, "--- ", "a/") {
            path = name;
        } else if let Some(name) = header_name(text, "+++ ", "b/") {
            path = name;
        }
        let named = DiffLine { path, number, text };
        (!path.is_empty()).then_some(named)
    })
}

/// Returns the name in `a/NAME b/NAME`. Binary files and new modes have no other header with it.
fn unchanged_name(names: &str) -> Option<&str> {
    let (old, new) = names.split_at_checked(names.len() / 2)?;
    let (old, new) = (old.strip_prefix("a/")?, new.strip_prefix(" b/")?);
    (old == new).then_some(new)
}

/// Returns the name in a header such as `+++ b/NAME`. Git quotes names with special characters and
/// ends names that contain spaces with a tab.
fn header_name<'a>(line: &'a str, sign: &str, prefix: &str) -> Option<&'a str> {
    let name = line.strip_prefix(sign)?;
    let name = name.strip_suffix('\t').unwrap_or(name);
    let quoted = name
        .strip_prefix('"')
        .and_then(|name| name.strip_suffix('"'));
    quoted.unwrap_or(name).strip_prefix(prefix)
}

/// Returns the first line number after the change: 7 of `-3,4 +7,2 @@`.
fn first_line(header: &str) -> Option<u64> {
    let after = header.split(' ').nth(1)?.strip_prefix('+')?;
    after.split(',').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_as_in_the_changed_file() {
        let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -3,3 +7,3 @@ fn f\n same\n-old\n+new\n--- a/y\n\
                    diff --git a/z b/z\n--- a/z\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";
        let seen: Vec<_> = diff_lines(diff.lines())
            .flatten()
            .map(|line| (line.path, line.number, line.text))
            .collect();
        let expected = [
            ("x", None, "diff --git a/x b/x"),
            ("x", None, "--- a/x"),
            ("x", None, "+++ b/x"),
            ("x", None, "@@ -3,3 +7,3 @@ fn f"),
            ("x", Some(7), " same"),
            ("x", None, "-old"),
            ("x", Some(8), "+new"),
            ("x", None, "--- a/y"),
            ("z", None, "diff --git a/z b/z"),
            ("z", None, "--- a/z"),
            ("z", None, "+++ /dev/null"),
            ("z", None, "@@ -1 +0,0 @@"),
            ("z", None, "-gone"),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn files_are_recognized_by_any_header() {
        for (diff, path) in [
            ("diff --git a/hé.rs b/hé.rs\n", "hé.rs"),
            ("diff --git a/a b b/a b\n--- a/a b\t\n+++ b/a b\t\n", "a b"),
            (
                "diff --git \"a/q\\\"\" \"b/q\\\"\"\n+++ \"b/q\\\"\"\n",
                "q\\\"",
            ),
            (
                "diff --git a/old b/new\nrename from old\nrename to new\n",
                "new",
            ),
            (
                "diff --git a/x.png b/x.png\nBinary files a/x.png and b/x.png differ\n",
                "x.png",
            ),
        ] {
            let last = diff_lines(diff.lines()).last().flatten();
            assert_eq!(last.map(|line| line.path), Some(path), "{diff}");
        }
    }
}
