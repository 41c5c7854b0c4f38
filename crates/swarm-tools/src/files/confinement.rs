//! Confinement of an agent's writes to its worktree.

use std::path::{Path, PathBuf};

use swarm_os::{LinkedWorktree, WORKTREES_DIRECTORY};

use super::{resolve, resolve_where};

/// The directory in which an agent may write, normally its git worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    root: PathBuf,
    also: Vec<PathBuf>,
    git: Option<LinkedWorktree>,
}

impl Confinement {
    /// Confines writes to `root` and everything below it. If `root` is a linked worktree, its
    /// repository is located here, once, from its `.git` file, so that git works in the worktree
    /// and refusals can suggest the intended path. Create it before the agent starts, because the
    /// agent can change that file.
    pub fn new(root: &Path) -> Self {
        Self::resolved(resolve(root).unwrap_or_else(|| root.to_owned()))
    }

    /// Confines writes to a directory whose symbolic links are already resolved and are not
    /// resolved again, since a link may have replaced the directory in the meantime.
    pub(crate) fn resolved(root: PathBuf) -> Self {
        Self {
            git: LinkedWorktree::of(&root),
            also: Vec::new(),
            root,
        }
    }

    /// Also allows writing below `directory`, such as a scratch directory, notes or plans of the
    /// agent. If its path contains a symbolic link, it is not allowed.
    #[must_use]
    pub fn also(mut self, directory: &Path) -> Self {
        if !directory.starts_with(&self.root) {
            self.also.push(directory.to_owned());
        }
        self
    }

    /// Returns the directory, with symbolic links resolved.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns all writable directories, starting with the root. The others are included only if
    /// their path contains no symbolic link.
    pub(crate) fn directories(&self) -> impl Iterator<Item = &Path> {
        let also = self
            .also
            .iter()
            .filter(|directory| contains_no_link(directory));
        std::iter::once(&self.root)
            .chain(also)
            .map(PathBuf::as_path)
    }

    /// Returns git's directories if this is a linked worktree.
    pub(crate) fn git(&self) -> Option<&LinkedWorktree> {
        self.git.as_ref()
    }

    pub(crate) fn main_checkout(&self) -> Option<&Path> {
        self.git()?.main_checkout()
    }

    /// Returns the reason why a path must not be written, or `None` if it may. `given` is the path
    /// as named, `real` the resolved one.
    pub(crate) fn refusal(&self, given: &Path, real: &Path) -> Option<String> {
        if self
            .directories()
            .any(|directory| real.starts_with(directory))
        {
            return None;
        }
        let advice = match self.counterpart(given, real) {
            Some(meant) => format!(
                "The same path in the worktree is {}: use that.",
                meant.display()
            ),
            None => "Use a path in the worktree.".to_owned(),
        };
        let (given, root) = (given.display(), self.root.display());
        Some(format!(
            "{given} was not written: it is outside your worktree {root}, and you may change files only there. {advice}"
        ))
    }

    /// Returns the path in the worktree that corresponds to a path in the main checkout.
    fn counterpart(&self, given: &Path, real: &Path) -> Option<PathBuf> {
        let main = self.main_checkout()?;
        let inner = [real, given]
            .into_iter()
            .find_map(|path| path.strip_prefix(main).ok())?;
        (!inner.starts_with(WORKTREES_DIRECTORY)).then(|| self.root.join(inner))
    }
}

fn contains_no_link(directory: &Path) -> bool {
    resolve_where(directory, |_| false).is_some()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use super::*;

    fn put(path: &Path, text: &str) {
        fs::File::create(path)
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
    }

    fn linked(base: &Path) -> PathBuf {
        let (root, own) = (
            base.join("main/.claude/worktrees/a"),
            base.join("main/.git/worktrees/a"),
        );
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(&own).unwrap();
        put(
            &root.join(".git"),
            &format!(
                "gitdir: {}
",
                own.display()
            ),
        );
        put(&own.join("commondir"), "../..\n");
        put(
            &own.join("gitdir"),
            &format!("{}\n", root.join(".git").display()),
        );
        root
    }

    #[test]
    fn a_refusal_suggests_the_intended_path() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let root = linked(&base);
        let confine = Confinement::new(&root);
        let refusal = |path: &Path| confine.refusal(path, path);
        assert_eq!(refusal(&root.join("src/a.rs")), None);
        let refused = refusal(&base.join("main/src/a.rs")).unwrap();
        assert!(
            refused.contains(&root.join("src/a.rs").display().to_string()),
            "{refused}"
        );
        let sibling = refusal(&base.join("main/.claude/worktrees/b/x")).unwrap();
        assert!(
            sibling.ends_with("Use a path in the worktree."),
            "{sibling}"
        );
        assert_eq!(confine.main_checkout(), Some(base.join("main").as_path()));
        assert_eq!(confine.git().unwrap().common, base.join("main/.git"));
    }

    #[test]
    fn a_git_file_that_points_elsewhere_is_ignored() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let root = linked(&base);
        let another = linked(&base.join("another"));
        let theirs = base.join("another/main/.git/worktrees/a");
        let elsewhere = [
            // The git directory of another worktree.
            theirs.display().to_string(),
            // A plausible git directory that refers to another repository.
            "fake".to_owned(),
        ];
        fs::create_dir_all(root.join("fake")).unwrap();
        put(&root.join("fake/gitdir"), "../.git");
        put(
            &root.join("fake/commondir"),
            &base.join("another/main/.git").display().to_string(),
        );
        for path in elsewhere {
            put(&root.join(".git"), &format!("gitdir: {path}\n"));
            assert_eq!(Confinement::new(&root).git(), None, "{path}");
        }
        assert!(Confinement::new(&another).git().is_some());
    }

    #[test]
    fn an_additional_directory_is_not_allowed_through_a_symbolic_link() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let (notes, home) = (base.join("a/notes"), base.join("home"));
        fs::create_dir_all(&notes).unwrap();
        fs::create_dir_all(&home).unwrap();
        let confine = Confinement::new(&base.join("tree")).also(&notes);
        let (note, secret) = (notes.join("x"), home.join("x"));
        assert_eq!(confine.refusal(&note, &note), None);
        fs::remove_dir(&notes).unwrap();
        std::os::unix::fs::symlink(&home, &notes).unwrap();
        assert!(confine.refusal(&note, &secret).is_some());
        assert_eq!(confine.directories().count(), 1);
        // A directory inside the worktree needs no additional permission.
        let within = base.join("tree/.claude/x");
        let confine = Confinement::new(&base.join("tree")).also(&within);
        assert_eq!(confine.directories().count(), 1);
    }

    #[test]
    fn additional_directories_are_allowed() {
        let confine = Confinement::new(Path::new("/no/such/tree")).also(Path::new("/no/scratch"));
        let refused = |path: &str| confine.refusal(Path::new(path), Path::new(path)).is_some();
        assert!(!refused("/no/scratch/x") && !refused("/no/such/tree/x"));
        assert!(refused("/no/such/tree2") && refused("/no/x"));
        assert_eq!(confine.git(), None);
    }
}
