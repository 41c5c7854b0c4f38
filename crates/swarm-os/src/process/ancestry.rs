//! This process and its ancestors.
//!
//! The walk reads `stat`, which is readable for every process that is visible at all, and ends where a process is not
//! visible.

use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use super::stat::{Process, ProcessStat};

/// How many ancestors there can be at most.
const DEEPEST: usize = 4096;

/// A process and its ancestors, nearest first.
#[derive(Debug)]
pub struct Ancestry {
    proc: PathBuf,
    processes: Vec<Process>,
}

impl Ancestry {
    /// This process's own, below the ancestor `end` if there is one of this pid.
    pub fn own(end: Option<u32>) -> Self {
        Self::in_proc(Path::new("/proc"), end)
    }

    /// The same, read from a directory that is laid out like `/proc`.
    pub fn in_proc(proc: &Path, end: Option<u32>) -> Self {
        let mut processes = walk(proc, end);
        // An ancestor that ends during the walk hides those above it. Its child has another parent then, so the next walk
        // differs; this ends, because no ancestor can be added.
        loop {
            let again = walk(proc, end);
            if again == processes {
                break;
            }
            processes = again;
        }
        Self {
            proc: proc.to_owned(),
            processes,
        }
    }

    /// The processes, this one first.
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// The environment of one of the processes, each entry followed by a zero byte. `None` where it cannot be read.
    pub fn environ(&self, process: Process) -> Option<Vec<u8>> {
        read(&self.proc.join(process.pid.to_string()).join("environ"))
    }
}

/// This process and its ancestors up to `end`, or to the first that is not visible.
fn walk(proc: &Path, end: Option<u32>) -> Vec<Process> {
    let mut processes: Vec<Process> = Vec::new();
    // Not by its pid: in another pid namespace than that of `/proc` that names another process.
    let mut next = stat(&proc.join("self"));
    while let Some((process, parent)) = next {
        if Some(process.id()) == end || processes.len() == DEEPEST {
            break;
        }
        processes.push(process);
        next = stat(&proc.join(parent.to_string()));
    }
    processes
}

/// A process and its parent's pid.
fn stat(directory: &Path) -> Option<(Process, i32)> {
    let line = read(&directory.join("stat"))?;
    let stat = ProcessStat::parse(&String::from_utf8_lossy(&line))?;
    Some((stat.process, stat.parent))
}

/// Reads a file by the kernel's own calls: a library that is loaded before ours (`LD_PRELOAD`) cannot hide it.
fn read(path: &Path) -> Option<Vec<u8>> {
    let file = openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut content = Vec::new();
    let mut piece = [0; 4096];
    loop {
        match rustix::io::read(&file, &mut piece) {
            Ok(0) => return Some(content),
            Ok(count) => content.extend(&piece[..count]),
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}
