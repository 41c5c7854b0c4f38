//! Where a repository begins, and which one a worktree belongs to.

use std::path::{Path, PathBuf};

/// Where the worktrees of a repository lie, below its main checkout. Claude Code has them there too.
pub const WORK_TREES: &str = ".claude/worktrees";

/// The topmost directory of the repository around `cwd`: the nearest one with a `.git`, be it a directory or a worktree's file.
/// Where there is none, `cwd` itself, since whatever is above may be somebody else's.
pub fn repository_top(cwd: &Path) -> &Path {
    let top = cwd
        .ancestors()
        .find(|directory| directory.join(".git").exists());
    top.unwrap_or(cwd)
}

/// The directories in which git keeps what belongs to a linked worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedTree {
    /// What is this worktree's alone, `.git/worktrees/<id>`.
    pub own: PathBuf,
    /// What all worktrees of the repository share, `.git` of the main checkout.
    pub common: PathBuf,
}

impl LinkedTree {
    /// Reads the `.git` file of a linked worktree (gitrepository-layout(5)). `top` is its directory, without links in its
    /// path.
    ///
    /// Both sides must say that they belong together. A `.git` file is part of what somebody may have been sent, and whoever
    /// works in there can write any path into it. So it counts only if git's directories are where git makes them and know this
    /// very worktree: others than the true ones could only lie where that one writes anyway.
    pub fn of(top: &Path) -> Option<Self> {
        let file = top.join(".git");
        let text = text(&file)?;
        let own = real(&top.join(text.trim_end().strip_prefix("gitdir:")?.trim_start()))?;
        let named = |name: &str| real(&own.join(self::text(&own.join(name))?.trim_end()));
        let common = named("commondir")?;
        let is_its = own.parent() == Some(&common.join("worktrees"))
            && named("gitdir").as_deref() == Some(&file);
        is_its.then_some(Self { own, common })
    }

    /// The checkout that it is a worktree of, where that is told by the place of git's directory.
    pub fn main_checkout(&self) -> Option<&Path> {
        let is_gits = self.common.file_name()? == ".git";
        self.common.parent().filter(|_| is_gits)
    }
}

fn real(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// The text of a regular file. A pipe in its place would never be read to its end.
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

    /// A worktree `a` of the repository `main`, as git makes it.
    fn linked(base: &Path) -> (PathBuf, PathBuf) {
        let (top, own) = (
            base.join("main").join(WORK_TREES).join("a"),
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
    fn a_linked_work_tree_belongs_to_the_checkout_that_made_it() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let (top, own) = linked(&base);
        let tree = LinkedTree::of(&top).unwrap();
        assert_eq!(tree.main_checkout(), Some(base.join("main").as_path()));
        assert_eq!((tree.own, tree.common), (own, base.join("main/.git")));
        assert_eq!(LinkedTree::of(&base.join("main")), None);
    }

    #[test]
    fn a_git_file_that_names_what_does_not_name_it_back_counts_for_nothing() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let (top, own) = linked(&base);
        let another = base.join("another");
        let (_, theirs) = linked(&another);
        // Another one's directory, and one of its own making that names a foreign repository.
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
            assert_eq!(LinkedTree::of(&top), None, "{}", directory.display());
        }
        put(&top.join(".git"), &format!("gitdir: {}\n", own.display()));
        assert!(LinkedTree::of(&top).is_some());
        // The other side of it is gone, as after `git worktree prune`.
        fs::remove_dir_all(&own).unwrap();
        assert_eq!(LinkedTree::of(&top), None);
    }
}
