//! The worktree outside of which an agent writes nothing.

use std::path::{Path, PathBuf};

use swarm_os::{LinkedTree, WORK_TREES};

use super::{resolve, resolve_where};

/// The one directory in which an agent writes, normally a git worktree of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    root: PathBuf,
    also: Vec<PathBuf>,
    git: Option<LinkedTree>,
}

impl Confinement {
    /// Confines to `root` and all below it. If it is a linked worktree, its repository is found here, once, through its
    /// `.git` file, so that git goes on working in it and refusals can name the path that is meant. To be made when the
    /// agent begins: later the agent has had its hands on that file.
    pub fn new(root: &Path) -> Self {
        Self::exactly(resolve(root).unwrap_or_else(|| root.to_owned()))
    }

    /// The same for a directory whose links are resolved already, and which may since have been replaced by one.
    pub(crate) fn exactly(root: PathBuf) -> Self {
        Self {
            git: LinkedTree::of(&root),
            also: Vec::new(),
            root,
        }
    }

    /// Also allows writing below `directory`: a scratch directory, notes or plans of the agent. Links in its path are not
    /// followed: if it leads through one, nothing is allowed.
    #[must_use]
    pub fn also(mut self, directory: &Path) -> Self {
        if !directory.starts_with(&self.root) {
            self.also.push(directory.to_owned());
        }
        self
    }

    /// The directory, with symbolic links resolved.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// All directories to write in, that one first. The others only as long as no link leads to them.
    pub(crate) fn directories(&self) -> impl Iterator<Item = &Path> {
        let also = self
            .also
            .iter()
            .filter(|directory| leads_straight(directory));
        std::iter::once(&self.root)
            .chain(also)
            .map(PathBuf::as_path)
    }

    /// git's directories, if this is a linked worktree.
    pub(crate) fn git(&self) -> Option<&LinkedTree> {
        self.git.as_ref()
    }

    /// The checkout that this is a worktree of.
    pub(crate) fn main_checkout(&self) -> Option<&Path> {
        self.git()?.main_checkout()
    }

    /// Why this path, as named and as resolved, may not be written, if so.
    pub(crate) fn refusal(&self, given: &Path, real: &Path) -> Option<String> {
        if self
            .directories()
            .any(|directory| real.starts_with(directory))
        {
            return None;
        }
        let advice = match self.counterpart(given, real) {
            Some(meant) => format!("The same path in it is {}: use that.", meant.display()),
            None => "Name a path in it.".to_owned(),
        };
        let (given, root) = (given.display(), self.root.display());
        Some(format!(
            "{given} was not written: it is outside of your worktree {root}, and you change files in that alone. {advice}"
        ))
    }

    /// The path in the worktree that stands for one of the main checkout.
    fn counterpart(&self, given: &Path, real: &Path) -> Option<PathBuf> {
        let main = self.main_checkout()?;
        let inner = [real, given]
            .into_iter()
            .find_map(|path| path.strip_prefix(main).ok())?;
        (!inner.starts_with(WORK_TREES)).then(|| self.root.join(inner))
    }
}

fn leads_straight(directory: &Path) -> bool {
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
    fn a_refusal_names_the_path_that_is_meant() {
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
        assert!(sibling.ends_with("Name a path in it."), "{sibling}");
        assert_eq!(confine.main_checkout(), Some(base.join("main").as_path()));
        assert_eq!(confine.git().unwrap().common, base.join("main/.git"));
    }

    #[test]
    fn a_git_file_that_leads_elsewhere_does_not_count() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let root = linked(&base);
        let another = linked(&base.join("another"));
        let theirs = base.join("another/main/.git/worktrees/a");
        let elsewhere = [
            // Another worktree's.
            theirs.display().to_string(),
            // One that looks like its own, of another repository.
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
    fn a_further_directory_is_none_once_a_link_leads_to_it() {
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
        // In the worktree there is nothing to allow.
        let within = base.join("tree/.claude/x");
        let confine = Confinement::new(&base.join("tree")).also(&within);
        assert_eq!(confine.directories().count(), 1);
    }

    #[test]
    fn further_directories_may_be_allowed() {
        let confine = Confinement::new(Path::new("/no/such/tree")).also(Path::new("/no/scratch"));
        let refused = |path: &str| confine.refusal(Path::new(path), Path::new(path)).is_some();
        assert!(!refused("/no/scratch/x") && !refused("/no/such/tree/x"));
        assert!(refused("/no/such/tree2") && refused("/no/x"));
        assert_eq!(confine.git(), None);
    }
}
