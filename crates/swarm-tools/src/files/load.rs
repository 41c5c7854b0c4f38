//! Taking a file that is to be changed into memory.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;

use super::{Stamp, Target};

/// The largest file, in bytes, that is taken into memory as a whole.
const LARGEST: u64 = 64 << 20;

/// The content of a file and its stamp; nothing when there is no such file.
pub(crate) fn load(target: &Target) -> Result<Option<(Vec<u8>, Stamp)>, String> {
    let given = target.given.display();
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits()).unwrap_or_default();
    let mut file = match OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(&target.real)
    {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{given} cannot be read: {error}.")),
    };
    let failed = |error: io::Error| format!("{given} cannot be read: {error}.");
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(format!("{given} is a directory."));
    }
    if !metadata.is_file() {
        return Err(format!(
            "{given} is not a regular file but a device, pipe or socket."
        ));
    }
    if metadata.len() > LARGEST {
        return Err(format!(
            "{given} has {} bytes, and files above {LARGEST} bytes are not changed with this tool. Use a program for it.",
            metadata.len()
        ));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(failed)?;
    let stamp = Stamp::of(&metadata, &bytes);
    Ok(Some((bytes, stamp)))
}
