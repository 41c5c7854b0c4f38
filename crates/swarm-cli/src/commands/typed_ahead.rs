//! The keyboard of a terminal in which a lead works: what is typed there is nobody's prompt, and no command for the shell.

use std::io::{self, IsTerminal as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, getpgrp, getpid, getppid, getsid, kill_process};
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcgetpgrp, tcsetattr,
};
use tokio::signal::unix::{SignalKind, signal};

use crate::output::{Output, say};

/// What a person who types is told.
const HINT: &str = "nothing reads this terminal: write to the lead with `swarm send team-lead \"…\"` from another shell";

/// Keeps keys from being shown while a lead works, and discards them at the end. The terminal is restored when this is
/// dropped and while the process is suspended.
#[derive(Debug, Clone)]
pub(super) struct TypedAhead(Arc<Mutex<Kept>>);

#[derive(Debug)]
struct Kept {
    /// How the terminal was found; none where stdin is not one, or once it was restored for good.
    before: Option<Termios>,
}

impl TypedAhead {
    /// Takes over the terminal on stdin, if it is one and this process has it.
    pub(super) fn begin() -> Self {
        let before = io::stdin()
            .is_terminal()
            .then(|| tcgetattr(io::stdin()).ok())
            .flatten();
        let keyboard = Self(Arc::new(Mutex::new(Kept { before })));
        keyboard.silence();
        keyboard
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Replaced whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn silence(&self) {
        if let Some(before) = self.kept().before.as_ref().filter(|_| is_foreground()) {
            let mut modes = before.clone();
            // Keys that are signals stay signals.
            modes.local_modes -= LocalModes::ECHO | LocalModes::ICANON;
            tcsetattr(io::stdin(), OptionalActions::Now, &modes).ok();
        }
    }

    fn restore(&self) {
        if let Some(before) = self.kept().before.as_ref().filter(|_| is_foreground()) {
            tcflush(io::stdin(), QueueSelector::IFlush).ok();
            // A terminal that is gone needs no restoring.
            tcsetattr(io::stdin(), OptionalActions::Now, before).ok();
        }
    }

    /// Discards what was typed and restores the terminal for good.
    pub(super) fn end(&self) {
        self.restore();
        self.kept().before = None;
    }

    /// Restores the terminal while the process is suspended (Ctrl-Z), and when it is told to quit (Ctrl-\).
    ///
    /// # Errors
    /// Where the signals cannot be listened to.
    pub(super) async fn follow_signals(self) -> io::Result<()> {
        if self.kept().before.is_none() {
            return Ok(());
        }
        let mut suspend = signal(SignalKind::from_raw(Signal::TSTP.as_raw()))?;
        let mut resume = signal(SignalKind::from_raw(Signal::CONT.as_raw()))?;
        let mut quit = signal(SignalKind::quit())?;
        loop {
            tokio::select! {
                _ = suspend.recv() => {
                    if !can_be_resumed() {
                        continue;
                    }
                    self.restore();
                    kill_process(getpid(), Signal::STOP)?;
                }
                _ = resume.recv() => self.silence(),
                _ = quit.recv() => {
                    self.end();
                    std::process::exit(128 + Signal::QUIT.as_raw());
                }
            }
        }
    }

    /// Tells whoever types, once, where to write instead.
    pub(super) fn hint_once(&self, out: Output) {
        if self.kept().before.is_none() || out.quiet {
            return;
        }
        // It ends with the process, or with its one hint.
        std::thread::spawn(|| {
            let stdin = io::stdin();
            let mut keys = [PollFd::new(&stdin, PollFlags::IN)];
            let typed = poll(&mut keys, None).is_ok() && keys[0].revents() == PollFlags::IN;
            if typed && is_foreground() {
                say(HINT);
            }
        });
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
