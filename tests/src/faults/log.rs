//! What a worker says, in a file: it outlives a kill, and nobody has to read it meanwhile.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rustix::time::{ClockId, clock_gettime};

/// The pen of one worker. Each line is one write and bears the time, which is one clock for all processes.
#[derive(Debug)]
pub struct Log(File);

impl Log {
    /// Goes on with the log that is there.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self(file))
    }

    /// Enters a line.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn say(&mut self, words: &str) -> io::Result<()> {
        let line = format!("{} {words}\n", monotonic_nanos());
        self.0.write_all(line.as_bytes())
    }
}

/// A line of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// When, in nanoseconds of the machine's monotonic clock.
    pub at: u64,
    /// What was said, word by word.
    pub words: Vec<String>,
}

impl Line {
    /// The word at a place; empty where there is none.
    pub fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", String::as_str)
    }

    /// The number at a place; 0 where there is none.
    pub fn number(&self, at: usize) -> u64 {
        self.word(at).parse().unwrap_or(0)
    }
}

/// The complete lines of a log.
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

/// The log of a worker in the directory of all logs.
pub fn path_of(logs: &Path, worker: &str) -> PathBuf {
    logs.join(format!("{worker}.log"))
}

/// The machine's monotonic clock.
pub fn monotonic_nanos() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}
