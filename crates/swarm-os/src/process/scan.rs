//! Lists marked processes with variables of their environment.

use std::collections::BTreeMap;

use super::lookup::{Surroundings, arguments};
use super::scanner::snapshot;
use super::stat::Process;
use super::table::ancestors;

/// A process with a mark in its environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marked {
    /// Pid and start time.
    pub process: Process,
    /// Those of the requested variables that are set.
    pub variables: BTreeMap<String, String>,
    /// The arguments, separated by spaces.
    pub command: String,
    /// Whether it has the same user and namespaces as this process. If not, the paths in its
    /// environment may refer to other directories.
    pub is_ours: bool,
    /// Pids of its parent, its parent's parent and so on. A sandboxed process has other namespaces
    /// than its agent, and descends from it.
    pub ancestors: Vec<i32>,
}

/// Returns the running processes whose environment is readable and contains the variable `mark`,
/// with those of `variables` that are set, in the order of their pids. Root can read all
/// environments, and a host sees the processes of its containers.
pub fn all_marked(mark: &str, variables: &[&str]) -> Vec<Marked> {
    let snapshot = snapshot();
    let own_surroundings = Surroundings::own();
    let describe = |(pid, environ): (&i32, &Vec<u8>)| {
        let stat = snapshot.table.get(pid)?;
        let environ = variables_of(environ);
        environ.contains_key(mark).then(|| Marked {
            process: stat.process,
            variables: wanted(&environ, variables),
            command: command_line(*pid),
            is_ours: own_surroundings.hold(*pid),
            ancestors: ancestors(&snapshot.table, *pid).collect(),
        })
    };
    snapshot.environs().iter().filter_map(describe).collect()
}

fn wanted(environ: &BTreeMap<String, String>, variables: &[&str]) -> BTreeMap<String, String> {
    let found = variables.iter().filter_map(|name| {
        let value = environ.get(*name)?;
        Some(((*name).to_owned(), value.clone()))
    });
    found.collect()
}

/// Parses the variables of an environment.
pub(super) fn variables_of(environ: &[u8]) -> BTreeMap<String, String> {
    let entries = environ.split(|byte| *byte == 0);
    let pairs = entries.filter_map(|entry| {
        let (name, value) = std::str::from_utf8(entry).ok()?.split_once('=')?;
        Some((name.to_owned(), value.to_owned()))
    });
    pairs.collect()
}

/// Returns the arguments of a process, separated by spaces. Empty if they cannot be read.
pub fn command_line(pid: i32) -> String {
    let words = arguments(pid.cast_unsigned()).unwrap_or_default();
    let words = String::from_utf8_lossy(&words);
    words.trim_end_matches('\0').replace('\0', " ")
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use std::time::Duration;

    use super::*;

    #[test]
    fn finds_a_marked_process_with_its_variables_and_arguments() {
        let value = format!("scan-{}", std::process::id());
        let mut child = Command::new("sleep")
            .arg("600")
            .env_clear()
            .env("SWARM_SCAN_TEST", &value)
            .env("SWARM_TEAM", "demo")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        // Between fork and exec a child has the environment of its parent.
        let found = loop {
            let mut all = all_marked("SWARM_SCAN_TEST", &["SWARM_TEAM", "SWARM_NAME"]);
            all.retain(|marked| marked.process.pid == pid && marked.command == "sleep 600");
            if let Some(found) = all.pop() {
                break found;
            }
            std::thread::yield_now();
        };
        child.kill().unwrap();
        child.wait().unwrap();
        let demo = BTreeMap::from([("SWARM_TEAM".to_owned(), "demo".to_owned())]);
        assert_eq!(found.variables, demo);
        assert!(found.is_ours);
        assert!(found.process.age().unwrap() < Duration::from_mins(1));
    }
}
