//! Tab completion in a lead's terminal: commands, files and members.

use std::path::{Path, PathBuf};

/// Maximum number of candidates.
const MOST: usize = 30;

/// Returns where the last word of `text` starts, and its completions. `commands` are the words
/// after `/`, `members` the names after `@`.
pub(super) fn complete(
    text: &str,
    cwd: &Path,
    commands: &[String],
    members: &[String],
) -> (usize, Vec<String>) {
    if let Some(name) = text.strip_prefix('/')
        && !name.contains(char::is_whitespace)
    {
        let found = commands.iter().filter(|command| command.starts_with(name));
        return (0, found.map(|command| format!("/{command} ")).collect());
    }
    let start = text
        .char_indices()
        .rev()
        .find(|(_, c)| c.is_whitespace())
        .map_or(0, |(at, c)| at + c.len_utf8());
    let Some(word) = text[start..].strip_prefix('@') else {
        return (start, Vec::new());
    };
    let members = members.iter().filter(|name| name.starts_with(word));
    let mut found: Vec<String> = members.map(|name| format!("@{name} ")).collect();
    found.extend(files(word, cwd).into_iter().map(|file| format!("@{file}")));
    found.truncate(MOST);
    (start, found)
}

/// Returns the files whose path starts with `word`; directories end with a slash. Hidden files
/// require a typed dot.
fn files(word: &str, cwd: &Path) -> Vec<String> {
    let (directory, begun) = word
        .rsplit_once('/')
        .map_or(("", word), |(directory, name)| {
            (&word[..=directory.len()], name)
        });
    let listed: PathBuf = cwd.join(directory);
    let Ok(entries) = std::fs::read_dir(listed) else {
        return Vec::new();
    };
    let mut found: Vec<String> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let is_shown =
                name.starts_with(begun) && (!name.starts_with('.') || begun.starts_with('.'));
            let end = if entry.path().is_dir() { "/" } else { " " };
            is_shown.then(|| format!("{directory}{name}{end}"))
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a file that only this test sees")]
    fn commands_members_and_files_are_completed_by_prefix() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("src")).unwrap();
        for file in ["src/lib.rs", "setup.py", ".secret"] {
            std::fs::write(directory.path().join(file), "").unwrap();
        }
        let commands = ["status", "stop", "help"].map(str::to_owned);
        let members = ["sue".to_owned()];
        let complete = |text: &str| complete(text, directory.path(), &commands, &members);
        assert_eq!(
            complete("/st"),
            (0, vec!["/status ".to_owned(), "/stop ".to_owned()])
        );
        let found = ["@sue ", "@setup.py ", "@src/"].map(str::to_owned).to_vec();
        assert_eq!(complete("look at @s"), (8, found));
        assert_eq!(complete("@src/l"), (0, vec!["@src/lib.rs ".to_owned()]));
        assert_eq!(complete("no such word").1, [""; 0]);
        assert_eq!(complete("@").1.len(), 3, "hidden files are not offered");
    }
}
