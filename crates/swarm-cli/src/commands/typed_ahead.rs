//! The keyboard of a terminal in which a lead works: what is typed there is nobody's prompt, and no command for the shell.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, getpgrp, getpid, getppid, getsid, kill_process};
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcgetpgrp, tcsetattr,
};
use tokio::signal::unix::{Signal as UnixSignal, SignalKind, signal};

use crate::output::{Output, say};

/// What a person who types is told.
const HINT: &str = "nothing reads this terminal: write to the lead with `swarm send team-lead \"…\"` from another shell";

/// How long keys that are typed for another program are left to it.
const ASIDE: Duration = Duration::from_secs(1);

/// Keeps keys from being shown while a lead works in the foreground of a terminal, and discards them at the end. The terminal
/// is restored when this is dropped and while the process is suspended.
#[derive(Debug, Clone)]
pub(super) struct TypedAhead(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    /// The modes that were changed, as they were. Those of a terminal in which a shell reads a line are its editor's, so they are
    /// looked at only in the foreground.
    before: Option<Termios>,
    is_over: bool,
}

impl TypedAhead {
    /// Takes over the terminal on stdin, if there is one, as soon as this process is in its foreground. Called within a runtime:
    /// the signals that suspend and quit are heard before anything is changed.
    ///
    /// # Errors
    /// Where the signals cannot be listened to.
    pub(super) fn begin() -> io::Result<Self> {
        let keyboard = Self(Arc::default());
        if io::stdin().is_terminal() {
            let signals = JobSignals::listen()?;
            tokio::spawn(keyboard.clone().follow(signals));
            keyboard.silence();
        }
        Ok(keyboard)
    }

    fn silence(&self) {
        let mut kept = self.0.lock();
        if kept.is_over || !is_foreground() {
            return;
        }
        if kept.before.is_none() {
            kept.before = tcgetattr(io::stdin()).ok();
        }
        if let Some(before) = &kept.before {
            let mut modes = before.clone();
            // Keys that are signals stay signals.
            modes.local_modes -= LocalModes::ECHO | LocalModes::ICANON;
            tcsetattr(io::stdin(), OptionalActions::Now, &modes).ok();
        }
    }

    fn restore(&self) {
        let mut kept = self.0.lock();
        if !is_foreground() {
            return;
        }
        tcflush(io::stdin(), QueueSelector::IFlush).ok();
        if let Some(before) = kept.before.take() {
            // A terminal that is gone needs no restoring.
            tcsetattr(io::stdin(), OptionalActions::Now, &before).ok();
        }
    }

    /// Discards what was typed and restores the terminal for good.
    pub(super) fn end(&self) {
        self.restore();
        self.0.lock().is_over = true;
    }

    /// Restores the terminal while the process is suspended (Ctrl-Z), and when it is told to quit (Ctrl-\).
    async fn follow(self, mut signals: JobSignals) -> io::Result<()> {
        loop {
            tokio::select! {
                _ = signals.suspend.recv() => {
                    if !can_be_resumed() {
                        continue;
                    }
                    self.restore();
                    kill_process(getpid(), Signal::STOP)?;
                }
                _ = signals.resume.recv() => self.silence(),
                _ = signals.quit.recv() => {
                    self.end();
                    std::process::exit(128 + Signal::QUIT.as_raw());
                }
            }
        }
    }

    /// Tells whoever types, once, where to write instead.
    pub(super) fn hint_once(&self, out: Output) {
        if out.quiet || !io::stdin().is_terminal() {
            return;
        }
        let keyboard = self.clone();
        // It ends with the process, or with its one hint.
        std::thread::spawn(move || {
            let stdin = io::stdin();
            let mut keys = [PollFd::new(&stdin, PollFlags::IN)];
            while poll(&mut keys, None).is_ok() && keys[0].revents() == PollFlags::IN {
                if is_foreground() {
                    // A shell that brings a running job to the foreground sends no signal.
                    keyboard.silence();
                    return say(HINT);
                }
                // These keys are another program's, which is about to read them.
                pause();
            }
        });
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the end of another program's reading cannot be waited for"
)]
fn pause() {
    std::thread::sleep(ASIDE);
}

/// The signals of job control, and the one that quits.
struct JobSignals {
    suspend: UnixSignal,
    resume: UnixSignal,
    quit: UnixSignal,
}

impl JobSignals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            suspend: signal(SignalKind::from_raw(Signal::TSTP.as_raw()))?,
            resume: signal(SignalKind::from_raw(Signal::CONT.as_raw()))?,
            quit: signal(SignalKind::quit())?,
        })
    }
}

/// Restores the terminal also where a panic unwinds.
#[derive(Debug)]
pub(super) struct RestoreAtEnd(pub(super) TypedAhead);

impl Drop for RestoreAtEnd {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Whether a shell could resume this process: its parent is in the same session. Nobody resumes another one, for example
/// `ssh -t HOST swarm run …`, so the kernel ignores SIGTSTP there as well.
fn can_be_resumed() -> bool {
    let session = getsid(None).ok();
    let of_parent = getppid().and_then(|parent| getsid(Some(parent)).ok());
    session.is_some() && session == of_parent
}

/// A process in the background that changes a terminal is stopped by the kernel.
fn is_foreground() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp())
}
