//! The commands that a sub-agent runs in the background. They end with its run.

use std::sync::Arc;
use std::time::Duration;

use swarm_tools::BackgroundCommands;
use tokio_util::sync::CancellationToken;

use super::notification::command_ended;
use super::record::Record;

/// How long a sub-agent that has nothing else to do waits for its commands: as long as one may take in the foreground. A
/// server would never end.
const WAIT: Duration = Duration::from_mins(10);

impl Record {
    /// Commands for a new run. The sub-agent is told when one ends, in at most so many characters of its output.
    pub(super) fn begin_commands(self: &Arc<Self>, chars: usize) {
        let commands = Arc::<BackgroundCommands>::default();
        let (record, own) = (Arc::downgrade(self), Arc::downgrade(&commands));
        commands.on_change(move || {
            let (Some(record), Some(own)) = (record.upgrade(), own.upgrade()) else {
                return;
            };
            let ended = own.take_unreported();
            let words = ended.iter().map(|command| command_ended(command, chars));
            record.live().mail.extend(words);
            record.came.notify_one();
        });
        self.live().commands = commands;
    }

    /// Waits until the sub-agent has something to read or none of its commands runs, as long as it may.
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
