//! Records of sessions that can be written to.

use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use swarm_os::process::Process;
use swarm_os::{OsError, read_optional, replace_in_private_dir};
use swarm_protocol::{PeerRecord, SessionId};

/// Path of a session's record.
pub(super) fn path(directory: &Path, session: SessionId) -> PathBuf {
    directory.join(format!("{session}.json"))
}

/// Writes a record with mode 0600.
pub(super) fn write(directory: &Path, record: &PeerRecord) -> Result<(), OsError> {
    // Ids, numbers and paths always serialize.
    let bytes = serde_json::to_vec(record).unwrap_or_default();
    replace_in_private_dir(&path(directory, record.session), &bytes)
}

/// Returns the sessions with a record in `directory` whose process is running, oldest first.
/// Unreadable records are skipped. Files of sessions that were killed are removed.
pub fn peer_records(directory: &Path) -> Vec<PeerRecord> {
    let mut records: Vec<PeerRecord> = files_with(directory, "json")
        .filter_map(|path| read(&path))
        .collect();
    records.sort_by_key(|record| (record.started_at, record.pid));
    records
}

fn read(path: &Path) -> Option<PeerRecord> {
    let record: PeerRecord = parsed(path)?;
    if is_running(record.pid, &record.proc_start) {
        return Some(record);
    }
    remove(path);
    // A program that can write records must not choose files for others to remove.
    remove_socket(&record.socket);
    None
}

/// Removes a socket of an ended session; other files stay.
pub(super) fn remove_socket(path: &Path) {
    if fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
        remove(path);
    }
}

/// Returns the files in a directory whose names have this extension.
pub(super) fn files_with(
    directory: &Path,
    extension: &'static str,
) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path());
    files.filter(move |path| path.extension().is_some_and(|end| end == extension))
}

/// Returns the content of a JSON file; `None` if it cannot be read.
pub(super) fn parsed<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let bytes = read_optional(path).ok().flatten()?;
    serde_json::from_slice(&bytes).ok()
}

/// Returns whether the process with this id and start time is running.
pub(super) fn is_running(pid: u32, start: &str) -> bool {
    Process::running(pid).is_some_and(|process| process.start.to_string() == start)
}

/// Removes a file of an ended session.
pub(super) fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path) {
        tracing::debug!(path = %path.display(), %error, "file of an ended session not removed");
    }
}
