//! Where worktrees lie, and that the repository does not see them.

use std::fs;
use std::path::{Path, PathBuf};

use swarm_fs::{append_durable, read_optional};

use crate::repository::{Repository, unsuitable};
use crate::{WorktreeError, WorktreeSettings};

/// Below the main checkout, as Claude Code has it.
const INSIDE: &str = ".claude/worktrees";

/// The folder that holds the worktrees of a repository.
pub(crate) fn folder(
    repository: &Repository,
    settings: &WorktreeSettings,
) -> Result<PathBuf, WorktreeError> {
    match (&settings.location, &repository.main) {
        (Some(location), main) => {
            let from = main.as_deref().unwrap_or(&repository.common);
            Ok(from.join(location).join(distinct_name(repository)))
        }
        (None, Some(main)) => {
            refuse_links(repository, main)?;
            Ok(main.join(INSIDE))
        }
        (None, None) => Err(unsuitable(
            &repository.common,
            "it is bare and has no main checkout to hold worktrees; set worktree.location",
        )),
    }
}

/// A link in the place of the folder would put the worktrees somewhere else than everybody believes.
fn refuse_links(repository: &Repository, main: &Path) -> Result<(), WorktreeError> {
    for part in [".claude", INSIDE] {
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
    // FNV-1a with 64 bits: only to tell paths apart.
    let mark = repository
        .common
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
    format!("{name}-{:08x}", mark >> 32)
}

/// Lets the repository ignore worktrees that lie in it, in the one file that git keeps for that and nobody commits. Under
/// the repository's lock.
pub(crate) fn exclude(repository: &Repository, folder: &Path) -> Result<(), WorktreeError> {
    let Some(inside) = repository
        .main
        .as_ref()
        .and_then(|main| folder.strip_prefix(main).ok())
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
