//! Where worktrees lie, that the repository does not see them, and that nothing else is taken for one.

use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

use swarm_os::{WORK_TREES, append_durable, fingerprint, read_optional};

use crate::repository::{Repository, unsuitable};
use crate::{Record, Slug, WorktreeError, WorktreeSettings};

/// The directory that holds the worktrees of a repository.
pub(crate) fn directory(
    repository: &Repository,
    settings: &WorktreeSettings,
) -> Result<PathBuf, WorktreeError> {
    match (&settings.location, &repository.main) {
        (Some(location), main) => {
            let from = main.as_deref().unwrap_or(&repository.common);
            let wanted = from.join(location).join(distinct_name(repository));
            real(&wanted).ok_or_else(|| {
                let why = format!(
                    "worktree.location leads to {}, with `..` behind what is not there; name the directory itself",
                    wanted.display()
                );
                unsuitable(&repository.shown(), why)
            })
        }
        (None, Some(main)) => {
            refuse_links(repository, main)?;
            Ok(main.join(WORK_TREES))
        }
        (None, None) => Err(unsuitable(
            &repository.common,
            "it is bare and has no main checkout to hold worktrees; set worktree.location",
        )),
    }
}

/// A path without links and `..`, as far as there is something. `None` where that cannot be told.
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

/// The record, if it speaks of the place where swarm makes a worktree of this name and of no other. What swarm removes it
/// removes there alone.
pub(crate) fn confirmed(
    repository: &Repository,
    slug: &Slug,
    record: Record,
) -> Result<Record, WorktreeError> {
    let mut directories = repository.places.of_repository(&repository.common)?;
    directories.extend(repository.main.as_ref().map(|main| main.join(WORK_TREES)));
    let name = slug.directory();
    let is_its = |outer: &PathBuf| record.path == outer.join(&name) && !is_led_elsewhere(outer);
    let plain = |name: &String| Path::new(name).file_name() == Some(OsStr::new(name));
    if record.slug == *slug
        && directories.iter().any(is_its)
        && record.git_directory.as_ref().is_none_or(plain)
    {
        return Ok(record);
    }
    let places: Vec<_> = directories
        .iter()
        .map(|directory| directory.join(&name).display().to_string())
        .collect();
    Err(WorktreeError::Damaged {
        path: repository.records().join(format!("{name}.json")),
        why: format!(
            "it speaks of {}, but the place of a worktree of that name is {}; look at what is there, then delete the record",
            record.path.display(),
            if places.is_empty() {
                "nowhere".to_owned()
            } else {
                places.join(" or ")
            },
        ),
    })
}

/// Whether a link is on the way to a directory.
fn is_led_elsewhere(directory: &Path) -> bool {
    directory.canonicalize().is_ok_and(|real| real != directory)
}

/// A link in the place of the directory would put the worktrees somewhere else than everybody believes.
fn refuse_links(repository: &Repository, main: &Path) -> Result<(), WorktreeError> {
    for part in [".claude", WORK_TREES] {
        let path = main.join(part);
        if path
            .symlink_metadata()
            .is_ok_and(|found| found.is_symlink())
        {
            let why = format!(
                "{} is a symbolic link; remove it, or set worktree.location",
                path.display()
            );
            return Err(unsuitable(&repository.shown(), why));
        }
    }
    Ok(())
}

/// The repository's name and a mark of its path, so that two of one name do not meet.
fn distinct_name(repository: &Repository) -> String {
    let shown = repository.shown();
    let name = shown.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let mark = fingerprint(repository.common.as_os_str().as_encoded_bytes());
    format!("{name}-{:08x}", mark >> 32)
}

/// Lets the repository ignore worktrees that lie in it, in the one file that git keeps for that and nobody commits. Under
/// the repository's lock.
pub(crate) fn exclude(repository: &Repository, directory: &Path) -> Result<(), WorktreeError> {
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
    let there = read_optional(&file)?;
    let lines = String::from_utf8_lossy(there.as_deref().unwrap_or_default()).into_owned();
    if lines.lines().any(|have| have.trim() == line) {
        return Ok(());
    }
    fs::create_dir_all(&info).map_err(|source| WorktreeError::Read { path: info, source })?;
    Ok(append_durable(&file, format!("{line}\n").as_bytes())?)
}
