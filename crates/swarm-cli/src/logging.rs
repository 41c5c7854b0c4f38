//! Log files, one per process; logs never go to panes or the terminal.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use tracing_subscriber::EnvFilter;

/// Starts logging if a filter is set; each process writes a separate file in `root/swarm/logs`.
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
    // A missing log file does not stop the program.
    let Ok(file) = file else { return };
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(file)
        .with_ansi(false)
        .finish();
    // A second call keeps the first subscriber.
    drop(tracing::subscriber::set_global_default(subscriber));
}
