//! `git` as agents' shells find it: first on their search path, it refuses what would reach into the work of others, and
//! otherwise becomes the real git.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use swarm_policy::{GitFacts, GitPlace, git_refusal};
use swarm_protocol::LEAD_NAME;

use crate::environment::raw_variable;
use crate::output::say;

/// The name under which the shim is found.
const NAME: &str = "git";

/// The exit code of git for a fatal error.
const FATAL: u8 = 128;

/// Acts as git, if this program was called by that name.
pub(crate) fn act_as_git() -> Option<ExitCode> {
    let mut words = std::env::args_os();
    let called = PathBuf::from(words.next()?);
    (called.file_name() == Some(OsStr::new(NAME))).then(|| git(&words.collect::<Vec<_>>()))
}

fn git(words: &[OsString]) -> ExitCode {
    let Some(program) = real_git() else {
        say("git: not found on the PATH");
        return ExitCode::from(127);
    };
    if is_member() {
        let texts: Vec<String> = words
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let here = Here {
            program: &program,
            words: &texts,
        };
        if let Some(why) = git_refusal(&texts, &here) {
            say(&format!("git: refused by swarm: {why}"));
            return ExitCode::from(FATAL);
        }
    }
    let error = Command::new(&program).args(words).exec();
    say(&format!(
        "git: {} cannot be started: {error}",
        program.display()
    ));
    ExitCode::from(126)
}

/// The next git on the search path that is not this program.
fn real_git() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?.canonicalize().ok()?;
    let path = raw_variable("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(NAME))
        .find(|git| {
            git.canonicalize()
                .is_ok_and(|real| real != own && real.is_file())
        })
}

/// Whether a member gives the command. A person is not held, nor is the lead where it works in the person's own checkout.
fn is_member() -> bool {
    match text("SWARM_NAME") {
        None => false,
        Some(name) if name == LEAD_NAME => text("SWARM_WORKTREE").is_some(),
        Some(_) => true,
    }
}

fn text(name: &str) -> Option<String> {
    raw_variable(name)?
        .into_string()
        .ok()
        .filter(|text| !text.is_empty())
}

/// What the real git says about the place where the command would act.
struct Here<'a> {
    program: &'a Path,
    words: &'a [String],
}

impl Here<'_> {
    /// git's answer to `question`, asked with the options that stand before the subcommand.
    fn ask(&self, question: &[&str]) -> Option<String> {
        let own = self.words.iter().take_while(|word| word.starts_with('-'));
        let mut options: Vec<&String> = own.collect();
        // Options with a value of their own.
        let mut at = 0;
        options.clear();
        while let Some(word) = self.words.get(at).filter(|word| word.starts_with('-')) {
            options.push(word);
            if ["-C", "-c", "--git-dir", "--work-tree"].contains(&word.as_str()) {
                at += 1;
                options.extend(self.words.get(at));
            }
            at += 1;
        }
        said(Command::new(self.program).args(options).args(question))
    }
}

fn said(command: &mut Command) -> Option<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim_end().to_owned())
}

impl GitFacts for Here<'_> {
    fn place(&self) -> GitPlace {
        let ask = [
            "rev-parse",
            "--path-format=absolute",
            "--git-common-dir",
            "--show-toplevel",
        ];
        let Some(there) = self.ask(&ask) else {
            // No repository, or none with files in it: git itself says what is wrong.
            return GitPlace::Elsewhere;
        };
        let home = text("SWARM_WORKTREE").or_else(|| text("SWARM_CWD"));
        let Some(home) =
            home.and_then(|home| said(Command::new(self.program).arg("-C").arg(home).args(ask)))
        else {
            return GitPlace::SharedTree;
        };
        let common = |text: &str| text.lines().next().map(str::to_owned);
        if common(&there) != common(&home) {
            GitPlace::Elsewhere
        } else if text("SWARM_WORKTREE").is_some() && there == home {
            GitPlace::OwnTree
        } else {
            GitPlace::SharedTree
        }
    }

    fn is_commit(&self, word: &str) -> bool {
        let commit = format!("{word}^{{commit}}");
        self.ask(&["rev-parse", "--verify", "--quiet", &commit])
            .is_some()
    }

    fn is_path(&self, word: &str) -> bool {
        self.ask(&["ls-files", "--error-unmatch", "--", word])
            .is_some()
    }

    fn alias(&self, word: &str) -> Option<String> {
        self.ask(&["config", "--get", &format!("alias.{word}")])
    }
}
