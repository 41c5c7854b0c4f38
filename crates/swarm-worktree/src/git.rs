//! Runs git without any prompts.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use swarm_os::{InheritableLock, OsError};
use swarm_protocol::word_list;

/// Variables that make git use another repository than that of its working directory, see git(1).
const REPOSITORY_VARIABLES: [&str; 9] = word_list(
    "GIT_DIR GIT_WORK_TREE GIT_COMMON_DIR GIT_INDEX_FILE GIT_OBJECT_DIRECTORY
    GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_NAMESPACE GIT_PREFIX GIT_CEILING_DIRECTORIES",
);

/// Settings for every call: no repository hooks, no background processes, no file system monitor,
/// no signature checks.
const CONFIG: [&str; 6] = word_list(
    "core.hooksPath=/dev/null core.fsmonitor=false gc.auto=0 maintenance.auto=false
    advice.detachedHead=false log.showSignature=false",
);

/// A git command failed.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Git could not be started.
    #[error("{} could not be started: {source}; install git 2.38 or newer", program.display())]
    Missing {
        /// The program.
        program: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// Git exited with an error.
    #[error("`git {command}` failed in {}: {why}", directory.display())]
    Failed {
        /// The arguments.
        command: String,
        /// The working directory.
        directory: PathBuf,
        /// The error output, or the exit status if there was none.
        why: String,
        /// The exit status; `None` if it was terminated by a signal.
        code: Option<i32>,
    },
    /// The lock could not be passed to git.
    #[error(transparent)]
    Lock(OsError),
}

/// The words of a command of git, some of which are paths.
macro_rules! words {
    ($($word:expr),* $(,)?) => {
        &[$(AsRef::<std::ffi::OsStr>::as_ref($word)),*]
    };
}

pub(crate) use words;

/// The git program and its environment.
#[derive(Debug, Clone)]
pub struct Git {
    program: PathBuf,
    env: BTreeMap<String, String>,
}

impl Git {
    /// Creates a handle for the program at a path or of a name. It runs in exactly this
    /// environment, without the variables that select another repository.
    pub fn new(program: impl Into<PathBuf>, mut env: BTreeMap<String, String>) -> Self {
        env.retain(|name, _| !REPOSITORY_VARIABLES.contains(&name.as_str()));
        Self {
            program: program.into(),
            env,
        }
    }

    /// Prepares a call in a directory.
    pub(crate) fn at<'a>(&'a self, directory: &'a Path) -> Call<'a> {
        Call {
            git: self,
            directory,
            lock: None,
            checkout: None,
            index: None,
            objects: None,
            changes: false,
            input: None,
        }
    }
}

/// Additional settings for checkouts in which agents work: git does not enter submodules, and
/// writes a complete index.
const FOREIGN_CONFIG: [&str; 3] = [
    "submodule.recurse=false",
    "diff.ignoreSubmodules=dirty",
    "core.splitIndex=false",
];

/// A prepared call of git.
#[derive(Debug, Clone)]
pub(crate) struct Call<'a> {
    git: &'a Git,
    directory: &'a Path,
    lock: Option<&'a InheritableLock>,
    checkout: Option<&'a Path>,
    index: Option<&'a Path>,
    objects: Option<&'a Path>,
    changes: bool,
    input: Option<&'a [u8]>,
}

impl<'a> Call<'a> {
    /// Marks the call as a change, which may take git's own locks.
    pub(crate) fn changing(mut self) -> Self {
        self.changes = true;
        self
    }

    /// Passes a lock to git, which keeps it while it runs, even if this process is killed.
    pub(crate) fn under(mut self, lock: &'a InheritableLock) -> Self {
        self.lock = Some(lock);
        self
    }

    /// Uses this index file instead of that of the checkout.
    pub(crate) fn with_index(mut self, index: &'a Path) -> Self {
        self.index = Some(index);
        self
    }

    /// Creates objects in this directory, whose `info/alternates` names that of the repository.
    pub(crate) fn with_objects(mut self, objects: &'a Path) -> Self {
        self.objects = Some(objects);
        self
    }

    /// Sets the private git directory of the checkout, so that git does not read files in the
    /// checkout to find it.
    pub(crate) fn in_checkout(mut self, own: &'a Path) -> Self {
        self.checkout = Some(own);
        self
    }

    /// Sets the standard input of git.
    pub(crate) fn reading(mut self, input: &'a [u8]) -> Self {
        self.input = Some(input);
        self
    }

    /// Runs the command and returns its output.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>, GitError> {
        let (code, out, stderr) = self.status(args)?;
        if code == Some(0) {
            return Ok(out);
        }
        Err(self.failed(args, code, &stderr))
    }

    /// Runs the command and returns its output as text without the line break.
    pub(crate) fn line<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, GitError> {
        let out = self.run(args)?;
        Ok(String::from_utf8_lossy(&out)
            .trim_end_matches(['\n', '\r'])
            .to_owned())
    }

    /// Runs the command and returns whether it exited with 0. Exit status 1 is `false`, any other
    /// is an error.
    pub(crate) fn succeeds<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<bool, GitError> {
        match self.status(args)? {
            (Some(0), ..) => Ok(true),
            (Some(1), ..) => Ok(false),
            (code, _, stderr) => Err(self.failed(args, code, &stderr)),
        }
    }

    /// Runs the command and returns exit status, standard output and standard error.
    #[expect(clippy::type_complexity, reason = "the three results of a program")]
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
                // Written by a thread, so that neither side waits for the other with a full pipe.
                let feeder = std::thread::spawn(move || {
                    use std::io::Write as _;
                    // A write error means that the program exited early; its exit status is checked
                    // below.
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
                let file = lock.descriptor_for_child().map_err(GitError::Lock)?;
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
        if let Some(objects) = self.objects {
            command.env("GIT_OBJECT_DIRECTORY", objects);
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

    /// Returns the error for an unexpected exit status of [`Call::status`].
    pub(crate) fn failed<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        code: Option<i32>,
        stderr: &[u8],
    ) -> GitError {
        let words: Vec<_> = args
            .iter()
            .map(|word| word.as_ref().to_string_lossy())
            .collect();
        let stderr = String::from_utf8_lossy(stderr);
        let stderr = stderr.trim();
        let status = match code {
            Some(code) => format!("exit status {code}"),
            None => "terminated by a signal".to_owned(),
        };
        GitError::Failed {
            command: words.join(" ").escape_debug().to_string(),
            directory: self.directory.to_owned(),
            why: if stderr.is_empty() {
                status
            } else {
                stderr.to_owned()
            },
            code,
        }
    }
}

/// Splits output of `-z` at the zero bytes.
pub(crate) fn fields(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output
        .split(|byte| *byte == 0)
        .filter(|field| !field.is_empty())
}

/// Converts a path printed by git.
pub(crate) fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}

/// Converts output to text for messages.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
