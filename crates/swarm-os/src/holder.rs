//! Who holds a lock, written into the sidecar and read back for an error message.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::process::{Process, ProcessStat};

/// The length of a record: always the same, so that one write replaces the last holder's.
const RECORD_BYTES: usize = 48;

/// Names this process and the present time in a sidecar that it has just locked. A failure is no reason to let go of the lock:
/// on a full disk somebody must be able to remove things.
pub(crate) fn sign(sidecar: &File) {
    if let Err(error) = sidecar.write_all_at(&own_record(), 0) {
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
        words.next().map(str::parse::<i32>),
        words.next().map(str::parse::<u64>),
    ) else {
        return "an unknown process".to_owned();
    };
    let process = Process { pid, start };
    if process.id() == std::process::id() {
        return format!("this process itself ({pid})");
    }
    if ProcessStat::of(process.id()).map(|stat| stat.process) != Some(process) {
        return format!("an unknown process (process {pid}, the last one known, has ended)");
    }
    let mut told = format!("process {pid}");
    if let Ok(name) = fs::read_to_string(format!("/proc/{pid}/comm")) {
        // Writing into a String cannot fail.
        let _infallible = write!(told, " ({})", name.trim_end());
    }
    if let Some(age) = process.age() {
        let _infallible = write!(told, ", which began {} ago", in_words(age));
    }
    let taken = words.next().and_then(|word| word.parse::<u64>().ok());
    if let Some(held) = taken.and_then(|taken| now().checked_sub(Duration::from_millis(taken))) {
        let _infallible = write!(told, " and has had it for {}", in_words(held));
    }
    told
}

/// `<pid> <start time> <milliseconds since 1970>` in a fixed width.
fn own_record() -> Vec<u8> {
    static SELF: OnceLock<String> = OnceLock::new();
    // A process does not change its own.
    let own = SELF.get_or_init(|| {
        let pid = std::process::id();
        let start = ProcessStat::of(pid).map_or(0, |stat| stat.process.start);
        format!("{pid} {start}")
    });
    let words = format!("{own} {}", now().as_millis());
    format!("{words:<width$}\n", width = RECORD_BYTES - 1).into_bytes()
}

fn now() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// To a tenth of a second as long as that matters.
fn in_words(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}
