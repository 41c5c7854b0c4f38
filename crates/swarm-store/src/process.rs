//! Identifies processes by PID and start time, so that a reused PID is not mistaken for the
//! original.

use serde_json::Map;
use swarm_os::process::{Process, ProcessStat, pid_space};
use swarm_protocol::{LeadProcess, LifeRecord, Reservation, UnixMs};

/// The start time of a process in clock ticks since boot (field 22 of `/proc/<pid>/stat`), as
/// decimal text. `None` if the process does not exist, is a zombie, or there is no `/proc`.
pub fn start_time(pid: u32) -> Option<String> {
    Process::running(pid).map(|process| process.start.to_string())
}

/// Whether the process that has this pid and start time is stopped by a signal (SIGSTOP, Ctrl-Z).
pub fn is_stopped(pid: u32, start: &str) -> bool {
    ProcessStat::of(pid)
        .is_some_and(|stat| stat.is_stopped() && stat.process.start.to_string() == start)
}

/// Whether the process that had this pid and start time still runs. `None` where that cannot be
/// known.
pub fn is_running(pid: u32, start: &str) -> Option<bool> {
    start_time(std::process::id())?;
    Some(start_time(pid).is_some_and(|found| found == start))
}

/// Whether the process of a life record is known to have ended. A process in another PID namespace or
/// on another machine is not.
pub fn is_dead(holder: &LifeRecord) -> bool {
    holder.pid_space == pid_space() && is_running(holder.pid, &holder.proc_start) == Some(false)
}

/// Describes this process as the lead of a team.
pub fn as_lead(now: UnixMs) -> LeadProcess {
    let pid = std::process::id();
    LeadProcess {
        pid,
        pid_space: pid_space(),
        claimed_at: now,
        proc_start: start_time(pid).unwrap_or_default(),
        rest: Map::default(),
    }
}

/// Whether a lead still runs. `None` when it runs in another pid namespace or on another machine.
pub fn lead_is_running(lead: &LeadProcess) -> Option<bool> {
    if lead.pid_space == pid_space() {
        is_running(lead.pid, &lead.proc_start)
    } else {
        None
    }
}

/// Whether the process that reserved a place still runs. `None` when it runs in another pid namespace
/// or on another machine.
pub(crate) fn spawner_is_running(of: &Reservation) -> Option<bool> {
    if of.spawner_space.is_empty() || of.spawner_space == pid_space() {
        is_running(of.spawner_pid, &of.spawner_start)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn this_process_runs_and_its_namesake_of_another_time_does_not() {
        let pid = std::process::id();
        let start = start_time(pid).unwrap();
        assert!(start.bytes().all(|b| b.is_ascii_digit()), "{start}");
        assert_eq!(is_running(pid, &start), Some(true));
        assert_eq!(is_running(pid, "1"), Some(false));
    }

    #[test]
    fn a_zombie_is_not_running() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let start = start_time(child.id()).unwrap_or_default();
        let path = format!("/proc/{}/stat", child.id());
        while !fs::read_to_string(&path).unwrap().contains(") Z ") {
            std::thread::yield_now();
        }
        assert_eq!(is_running(child.id(), &start), Some(false));
        child.wait().unwrap();
    }

    #[test]
    fn a_stopped_process_is_detected_until_it_continues() {
        let mut child = std::process::Command::new("sleep")
            .arg("1000")
            .spawn()
            .unwrap();
        let (pid, start) = (child.id(), start_time(child.id()).unwrap());
        let send = |signal: &str| {
            let pid = pid.to_string();
            let sent = std::process::Command::new("kill")
                .args([signal, &pid])
                .status();
            assert!(sent.unwrap().success());
        };
        assert!(!is_stopped(pid, &start));
        send("-STOP");
        while !is_stopped(pid, &start) {
            std::thread::yield_now();
        }
        assert!(!is_stopped(pid, "1"), "another one of this pid");
        send("-CONT");
        while is_stopped(pid, &start) {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_lead_elsewhere_is_not_judged() {
        let mut lead = as_lead(UnixMs(1));
        assert_eq!(lead_is_running(&lead), Some(true));
        lead.pid_space = "elsewhere#pid:[1]".to_owned();
        assert_eq!(lead_is_running(&lead), None);
    }
}
