//! The uncommitted work in a worktree as a tree, for forecasts. The worktree, its index and the
//! objects of the repository are not changed.

use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use swarm_os::replace_in_private_dir;
use swarm_protocol::word_list;

use crate::git::{Call, fields, path};
use crate::inspect::under_way;
use crate::repository::Repository;
use crate::temporary::TemporaryDirectory;
use crate::view::View;
use crate::{GitError, Record, Result, WorktreeError};

/// Size in bytes above which a file is left out.
const MAX_BYTES: u64 = 1 << 20;

/// Number of files beyond which further ones are left out.
const MAX_FILES: usize = 1000;

/// The command that lists changed files.
const CHANGED: [&str; 6] = word_list(
    "status --porcelain=v1 -z --no-renames --untracked-files=all --ignore-submodules=all",
);

/// Objects that exist only while a forecast is made.
#[derive(Debug)]
pub(crate) struct TemporaryObjects {
    directory: TemporaryDirectory,
    objects: PathBuf,
}

impl TemporaryObjects {
    pub(crate) fn create(repository: &Repository) -> Result<Self> {
        let directory = TemporaryDirectory::create(repository)?;
        let objects = directory.path().join("objects");
        // Other objects are found in the repository.
        let mut alternates = repository
            .common
            .join("objects")
            .as_os_str()
            .as_bytes()
            .to_vec();
        alternates.push(b'\n');
        replace_in_private_dir(&objects.join("info/alternates"), &alternates)?;
        Ok(Self { directory, objects })
    }

    /// Prepares a call of git that reads and creates these objects.
    pub(crate) fn git<'a>(&'a self, repository: &'a Repository) -> Call<'a> {
        repository
            .common_git()
            .changing()
            .with_objects(&self.objects)
    }

    /// Moves the packs with these objects into the repository.
    pub(crate) fn keep(&self, repository: &Repository) -> Result<()> {
        let (from, to) = (
            self.objects.join("pack"),
            repository.common.join("objects/pack"),
        );
        let failed = WorktreeError::at;
        let mut files = Vec::new();
        for entry in fs::read_dir(&from).map_err(failed(&from))? {
            files.push(entry.map_err(failed(&from))?.file_name());
        }
        // Git looks for the index of a pack, which must not exist before its other files.
        files.sort_by_key(|name| Path::new(name).extension() == Some("idx".as_ref()));
        for name in files {
            let path = to.join(&name);
            // A pack with the same name has the same objects.
            if !path.exists() {
                fs::rename(from.join(&name), &path).map_err(failed(&path))?;
            }
        }
        Ok(())
    }

    /// Writes the tree of a worktree with its uncommitted changes, without ignored, large and
    /// special files. Returns `None` if there are none, or if they are not comparable: on another
    /// branch, or during a merge or rebase.
    pub(crate) fn tree(&self, repository: &Repository, record: &Record) -> Result<Option<String>> {
        let view = View::open(repository, record)?;
        let is_elsewhere = view.seen.branch.as_ref() != Some(&record.branch);
        if is_elsewhere || under_way(&view.seen.git_dir).is_some() {
            return Ok(None);
        }
        let files = changed_files(&view, record)?;
        if files.is_empty() {
            return Ok(None);
        }
        // A copy of the index knows which files are unchanged.
        let name = format!("index-{}", record.slug.directory());
        let index = self.directory.path().join(name);
        let own = view.seen.git_dir.join("index");
        copy_index(&own, &index).map_err(WorktreeError::at(&own))?;
        let at = view.git().changing();
        let at = at.with_index(&index).with_objects(&self.objects);
        let update = const { word_list::<6>("update-index -z --add --remove --replace --stdin") };
        at.clone().reading(&files).run(&update)?;
        Ok(Some(at.line(&["write-tree"])?))
    }

    /// Creates a commit of a tree on top of another commit.
    pub(crate) fn commit(
        &self,
        repository: &Repository,
        tree: &str,
        parent: &str,
    ) -> Result<String, GitError> {
        let words = const {
            word_list::<5>("-c user.name=swarm -c user.email=swarm@localhost commit-tree")
        };
        let commit = [tree, "-p", parent, "-m", "Uncommitted work"];
        self.git(repository).line(&[words, commit].concat())
    }
}

/// Copies an index with its modification time, by which git recognizes files that may have changed
/// since without a visible difference: it compares seconds and sizes.
fn copy_index(own: &Path, copy: &Path) -> io::Result<()> {
    // Before the copy: with an earlier time, git only compares more contents.
    let written = fs::metadata(own)?.modified()?;
    fs::copy(own, copy)?;
    File::options()
        .write(true)
        .open(copy)?
        .set_modified(written)
}

/// Returns the paths of the changed files, each followed by a zero byte.
fn changed_files(view: &View<'_>, record: &Record) -> Result<Vec<u8>> {
    let out = view.git().run(&CHANGED)?;
    let names = fields(&out).map(|field| field.get(3..).unwrap_or_default());
    let counted = names
        .filter(|name| {
            let name = path(name);
            !record.carries(&name) && is_counted(&view.seen.toplevel.join(name))
        })
        .take(MAX_FILES);
    let mut list = Vec::new();
    for name in counted {
        list.extend_from_slice(name);
        list.push(0);
    }
    Ok(list)
}

/// Returns whether a file is small and regular, a symbolic link, or deleted.
fn is_counted(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(found) => found.is_symlink() || (found.is_file() && found.len() <= MAX_BYTES),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}
