//! This process and its ancestors. Reads `stat`, which is readable for every visible process, and
//! stops at the first process that is not visible.

use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use super::stat::{Process, ProcessStat};

/// Maximum number of ancestors.
const DEEPEST: usize = 4096;

/// A process and its ancestors, nearest first.
#[derive(Debug)]
pub struct Ancestry {
    proc: PathBuf,
    processes: Vec<Process>,
}

impl Ancestry {
    /// Returns this process and its ancestors, up to but excluding the ancestor with the pid `end`.
    pub fn own(end: Option<u32>) -> Self {
        Self::in_proc(Path::new("/proc"), end)
    }

    /// Like [`Ancestry::own`], read from a directory with the layout of `/proc`.
    pub fn in_proc(proc: &Path, end: Option<u32>) -> Self {
        let mut processes = walk(proc, end);
        // An ancestor that exits during the walk hides those above it. Its child then has another
        // parent, so the next walk differs. The loop terminates because no ancestor can be added.
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

    /// Returns the processes, starting with this one.
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// Returns the environment of one of the processes, each entry followed by a zero byte. Returns
    /// `None` if it cannot be read.
    pub fn environ(&self, process: Process) -> Option<Vec<u8>> {
        read(&self.proc.join(process.pid.to_string()).join("environ"))
    }
}

/// Returns this process and its ancestors up to `end` or the first one that is not visible.
fn walk(proc: &Path, end: Option<u32>) -> Vec<Process> {
    let mut processes: Vec<Process> = Vec::new();
    // Not by pid, which names another process if `/proc` belongs to another pid namespace.
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

/// Returns a process and the pid of its parent.
fn stat(directory: &Path) -> Option<(Process, i32)> {
    let line = read(&directory.join("stat"))?;
    let stat = ProcessStat::parse(&String::from_utf8_lossy(&line))?;
    Some((stat.process, stat.parent))
}

/// Reads a file with system calls, so that a preloaded library (`LD_PRELOAD`) cannot hide it.
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
