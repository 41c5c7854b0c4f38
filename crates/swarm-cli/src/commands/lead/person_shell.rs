//! What a person runs from a lead's terminal that is not a command of swarm: a shell line, and an editor.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use parking_lot::Mutex;
use swarm_config::Environment;
use swarm_os::process::{self, Target};
use uuid::Uuid;

use super::draft::Draft;

/// Bytes of a command's output that are kept: its end.
const LONGEST: usize = 30_000;

/// What a shell line printed.
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

    /// The line and its output as the model reads them, in the words of Claude Code.
    pub(super) fn for_model(&self, line: &str) -> String {
        let outcome = if self.ok { "" } else { "\n<bash-failed/>" };
        format!(
            "<bash-input>{line}</bash-input>\n<bash-stdout>{}</bash-stdout>{outcome}\n\
             The user ran this command in their own shell; it is for your information.",
            self.text
        )
    }
}

/// The variable that marks the processes of a shell line.
const MARK: &str = "SWARM_SHELL_LINE";

/// The shell lines of a session. None of them outlives it.
#[derive(Debug, Default)]
pub(super) struct ShellLines(Mutex<Lines>);

#[derive(Debug, Default)]
struct Lines {
    /// The marks of those that run.
    running: BTreeSet<String>,
    is_over: bool,
}

impl ShellLines {
    /// Runs a line in the person's shell and waits for its end.
    pub(super) fn run(&self, env: &Environment, cwd: &Path, line: &str) -> ShellOutput {
        let mark = Uuid::new_v4().to_string();
        let mut command = shell_line(env, cwd, line);
        command.env(MARK, &mark);
        let started = {
            let mut lines = self.0.lock();
            if lines.is_over {
                return ShellOutput::failed("the session ends".to_owned());
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

    /// Stops what runs, with all that it has started. Returns whether anything did.
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

    /// The same at the end of the session: none starts afterwards.
    pub(super) fn end(&self) {
        self.0.lock().is_over = true;
        self.stop();
    }
}

/// A line for the person's shell, with its output and its errors in one.
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

/// Has the person write on in their editor; returns the text that they saved.
///
/// # Errors
/// Where there is no editor, it fails, or the text cannot be read back.
pub(super) fn edited(env: &Environment, draft: &Draft, text: &str) -> anyhow::Result<String> {
    let named = ["VISUAL", "EDITOR"].iter().find_map(|name| env.get(name));
    let editor = named
        .filter(|editor| !editor.trim().is_empty())
        .unwrap_or("vi");
    let file = draft.write(text)?;
    // It may have arguments, as `code --wait` does.
    let status = Command::new("sh")
        .arg("-c")
        .arg(format!("{editor} \"$1\""))
        .arg("sh")
        .arg(file)
        .status()?;
    if !status.success() {
        anyhow::bail!("{editor} ended with {status}");
    }
    Ok(std::fs::read_to_string(file)?.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_line_ends_with_the_session() {
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
        assert_eq!(late, ShellOutput::failed("the session ends".to_owned()));
    }

    #[test]
    fn a_shell_line_tells_what_it_printed_and_whether_it_worked() {
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
