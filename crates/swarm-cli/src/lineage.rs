//! Marks of agent programs in the environment of this process and its ancestors.
//!
//! The walk stops at an invisible ancestor, so a process of another user never blocks the caller.
//! `environ` is additional evidence where it is readable.

use std::cell::OnceCell;

use swarm_config::Environment;
use swarm_os::process::{Ancestry, Process, pid_space};

/// Variables that other agent programs set in their child processes, with the program.
const MARKS: [(&str, &str); 6] = [
    ("CLAUDECODE", "Claude Code"),
    ("CLAUDE_CODE_ENTRYPOINT", "Claude Code"),
    ("CODEX_SANDBOX", "Codex"),
    ("CODEX_THREAD_ID", "Codex"),
    ("CURSOR_AGENT", "Cursor"),
    ("GEMINI_CLI", "Gemini CLI"),
];

/// Process at which the walk stops. Set by the test suite, which an agent may run; release builds
/// ignore it.
const END: &str = "SWARM_LINEAGE_END";

/// Evidence that an agent program started this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) program: &'static str,
    pub(crate) variable: &'static str,
    /// Ancestor with the variable; `None` for this process.
    pub(crate) ancestor: Option<u32>,
}

/// A process and its ancestors, nearest first.
#[derive(Debug)]
pub(crate) struct Lineage {
    ancestry: Ancestry,
    /// The environment of each process, once it was needed.
    environs: Vec<OnceCell<Option<Vec<u8>>>>,
}

impl Lineage {
    fn new(ancestry: Ancestry) -> Self {
        Self {
            environs: vec![OnceCell::new(); ancestry.processes().len()],
            ancestry,
        }
    }

    /// Reads the ancestors of this process.
    pub(crate) fn own(env: &Environment) -> Self {
        let end = env.get(END).filter(|_| cfg!(debug_assertions));
        Self::new(Ancestry::own(end.and_then(|pid| pid.parse().ok())))
    }

    /// Returns the distance to a process with this start time; `None` if it is not an ancestor.
    pub(crate) fn distance(&self, pid: u32, start: &str) -> Option<usize> {
        let is_it = |process: &Process| process.id() == pid && process.start.to_string() == start;
        self.ancestry.processes().iter().position(is_it)
    }

    /// Returns whether a variable is set in this process or an ancestor nearer than `distance`.
    pub(crate) fn has_below(&self, distance: usize, variable: &str) -> bool {
        self.any_below(distance, |environ| is_set(environ, variable))
    }

    /// Returns whether a variable has this value in this process or an ancestor nearer than
    /// `distance`.
    pub(crate) fn has_value_below(&self, distance: usize, variable: &str, value: &str) -> bool {
        let entry = format!("{variable}={value}");
        self.any_below(distance, |environ| {
            entries(environ).any(|have| have == entry.as_bytes())
        })
    }

    fn any_below(&self, distance: usize, holds: impl Fn(&[u8]) -> bool) -> bool {
        let mut below = self.environs().take(distance);
        below.any(|(_, environ)| environ.is_some_and(&holds))
    }

    /// Returns the processes with their environments, as far as those can be read.
    fn environs(&self) -> impl Iterator<Item = (&Process, Option<&[u8]>)> {
        let processes = self.ancestry.processes().iter().zip(&self.environs);
        processes.map(|(process, environ)| {
            let environ = environ.get_or_init(|| self.ancestry.environ(*process));
            (process, environ.as_deref())
        })
    }

    /// Returns the nearest mark of another agent program.
    pub(crate) fn mark(&self) -> Option<Mark> {
        let mut numbered = self.environs().enumerate();
        numbered.find_map(|(distance, (process, environ))| {
            let of = |entry| MARKS.iter().position(|(name, _)| sets(entry, name));
            let (variable, program) = MARKS[entries(environ?).filter_map(of).min()?];
            Some(Mark {
                program,
                variable,
                ancestor: (distance > 0).then_some(process.id()),
            })
        })
    }
}

/// The scope in which this process's pid is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PidSpace {
    host: String,
    /// The pid namespace; empty if unreadable.
    namespace: String,
}

impl PidSpace {
    /// Reads the scope of this process.
    pub(crate) fn own() -> Self {
        let own = pid_space();
        let (host, namespace) = own.rsplit_once('#').unwrap_or_default();
        Self {
            host: host.to_owned(),
            namespace: namespace.to_owned(),
        }
    }

    /// Returns whether `written` (`host#pid:[inode]`) is another pid namespace; other hosts only
    /// count if requested. Text in another format does not count.
    pub(crate) fn differs(&self, written: &str, on_any_host: bool) -> bool {
        let (host, namespace) = written.rsplit_once('#').unwrap_or_default();
        let is_near = on_any_host || host == self.host;
        is_near && !namespace.is_empty() && namespace != self.namespace
    }
}

/// Returns whether a variable is non-empty in this environment.
fn is_set(environ: &[u8], name: &str) -> bool {
    entries(environ).any(|entry| sets(entry, name))
}

/// Returns whether an entry of an environment sets this variable to a non-empty value.
fn sets(entry: &[u8], name: &str) -> bool {
    let value = entry.strip_prefix(name.as_bytes());
    value.is_some_and(|value| value.len() > 1 && value[0] == b'=')
}

fn entries(environ: &[u8]) -> impl Iterator<Item = &[u8]> {
    environ.split(|byte| *byte == 0)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn in_proc(proc: &Path, end: Option<u32>) -> Lineage {
        Lineage::new(Ancestry::in_proc(proc, end))
    }

    /// Creates a fake `/proc` with these processes (pid, parent, environment). The first is the
    /// caller.
    fn proc(processes: &[(u32, u32, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (number, (pid, parent, environ)) in processes.iter().enumerate() {
            let own = directory.path().join(pid.to_string());
            fs::create_dir(&own).unwrap();
            let stat = format!(
                "{pid} (a) b) S {parent} 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 77{pid} 1 1"
            );
            swarm_os::replace_alone(&own.join("stat"), stat.as_bytes()).unwrap();
            let environ = environ.replace(' ', "\0");
            swarm_os::replace_alone(&own.join("environ"), environ.as_bytes()).unwrap();
            if number == 0 {
                std::os::unix::fs::symlink(&own, directory.path().join("self")).unwrap();
            }
        }
        directory
    }

    #[test]
    fn ancestors_are_identified_by_pid_and_start_time() {
        let proc = proc(&[(40, 30, ""), (30, 1, "A=1"), (1, 0, "")]);
        let lineage = in_proc(proc.path(), None);
        assert_eq!(lineage.distance(40, "7740"), Some(0));
        assert_eq!(lineage.distance(30, "7730"), Some(1));
        assert_eq!(lineage.distance(1, "771"), Some(2));
        assert_eq!(lineage.distance(30, "7731"), None, "a later process");
        assert!(lineage.has_below(2, "A") && !lineage.has_below(1, "A"));
        assert_eq!(lineage.mark(), None);
    }

    #[test]
    fn invisible_ancestor_stops_the_walk_without_a_mark() {
        let proc = proc(&[(40, 30, ""), (30, 20, "CLAUDECODE=1")]);
        fs::remove_file(proc.path().join("30/environ")).unwrap();
        let lineage = in_proc(proc.path(), None);
        assert_eq!(lineage.distance(30, "7730"), Some(1));
        assert_eq!(lineage.mark(), None);
        let nothing = tempfile::tempdir().unwrap();
        let lineage = in_proc(nothing.path(), None);
        assert_eq!(
            (lineage.ancestry.processes().len(), lineage.mark()),
            (0, None)
        );
    }

    #[test]
    fn marks_count_in_own_and_ancestor_environments() {
        for (variable, program) in MARKS {
            let entry = format!("A=1 {variable}=x B=2");
            let proc = proc(&[(40, 30, ""), (30, 20, ""), (20, 1, &entry)]);
            let lineage = in_proc(proc.path(), None);
            let mark = |ancestor| Mark {
                program,
                variable,
                ancestor,
            };
            assert_eq!(lineage.mark(), Some(mark(Some(20))));
            let own = self::proc(&[(20, 1, &entry)]);
            let own = in_proc(own.path(), None);
            assert_eq!(own.mark(), Some(mark(None)));
            let below = in_proc(proc.path(), Some(20));
            assert_eq!(below.mark(), None);
        }
        let proc = proc(&[
            (40, 30, ""),
            (30, 1, "CLAUDECODE= XCLAUDECODE=1 CLAUDECODEX=1"),
        ]);
        let lineage = in_proc(proc.path(), None);
        assert_eq!(lineage.mark(), None);
    }

    #[test]
    fn pid_namespaces_are_distinguished() {
        let own = PidSpace::own();
        assert!(!own.differs(&pid_space(), true));
        let own = PidSpace {
            host: "here".to_owned(),
            namespace: "pid:[1]".to_owned(),
        };
        for (written, near, far) in [
            ("here#pid:[1]", false, false),
            ("here#pid:[2]", true, true),
            ("there#pid:[1]", false, false),
            ("there#pid:[2]", false, true),
            ("here#", false, false),
            ("", false, false),
        ] {
            assert_eq!(own.differs(written, false), near, "{written}");
            assert_eq!(own.differs(written, true), far, "{written}");
        }
    }

    #[test]
    fn this_process_is_its_own_nearest() {
        let own = std::process::id();
        let start = swarm_store::process::start_time(own).unwrap();
        let lineage = Lineage::own(&Environment::new([("", ""); 0], Path::new("/")));
        assert_eq!(lineage.distance(own, &start), Some(0));
    }
}
