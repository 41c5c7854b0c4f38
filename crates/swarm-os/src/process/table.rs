//! The process table, read from `/proc`.

use std::collections::{BTreeMap, BTreeSet};

use super::scanner::snapshot;
use super::stat::{Process, ProcessStat};

/// Returns the running processes whose environment contains `name=value`, including this one.
/// Does not find processes whose environment is not readable or was cleared.
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

/// Returns whether an entry of an environment (`NAME=VALUE`) matches.
pub(super) fn has_any(environ: &[u8], matches: impl FnMut(&[u8]) -> bool) -> bool {
    environ.split(|byte| *byte == 0).any(matches)
}

/// Returns the pids of a process's parent, its parent's parent and so on.
pub(super) fn ancestors(
    table: &BTreeMap<i32, ProcessStat>,
    pid: i32,
) -> impl Iterator<Item = i32> + '_ {
    let parent = |pid: &i32| table.get(pid).map(|stat| stat.parent);
    std::iter::successors(parent(&pid), parent).take(table.len())
}

/// Returns `roots`, their descendants, and the members of process groups and sessions that one of
/// them leads.
pub(super) fn family(table: &BTreeMap<i32, ProcessStat>, roots: &BTreeSet<i32>) -> BTreeSet<i32> {
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
    fn a_family_follows_parents_groups_and_sessions() {
        let stat = |pid, parent, group, session| {
            let process = Process { pid, start: 1 };
            (
                pid,
                ProcessStat {
                    process,
                    parent,
                    group,
                    session,
                    state: 'S',
                    is_kernel_thread: false,
                    is_exiting: false,
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
    fn this_process_is_in_the_table() {
        let own = Process::running(std::process::id()).unwrap();
        assert_eq!(super::super::scanner::all()[&own.pid].process, own);
    }
}
