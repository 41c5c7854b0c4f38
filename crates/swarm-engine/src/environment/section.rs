//! The environment section of a system prompt.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use swarm_protocol::UnixMs;

/// Where an agent works. The section stays the same for a whole conversation, so that the prompt stays cached.
#[derive(Debug, Clone, Copy)]
pub struct PromptEnvironment<'a> {
    /// The working directory.
    pub cwd: &'a Path,
    /// Name and version of the operating system.
    pub platform: &'a str,
    /// Name of the model, without provider.
    pub model: &'a str,
    /// The present time; the section has the date in UTC.
    pub now: UnixMs,
}

impl PromptEnvironment<'_> {
    /// Returns the section. Reads git's `HEAD` for the branch.
    pub fn section(&self) -> String {
        let mut text = format!(
            "# Environment\n\nWorking directory: {}\n",
            self.cwd.display()
        );
        // Writing into a String cannot fail.
        let _infallible = match repository(self.cwd) {
            None => writeln!(text, "Git repository: no"),
            Some((top, None)) => writeln!(text, "Git repository: {}", top.display()),
            Some((top, Some(branch))) => {
                writeln!(
                    text,
                    "Git repository: {}, on branch {branch}",
                    top.display()
                )
            }
        };
        let now = self.now.iso().to_string();
        let date = now.split('T').next().unwrap_or_default();
        let _infallible = write!(
            text,
            "Platform: {}\nShell: bash\nModel: {}\nDate: {date}",
            self.platform, self.model
        );
        text
    }
}

/// The top of the repository that a directory is in, and its branch where one is checked out.
fn repository(cwd: &Path) -> Option<(PathBuf, Option<String>)> {
    let (top, dot_git) = cwd.ancestors().find_map(|folder| {
        let dot_git = folder.join(".git");
        dot_git.exists().then(|| (folder.to_owned(), dot_git))
    })?;
    let git_dir = match short_text(&dot_git) {
        // A linked worktree or submodule.
        Some(text) => top.join(text.strip_prefix("gitdir:")?.trim()),
        None => dot_git,
    };
    let head = short_text(&git_dir.join("HEAD"));
    let branch = head.and_then(|head| {
        let name = head.trim().strip_prefix("ref: refs/heads/")?;
        let is_name = !name.is_empty() && !name.chars().any(char::is_control);
        is_name.then(|| name.to_owned())
    });
    Some((top, branch))
}

/// The text of a small regular file.
fn short_text(path: &Path) -> Option<String> {
    let found = path.metadata().ok()?;
    if !found.is_file() || found.len() > 4096 {
        return None;
    }
    std::fs::read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn section(cwd: &Path) -> String {
        PromptEnvironment {
            cwd,
            platform: "Linux 6.1 x86_64",
            model: "claude-opus-4-6",
            now: UnixMs(1_700_000_000_000),
        }
        .section()
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a repository as git writes it")]
    fn a_section_names_directory_branch_platform_model_and_date() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        assert!(section(top).contains("Git repository: no\n"));
        fs::create_dir_all(top.join(".git/worktrees/w")).unwrap();
        fs::create_dir_all(top.join("src")).unwrap();
        fs::write(top.join(".git/HEAD"), "ref: refs/heads/feature/x\n").unwrap();
        assert_eq!(
            section(&top.join("src")),
            format!(
                "# Environment\n\nWorking directory: {top}/src\nGit repository: {top}, on branch feature/x\n\
                 Platform: Linux 6.1 x86_64\nShell: bash\nModel: claude-opus-4-6\nDate: 2023-11-14",
                top = top.display()
            )
        );
        let linked = top.join("linked");
        fs::create_dir(&linked).unwrap();
        let to = top.join(".git/worktrees/w");
        fs::write(linked.join(".git"), format!("gitdir: {}\n", to.display())).unwrap();
        fs::write(to.join("HEAD"), "0123456789abcdef\n").unwrap();
        let detached = format!("Git repository: {}\n", linked.display());
        assert!(section(&linked).contains(&detached));
    }
}
