//! The root of a repository, and the repository of a linked worktree.

use std::path::{Path, PathBuf};

/// Directory of worktrees below the main checkout, as in Claude Code.
pub const WORKTREES_DIRECTORY: &str = ".claude/worktrees";

/// Returns the top-level directory of the repository that contains `cwd`: the nearest directory
/// with a `.git` directory or file. Returns `cwd` itself outside of repositories, because its
/// parent directories may belong to other users.
pub fn repository_top(cwd: &Path) -> &Path {
    let top = cwd
        .ancestors()
        .find(|directory| directory.join(".git").exists());
    top.unwrap_or(cwd)
}

/// Git's directories of a linked worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedWorktree {
    /// The private directory of this worktree, `.git/worktrees/<id>`.
    pub own: PathBuf,
    /// The directory shared by all worktrees, `.git` of the main checkout.
    pub common: PathBuf,
}

impl LinkedWorktree {
    /// Reads the `.git` file of a linked worktree (gitrepository-layout(5)). `top` is its top-level
    /// directory, without symbolic links in the path. Returns `None` unless worktree and git
    /// directory refer to each other. A `.git` file may come from an archive or be written by a
    /// process in the worktree, so it is accepted only if the git directories are where git creates
    /// them and name this worktree. A forged pair can then only be in directories that its author
    /// can write anyway.
    pub fn of(top: &Path) -> Option<Self> {
        let file = top.join(".git");
        let text = text(&file)?;
        let own = canonical(&top.join(text.trim_end().strip_prefix("gitdir:")?.trim_start()))?;
        let named = |name: &str| canonical(&own.join(self::text(&own.join(name))?.trim_end()));
        let common = named("commondir")?;
        let is_its = own.parent() == Some(&common.join("worktrees"))
            && named("gitdir").as_deref() == Some(&file);
        is_its.then_some(Self { own, common })
    }

    /// Returns the main checkout, if the shared directory is named `.git`.
    pub fn main_checkout(&self) -> Option<&Path> {
        let is_gits = self.common.file_name()? == ".git";
        self.common.parent().filter(|_| is_gits)
    }
}

fn canonical(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// Reads a regular file. Other files are skipped: reading a pipe would never end.
fn text(path: &Path) -> Option<String> {
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    is_file
        .then(|| std::fs::read_to_string(path).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Creates a worktree `a` of the repository `main`, as git does.
    fn linked(base: &Path) -> (PathBuf, PathBuf) {
        let (top, own) = (
            base.join("main").join(WORKTREES_DIRECTORY).join("a"),
            base.join("main/.git/worktrees/a"),
        );
        fs::create_dir_all(&top).unwrap();
        fs::create_dir_all(&own).unwrap();
        put(&top.join(".git"), &format!("gitdir: {}\n", own.display()));
        put(&own.join("commondir"), "../..\n");
        let back = top.join(".git").display().to_string();
        put(&own.join("gitdir"), &(back + "\n"));
        (top, own)
    }

    fn put(path: &Path, text: &str) {
        crate::replace_alone(path, text.as_bytes()).unwrap();
    }

    #[test]
    fn a_linked_worktree_belongs_to_its_main_checkout() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let (top, own) = linked(&base);
        let tree = LinkedWorktree::of(&top).unwrap();
        assert_eq!(tree.main_checkout(), Some(base.join("main").as_path()));
        assert_eq!((tree.own, tree.common), (own, base.join("main/.git")));
        assert_eq!(LinkedWorktree::of(&base.join("main")), None);
    }

    #[test]
    fn a_git_file_is_ignored_unless_the_git_directory_names_it() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let (top, own) = linked(&base);
        let another = base.join("another");
        let (_, theirs) = linked(&another);
        // The directory of another worktree, and a forged one that names another repository.
        let fake = top.join("fake");
        fs::create_dir_all(&fake).unwrap();
        put(&fake.join("gitdir"), "../.git");
        put(
            &fake.join("commondir"),
            &another.join("main/.git").display().to_string(),
        );
        for directory in [&theirs, &fake] {
            put(
                &top.join(".git"),
                &format!("gitdir: {}\n", directory.display()),
            );
            assert_eq!(LinkedWorktree::of(&top), None, "{}", directory.display());
        }
        put(&top.join(".git"), &format!("gitdir: {}\n", own.display()));
        assert!(LinkedWorktree::of(&top).is_some());
        // The git directory was removed, as by `git worktree prune`.
        fs::remove_dir_all(&own).unwrap();
        assert_eq!(LinkedWorktree::of(&top), None);
    }
}
