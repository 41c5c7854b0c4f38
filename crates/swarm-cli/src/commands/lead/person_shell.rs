//! What a person runs from a lead's terminal that is not a command of swarm: a shell line, and an editor.

use std::path::Path;
use std::process::{Command, Stdio};

use swarm_config::Environment;

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

/// Runs a line in the person's shell, with its output and its errors in one.
pub(super) fn shell_line(env: &Environment, cwd: &Path, line: &str) -> ShellOutput {
    let shell = env
        .get("SHELL")
        .filter(|shell| !shell.is_empty())
        .unwrap_or("sh");
    let mut command = Command::new("sh");
    command
        .args(["-c", "exec \"$0\" -c \"$1\" 2>&1", shell, line])
        .current_dir(cwd)
        .stdin(Stdio::null());
    match command.output() {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            let start = text.ceil_char_boundary(text.len().saturating_sub(LONGEST));
            let cut = if start > 0 { "[…]\n" } else { "" };
            ShellOutput {
                text: format!("{cut}{}", text[start..].trim_end()),
                ok: output.status.success(),
            }
        }
        Err(error) => ShellOutput {
            text: format!("{shell} cannot be run: {error}"),
            ok: false,
        },
    }
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
    fn a_shell_line_tells_what_it_printed_and_whether_it_worked() {
        let env = Environment::new([("SHELL", "sh")], Path::new("/"));
        let ran = shell_line(&env, Path::new("/"), "pwd; echo no >&2; exit 3");
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
