//! Background commands of a sub-agent. They end with its run.

use std::sync::Arc;
use std::time::Duration;

use swarm_tools::BackgroundCommands;
use tokio_util::sync::CancellationToken;

use super::notification::command_ended;
use super::record::Record;

/// How long a sub-agent without other work waits for its commands: as long as one may run in the
/// foreground. A server, for example, would never end.
const WAIT: Duration = Duration::from_mins(10);

impl Record {
    /// Sets up background commands for a new run. The sub-agent is notified when one ends, with at
    /// most `chars` characters of its output.
    pub(super) fn begin_commands(self: &Arc<Self>, chars: usize) {
        let commands = Arc::<BackgroundCommands>::default();
        let (record, own) = (Arc::downgrade(self), Arc::downgrade(&commands));
        commands.on_change(move || {
            let (Some(record), Some(own)) = (record.upgrade(), own.upgrade()) else {
                return;
            };
            let ended = own.take_unreported();
            let notifications = ended.iter().map(|command| command_ended(command, chars));
            record.live().mail.extend(notifications);
            record.came.notify_one();
        });
        self.live().commands = commands;
    }

    /// Waits until the sub-agent has input or none of its commands runs, at most ten minutes.
    pub(super) async fn wait_for_commands(&self, cancel: &CancellationToken) {
        let commands = Arc::clone(&self.live().commands);
        let has_to_wait = || self.live().mail.is_empty() && !commands.running().is_empty();
        let waited = async {
            while has_to_wait() {
                self.came.notified().await;
            }
        };
        tokio::select! {
            () = waited => {}
            () = cancel.cancelled() => {}
            () = tokio::time::sleep(WAIT) => {}
        }
    }
}
