//! Atomic creation, replacement and change of files.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::ToolContext;

use super::{Stamp, Target};

/// Replaces an existing file atomically and preserves its mode. Fails with
/// [`io::ErrorKind::ResourceBusy`] and changes nothing if the file no longer matches `expected`.
pub(crate) fn replace(path: &Path, bytes: &[u8], expected: &Stamp) -> io::Result<Stamp> {
    let mode = fs::symlink_metadata(path)?.permissions().mode() & 0o7777;
    // Private until it has the mode of the replaced file.
    let temporary = Temporary::write(path, bytes, 0o600)?;
    fs::set_permissions(&temporary.path, Permissions::from_mode(mode))?;
    // If two agents replace a file concurrently, one locks the file that both have seen; the other
    // finds it locked, or finds another file at the path. On file systems without locks only the
    // metadata is compared.
    let seen = File::open(path)?;
    if matches!(seen.try_lock(), Err(TryLockError::WouldBlock)) {
        return Err(io::ErrorKind::ResourceBusy.into());
    }
    if !expected.same_metadata(&fs::symlink_metadata(path)?) {
        return Err(io::ErrorKind::ResourceBusy.into());
    }
    fs::rename(&temporary.path, path)?;
    stamp(path, bytes)
}

/// Creates a file and its parent directories. Fails with [`io::ErrorKind::AlreadyExists`] if the
/// file exists.
pub(crate) fn create(path: &Path, bytes: &[u8]) -> io::Result<Stamp> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let temporary = Temporary::write(path, bytes, 0o666)?;
    match fs::hard_link(&temporary.path, path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
        // A file system without hard links.
        Err(_) if fs::symlink_metadata(path).is_err() => fs::rename(&temporary.path, path)?,
        Err(error) => return Err(error),
    }
    stamp(path, bytes)
}

/// Returns the stamp of a file that was just written.
fn stamp(path: &Path, bytes: &[u8]) -> io::Result<Stamp> {
    Ok(Stamp::of(&File::open(path)?.metadata()?, bytes))
}

/// A temporary file in the target directory, removed when dropped.
#[derive(Debug)]
struct Temporary {
    path: PathBuf,
}

impl Temporary {
    fn write(beside: &Path, bytes: &[u8], mode: u32) -> io::Result<Self> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let path = beside.with_file_name(format!(".swarm-{}-{serial}.tmp", std::process::id()));
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&path)?;
        let temporary = Self { path };
        file.write_all(bytes)?;
        file.sync_data()?;
        Ok(temporary)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let removed = fs::remove_file(&self.path);
        let Err(error) = removed else { return };
        if error.kind() != io::ErrorKind::NotFound {
            let path = self.path.display();
            tracing::warn!(%path, %error, "cannot remove a temporary file");
        }
    }
}

/// Gives a file new content, after its earlier content was kept. `existing` is what it has at
/// present.
pub(crate) fn change(
    target: &Target,
    existing: Option<&(Vec<u8>, Stamp)>,
    content: &[u8],
    ctx: &ToolContext,
) -> Result<Stamp, String> {
    let given = target.given.display();
    if let Some((before, _)) = existing
        && let Some(why) = (ctx.protected).change_refusal(&target.real, before, content)
    {
        return Err(why);
    }
    if let Some(history) = &ctx.history {
        let before = existing.map(|(before, _)| before.as_slice());
        history
            .record(&ctx.tool_use_id, &target.real, before, Some(content))
            .map_err(|error| {
                format!(
                    "the earlier content of {given} cannot be kept: {error}. Nothing was changed."
                )
            })?;
    }
    let written = match existing {
        None => create(&target.real, content),
        Some((_, now)) => replace(&target.real, content, now),
    };
    written.map_err(|error| match error.kind() {
        io::ErrorKind::ResourceBusy | io::ErrorKind::AlreadyExists => {
            format!(
                "{given} was changed by another program at the same time; nothing was written. Read it again."
            )
        }
        _ => format!("cannot write {given}: {error}. Nothing was changed."),
    })
}
