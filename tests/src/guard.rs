//! A long run that can be cut short: whatever it started ends with it, and what it made is removed.
//!
//! The run is a process of its own, which the guard waits for. Everything that it starts inherits a mark, and whatever it
//! makes outside of the guard's directory is a line in a file there.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::stage::{end_marked, sweep_worlds};

/// Names the guard's directory. Its value is the mark, too.
const MARK: &str = "SWARM_RUN_DIRECTORY";
/// The file in it that lists what was made elsewhere.
const PLACES: &str = "places";
/// Where guards' directories are: sockets may live in them, whose paths are limited to some hundred bytes.
const PLACE: &str = "/tmp";

/// Runs `work` in a process of its own and returns its exit code, or 130 where somebody cut it short.
///
/// # Panics
/// When there is no room for the guard's directory.
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
        eprintln!("cut short; ending what was started");
    }
    clear(directory.path());
    match ended {
        Ok(Some(status)) => code_of(status),
        Ok(None) => ExitCode::from(130),
        Err(error) => {
            eprintln!("the run could not be started: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Notes a directory that is to go with the run, if one is guarded.
pub(crate) fn note(directory: &Path) {
    let Some(own) = std::env::var_os(MARK) else {
        return;
    };
    let places = File::options()
        .create(true)
        .append(true)
        .open(Path::new(&own).join(PLACES));
    // Without it the directory stays behind when the run is cut short, which is all.
    drop(places.and_then(|mut places| writeln!(places, "{}", directory.display())));
}

/// How the run ended; none where it was cut short.
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
            // The terminal tells the guard alone, which ends all of it.
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

/// Ends whatever bears the mark, then the worlds that nobody holds any more, and removes what was noted.
fn clear(directory: &Path) {
    end_marked(directory);
    sweep_worlds();
    let places = std::fs::read_to_string(directory.join(PLACES)).unwrap_or_default();
    for place in places.lines().map(PathBuf::from) {
        // Most are gone.
        drop(std::fs::remove_dir_all(place));
    }
}
