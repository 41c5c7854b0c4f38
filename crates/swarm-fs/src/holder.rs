//! Who holds a lock, written into the sidecar and read back for an error message.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

/// The length of a record: always the same, so that one write replaces the last holder's.
const RECORD_BYTES: usize = 48;

/// Names this process in a sidecar that it has just locked. A failure is no reason to let go of the lock:
/// on a full disk somebody must be able to remove things.
pub(crate) fn sign(sidecar: &File) {
    if let Err(error) = sidecar.write_all_at(own_record(), 0) {
        tracing::debug!(%error, "could not sign a sidecar");
    }
}

/// Who signed last, in words.
pub(crate) fn describe(sidecar: &File) -> String {
    let mut record = [0; RECORD_BYTES];
    let read = sidecar.read_at(&mut record, 0).unwrap_or(0);
    let text = String::from_utf8_lossy(&record[..read]);
    let mut words = text.split_ascii_whitespace();
    let (Some(Ok(pid)), Some(Ok(start))) = (
        words.next().map(str::parse::<u32>),
        words.next().map(str::parse::<u64>),
    ) else {
        return "an unknown process".to_owned();
    };
    if pid == std::process::id() {
        return format!("this process itself ({pid})");
    }
    if start_time(pid) != Some(start) {
        return format!("an unknown process (process {pid}, the last one known, has ended)");
    }
    match fs::read_to_string(format!("/proc/{pid}/comm")) {
        Ok(name) => format!("process {pid} ({})", name.trim_end()),
        Err(_) => format!("process {pid}"),
    }
}

/// `<pid> <start time>` in a fixed width, made once: a process does not change its own.
fn own_record() -> &'static [u8] {
    static RECORD: OnceLock<Vec<u8>> = OnceLock::new();
    RECORD.get_or_init(|| {
        let pid = std::process::id();
        let words = format!("{pid} {}", start_time(pid).unwrap_or(0));
        format!("{words:<width$}\n", width = RECORD_BYTES - 1).into_bytes()
    })
}

/// When a process began, in clock ticks since the machine did: field 22 of `/proc/<pid>/stat`, see
/// `proc_pid_stat(5)`. Together with the pid it names a process that will never come again.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses, and may hold any character.
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_ascii_whitespace().nth(19)?.parse().ok()
}
