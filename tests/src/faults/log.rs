//! Log files of workers, which survive a kill and need no concurrent reader.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rustix::time::{ClockId, clock_gettime};

/// The log writer of a worker. Each line is a single write with a timestamp of a clock that all
/// processes share.
#[derive(Debug)]
pub struct Log(File);

impl Log {
    /// Opens a log for appending.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self(file))
    }

    /// Writes a line.
    pub fn say(&mut self, words: &str) -> io::Result<()> {
        let line = format!("{} {words}\n", monotonic_nanos());
        self.0.write_all(line.as_bytes())
    }
}

/// A line of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Time in nanoseconds of the monotonic clock.
    pub at: u64,
    /// The words of the line.
    pub words: Vec<String>,
}

impl Line {
    /// Returns the word at an index; empty if there is none.
    pub fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", String::as_str)
    }

    /// Returns the number at an index; 0 if there is none.
    pub fn number(&self, at: usize) -> u64 {
        self.word(at).parse().unwrap_or(0)
    }
}

/// Returns the complete lines of a log.
pub fn lines(path: &Path) -> Vec<Line> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    let parsed = complete.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let at = words.next()?.parse().ok()?;
        Some(Line {
            at,
            words: words.map(str::to_owned).collect(),
        })
    });
    parsed.collect()
}

/// Returns the log of a worker in a directory.
pub fn path_of(logs: &Path, worker: &str) -> PathBuf {
    logs.join(format!("{worker}.log"))
}

/// Returns the time of the monotonic clock.
pub fn monotonic_nanos() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}
