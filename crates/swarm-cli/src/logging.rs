//! Logs go to a file of the process, never into panes or onto the terminal.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use tracing_subscriber::EnvFilter;

/// Starts logging when a filter is given; each process writes a file of its own below `root/swarm/logs`.
pub(crate) fn start(filter: Option<&str>, root: &Path, program: &str) {
    let Some(filter) = filter else { return };
    let directory = root.join("swarm").join("logs");
    let path = directory.join(format!("{program}-{}.log", std::process::id()));
    let file = std::fs::create_dir_all(&directory).and_then(|()| {
        OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(path)
    });
    // Without a log file the program works all the same.
    let Ok(file) = file else { return };
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(file)
        .with_ansi(false)
        .finish();
    // A second start in one process keeps the first.
    drop(tracing::subscriber::set_global_default(subscriber));
}
