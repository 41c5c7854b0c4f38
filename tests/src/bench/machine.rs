//! Description of the machine in one line.

use std::fs;

/// Properties that affect the figures.
pub(crate) fn describe() -> String {
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    let model = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = model
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map_or("processor unknown", |line| {
            line.trim_start_matches([' ', '\t', ':'])
        });
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "{cpus} processors ({model}), Linux {}, files on {}; load at the start {}",
        kernel.trim(),
        file_system("/tmp"),
        load()
    )
}

/// The load at the end, which includes the benchmark's own.
pub(crate) fn load_line() -> String {
    format!("load at the end {}", load())
}

/// Load average of the last minute.
pub(crate) fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or("unknown").to_owned()
}

/// Returns the type of the file system of a directory: that of its longest mount point.
fn file_system(directory: &str) -> String {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let contains = |place: &str| {
        let rest = directory.strip_prefix(place.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.next()?))
    });
    let best = mounts
        .filter(|(place, _)| contains(place))
        .max_by_key(|(place, _)| place.len());
    best.map_or("an unknown file system", |(_, kind)| kind)
        .to_owned()
}
