//! The journeys in `docs/architecture.md`: each type that a row names occurs in one of its files.

use std::path::Path;

use super::files::RustFile;
use super::map::cells;

/// Heading of the journeys.
const JOURNEYS: &str = "## Journeys\n";

/// Returns files that the tables name and that do not exist, and types that occur in none of the
/// files of their row.
pub fn check_journeys(page: &str, files: &[RustFile]) -> Vec<String> {
    let Some((_, section)) = page.split_once(JOURNEYS) else {
        return vec![format!("no heading `{}`", JOURNEYS.trim_end())];
    };
    let section = section.split("\n## ").next().unwrap_or(section);
    let rows = section.lines().filter(|line| line.starts_with('|'));
    rows.flat_map(|row| check_row(&cells(row), files)).collect()
}

fn check_row(row: &[String], files: &[RustFile]) -> Vec<String> {
    let [step, places, types] = row else {
        return vec![format!("a row has {} cells, not 3: {row:?}", row.len())];
    };
    let mut found = Vec::new();
    let mut texts: Vec<&str> = Vec::new();
    // Functions are named next to the files.
    let paths = quoted(places).filter(|word| word.contains('/'));
    for path in paths.flat_map(expanded) {
        let before = texts.len();
        let named = files.iter().filter(|file| is_named(&file.path, &path));
        texts.extend(named.map(|file| file.text.as_str()));
        if texts.len() == before {
            found.push(format!("{step}: {path} does not exist"));
        }
    }
    let missing = quoted(types).filter(|name| !texts.iter().any(|text| has_word(text, name)));
    found.extend(missing.map(|name| format!("{step}: `{name}` is in none of its files")));
    found
}

fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Returns the paths from the root of the project that a short path with alternatives in braces
/// means.
fn expanded(short: &str) -> Vec<String> {
    let alternatives = match (short.split_once('{'), short.split_once('}')) {
        (Some((start, _)), Some((inner, end))) => {
            let inner = inner.rsplit('{').next().unwrap_or(inner);
            let words = inner.split(',');
            words.map(|word| format!("{start}{word}{end}")).collect()
        }
        _ => vec![short.to_owned()],
    };
    let full = alternatives.iter().filter_map(|path| {
        let (name, rest) = path.split_once('/')?;
        Some(format!("crates/swarm-{name}/src/{rest}"))
    });
    full.collect()
}

/// Returns whether a file is the one at a path, or below a path that ends with a slash.
fn is_named(file: &Path, path: &str) -> bool {
    file == Path::new(path) || (path.ends_with('/') && file.starts_with(path))
}

fn has_word(text: &str, name: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    const PAGE: &str = "# Architecture\n\n## Journeys\n\n### Message\n\n| step | file | type |\n|---|---|---|\n\
        | Send | `team/{send,post}.rs` (`post`) | `Draft`, `Recipient` |\n\
        | Wake | `os/watch/` | `Watcher` |\n\
        | Read | `team/read.rs` | `Inbox` |\n\n## More\n\n| `x/y.rs` | z |\n";

    #[test]
    fn a_type_that_is_not_in_its_files_and_a_missing_file_are_found() {
        let file = |path: &str, text: &str| RustFile {
            path: PathBuf::from(path),
            text: text.to_owned(),
        };
        let files = [
            file("crates/swarm-team/src/send.rs", "struct Drafts;"),
            file("crates/swarm-team/src/post.rs", "use x::Recipient;"),
            file(
                "crates/swarm-os/src/watch/inotify.rs",
                "pub struct Watcher(u8);",
            ),
        ];
        assert_eq!(
            check_journeys(PAGE, &files),
            [
                "Send: `Draft` is in none of its files",
                "Read: crates/swarm-team/src/read.rs does not exist",
                "Read: `Inbox` is in none of its files",
            ]
        );
        assert_eq!(check_journeys("# x", &[]), ["no heading `## Journeys`"]);
    }
}
