//! The process table, read from `/proc`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::scanner::snapshot;

/// A process at one moment. The start time tells it from a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// When it was started, in clock ticks since boot (field 22 of `/proc/PID/stat`).
    pub start: u64,
}

/// What `/proc/PID/stat` tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) process: Process,
    pub(super) parent: i32,
    pub(super) group: i32,
    pub(super) session: i32,
    pub(super) ended: bool,
}

/// The living processes whose environment holds `name=value`, our own included.
///
/// One whose environment we may not read, or that wiped its own, is not found.
pub fn find_by_env(name: &str, value: &str) -> Vec<Process> {
    let entry = format!("{name}={value}");
    let snapshot = snapshot();
    let environs = snapshot.environs().iter();
    environs
        .filter(|(_, environ)| has_any(environ, |have| have == entry.as_bytes()))
        .filter_map(|(pid, _)| snapshot.table.get(pid))
        .map(|stat| stat.process)
        .collect()
}

/// Whether an environment holds such an entry (`NAME=VALUE`).
pub(super) fn has_any(environ: &[u8], is_meant: impl FnMut(&[u8]) -> bool) -> bool {
    environ.split(|byte| *byte == 0).any(is_meant)
}

/// Every living process by its number. Those that have ended and wait to be reaped are left out.
pub(super) fn all() -> BTreeMap<i32, Stat> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return BTreeMap::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, stat(pid)?)))
        .filter(|(_, stat)| !stat.ended)
        .collect()
}

/// What is known of one process, if there is one of this number.
pub(super) fn stat(pid: i32) -> Option<Stat> {
    parse_stat(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The format is in `proc_pid_stat(5)`. The program's name stands in brackets and may hold any byte, so fields are
/// counted from the last bracket.
fn parse_stat(pid: i32, text: &str) -> Option<Stat> {
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<i32>().ok();
    Some(Stat {
        process: Process {
            pid,
            start: fields.get(19)?.parse().ok()?,
        },
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        ended: matches!(*fields.first()?, "Z" | "X" | "x"),
    })
}

/// All that descends from `roots` by parent, or belongs to a group or session led by one of them.
pub(super) fn family(table: &BTreeMap<i32, Stat>, roots: &BTreeSet<i32>) -> BTreeSet<i32> {
    let mut family = roots.clone();
    loop {
        let joined: Vec<i32> = table
            .values()
            .filter(|stat| !family.contains(&stat.process.pid))
            .filter(|stat| {
                [stat.parent, stat.group, stat.session]
                    .iter()
                    .any(|id| family.contains(id))
            })
            .map(|stat| stat.process.pid)
            .collect();
        if joined.is_empty() {
            return family;
        }
        family.extend(joined);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_name_with_brackets_and_blanks_is_read() {
        let text = "42 (a) b (c)) S 1 42 40 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 777 1 1";
        let stat = parse_stat(42, text).unwrap();
        let process = Process {
            pid: 42,
            start: 777,
        };
        assert_eq!(
            stat,
            Stat {
                process,
                parent: 1,
                group: 42,
                session: 40,
                ended: false
            }
        );
        assert!(parse_stat(42, "42 (a Z").is_none());
    }

    #[test]
    fn a_family_follows_parents_groups_and_sessions() {
        let stat = |pid, parent, group, session| {
            let process = Process { pid, start: 1 };
            (
                pid,
                Stat {
                    process,
                    parent,
                    group,
                    session,
                    ended: false,
                },
            )
        };
        let table = BTreeMap::from([
            stat(10, 1, 10, 10),
            stat(11, 10, 10, 10),
            stat(12, 1, 12, 12),
            stat(13, 11, 13, 13),
            stat(14, 1, 13, 13),
            stat(15, 12, 12, 12),
        ]);
        assert_eq!(
            family(&table, &BTreeSet::from([10])),
            BTreeSet::from([10, 11, 13, 14])
        );
    }

    #[test]
    fn our_own_process_is_in_the_table() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert_eq!(all().get(&own), stat(own).as_ref());
    }
}
