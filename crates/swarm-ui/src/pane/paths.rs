//! Shortens paths in the lines of an agent: relative to its working directory, or to the user's
//! home as `~`.

use std::path::{Path, PathBuf};

/// The tool whose line is a shell command. A command may change its directory first, so that a
/// relative path would name another file.
const SHELL_TOOL: &str = "Bash";

/// The directories that are abbreviated.
#[derive(Debug)]
pub(super) struct PathShortener {
    cwd: Option<String>,
    home: Option<String>,
}

impl PathShortener {
    pub(super) fn new(cwd: &Path, home: Option<&Path>) -> Self {
        Self {
            cwd: nameable(cwd),
            home: home.and_then(nameable),
        }
    }

    /// Abbreviates the paths in a line of `tool`.
    pub(super) fn shorten(&self, tool: &str, line: &str) -> String {
        let relative = self.cwd.as_deref().filter(|_| tool != SHELL_TOOL);
        let line = match relative {
            Some(cwd) => replace_directory(line, cwd, |below| if below { "" } else { "." }),
            None => line.to_owned(),
        };
        match &self.home {
            Some(home) => replace_directory(&line, home, |below| if below { "~/" } else { "~" }),
            None => line,
        }
    }
}

/// Returns the directory as text, unless it is the root or its name cannot be searched for.
fn nameable(directory: &Path) -> Option<String> {
    let directory: PathBuf = directory.components().collect();
    let text = directory.to_str()?;
    (directory.is_absolute() && text.len() > 1).then(|| text.to_owned())
}

/// Replaces a directory that is the start of a whole path; `instead` receives whether a path below
/// it follows.
fn replace_directory(
    line: &str,
    directory: &str,
    instead: impl Fn(bool) -> &'static str,
) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(directory) {
        let (before, found) = rest.split_at(at);
        let (name, after) = found.split_at(directory.len());
        shown.push_str(before);
        let begins = !shown.ends_with(is_of_path);
        match after.strip_prefix('/') {
            Some(below) if begins && below.starts_with(begins_name) => {
                shown.push_str(instead(true));
                rest = below;
            }
            None if begins && !after.starts_with(is_of_path) => {
                shown.push_str(instead(false));
                rest = after;
            }
            _ => {
                shown.push_str(name);
                rest = after;
            }
        }
    }
    shown + rest
}

/// Returns whether a path continues with this character, as far as this can be determined.
fn is_of_path(c: char) -> bool {
    c.is_alphanumeric() || "/._-~+@$*…".contains(c)
}

/// Returns whether a file name may start with this character. Closing punctuation does not count.
fn begins_name(c: char) -> bool {
    is_of_path(c) || "([{#%=!".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shorten(tool: &str, line: &str) -> String {
        let (cwd, home) = (Path::new("/home/dev/calc/"), Path::new("/home/dev"));
        PathShortener::new(cwd, Some(home)).shorten(tool, line)
    }

    #[test]
    fn paths_below_the_working_directory_are_relative_and_those_below_home_begin_with_a_tilde() {
        for (line, shown) in [
            ("Read /home/dev/calc/src/lib.rs", "Read src/lib.rs"),
            ("Grep x in /home/dev/calc", "Grep x in ."),
            ("Read /home/dev/calc/.env", "Read .env"),
            ("Read /home/dev/calc/[id].ts", "Read [id].ts"),
            ("in (/home/dev/calc/)", "in (~/calc/)"),
            ("Read /home/dev/notes.md", "Read ~/notes.md"),
            ("Glob * in /home/dev", "Glob * in ~"),
            (
                "`/home/dev/calc/a`, \"/home/dev/calc/b\": gone",
                "`a`, \"b\": gone",
            ),
        ] {
            assert_eq!(shorten("Read", line), shown);
        }
    }

    #[test]
    fn a_directory_with_a_similar_name_is_unchanged() {
        for line in [
            "Read /mnt/home/dev/calc/src",
            "Read /home/developer/x",
            "Read ./home/dev/x",
            "Read /home/dev.old/x",
            "Read …/home/dev/calc/x",
            "Read /etc/home",
        ] {
            assert_eq!(shorten("Read", line), line);
        }
        assert_eq!(
            shorten("Read", "Read /home/dev/calculator/x"),
            "Read ~/calculator/x"
        );
        let root = PathShortener::new(Path::new("/"), Some(Path::new("/")));
        assert_eq!(root.shorten("Read", "Read /etc/x"), "Read /etc/x");
    }

    #[test]
    fn a_command_for_a_shell_keeps_its_meaning() {
        assert_eq!(
            shorten("Bash", "Bash cd /tmp && cat /home/dev/calc/x"),
            "Bash cd /tmp && cat ~/calc/x"
        );
    }
}
