//! Process statistics of the kernel.

use std::collections::BTreeMap;
use std::fs;

/// Returns the resident set size in bytes.
pub(crate) fn resident(pid: u32) -> u64 {
    kilobytes(&read(pid, "status"), "VmRSS:") * 1024
}

/// Returns the proportional set size in bytes: the sum over all processes is the memory in use.
pub(crate) fn proportional(pid: u32) -> u64 {
    kilobytes(&read(pid, "smaps_rollup"), "Pss:") * 1024
}

/// Returns the bytes of private memory that it has written. Unchanged pages of its program file do
/// not count: the kernel can drop them, and shares them with every other process that needs them.
pub(crate) fn unshared(pid: u32) -> u64 {
    kilobytes(&read(pid, "smaps_rollup"), "Private_Dirty:") * 1024
}

/// Returns the number of its threads.
pub(crate) fn threads(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task"));
    let entries = entries.into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// Returns the voluntary context switches of each of its threads: each wake-up ends in one.
pub(crate) fn sleeps(pid: u32) -> BTreeMap<u32, u64> {
    let of_thread = |thread: u32| {
        let status = read(pid, &format!("task/{thread}/status"));
        (thread, kilobytes(&status, "voluntary_ctxt_switches:"))
    };
    threads(pid).into_iter().map(of_thread).collect()
}

/// Returns the processor time in clock ticks of 10 ms.
pub(crate) fn ticks(pid: u32) -> u64 {
    let stat = read(pid, "stat");
    let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let fields: Vec<&str> = after_name.split(' ').collect();
    // `proc(5)`: utime and stime are fields 14 and 15, and the name is field 2.
    let tick = |at: usize| fields.get(at).and_then(|word| word.parse().ok());
    tick(11).unwrap_or(0_u64) + tick(12).unwrap_or(0_u64)
}

/// Returns the number of its open files.
pub(crate) fn descriptors(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

fn read(pid: u32, file: &str) -> String {
    fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default()
}

/// Returns the first number of a line with this prefix.
fn kilobytes(text: &str, key: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    let word = line.and_then(|line| line.split_whitespace().next());
    word.and_then(|word| word.parse().ok()).unwrap_or_default()
}
