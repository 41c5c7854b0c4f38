//! The git program, run so that it never asks anybody anything.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use swarm_os::{HandedLock, OsError};

/// Variables that would make git work on another repository than the one it is run in, see git(1).
const LEADS_ELSEWHERE: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_CEILING_DIRECTORIES",
];

/// In force for every call of ours: no hook of the repository runs, nothing is left running in the background, no program
/// watches the files, and none checks signatures.
const CONFIG: [&str; 6] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
    "log.showSignature=false",
];

/// Git did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The program is not there.
    #[error("{} could not be started: {source}; install git 2.38 or newer", program.display())]
    Missing {
        /// What was to be run.
        program: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// It ended with an error.
    #[error("`git {command}` failed in {}: {why}", directory.display())]
    Failed {
        /// Its arguments.
        command: String,
        /// Where it ran.
        directory: PathBuf,
        /// What it said.
        why: String,
        /// Its exit status; none when a signal ended it.
        code: Option<i32>,
    },
    /// The lock could not be handed to it.
    #[error(transparent)]
    Lock(OsError),
}

/// The git program and the environment it runs in.
#[derive(Debug, Clone)]
pub struct Git {
    program: PathBuf,
    env: BTreeMap<String, String>,
}

impl Git {
    /// Git by its path or name, in exactly this environment but for what leads git elsewhere.
    pub fn new(program: impl Into<PathBuf>, mut env: BTreeMap<String, String>) -> Self {
        env.retain(|name, _| !LEADS_ELSEWHERE.contains(&name.as_str()));
        Self {
            program: program.into(),
            env,
        }
    }

    /// A call in a directory.
    pub(crate) fn at<'a>(&'a self, directory: &'a Path) -> Call<'a> {
        Call {
            git: self,
            directory,
            lock: None,
            checkout: None,
            index: None,
            changes: false,
            input: None,
        }
    }
}

/// In force beside those where somebody else works: git goes into no submodule, and writes a whole index.
const FOREIGN_CONFIG: [&str; 3] = [
    "submodule.recurse=false",
    "diff.ignoreSubmodules=dirty",
    "core.splitIndex=false",
];

/// A call of git to be made.
#[derive(Debug, Clone)]
pub(crate) struct Call<'a> {
    git: &'a Git,
    directory: &'a Path,
    lock: Option<&'a HandedLock>,
    checkout: Option<&'a Path>,
    index: Option<&'a Path>,
    changes: bool,
    input: Option<&'a [u8]>,
}

impl<'a> Call<'a> {
    /// The call changes something, so it may take git's own locks.
    pub(crate) fn changing(mut self) -> Self {
        self.changes = true;
        self
    }

    /// Git keeps this lock for as long as it runs, even if we are killed meanwhile.
    pub(crate) fn under(mut self, lock: &'a HandedLock) -> Self {
        self.lock = Some(lock);
        self
    }

    /// Works on this index file instead of the checkout's own.
    pub(crate) fn with_index(mut self, index: &'a Path) -> Self {
        self.index = Some(index);
        self
    }

    /// The directory is a checkout: git takes `own` for its directory of that checkout alone, and reads nothing in the checkout
    /// to find it.
    pub(crate) fn in_checkout(mut self, own: &'a Path) -> Self {
        self.checkout = Some(own);
        self
    }

    /// What git reads from its input.
    pub(crate) fn reading(mut self, input: &'a [u8]) -> Self {
        self.input = Some(input);
        self
    }

    /// Runs it, and returns what it printed.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>, GitError> {
        let (code, out, said) = self.status(args)?;
        if code == Some(0) {
            return Ok(out);
        }
        Err(self.failed(args, code, &said))
    }

    /// Runs it, and returns what it printed as one line of text.
    pub(crate) fn line<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, GitError> {
        let out = self.run(args)?;
        Ok(String::from_utf8_lossy(&out)
            .trim_end_matches(['\n', '\r'])
            .to_owned())
    }

    /// Whether it ended with 0; 1 means no, and anything else is a failure.
    pub(crate) fn asks<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<bool, GitError> {
        match self.status(args)? {
            (Some(0), ..) => Ok(true),
            (Some(1), ..) => Ok(false),
            (code, _, said) => Err(self.failed(args, code, &said)),
        }
    }

    /// Runs it, and returns exit status, output, and what it said on stderr.
    #[expect(
        clippy::type_complexity,
        reason = "the three things a program leaves behind"
    )]
    pub(crate) fn status<S: AsRef<OsStr>>(
        &self,
        args: &[S],
    ) -> Result<(Option<i32>, Vec<u8>, Vec<u8>), GitError> {
        let mut command = self.command(args)?;
        let missing = |source| GitError::Missing {
            program: self.git.program.clone(),
            source,
        };
        let output = match self.input {
            None => command.output().map_err(missing)?,
            Some(input) => {
                let mut child = command.stdin(Stdio::piped()).spawn().map_err(missing)?;
                let pipe = child.stdin.take();
                let input = input.to_owned();
                // A thread feeds it, so that neither side waits for the other with a full pipe.
                let feeder = std::thread::spawn(move || {
                    use std::io::Write as _;
                    // A program that ends early needs no more; its status tells.
                    pipe.map(|mut pipe| pipe.write_all(&input))
                });
                let output = child.wait_with_output().map_err(missing)?;
                drop(feeder.join());
                output
            }
        };
        Ok((output.status.code(), output.stdout, output.stderr))
    }

    fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Command, GitError> {
        let mut command = Command::new(&self.git.program);
        command
            .env_clear()
            .envs(&self.git.env)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ASKPASS", "")
            .env("SSH_ASKPASS", "")
            .env("GIT_EDITOR", ":")
            .env("GIT_PAGER", "cat")
            .env("LC_ALL", "C")
            .current_dir(self.directory)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        match self.lock {
            Some(lock) => {
                let file = lock.for_program().map_err(GitError::Lock)?;
                command.stdin(Stdio::from(file))
            }
            None => command.stdin(Stdio::null()),
        };
        if !self.changes {
            command.env("GIT_OPTIONAL_LOCKS", "0");
        }
        if let Some(index) = self.index {
            command.env("GIT_INDEX_FILE", index);
        }
        if let Some(own) = self.checkout {
            command
                .env("GIT_DIR", own)
                .env("GIT_WORK_TREE", self.directory);
        }
        let foreign = FOREIGN_CONFIG.iter().filter(|_| self.checkout.is_some());
        for setting in CONFIG.iter().chain(foreign) {
            command.args(["-c", setting]);
        }
        command.args(args.iter().map(AsRef::as_ref));
        Ok(command)
    }

    fn failed<S: AsRef<OsStr>>(&self, args: &[S], code: Option<i32>, said: &[u8]) -> GitError {
        let words: Vec<_> = args
            .iter()
            .map(|word| word.as_ref().to_string_lossy())
            .collect();
        let said = String::from_utf8_lossy(said);
        let said = said.trim();
        let ended = match code {
            Some(code) => format!("exit status {code}"),
            None => "it was killed".to_owned(),
        };
        GitError::Failed {
            command: words.join(" ").escape_debug().to_string(),
            directory: self.directory.to_owned(),
            why: if said.is_empty() {
                ended
            } else {
                said.to_owned()
            },
            code,
        }
    }
}

/// Splits output of `-z`.
pub(crate) fn fields(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output
        .split(|byte| *byte == 0)
        .filter(|field| !field.is_empty())
}

/// A path as git printed it.
pub(crate) fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}

/// A name as people read it.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
