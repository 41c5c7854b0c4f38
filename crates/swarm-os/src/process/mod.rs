//! Processes: what the kernel tells of one, finding those that were marked through their environment, and ending them.
//!
//! A teammate and a lead close their own environment, so they are known by pid and start time, from the file whose lock they
//! hold. What they start can be read as ever.
//!
//! A process group is not enough: `setsid` leaves it, and a parent that ends takes the trail with it. A variable that
//! every child inherits stays. Signals go through pidfds, and each process is looked at again once its pidfd is open,
//! so that a reused number is never hit.
//!
//! A mark counts only where we live: the process of another user, or in a container that this machine runs, may have
//! one that reads like ours and means another thing.
//!
//! Where the kernel has no `/proc` and no pidfds, nothing is found by its environment and only process groups end.

mod ancestry;
mod end;
mod inspection;
mod lookup;
mod scan;
mod scanner;
mod stat;
mod surroundings;
mod table;

pub use ancestry::Ancestry;
pub use end::{
    Ended, GRACE, KnownProcesses, Target, end, end_blocking, end_marked, end_now, gone_within,
};
pub use inspection::forbid_inspection;
pub use lookup::{arguments, pids, program_name, working_directory};
pub use scan::{Marked, all_marked, command_line};
pub use stat::{Process, ProcessStat};
pub use surroundings::pid_space;
pub use table::find_by_env;
