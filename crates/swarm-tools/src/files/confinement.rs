//! The work tree outside of which an agent writes nothing.

use std::path::{Path, PathBuf};

use super::resolve;

/// Where other work trees of a repository stand, below its main checkout.
const WORKTREES: &str = ".claude/worktrees";

/// The one folder in which an agent writes, normally a git work tree of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    root: PathBuf,
    also: Vec<PathBuf>,
    git: Option<GitFolders>,
}

/// The folders in which git keeps what belongs to a linked work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GitFolders {
    /// What is this work tree's alone, `.git/worktrees/<id>`.
    pub(crate) own: PathBuf,
    /// What all work trees of the repository share, `.git` of the main checkout.
    pub(crate) common: PathBuf,
}

impl Confinement {
    /// Confines to `root` and all below it. If it is a linked work tree, its repository is found through its `.git`
    /// file, so that git goes on working in it and refusals can name the path that is meant.
    pub fn new(root: &Path) -> Self {
        let root = resolve(root).unwrap_or_else(|| root.to_owned());
        Self {
            git: GitFolders::of(&root),
            also: Vec::new(),
            root,
        }
    }

    /// Also allows writing below `folder`: a scratch folder, notes or plans of the agent.
    #[must_use]
    pub fn also(mut self, folder: &Path) -> Self {
        self.also
            .push(resolve(folder).unwrap_or_else(|| folder.to_owned()));
        self
    }

    /// The folder, with symbolic links resolved.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// All folders to write in, that one first.
    pub(crate) fn folders(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(&self.root)
            .chain(&self.also)
            .map(PathBuf::as_path)
    }

    /// git's folders, if this is a linked work tree.
    pub(crate) fn git(&self) -> Option<&GitFolders> {
        self.git.as_ref()
    }

    /// The checkout that this is a work tree of.
    pub(crate) fn main_checkout(&self) -> Option<&Path> {
        let common = &self.git()?.common;
        (common.file_name()? == ".git")
            .then(|| common.parent())
            .flatten()
    }

    /// Why this path, as named and as resolved, may not be written, if so.
    pub(crate) fn refusal(&self, given: &Path, real: &Path) -> Option<String> {
        if self.folders().any(|folder| real.starts_with(folder)) {
            return None;
        }
        let advice = match self.counterpart(given, real) {
            Some(meant) => format!("The same path in it is {}: use that.", meant.display()),
            None => "Name a path in it.".to_owned(),
        };
        let (given, root) = (given.display(), self.root.display());
        Some(format!(
            "{given} was not written: it is outside of your work tree {root}, and you change files in that alone. {advice}"
        ))
    }

    /// The path in the work tree that stands for one of the main checkout.
    fn counterpart(&self, given: &Path, real: &Path) -> Option<PathBuf> {
        let main = self.main_checkout()?;
        let inner = [real, given]
            .into_iter()
            .find_map(|path| path.strip_prefix(main).ok())?;
        (!inner.starts_with(WORKTREES)).then(|| self.root.join(inner))
    }
}

impl GitFolders {
    /// Reads the `.git` file of a linked work tree (gitrepository-layout(5)).
    fn of(root: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(root.join(".git")).ok()?;
        let own = text.trim_end().strip_prefix("gitdir: ")?;
        let own = resolve(&root.join(own))?;
        let common = std::fs::read_to_string(own.join("commondir")).ok()?;
        let common = resolve(&own.join(common.trim_end()))?;
        Some(Self { own, common })
    }
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
    fn further_folders_may_be_allowed() {
        let confine = Confinement::new(Path::new("/no/such/tree")).also(Path::new("/no/scratch"));
        let refused = |path: &str| confine.refusal(Path::new(path), Path::new(path)).is_some();
        assert!(!refused("/no/scratch/x") && !refused("/no/such/tree/x"));
        assert!(refused("/no/such/tree2") && refused("/no/x"));
        assert_eq!(confine.git(), None);
    }
}
