//! A teammate that never sends its hello and ignores SIGTERM, SIGHUP and SIGINT.

use tokio::signal::unix::{SignalKind, signal};

fn main() -> anyhow::Result<()> {
    swarm_tests::hostile::answer_version();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    runtime.block_on(async {
        // A handled signal does not terminate the process.
        let mut polite = Vec::new();
        for kind in [
            SignalKind::terminate(),
            SignalKind::hangup(),
            SignalKind::interrupt(),
        ] {
            polite.push(signal(kind)?);
        }
        swarm_tests::hostile::say("I stay.");
        std::future::pending::<()>().await;
        Ok(())
    })
}
