//! Runs a command line until it exits, times out or is interrupted.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use swarm_os::process::{self, Process};
use swarm_protocol::SandboxNetwork;
use uuid::Uuid;

use super::background::{BackgroundCommand, BackgroundCommands};
use super::capture::output_file;
use super::launch::ProgramLaunch;
use super::output::{Output, Spill};
use super::running::{CALL_ID_VARIABLE, Outcome, Running};
use crate::ToolContext;
use crate::sandbox::DeniedHost;

/// Script that runs its first argument and reports the final working directory. The report goes to
/// the pipe that is initially standard input: this works in every sandbox and leaves no file. A
/// command line that replaces the shell or the trap reports nothing.
const REPORT_DIRECTORY_SCRIPT: &str =
    r#"exec 97>&0 0</dev/null; trap 'builtin pwd -P >&97 2>/dev/null' EXIT; eval "shift; $1""#;

#[derive(Debug)]
pub(super) struct CommandResult {
    pub(super) outcome: Outcome,
    /// Interleaved standard output and standard error.
    pub(super) output: String,
    pub(super) lines: usize,
    /// File with the complete output if it was too long.
    pub(super) whole: Option<PathBuf>,
    /// Processes that are still running and hold the output open.
    pub(super) background: Vec<Process>,
    /// What it reached of the network in the sandbox; `None` without a sandbox.
    pub(super) sandbox: Option<SandboxNetwork>,
    /// Hosts to which the sandbox denied connections.
    pub(super) denied: Vec<DeniedHost>,
    /// Notice that the working directory was reset.
    pub(super) reset: Option<String>,
}

/// Runs a command line with bash, in its own process group, without standard input and terminal.
pub(super) async fn run(
    command: &str,
    timeout: Duration,
    ctx: &ToolContext,
) -> Result<CommandResult, String> {
    let directory = ctx.shell.permitted_directory(&ctx.cwd)?;
    let mut running = run_in(&directory, command, timeout, ctx).await?;
    if let Some(directory) = running.1.take() {
        ctx.shell.record_directory(&directory, &ctx.cwd);
    }
    running.0.reset = ctx.shell.take_notice();
    Ok(running.0)
}

/// Runs a command line in a directory, whatever the directory of the agent's shell. Also returns
/// the final directory, if it exited and the shell reported one.
pub(super) async fn run_in(
    directory: &Path,
    command: &str,
    timeout: Duration,
    ctx: &ToolContext,
) -> Result<(CommandResult, Option<PathBuf>), String> {
    let file = ctx
        .scratch
        .as_ref()
        .map(|dir| output_file(dir, &ctx.tool_use_id));
    let (mut running, output) = start(command, directory.to_owned(), ctx, file, false).await?;
    let outcome = running
        .until(Some(timeout), &ctx.cancel, ctx.limits.kill_grace)
        .await?;
    let closed = output.closed(ctx.limits.drain_grace).await;
    let background = if closed {
        Vec::new()
    } else {
        process::find_by_env(CALL_ID_VARIABLE, &running.call_id)
    };
    let reported = running.directory();
    let last = reported.filter(|_| matches!(outcome, Outcome::Exited(_)));
    let capture = output.capture();
    let (text, lines) = (capture.text(ctx.limits.bash_chars), capture.lines());
    drop(capture);
    let result = CommandResult {
        outcome,
        output: text,
        lines,
        whole: output.written_file(),
        background,
        sandbox: running.sandbox,
        denied: ctx.shell.sandbox().take_denied(),
        reset: None,
    };
    Ok((result, last))
}

fn pipe() -> Result<(std::io::PipeReader, std::io::PipeWriter), String> {
    std::io::pipe().map_err(|error| format!("Cannot create a pipe for the command: {error}."))
}

/// Starts a command in the background. The error is a message for the model.
pub(super) async fn run_in_background(
    command: &str,
    commands: &Arc<BackgroundCommands>,
    ctx: &ToolContext,
) -> Result<Arc<BackgroundCommand>, String> {
    let launch = |id: String| async move {
        let file = ctx.scratch.as_ref().map(|dir| output_file(dir, &id));
        let directory = ctx.shell.permitted_directory(&ctx.cwd)?;
        let (process, output) = start(command, directory, ctx, file, true).await?;
        let command = BackgroundCommand::new(id, command, &ctx.tool_use_id, output);
        Ok::<_, String>((command, process))
    };
    commands.start(&ctx.limits, launch).await
}

/// Starts a command and captures its output. The output is also written to `file` if it is
/// long, or from the first byte if `live`.
async fn start(
    command: &str,
    directory: PathBuf,
    ctx: &ToolContext,
    file: Option<PathBuf>,
    live: bool,
) -> Result<(Running, Output), String> {
    let command = command.to_owned();
    let start = move |ctx: &ToolContext, launch: &ProgramLaunch| {
        start_blocking(&command, &directory, ctx, launch, file, live)
    };
    ProgramLaunch::start(ctx, start).await
}

fn start_blocking(
    command: &str,
    directory: &Path,
    ctx: &ToolContext,
    launch: &ProgramLaunch,
    file: Option<PathBuf>,
    live: bool,
) -> Result<(Running, Output), String> {
    let (reader, writer) = pipe()?;
    let mut spill = file.map(|path| Spill::new(path, ctx.limits.bash_file_bytes));
    if let Some(spill) = spill.as_mut().filter(|_| live) {
        let path = spill.path().display().to_string();
        let begun = spill.begin();
        begun.map_err(|error| format!("Cannot create the output file {path}: {error}."))?;
    }
    let call_id = Uuid::new_v4().to_string();
    let running = start_shell(command, directory, !live, writer, call_id, ctx, launch)?;
    let output = Output::read(reader, ctx.limits.bash_chars, spill, live)?;
    Ok((running, output))
}

/// Starts the shell in a directory. With `reports`, it runs a wrapper script that reports the
/// final working directory and is visible in process lists.
fn start_shell(
    command: &str,
    directory: &Path,
    reports: bool,
    output: std::io::PipeWriter,
    call_id: String,
    ctx: &ToolContext,
    launch: &ProgramLaunch,
) -> Result<Running, String> {
    let cannot = |error: std::io::Error| {
        if directory.is_dir() {
            format!("Cannot start the shell: {error}.")
        } else {
            format!(
                "The working directory {} no longer exists.",
                directory.display()
            )
        }
    };
    let errors = output.try_clone().map_err(cannot)?;
    let shell = swarm_os::find_shell(&ctx.env);
    let reports = reports && shell.ends_with("bash");
    let (report, input) = if reports {
        let (report, writer) = pipe()?;
        (Some(report), OwnedFd::from(writer))
    } else {
        (None, File::open("/dev/null").map_err(cannot)?.into())
    };
    let streams = [input, output.into(), errors.into()];
    let started = launch.start_shell(&shell, &ctx.env, streams, |starting| {
        starting.arg("-c");
        if reports {
            starting.arg(REPORT_DIRECTORY_SCRIPT).arg(&shell);
        }
        starting.arg(command).current_dir(directory);
        starting.env(CALL_ID_VARIABLE, &call_id);
    });
    let process = started.map_err(cannot)?;
    Ok(Running::new(process, call_id, launch.sandbox, report))
}
