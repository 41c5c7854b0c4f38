//! Commands of settings, which run for a limited time.

use std::io;
use std::process::{Output, Stdio};
use std::time::Duration;

use swarm_os::process::{Target, kill_now, reap_group};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// Runs a command with its own process group, with `input`, and captures its output. Returns `None` if it has not exited in time.
/// Then, and if this future is dropped, every process of its group is killed.
pub(crate) async fn output_within(
    mut command: Command,
    input: &[u8],
    limit: Duration,
) -> io::Result<Option<Output>> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    let mut child = command.spawn()?;
    let (group, mut stdin) = (child.id(), child.stdin.take());
    let ended = async move {
        if let Some(stdin) = &mut stdin {
            // The command may not read its input.
            stdin.write_all(input).await.unwrap_or_default();
        }
        drop(stdin.take());
        child.wait_with_output().await
    };
    tokio::pin!(ended);
    // Dropped before the child, so that the number of the group has not been reused.
    let mut group = ProcessGroup(group.and_then(|pid| i32::try_from(pid).ok()));
    match tokio::time::timeout(limit, &mut ended).await {
        Ok(output) => {
            reap_group(group.0.take());
            output.map(Some)
        }
        Err(_) => Ok(None),
    }
}

/// Kills a process group when dropped.
struct ProcessGroup(Option<i32>);

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if self.0.is_some() {
            kill_now(&Target {
                group: self.0,
                ..Target::default()
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).process_group(0);
        command
    }

    #[tokio::test]
    async fn the_output_of_a_command_is_returned() {
        let output = output_within(shell("cat; exit 3"), b"given", Duration::from_mins(1)).await;
        let output = output.unwrap().unwrap();
        assert_eq!(
            (output.status.code(), &*output.stdout),
            (Some(3), &b"given"[..])
        );
    }

    #[tokio::test]
    async fn a_command_that_takes_too_long_is_killed_with_its_children() {
        let base = tempfile::tempdir().unwrap();
        let fifo = base.path().join("ready");
        // The pipe is closed when every process that has it open has ended.
        let script = format!(
            "mkfifo {0}; exec 9<>{0}; sleep 999 & sleep 999",
            fifo.display()
        );
        let found = output_within(shell(&script), b"", Duration::from_millis(300)).await;
        assert!(found.unwrap().is_none());
        let is_closed = || {
            let opened = rustix::fs::open(
                &fifo,
                rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK,
                rustix::fs::Mode::empty(),
            );
            opened.is_err()
        };
        let gone = async {
            while !is_closed() {
                tokio::task::yield_now().await;
            }
        };
        let gone = tokio::time::timeout(Duration::from_secs(20), gone).await;
        assert!(gone.is_ok(), "a child is still running");
    }
}
