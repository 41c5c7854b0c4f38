//! The terminal of a run: the lead's work above a line into which a person types.
//!
//! Unlike the pane of a teammate it is a shell's: it is restored while the run is suspended and at its end, nothing is read
//! from it while the run is in the background, and the keys that are signals stay signals.

use std::io::{self, IsTerminal as _, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Signal, getpgrp, getpid, getppid, getsid, kill_process};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcgetpgrp,
    tcsetattr,
};
use swarm_protocol::LEAD_NAME;
use swarm_ui::{Console, Dialog, NonBlockingWriter, PaneInput, Theme, read_keys_when};
use tokio::signal::unix::{Signal as UnixSignal, SignalKind, signal};

use crate::output::{say, terminal_width};

/// What a person who types is told where the lead's work is not shown.
const HINT: &str = "nothing reads this terminal: write to the lead with `swarm send team-lead \"…\"` from another shell";

/// How long keys that are typed for another program are left to it.
const ASIDE: Duration = Duration::from_secs(1);

/// How long the end of a run waits for a terminal that does not read.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The terminal on stdin, if there is one. Keys are not echoed while a lead works in its foreground. It is as it was found
/// after [`Self::end`] and while the process is suspended, and what was typed and not read is discarded then, because the
/// shell would take it for commands. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct LeadTerminal(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The screen with the input line, and the way to it; `None` where the lead's work is not shown on a terminal.
    screen: Option<(Console, NonBlockingWriter)>,
    modes: Mutex<Modes>,
}

#[derive(Debug, Default)]
struct Modes {
    /// The modes that were changed, as they were. Those of a terminal in which a shell reads a line are its editor's, so they are
    /// looked at only in the foreground.
    before: Option<Termios>,
    is_over: bool,
}

impl LeadTerminal {
    /// Takes over the terminal as soon as this process is in its foreground. With `theme` the lead's work is shown on stderr,
    /// and there is an input line if that is a terminal too. Called within a runtime: the signals that suspend and quit are
    /// heard before anything is changed.
    ///
    /// # Errors
    /// Where the signals cannot be listened to, or no thread can be started.
    pub(super) fn begin(theme: Option<Theme>) -> io::Result<Self> {
        let is_terminal = io::stdin().is_terminal();
        let screen = match theme.filter(|_| is_terminal && io::stderr().is_terminal()) {
            Some(theme) => Some(screen(theme)?),
            None => None,
        };
        let modes = Mutex::default();
        let terminal = Self(Arc::new(Shared { screen, modes }));
        if is_terminal {
            let signals = JobSignals::listen()?;
            tokio::spawn(terminal.clone().follow(signals));
            terminal.take_over();
        }
        Ok(terminal)
    }

    /// Where the lead's work is drawn.
    pub(super) fn screen(&self) -> Box<dyn Write + Send> {
        match &self.0.screen {
            Some((console, _)) => Box::new(console.writer()),
            None => Box::new(io::stderr()),
        }
    }

    /// Tells `tell` what the person types, from a thread of its own. Returns whether there is an input line.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(super) fn read(&self, tell: impl FnMut(PaneInput) + Send + 'static) -> io::Result<bool> {
        let Some((console, _)) = &self.0.screen else {
            return Ok(false);
        };
        let terminal = self.clone();
        read_keys_when(console.clone(), move || terminal.keys_are_ours(), tell)?;
        Ok(true)
    }

    /// Shows how things stand.
    pub(super) fn set_status(&self, status: Vec<String>) {
        if let Some((console, _)) = &self.0.screen {
            console.set_status(status);
        }
    }

    /// The screen with the input line, if there is one.
    pub(super) fn console(&self) -> Option<&Console> {
        self.0.screen.as_ref().map(|(console, _)| console)
    }

    /// Calls for the attention of the person.
    pub(super) fn call(&self, why: &str) {
        if let Some(console) = self.console() {
            console.call(why);
        }
    }

    /// Leaves the terminal to another program while `work` runs. What is to be shown meanwhile waits.
    pub(super) fn lend<T>(&self, work: impl FnOnce() -> T) -> T {
        if let Some(console) = self.console() {
            console.suspend();
        }
        self.restore();
        let done = work();
        self.take_over();
        done
    }

    /// Gives the input line what was typed in earlier sessions.
    pub(super) fn remember(&self, lines: Vec<String>) {
        if let Some((console, _)) = &self.0.screen {
            console.remember(lines);
        }
    }

    /// Shows a question, or none.
    pub(super) fn ask(&self, dialog: Option<Dialog>, armed_at: Instant) {
        if let Some((console, _)) = &self.0.screen {
            console.ask(dialog, armed_at);
        }
    }

    /// Empties the input line. Returns whether there was anything in it.
    pub(super) fn clear_line(&self) -> bool {
        let screen = self.0.screen.as_ref();
        screen.is_some_and(|(console, _)| console.clear_line())
    }

    /// Tells whoever types where there is no input line, once, where to write instead.
    pub(super) fn hint_once(&self) {
        if self.0.screen.is_some() || !io::stdin().is_terminal() {
            return;
        }
        let terminal = self.clone();
        // It ends with the process, or with its one hint.
        std::thread::spawn(move || {
            if terminal.keys_are_ours() {
                say(HINT);
            }
        });
    }

    /// Waits for keys that are typed for this process. `false` when none will come any more.
    fn keys_are_ours(&self) -> bool {
        let stdin = io::stdin();
        loop {
            // A shell that brings a running job to the foreground sends no signal. The keys by which it was told to do so
            // were seen here.
            self.take_over();
            let mut keys = [PollFd::new(&stdin, PollFlags::IN)];
            match poll(&mut keys, None) {
                Err(Errno::INTR) => continue,
                Ok(_) if keys[0].revents() == PollFlags::IN => {}
                _ => return false,
            }
            if self.0.modes.lock().is_over {
                return false;
            }
            if is_foreground() {
                return true;
            }
            // These keys are another program's, which is about to read them.
            pause();
        }
    }

    fn take_over(&self) {
        let mut modes = self.0.modes.lock();
        if modes.is_over || !is_foreground() {
            return;
        }
        if modes.before.is_none() {
            modes.before = tcgetattr(io::stdin()).ok();
        }
        let Some(before) = &modes.before else { return };
        let mut changed = before.clone();
        // Keys that are signals stay signals.
        changed.local_modes -= LocalModes::ECHO | LocalModes::ICANON;
        if let Some((console, _)) = &self.0.screen {
            changed.local_modes -= LocalModes::IEXTEN;
            changed.input_modes -= InputModes::ICRNL | InputModes::IXON | InputModes::INLCR;
            console.reopen();
        }
        tcsetattr(io::stdin(), OptionalActions::Now, &changed).ok();
    }

    fn restore(&self) {
        let mut modes = self.0.modes.lock();
        if let Some((console, outlet)) = &self.0.screen {
            console.close();
            outlet.drain(LAST_WORDS);
        }
        if !is_foreground() {
            return;
        }
        tcflush(io::stdin(), QueueSelector::IFlush).ok();
        if let Some(before) = modes.before.take() {
            // A terminal that is gone needs no restoring.
            tcsetattr(io::stdin(), OptionalActions::Now, &before).ok();
        }
    }

    /// Discards what was typed and restores the terminal for good.
    pub(super) fn end(&self) {
        self.restore();
        self.0.modes.lock().is_over = true;
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
                _ = signals.resume.recv() => self.take_over(),
                _ = signals.resize.recv() => if let Some((console, _)) = &self.0.screen {
                    console.resized();
                },
                _ = signals.quit.recv() => {
                    self.end();
                    std::process::exit(128 + Signal::QUIT.as_raw());
                }
            }
        }
    }
}

/// Restores the terminal also where a panic unwinds.
#[derive(Debug)]
pub(super) struct RestoreAtEnd(pub(super) LeadTerminal);

impl Drop for RestoreAtEnd {
    fn drop(&mut self) {
        self.0.end();
    }
}

fn screen(theme: Theme) -> io::Result<(Console, NonBlockingWriter)> {
    let outlet = NonBlockingWriter::new(Box::new(io::stderr()))?;
    let console = Console::closed(
        Box::new(outlet.clone()),
        Box::new(io::sink()),
        theme,
        Box::new(|| terminal_width(io::stderr())),
        &format!("{LEAD_NAME} > "),
    );
    Ok((console, outlet))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the end of another program's reading cannot be waited for"
)]
fn pause() {
    std::thread::sleep(ASIDE);
}

/// The signals of job control, the one that quits, and that of another size.
struct JobSignals {
    suspend: UnixSignal,
    resume: UnixSignal,
    quit: UnixSignal,
    resize: UnixSignal,
}

impl JobSignals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            suspend: signal(SignalKind::from_raw(Signal::TSTP.as_raw()))?,
            resume: signal(SignalKind::from_raw(Signal::CONT.as_raw()))?,
            quit: signal(SignalKind::quit())?,
            resize: signal(SignalKind::window_change())?,
        })
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
