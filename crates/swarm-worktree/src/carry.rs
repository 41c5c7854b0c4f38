//! Copies untracked files into a new worktree, as far as they are configured.

use std::fs;
use std::path::{Path, PathBuf};

use swarm_os::{Duplication, OsError, can_reflink, duplicate_file, duplicate_tree, read_optional};
use swarm_protocol::word_list;

use crate::git::{fields, path, text, words};
use crate::repository::Repository;
use crate::view::Checkout;
use crate::{Carried, Dependencies, Record, Result, WorktreeError, WorktreeSettings};

/// The file that lists additional files to copy, with patterns as in `.gitignore`.
const INCLUDE: &str = ".worktreeinclude";

/// The user's personal settings for the repository.
const LOCAL_SETTINGS: &str = ".claude/settings.local.json";

/// The command that lists ignored files, and directories with nothing else as one.
const IGNORED: [&str; 6] =
    word_list("ls-files -z --others --ignored --exclude-standard --directory");

/// Copies all configured files, and records in `record` which were copied and which were not.
pub(crate) fn copy_untracked(
    repository: &Repository,
    settings: &WorktreeSettings,
    record: &mut Record,
) -> Result<()> {
    let mut copier = FileCopier {
        repository,
        from: repository.top.clone(),
        to: record.path.clone(),
        carried: Vec::new(),
        notices: Vec::new(),
    };
    copier.copy_file(Path::new(LOCAL_SETTINGS))?;
    for file in listed(repository, &copier.from)? {
        copier.copy_file(&file)?;
    }
    copier.dependencies(settings)?;
    record.hooks_path = copier.hooks()?;
    if copier.to.join(".gitmodules").is_file() {
        copier.notices.push(
            "its submodules are empty: run `git submodule update --init` there where they are needed".to_owned(),
        );
    }
    record.carried = copier.carried;
    record.notices = copier.notices;
    Ok(())
}

/// Returns the files of a checkout that `.worktreeinclude` lists and git ignores. Files that git
/// does not ignore are left out, because they could be committed in the worktree.
pub(crate) fn listed(repository: &Repository, checkout: &Path) -> Result<Vec<PathBuf>> {
    listed_by(repository, &checkout.join(INCLUDE), checkout)
}

/// Like [`listed`], with the list of another checkout.
pub(crate) fn listed_by(
    repository: &Repository,
    include: &Path,
    checkout: &Path,
) -> Result<Vec<PathBuf>> {
    // Checked first, because git would follow a symbolic link.
    if read_optional(include)?.is_none() {
        return Ok(Vec::new());
    }
    let mut exclude_from = std::ffi::OsString::from("--exclude-from=");
    exclude_from.push(include);
    let viewed = Checkout::at(repository, checkout)?;
    let at = viewed.git();
    let matched = at.run(words![
        "ls-files",
        "-z",
        "--others",
        "--ignored",
        &exclude_from
    ])?;
    if matched.is_empty() {
        return Ok(Vec::new());
    }
    let words = ["check-ignore", "-z", "--stdin"];
    let at = at.clone().reading(&matched);
    let ignored = match at.status(&words)? {
        (Some(0), out, _) => out,
        // No file is ignored.
        (Some(1), ..) => return Ok(Vec::new()),
        (code, _, said) => return Err(at.failed(&words, code, &said).into()),
    };
    // A repository inside the checkout is listed as a directory.
    Ok(fields(&ignored)
        .filter(|name| !name.ends_with(b"/"))
        .map(path)
        .collect())
}

struct FileCopier<'a> {
    repository: &'a Repository,
    from: PathBuf,
    to: PathBuf,
    carried: Vec<Carried>,
    notices: Vec<String>,
}

impl FileCopier<'_> {
    /// Copies a file if it exists and the worktree does not have it. Symbolic links are not copied.
    fn copy_file(&mut self, file: &Path) -> Result<()> {
        let (from, to) = (self.from.join(file), self.to.join(file));
        let Ok(found) = from.symlink_metadata() else {
            return Ok(());
        };
        if to.symlink_metadata().is_ok() {
            return Ok(());
        }
        if !found.is_file() || !self.create_parents(file)? {
            let why = if found.is_symlink() {
                "it is a symbolic link"
            } else {
                "it is not a regular file"
            };
            self.report_skipped(file, why);
            return Ok(());
        }
        duplicate_file(&from, &to, Duplication::Copy)?;
        self.note(file, "copy");
        Ok(())
    }

    /// Creates the parent directories of a path. Returns `false` if one of them is not a directory.
    fn create_parents(&self, file: &Path) -> Result<bool> {
        for directory in self.parents(file) {
            match is_directory(&directory) {
                Some(true) => {}
                Some(false) => return Ok(false),
                None => fs::create_dir(&directory).map_err(WorktreeError::at(&directory))?,
            }
        }
        Ok(true)
    }

    /// Returns whether all parent directories of a path exist. A commit of an agent may contain a
    /// symbolic link in place of one, which must not be followed.
    fn has_parents(&self, path: &Path) -> bool {
        self.parents(path)
            .all(|directory| is_directory(&directory) == Some(true))
    }

    /// Returns the parent directories of a path that are below the worktree, outermost first.
    fn parents(&self, path: &Path) -> impl Iterator<Item = PathBuf> {
        let outer = path.parent().unwrap_or_else(|| Path::new(""));
        outer.components().scan(self.to.clone(), |directory, part| {
            directory.push(part);
            Some(directory.clone())
        })
    }

    fn note(&mut self, path: &Path, how: &str) {
        self.carried.push(Carried {
            path: path.to_owned(),
            how: how.to_owned(),
        });
    }

    fn report_skipped(&mut self, path: &Path, why: &str) {
        self.notices
            .push(format!("{} was not copied: {why}", path.display()));
    }

    fn dependencies(&mut self, settings: &WorktreeSettings) -> Result<()> {
        if settings.dependencies == Dependencies::None {
            return Ok(());
        }
        for directory in self.dependency_directories(&settings.dependency_directories)? {
            let (from, to) = (self.from.join(&directory), self.to.join(&directory));
            if !self.has_parents(&directory) || to.symlink_metadata().is_ok() {
                continue;
            }
            match settings.dependencies {
                Dependencies::None => {}
                Dependencies::Auto => match sample(&from) {
                    Some(sample) if can_reflink(&self.to, &sample) => {
                        self.duplicate(&directory, Duplication::Reflink, "reflink")?;
                    }
                    _ => self.link(&directory)?,
                },
                Dependencies::Copy => self.duplicate(&directory, Duplication::Copy, "copy")?,
                Dependencies::Symlink => self.link(&directory)?,
            }
        }
        Ok(())
    }

    fn link(&mut self, directory: &Path) -> Result<()> {
        let from = self.from.join(directory);
        link_packages(&from, &self.to.join(directory))?;
        self.note(directory, "symlink");
        self.notices.push(format!(
            "the packages in {} are links to those in {}: the sandbox write-protects them, and without it a write into one \
 changes the main checkout; install the dependencies in the worktree to change them",
            directory.display(),
            from.display()
        ));
        Ok(())
    }

    fn duplicate(&mut self, directory: &Path, how: Duplication, word: &str) -> Result<()> {
        let left = duplicate_tree(&self.from.join(directory), &self.to.join(directory), how)?;
        for path in left {
            let below = path.strip_prefix(&self.from).unwrap_or(&path).to_owned();
            self.report_skipped(
                &below,
                "it is a link to an absolute path, or a special file",
            );
        }
        self.note(directory, word);
        Ok(())
    }

    /// Returns the directories of these names that git ignores. Tracked directories are already in
    /// the worktree.
    fn dependency_directories(&self, names: &[String]) -> Result<Vec<PathBuf>> {
        let from = Checkout::at(self.repository, &self.from)?;
        let out = from.git().run(&IGNORED)?;
        let is_wanted = |directory: &PathBuf| {
            let name = directory.file_name().unwrap_or_default();
            names.iter().any(|wanted| name == wanted.as_str())
                && self
                    .from
                    .join(directory)
                    .symlink_metadata()
                    .is_ok_and(|found| found.is_dir())
        };
        Ok(fields(&out)
            .filter_map(|name| name.strip_suffix(b"/"))
            .map(path)
            .filter(is_wanted)
            .collect())
    }

    /// Returns the hooks directory of the repository if it is a relative path that the worktree
    /// lacks.
    fn hooks(&mut self) -> Result<Option<PathBuf>> {
        let words = ["config", "--type=path", "--get-all", "core.hooksPath"];
        let (_, out, _) = self.repository.checkout_git().status(&words)?;
        let out = text(&out);
        // The last entry is the option of this call.
        let named = out.lines().rev().nth(1).map(PathBuf::from);
        let Some(named) = named.filter(|named| named.is_relative()) else {
            return Ok(None);
        };
        if self.to.join(&named).exists() {
            return Ok(None);
        }
        let there = self.from.join(&named);
        Ok(there.is_dir().then_some(there))
    }
}

/// Returns whether a path is a directory, without following a symbolic link. `None` if it does not
/// exist.
fn is_directory(path: &Path) -> Option<bool> {
    path.symlink_metadata().ok().map(|found| found.is_dir())
}

/// Returns any regular file in a directory tree.
fn sample(directory: &Path) -> Option<PathBuf> {
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).ok()?.flatten() {
            let kind = entry.file_type().ok()?;
            if kind.is_file() {
                return Some(entry.path());
            }
            if kind.is_dir() {
                directories.push(entry.path());
            }
        }
    }
    None
}

/// Creates a directory with one link per package. With a single link to the whole directory, an
/// installation in the worktree could delete the original packages.
fn link_packages(from: &Path, to: &Path) -> Result<()> {
    let failed = WorktreeError::at;
    fs::create_dir(to).map_err(failed(to))?;
    for entry in fs::read_dir(from).map_err(failed(from))? {
        let entry = entry.map_err(failed(from))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(failed(&source))?;
        let name = entry.file_name();
        if kind.is_dir() && name.as_encoded_bytes().starts_with(b"@") {
            link_packages(&source, &target)?;
        } else if kind.is_dir() && name == ".bin" {
            duplicate_tree(&source, &target, Duplication::Copy)?;
        } else if kind.is_dir() {
            std::os::unix::fs::symlink(&source, &target).map_err(failed(&target))?;
        } else if kind.is_file() {
            duplicate_file(&source, &target, Duplication::Copy)?;
        } else if let Ok(text) = fs::read_link(&source) {
            // A package of the same repository, which the worktree contains too.
            if text.is_relative() {
                std::os::unix::fs::symlink(&text, &target).map_err(failed(&target))?;
            }
        }
    }
    Ok(())
}

/// Returns whether two files have the same content. `false` if one cannot be read.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    let read = |path: &Path| -> Result<Option<Vec<u8>>, OsError> { read_optional(path) };
    match (read(one), read(other)) {
        (Ok(Some(one)), Ok(Some(other))) => one == other,
        _ => false,
    }
}
