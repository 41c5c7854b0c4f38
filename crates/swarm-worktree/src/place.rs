//! Paths of worktrees: the directory that contains them, its exclusion from the repository, and
//! path checks.

use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

use swarm_os::{WORKTREES_DIRECTORY, append_durable, fingerprint, read_optional};

use crate::repository::{Repository, unsuitable};
use crate::{Record, Result, Slug, WorktreeError, WorktreeSettings};

/// Returns the directory that contains the worktrees of a repository.
pub(crate) fn directory(repository: &Repository, settings: &WorktreeSettings) -> Result<PathBuf> {
    match (&settings.location, &repository.main) {
        (Some(location), main) => {
            let from = main.as_deref().unwrap_or(&repository.common);
            let wanted = from.join(location).join(distinct_name(repository));
            real(&wanted).ok_or_else(|| {
                let why = format!(
                    "worktree.location resolves to {}, which has `..` after a missing directory; set it to a path without `..`",
                    wanted.display()
                );
                unsuitable(&repository.shown(), why)
            })
        }
        (None, Some(main)) => {
            refuse_links(repository, main)?;
            Ok(main.join(WORKTREES_DIRECTORY))
        }
        (None, None) => Err(unsuitable(
            &repository.common,
            "it is bare and has no main checkout to contain worktrees; set worktree.location",
        )),
    }
}

/// Resolves symbolic links and `..` in the existing part of a path. Returns `None` if the rest has
/// `..`.
fn real(path: &Path) -> Option<PathBuf> {
    let there = path
        .ancestors()
        .find_map(|above| Some((above, above.canonicalize().ok()?)));
    let (above, real) = there?;
    let rest = path.strip_prefix(above).ok()?;
    let is_plain = |part| matches!(part, Component::Normal(_));
    // Joining an empty path would add a slash.
    rest.components()
        .all(is_plain)
        .then(|| real.join(rest).components().collect())
}

/// Returns the record if its path is where swarm creates a worktree of this name. Swarm removes
/// directories at such paths only.
pub(crate) fn confirmed(repository: &Repository, slug: &Slug, record: Record) -> Result<Record> {
    let mut directories = repository.registry.of_repository(&repository.common)?;
    directories.extend(
        repository
            .main
            .as_ref()
            .map(|main| main.join(WORKTREES_DIRECTORY)),
    );
    let name = slug.directory();
    let is_its = |outer: &PathBuf| record.path == outer.join(&name) && !has_link(outer);
    let plain = |name: &String| Path::new(name).file_name() == Some(OsStr::new(name));
    if record.slug == *slug
        && directories.iter().any(is_its)
        && record.git_directory.as_ref().is_none_or(plain)
    {
        return Ok(record);
    }
    let expected: Vec<_> = directories
        .iter()
        .map(|directory| directory.join(&name).display().to_string())
        .collect();
    let why = format!(
        "it names {}, but a worktree of that name is at {}; check that directory, then delete the record",
        record.path.display(),
        if expected.is_empty() {
            "no known path".to_owned()
        } else {
            expected.join(" or ")
        },
    );
    let file = repository.records().join(format!("{name}.json"));
    Err(WorktreeError::damaged(&file, &why))
}

/// Returns whether a path contains a symbolic link.
fn has_link(directory: &Path) -> bool {
    directory.canonicalize().is_ok_and(|real| real != directory)
}

/// Refuses symbolic links in the path of the directory, which would put the worktrees in an
/// unexpected place.
fn refuse_links(repository: &Repository, main: &Path) -> Result<()> {
    for part in [".claude", WORKTREES_DIRECTORY] {
        let path = main.join(part);
        if path.is_symlink() {
            let why = format!(
                "{} is a symbolic link; remove it, or set worktree.location",
                path.display()
            );
            return Err(unsuitable(&repository.shown(), why));
        }
    }
    Ok(())
}

/// Returns the name of the repository and a hash of its path, so that repositories of the same name
/// get different directories.
fn distinct_name(repository: &Repository) -> String {
    let shown = repository.shown();
    let name = shown.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let hash = fingerprint(repository.common.as_os_str().as_encoded_bytes());
    format!("{name}-{:08x}", hash >> 32)
}

/// Adds worktrees inside the main checkout to `info/exclude`, which git ignores and which is not
/// committed. Requires the lock of the repository.
pub(crate) fn exclude(repository: &Repository, directory: &Path) -> Result<()> {
    let Some(inside) = repository
        .main
        .as_ref()
        .and_then(|main| directory.strip_prefix(main).ok())
    else {
        return Ok(());
    };
    let line = format!("/{}/", inside.display());
    let info = repository.common.join("info");
    let file = info.join("exclude");
    let present = read_optional(&file)?;
    let lines = String::from_utf8_lossy(present.as_deref().unwrap_or_default()).into_owned();
    if lines.lines().any(|have| have.trim() == line) {
        return Ok(());
    }
    fs::create_dir_all(&info).map_err(WorktreeError::at(&info))?;
    Ok(append_durable(&file, format!("{line}\n").as_bytes())?)
}
