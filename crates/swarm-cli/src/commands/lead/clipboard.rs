//! The image in the clipboard, which a program of the desktop prints, as an attachment of a prompt.

use std::borrow::Cow;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use swarm_agent::transcript_path;
use swarm_config::Environment;
use swarm_model::Provider;
use tokio::process::Command;
use uuid::Uuid;

use super::slash::TerminalCommands;
use crate::limited_command::output_within;

/// How long a program may take; it waits for the program that has put the image there.
const LONGEST: Duration = Duration::from_secs(5);

/// The first bytes of a PNG file.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// A program that prints the image in the clipboard as PNG.
struct ClipboardProgram {
    name: &'static str,
    arguments: &'static [&'static str],
    /// The variable of the desktop that it needs.
    desktop: Option<&'static str>,
    package: &'static str,
}

static PROGRAMS: [ClipboardProgram; 3] = [
    ClipboardProgram {
        name: "wl-paste",
        arguments: &["--no-newline", "--type", "image/png"],
        desktop: Some("WAYLAND_DISPLAY"),
        package: "wl-clipboard",
    },
    ClipboardProgram {
        name: "xclip",
        arguments: &["-selection", "clipboard", "-target", "image/png", "-out"],
        desktop: Some("DISPLAY"),
        package: "xclip",
    },
    // Of macOS.
    ClipboardProgram {
        name: "pngpaste",
        arguments: &["-"],
        desktop: None,
        package: "pngpaste",
    },
];

impl TerminalCommands {
    /// Saves the image in the clipboard next to the transcript. Returns its path, quoted for a
    /// shell, or a sentence that says why there is no image. Refused like `!` lines, because an
    /// agent that can type here could read what the person has copied.
    pub(super) async fn save_clipboard_image(&self) -> Result<String, String> {
        if let Some(why) = self.why_no_shell() {
            return Err(format!("the clipboard was not read: {why}"));
        }
        self.require_vision()?;
        let (program, path) = installed(&self.env)?;
        let mut command = Command::new(path);
        command.args(program.arguments);
        let image = printed_image(command, program.name).await?;
        let not_saved =
            |error: String| format!("the image in the clipboard was not saved: {error}");
        let transcript = transcript_path(&self.app.root, &self.env.cwd, self.session);
        let directory = transcript.with_extension("").join("images");
        let file = directory.join(format!("{}.png", Uuid::new_v4()));
        swarm_os::replace_in_private_dir(&file, &image)
            .map_err(|error| not_saved(error.to_string()))?;
        let quoted = shlex::try_quote(&file.to_string_lossy()).map(Cow::into_owned);
        quoted.map_err(|error| not_saved(error.to_string()))
    }

    /// Returns an error if the current model does not accept images.
    fn require_vision(&self) -> Result<(), String> {
        let full = self.current_model();
        let (provider, _) = full.split_once('/').unwrap_or_default();
        let always = provider != Provider::OpenAi.name();
        if always || self.agent_config.models.has_vision(&full) {
            return Ok(());
        }
        Err(format!(
            "the model {full} does not read images; if it does, list it in `model.vision`"
        ))
    }
}

/// Returns the program for this desktop.
fn installed(env: &Environment) -> Result<(&'static ClipboardProgram, PathBuf), String> {
    let fits =
        |program: &&ClipboardProgram| program.desktop.is_none_or(|name| env.get(name).is_some());
    let mut fitting = PROGRAMS.iter().filter(fits);
    let found = fitting.find_map(|program| Some((program, env.find_program(program.name)?)));
    found.ok_or_else(|| {
        let wanted = PROGRAMS.iter().find(|program| {
            program.desktop.is_some_and(|name| env.get(name).is_some())
        });
        match wanted {
            Some(ClipboardProgram { package, .. }) => format!(
                "install {package} to paste images from the clipboard, or paste the path of an image"
            ),
            None => "the clipboard cannot be read: neither WAYLAND_DISPLAY nor DISPLAY is set, and pngpaste \
                is not installed; paste the path of an image instead"
                .to_owned(),
        }
    })
}

async fn printed_image(mut command: Command, name: &str) -> Result<Vec<u8>, String> {
    command.process_group(0).stderr(Stdio::piped());
    let output = match output_within(command, b"", LONGEST).await {
        Ok(Some(output)) => output,
        Ok(None) => {
            return Err(format!(
                "{name} did not return the clipboard within {} s",
                LONGEST.as_secs()
            ));
        }
        Err(error) => return Err(format!("cannot run {name}: {error}")),
    };
    if output.stdout.starts_with(PNG) {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let why = match said.lines().next().map(str::trim) {
        None | Some("") => String::new(),
        Some(line) => format!(" ({name}: {line})"),
    };
    Err(format!("there is no image in the clipboard{why}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_program_of_the_desktop_is_used_and_a_missing_one_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_str().unwrap();
        let found = |desktop: &[&str]| {
            let variables = desktop.iter().map(|name| (*name, ":0"));
            let env = Environment::new(variables.chain([("PATH", path)]), directory.path());
            installed(&env).map(|(program, _)| program.name)
        };
        let none = found(&[]).unwrap_err();
        assert!(
            none.contains("neither WAYLAND_DISPLAY nor DISPLAY"),
            "{none}"
        );
        let wayland = found(&["WAYLAND_DISPLAY", "DISPLAY"]).unwrap_err();
        assert!(wayland.starts_with("install wl-clipboard"), "{wayland}");
        symlink("/bin/sh", directory.path().join("xclip")).unwrap();
        assert_eq!(found(&["WAYLAND_DISPLAY", "DISPLAY"]), Ok("xclip"));
        symlink("/bin/sh", directory.path().join("wl-paste")).unwrap();
        assert_eq!(found(&["WAYLAND_DISPLAY", "DISPLAY"]), Ok("wl-paste"));
        assert_eq!(found(&["DISPLAY"]), Ok("xclip"));
        assert!(found(&[]).is_err(), "neither works without a desktop");
    }

    #[tokio::test]
    async fn only_an_image_is_taken_and_the_program_says_why_there_is_none() {
        let printed = async |script: &str| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]);
            printed_image(command, "xclip").await
        };
        let image = printed(r"printf '\211PNG\r\n\032\nrest'").await;
        assert_eq!(image, Ok([PNG, b"rest"].concat()));
        let none = printed("echo 'target not available' >&2; exit 1").await;
        let why = "there is no image in the clipboard (xclip: target not available)";
        assert_eq!(none, Err(why.to_owned()));
        let text = printed("echo text").await;
        assert_eq!(text, Err("there is no image in the clipboard".to_owned()));
    }
}
