//! Cleanup of interrupted long runs: terminates all processes of a run and removes its files.
//!
//! The run is a separate process, and the guard waits for it. All its processes inherit a mark, and
//! all files outside the guard's directory are listed in a file there.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::stage::{end_marked, sweep_worlds};

/// Environment variable with the guard's directory, which is also the mark.
const MARK: &str = "SWARM_RUN_DIRECTORY";
/// The file in it that lists external files.
const PLACES: &str = "places";
/// Parent of guards' directories: sockets may be in them, whose paths are limited to about a
/// hundred bytes.
const PLACE: &str = "/tmp";

/// Runs `work` in a separate process and returns its exit code, or 130 if it was interrupted.
///
/// # Panics
/// If the guard's directory cannot be created.
pub fn guarded(work: impl FnOnce() -> ExitCode) -> ExitCode {
    if std::env::var_os(MARK).is_some() {
        return work();
    }
    let directory = tempfile::Builder::new()
        .prefix("swarm-run.")
        .tempdir_in(PLACE)
        .expect("a directory for the run");
    let ended = run(directory.path());
    let cut = matches!(ended, Ok(None));
    if cut {
        eprintln!("interrupted; terminating the processes of the run");
    }
    clear(directory.path());
    match ended {
        Ok(Some(status)) => code_of(status),
        Ok(None) => ExitCode::from(130),
        Err(error) => {
            eprintln!("cannot start the run: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Registers a directory to be removed with the run, if one is guarded.
pub(crate) fn note(directory: &Path) {
    let Some(own) = std::env::var_os(MARK) else {
        return;
    };
    let places = File::options()
        .create(true)
        .append(true)
        .open(Path::new(&own).join(PLACES));
    // On failure the directory remains after an interruption.
    drop(places.and_then(|mut places| writeln!(places, "{}", directory.display())));
}

/// Returns how the run ended; `None` if it was interrupted.
fn run(directory: &Path) -> std::io::Result<Option<ExitStatus>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let kinds = [
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
        ];
        let mut signals: Vec<Signal> = kinds.into_iter().map(signal).collect::<Result<_, _>>()?;
        let mut child = tokio::process::Command::new(std::env::current_exe()?)
            .args(std::env::args_os().skip(1))
            .env(MARK, directory)
            .env("TMPDIR", directory)
            // The terminal signals only the guard, which terminates the whole run.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let cut = futures::future::select_all(signals.iter_mut().map(|one| Box::pin(one.recv())));
        tokio::select! {
            _ = cut => {
                child.kill().await?;
                Ok(None)
            }
            ended = child.wait() => ended.map(Some),
        }
    })
}

fn code_of(status: ExitStatus) -> ExitCode {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Terminates all marked processes, then removes unused worlds and the registered directories.
fn clear(directory: &Path) {
    end_marked(directory);
    sweep_worlds();
    let places = std::fs::read_to_string(directory.join(PLACES)).unwrap_or_default();
    for place in places.lines().map(PathBuf::from) {
        // Most are gone already.
        drop(std::fs::remove_dir_all(place));
    }
}
