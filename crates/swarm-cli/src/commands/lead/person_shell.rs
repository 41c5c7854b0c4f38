//! Shell commands and the editor that a person starts in a lead's terminal.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use parking_lot::Mutex;
use swarm_config::Environment;
use swarm_os::process::{self, Target};
use uuid::Uuid;

use super::draft::Draft;
use crate::commands::editor::edit_file;
use crate::failure::Result;

/// Number of bytes kept from the end of a command's output.
const LONGEST: usize = 30_000;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ShellOutput {
    pub(super) text: String,
    pub(super) ok: bool,
}

impl ShellOutput {
    fn of(output: &Output) -> Self {
        let text = String::from_utf8_lossy(&output.stdout);
        let start = text.ceil_char_boundary(text.len().saturating_sub(LONGEST));
        let cut = if start > 0 { "[…]\n" } else { "" };
        Self {
            text: format!("{cut}{}", text[start..].trim_end()),
            ok: output.status.success(),
        }
    }

    fn failed(text: String) -> Self {
        Self { text, ok: false }
    }

    /// Formats the command and its output for the model, as Claude Code does.
    pub(super) fn for_model(&self, line: &str) -> String {
        let outcome = if self.ok { "" } else { "\n<bash-failed/>" };
        format!(
            "<bash-input>{line}</bash-input>\n<bash-stdout>{}</bash-stdout>{outcome}\n\
             The user ran this command in their own shell; it is for your information.",
            self.text
        )
    }
}

/// Environment variable that marks the processes of a shell command.
const MARK: &str = "SWARM_SHELL_LINE";

/// The shell commands of a session. They are stopped with the session.
#[derive(Debug, Default)]
pub(super) struct ShellLines(Mutex<Lines>);

#[derive(Debug, Default)]
struct Lines {
    /// Marks of the running commands.
    running: BTreeSet<String>,
    is_over: bool,
}

impl ShellLines {
    /// Runs a command in the person's shell and waits for it.
    pub(super) fn run(&self, env: &Environment, cwd: &Path, line: &str) -> ShellOutput {
        let mark = Uuid::new_v4().to_string();
        let mut command = shell_line(env, cwd, line);
        command.env(MARK, &mark);
        let started = {
            let mut lines = self.0.lock();
            if lines.is_over {
                return ShellOutput::failed("the session is ending".to_owned());
            }
            lines.running.insert(mark.clone());
            command.spawn()
        };
        let ended = started.and_then(Child::wait_with_output);
        self.0.lock().running.remove(&mark);
        match ended {
            Ok(output) => ShellOutput::of(&output),
            Err(error) => ShellOutput::failed(format!("cannot run the shell: {error}")),
        }
    }

    /// Stops the running commands and their descendants. Returns whether any command was running.
    pub(super) fn stop(&self) -> bool {
        let marks = self.0.lock().running.clone();
        let any = !marks.is_empty();
        if any {
            let target = Target {
                marks: marks
                    .into_iter()
                    .map(|mark| (MARK.to_owned(), mark))
                    .collect(),
                ..Target::default()
            };
            process::end_blocking(&target, Duration::ZERO);
        }
        any
    }

    /// Stops the running commands at the end of the session and prevents new ones.
    pub(super) fn end(&self) {
        self.0.lock().is_over = true;
        self.stop();
    }
}

/// Returns the command for the person's shell, with stderr redirected to stdout.
fn shell_line(env: &Environment, cwd: &Path, line: &str) -> Command {
    let shell = env
        .get("SHELL")
        .filter(|shell| !shell.is_empty())
        .unwrap_or("sh");
    let mut command = Command::new("sh");
    command
        .args(["-c", "exec \"$0\" -c \"$1\" 2>&1", shell, line])
        .current_dir(cwd)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command
}

/// Opens the text in the person's editor and returns the saved text.
pub(super) fn edited(env: &Environment, draft: &Draft, text: &str) -> Result<String> {
    let file = draft.write(text)?;
    edit_file(env, file)?;
    Ok(std::fs::read_to_string(file)?.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_command_stops_with_the_session() {
        let env = Environment::new([("SHELL", "sh")], Path::new("/"));
        let lines = ShellLines::default();
        let ran = std::thread::scope(|scope| {
            let ran = scope.spawn(|| lines.run(&env, Path::new("/"), "sleep 1000 & sleep 1000"));
            while !lines.stop() {
                std::thread::yield_now();
            }
            lines.end();
            ran.join().unwrap()
        });
        assert!(!ran.ok);
        let late = lines.run(&env, Path::new("/"), "true");
        assert_eq!(
            late,
            ShellOutput::failed("the session is ending".to_owned())
        );
    }

    #[test]
    fn shell_command_returns_output_and_status() {
        let env = Environment::new([("SHELL", "sh")], Path::new("/"));
        let lines = ShellLines::default();
        let ran = lines.run(&env, Path::new("/"), "pwd; echo no >&2; exit 3");
        assert_eq!(
            ran,
            ShellOutput {
                text: "/\nno".to_owned(),
                ok: false
            }
        );
        let missing = Environment::new([("EDITOR", "no-such-editor-at-all")], Path::new("/"));
        let root = tempfile::tempdir().unwrap();
        let draft = Draft::new(root.path(), Path::new("/"));
        assert!(edited(&missing, &draft, "x").is_err());
        let appends = Environment::new([("EDITOR", "echo more >>")], Path::new("/"));
        assert_eq!(edited(&appends, &draft, "x\n").unwrap(), "x\nmore");
        assert!(
            ran.for_model("pwd")
                .starts_with("<bash-input>pwd</bash-input>\n<bash-stdout>/\nno<")
        );
    }
}
