//! The holder of a lock, recorded in the sidecar for error messages.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::process::{Process, ProcessStat};

/// Length of a record in bytes. Fixed, so that one write replaces the previous record.
const RECORD_BYTES: usize = 48;

/// A process that takes a lock this soon takes it at its start.
const AT_START: Duration = Duration::from_secs(2);

/// Records this process and the present time in a sidecar that it has just locked. Ignores
/// failures: on a full disk it must still be possible to delete things.
pub(crate) fn record_holder(sidecar: &File) {
    if let Err(error) = sidecar.write_all_at(&own_record(), 0) {
        tracing::debug!(%error, "could not record the holder of a lock");
    }
}

/// Describes the process that recorded itself last.
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
        return format!("this process ({pid})");
    }
    if ProcessStat::of(process.id()).map(|stat| stat.process) != Some(process) {
        return format!("an unknown process (the last known holder, process {pid}, has exited)");
    }
    let mut description = format!("process {pid}");
    if let Ok(name) = fs::read_to_string(format!("/proc/{pid}/comm")) {
        // Writing into a String cannot fail.
        let _infallible = write!(description, " ({})", name.trim_end());
    }
    let taken = words.next().and_then(|word| word.parse::<u64>().ok());
    let held = taken.and_then(|taken| now().checked_sub(Duration::from_millis(taken)));
    description + &times(process.age(), held)
}

/// Describes how long a process has run and held a lock. If it took the lock at its start, the second
/// time is enough.
fn times(age: Option<Duration>, held: Option<Duration>) -> String {
    let age = age.filter(|age| held.is_none_or(|held| *age > held + AT_START));
    let age = age.map(|age| format!(", started {} ago", format_duration(age)));
    let held = held.map(|held| format!(", which has held the lock for {}", format_duration(held)));
    age.unwrap_or_default() + &held.unwrap_or_default()
}

/// `<pid> <start time> <milliseconds since 1970>` in a fixed width.
fn own_record() -> Vec<u8> {
    static SELF: OnceLock<String> = OnceLock::new();
    // Pid and start time of a process never change.
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

/// Formats a duration: seconds with one decimal below a minute, whole units above.
fn format_duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_taken_at_the_start_of_a_process_has_one_time() {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(
            times(seconds(301), seconds(300)),
            ", which has held the lock for 5 min 0 s"
        );
        assert_eq!(
            times(seconds(301), seconds(5)),
            ", started 5 min 1 s ago, which has held the lock for 5.0 s"
        );
        assert_eq!(times(seconds(9), None), ", started 9.0 s ago");
    }
}
