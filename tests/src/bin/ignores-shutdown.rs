//! A teammate that never says hello and does not listen to SIGTERM, SIGHUP or SIGINT.

use tokio::signal::unix::{SignalKind, signal};

fn main() -> anyhow::Result<()> {
    swarm_tests::hostile::answer_version();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    runtime.block_on(async {
        // A signal that somebody listens to ends nothing by itself.
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
