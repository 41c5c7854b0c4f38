//! Loads a file into memory before a change.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;

use super::{Stamp, Target};

const MAX_FILE_BYTES: u64 = 64 << 20;

/// Reads the content and the stamp of a file. Returns `None` if the file does not exist.
pub(crate) fn load(target: &Target) -> Result<Option<(Vec<u8>, Stamp)>, String> {
    let given = target.given.display();
    let mut file = match open(target) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot read {given}: {error}.")),
    };
    let failed = |error: io::Error| format!("cannot read {given}: {error}.");
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(format!("{given} is a directory."));
    }
    refuse_special(&metadata, target)?;
    if metadata.len() > MAX_FILE_BYTES {
        return Err(format!(
            "{given} has {} bytes; this tool does not change files larger than {MAX_FILE_BYTES} bytes. Use a program instead.",
            metadata.len()
        ));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(failed)?;
    let stamp = Stamp::of(&metadata, &bytes);
    Ok(Some((bytes, stamp)))
}

/// Opens a file for reading. Opening a pipe without a writer would block; links are already
/// resolved.
pub(crate) fn open(target: &Target) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    OpenOptions::new()
        .read(true)
        .custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
        .open(&target.real)
}

/// Refuses what is neither a file nor a directory.
pub(crate) fn refuse_special(metadata: &Metadata, target: &Target) -> Result<(), String> {
    if metadata.is_file() || metadata.is_dir() {
        return Ok(());
    }
    let given = target.given.display();
    Err(format!(
        "{given} is not a regular file but a device, pipe or socket."
    ))
}
