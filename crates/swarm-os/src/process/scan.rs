//! Every marked process that can be seen, with what its environment says of it.

use std::collections::BTreeMap;

use super::lookup::arguments;
use super::scanner::snapshot;
use super::stat::Process;
use super::surroundings::Surroundings;

/// A process that carries a mark in its environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marked {
    /// Which process.
    pub process: Process,
    /// The variables that were asked for and are set.
    pub variables: BTreeMap<String, String>,
    /// Its arguments, one blank between them.
    pub command: String,
    /// Whether it runs as our user and sees the same files and processes as we do. If not, the paths in its
    /// environment may mean other directories than they do here.
    pub is_ours: bool,
}

/// The living processes whose environment can be read and has the variable `mark`, with those of `variables` that are
/// set too. By number. The super-user reads everybody's environment, and a host sees into its containers.
pub fn all_marked(mark: &str, variables: &[&str]) -> Vec<Marked> {
    let snapshot = snapshot();
    let here = Surroundings::own();
    let describe = |(pid, environ): (&i32, &Vec<u8>)| {
        let stat = snapshot.table.get(pid)?;
        let environ = variables_of(environ);
        environ.contains_key(mark).then(|| Marked {
            process: stat.process,
            variables: wanted(&environ, variables),
            command: command_line(*pid),
            is_ours: here.hold(*pid),
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

/// The names and values in an environment.
pub(super) fn variables_of(environ: &[u8]) -> BTreeMap<String, String> {
    let entries = environ.split(|byte| *byte == 0);
    let pairs = entries.filter_map(|entry| {
        let (name, value) = std::str::from_utf8(entry).ok()?.split_once('=')?;
        Some((name.to_owned(), value.to_owned()))
    });
    pairs.collect()
}

/// The arguments of a process, one blank between them; empty where there is none to be read.
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
    fn a_marked_process_is_found_with_its_variables_and_its_words() {
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
        // Between fork and exec a child shows its parent's environment.
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
