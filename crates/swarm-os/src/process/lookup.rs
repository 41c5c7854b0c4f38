//! Further files of a process in `/proc`, see `proc(5)`.

use std::fs;
use std::io;
use std::path::PathBuf;

/// Returns the pids of all visible processes in no particular order. Empty without `/proc`.
pub fn pids() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// Returns the first 15 bytes of the program name of a process (`comm`).
pub fn program_name(pid: u32) -> Option<String> {
    let name = fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(String::from_utf8_lossy(&name).trim_end().to_owned())
}

/// Returns the working directory of a process, without symbolic links.
///
/// # Errors
/// `PermissionDenied` for a process of another user or one that is not dumpable, `NotFound` if the
/// process has exited.
pub fn working_directory(pid: u32) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd"))
}

/// Returns the arguments of a process, each followed by a zero byte.
///
/// # Errors
/// `NotFound` if the process has exited.
pub fn arguments(pid: u32) -> io::Result<Vec<u8>> {
    fs::read(format!("/proc/{pid}/cmdline"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_listed_with_its_name_directory_and_arguments() {
        let own = std::process::id();
        assert!(pids().contains(&own));
        let here = std::env::current_dir().unwrap();
        assert_eq!(
            working_directory(own).unwrap(),
            here.canonicalize().unwrap()
        );
        let words = arguments(own).unwrap();
        let program = words.split(|byte| *byte == 0).next().unwrap();
        let program = String::from_utf8_lossy(program).into_owned();
        let name = program_name(own).unwrap();
        assert!(
            !name.is_empty() && program.contains(&name),
            "{program} {name}"
        );
    }
}
