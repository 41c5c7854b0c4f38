//! What surrounds shell commands of agents: settings, and the programs that stand between.

use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use swarm_protocol::{ErrorKind, ShellGuards};
use swarm_tools::sandbox::{HELPER_WORD, SandboxLevel, sandbox_level};

use crate::app::App;
use crate::deployment::teammate_program;
use crate::failure::Failure;
use crate::root_folder;

/// The guards in force.
pub(super) fn guards(app: &App) -> Result<ShellGuards, Failure> {
    let settings = &app.settings;
    if settings.sandbox_required && sandbox_level() == SandboxLevel::Absent {
        let message = "`sandbox.required` is set, and this kernel has no sandbox for shell commands (landlock)";
        return Err(Failure::new(ErrorKind::Environment, message)
            .with_hint("use a kernel with landlock, or set `sandbox.required` to false"));
    }
    let program = teammate_program(&app.env)?;
    root_folder::make(&app.root)?;
    let shims = shims(&app.root, &program).map_err(|error| {
        let message = format!(
            "the programs of agents cannot be put below {}: {error}",
            app.root.display()
        );
        Failure::new(ErrorKind::Environment, message).with_hint("make that folder writable")
    })?;
    let home = app.env.home();
    let folder = |text: &String| match (text.strip_prefix("~/"), &home) {
        (Some(rest), Some(home)) => Some(home.join(rest)),
        (Some(_), None) => None,
        (None, _) => Some(app.env.cwd.join(text)),
    };
    Ok(ShellGuards {
        sandbox: settings.sandbox,
        required: settings.sandbox_required,
        helper: program
            .to_str()
            .map(|program| vec![program.to_owned(), HELPER_WORD.to_owned()])
            .unwrap_or_default(),
        shims: Some(shims),
        write: settings.sandbox_write.iter().filter_map(folder).collect(),
    })
}

/// The folder of programs that agents' shells find first. What is in it leads to our own program, which knows by the name
/// under which it was called what it is to be.
fn shims(root: &Path, program: &Path) -> io::Result<PathBuf> {
    let folder = root.join("swarm").join("bin");
    std::fs::create_dir_all(&folder)?;
    let git = folder.join("git");
    if std::fs::read_link(&git).is_ok_and(|to| to == program) {
        return Ok(folder);
    }
    // Replaced as a whole: somebody else's shell may be looking for it.
    let fresh = folder.join(format!(".git-{}", std::process::id()));
    match std::fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    symlink(program, &fresh)?;
    std::fs::rename(&fresh, &git)?;
    Ok(folder)
}
