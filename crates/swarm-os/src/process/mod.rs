//! Processes: inspection, search by a mark in the environment, and termination. Teammates and leads
//! make themselves non-dumpable, which hides their environment. They are identified by pid and
//! start time from the file that they lock. The environment of their child processes remains
//! readable. Process groups are not sufficient: `setsid` leaves the group, and the exit of a parent
//! removes the link to its descendants. A variable that every child inherits remains. Signals are
//! sent through pidfds, and each process is checked again after its pidfd was opened, so that a
//! reused pid is never signalled. A mark counts only for processes of the same user and namespaces:
//! a process of another user or in a container may have the same mark by coincidence. Without
//! `/proc` and pidfds, no processes are found by their environment and only process groups are
//! terminated.

mod ancestry;
mod end;
mod inspection;
mod lookup;
mod orphans;
mod scan;
mod scanner;
mod stat;
mod table;

pub use ancestry::Ancestry;
pub use end::{
    Ended, GRACE, Identity, KnownProcesses, Target, end, end_blocking, end_child, end_marked,
    exited_within, kill_now, kill_now_with_leader,
};
pub use inspection::forbid_inspection;
pub use lookup::{arguments, pid_space, pids, program_name, working_directory};
pub use orphans::reap_group;
pub use scan::{Marked, all_marked, command_line};
pub use stat::{Process, ProcessStat};
pub use table::find_by_env;
