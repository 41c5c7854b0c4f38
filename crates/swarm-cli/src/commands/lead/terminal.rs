//! The terminal of a run: the lead's work above an input line.
//!
//! Unlike a teammate's pane it belongs to a shell: it is restored when the run is suspended or
//! exits, it is not read while the run is in the background, and the keys that send signals keep
//! doing so.

use std::io::{self, IsTerminal as _, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use rustix::process::{Signal, getpgrp, getpid, getppid, getsid, kill_process};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcgetpgrp,
    tcsetattr,
};
use swarm_ui::{Alert, Console, Dialog, NonBlockingWriter, PaneInput, Theme, read_keys_when};
use tokio::signal::unix::{Signal as UnixSignal, SignalKind, signal};

use super::plain_terminal::PlainTerminal;
use crate::output::{say, terminal_height, terminal_width};

/// Hint for typed input if the lead's work is not shown.
const HINT: &str = "nothing reads this terminal: write to the lead with `swarm send team-lead \"…\"` from another shell";

/// How long input typed for another program is left unread.
const ASIDE: Duration = Duration::from_secs(1);

/// How often a process in the background checks whether it is in the foreground.
const BACKGROUND: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// Longest line that a terminal passes on as a whole, in bytes.
const LONGEST_LINE: usize = 4096;

/// Timeout at exit for a terminal that does not read.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The terminal on stdin, if any. Input is not echoed while a lead works in its foreground. After
/// [`Self::end`] and while suspended, the original modes are restored and unread input is
/// discarded, because the shell would run it as commands. Clones share the terminal.
#[derive(Debug, Clone)]
pub(super) struct LeadTerminal(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The screen with the input line; `None` if the lead's work is not drawn on a terminal.
    screen: Option<(Console, NonBlockingWriter)>,
    /// The terminal without a screen, which the kernel edits lines for.
    plain: Option<PlainTerminal>,
    modes: Mutex<Modes>,
    /// An eventfd that wakes the reader when the process was resumed.
    resumed: OwnedFd,
}

#[derive(Debug, Default)]
struct Modes {
    /// The original terminal modes. While a shell reads a line, the modes are its editor's, so they
    /// are only saved in the foreground.
    before: Option<Termios>,
    /// Whether another program uses the terminal, also after it was suspended and resumed.
    is_lent: bool,
    is_over: bool,
}

impl LeadTerminal {
    /// Takes over the terminal as soon as this process is in its foreground. With `theme` the
    /// lead's work is drawn on stderr, with an input line after `prompt` if that is also a
    /// terminal. Must be called within a runtime: signal handlers are installed before the modes
    /// change.
    pub(super) fn begin(theme: Option<Theme>, prompt: &str) -> io::Result<Self> {
        let screen = match theme.filter(|_| is_terminal()) {
            Some(theme) => Some(screen(theme, prompt)?),
            None => None,
        };
        Self::with(screen, None)
    }

    /// Like [`Self::begin`], without a screen and an input line: whole lines are read and printed.
    pub(super) fn begin_plain() -> io::Result<Self> {
        Self::with(None, is_terminal().then(PlainTerminal::default))
    }

    fn with(
        screen: Option<(Console, NonBlockingWriter)>,
        plain: Option<PlainTerminal>,
    ) -> io::Result<Self> {
        let terminal = Self(Arc::new(Shared {
            screen,
            plain,
            modes: Mutex::default(),
            resumed: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        }));
        if io::stdin().is_terminal() {
            let signals = JobSignals::listen()?;
            tokio::spawn(terminal.clone().follow(signals));
            terminal.take_over();
        }
        Ok(terminal)
    }

    /// Returns where the lead's work is drawn.
    pub(super) fn screen(&self) -> Box<dyn Write + Send> {
        match &self.0.screen {
            Some((console, _)) => Box::new(console.writer()),
            None => Box::new(io::stderr()),
        }
    }

    /// Passes typed input to `tell` from a separate thread. Returns whether there is an input line.
    pub(super) fn read(&self, tell: impl FnMut(PaneInput) + Send + 'static) -> io::Result<bool> {
        let terminal = self.clone();
        match (&self.0.screen, &self.0.plain) {
            (Some((console, _)), _) => {
                read_keys_when(console.clone(), move || terminal.keys_are_ours(), tell)?;
            }
            (None, Some(_)) => {
                let reader = std::thread::Builder::new().name("read-lines".to_owned());
                reader.spawn(move || terminal.read_lines(tell))?;
            }
            (None, None) => return Ok(false),
        }
        Ok(true)
    }

    /// Passes typed lines to `tell` until the terminal is gone.
    fn read_lines(&self, mut tell: impl FnMut(PaneInput)) {
        let Some(plain) = &self.0.plain else { return };
        let mut bytes = [0; LONGEST_LINE];
        while self.keys_are_ours() {
            // One line at a time, and nothing for Ctrl-D.
            match rustix::io::read(io::stdin(), &mut bytes) {
                Ok(0) => tell(PaneInput::Shutdown),
                Ok(count) => {
                    let line = String::from_utf8_lossy(&bytes[..count]);
                    if let Some(input) = plain.input(line.trim_end_matches(['\r', '\n'])) {
                        tell(input);
                    }
                }
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => return,
            }
        }
    }

    /// Whether there is no screen, but lines are read.
    pub(super) fn is_plain(&self) -> bool {
        self.0.plain.is_some()
    }

    pub(super) fn set_status(&self, status: Vec<String>) {
        if let Some((console, _)) = &self.0.screen {
            console.set_status(status);
        }
    }

    /// Returns the screen with the input line, if any.
    pub(super) fn console(&self) -> Option<&Console> {
        self.0.screen.as_ref().map(|(console, _)| console)
    }

    /// Sets how the person is notified.
    pub(super) fn set_alert(&self, alert: Alert) {
        match (&self.0.screen, &self.0.plain) {
            (Some((console, _)), _) => console.set_alert(alert),
            (None, Some(plain)) => plain.set_alert(alert),
            (None, None) => {}
        }
    }

    /// Notifies the person.
    pub(super) fn call(&self, why: &str) {
        match (&self.0.screen, &self.0.plain) {
            (Some((console, _)), _) => console.call(why),
            (None, Some(plain)) => plain.call(why, &mut io::stderr()),
            (None, None) => {}
        }
    }

    /// Lends the terminal to another program while `work` runs. Output is buffered meanwhile.
    pub(super) fn lend<T>(&self, work: impl FnOnce() -> T) -> T {
        if let Some(console) = self.console() {
            console.suspend();
        }
        self.restore(|modes| modes.is_lent = true);
        let done = work();
        self.0.modes.lock().is_lent = false;
        self.take_over();
        done
    }

    /// Loads the input history of earlier sessions.
    pub(super) fn remember(&self, lines: Vec<String>) {
        if let Some((console, _)) = &self.0.screen {
            console.remember(lines);
        }
    }

    /// Shows a question; `None` removes it.
    pub(super) fn ask(&self, dialog: Option<Dialog>, unarmed: Duration) {
        match (&self.0.screen, &self.0.plain) {
            (Some((console, _)), _) => console.ask(dialog, unarmed),
            (None, Some(plain)) => {
                if let Some(dialog) = &dialog {
                    self.call(&dialog.question);
                }
                plain.ask(dialog, unarmed);
            }
            (None, None) => {}
        }
    }

    /// Closes the view that covers the terminal, or clears the input line. Returns whether there
    /// was a view or text.
    pub(super) fn clear(&self) -> bool {
        let screen = self.0.screen.as_ref();
        screen.is_some_and(|(console, _)| console.close_view() || console.clear_line())
    }

    /// Prints a hint once if input is typed without an input line.
    pub(super) fn hint_once(&self) {
        if self.0.screen.is_some() || !io::stdin().is_terminal() {
            return;
        }
        let terminal = self.clone();
        // The thread ends with the process or after its hint.
        std::thread::spawn(move || {
            if terminal.keys_are_ours() {
                say(HINT);
            }
        });
    }

    /// Waits for input for this process. Returns `false` at end of input.
    fn keys_are_ours(&self) -> bool {
        let stdin = io::stdin();
        loop {
            self.take_over();
            // A shell that brings a running job to the foreground sends no signal, and the kernel
            // reports it in no other way.
            let wait = (!is_foreground()).then_some(BACKGROUND);
            let mut keys = [
                PollFd::new(&stdin, PollFlags::IN),
                PollFd::new(&self.0.resumed, PollFlags::IN),
            ];
            match poll(&mut keys, wait.as_ref()) {
                Err(Errno::INTR) | Ok(0) => continue,
                Ok(_) if keys[1].revents() == PollFlags::IN => {
                    // The counter is reset by reading it.
                    let _count = rustix::io::read(&self.0.resumed, &mut [0; 8]);
                    continue;
                }
                Ok(_) if keys[0].revents() == PollFlags::IN => {}
                _ => return false,
            }
            if self.0.modes.lock().is_over {
                return false;
            }
            if is_foreground() {
                self.take_over();
                return true;
            }
            // The input belongs to another program that is about to read it.
            pause();
        }
    }

    fn take_over(&self) {
        let mut modes = self.0.modes.lock();
        if modes.is_over || modes.is_lent || self.is_plain() || !is_foreground() {
            return;
        }
        if modes.before.is_none() {
            modes.before = tcgetattr(io::stdin()).ok();
        }
        let Some(before) = &modes.before else { return };
        let mut changed = before.clone();
        // Keys that send signals keep doing so.
        changed.local_modes -= LocalModes::ECHO | LocalModes::ICANON;
        if let Some((console, _)) = &self.0.screen {
            changed.local_modes -= LocalModes::IEXTEN;
            changed.input_modes -= InputModes::ICRNL | InputModes::IXON | InputModes::INLCR;
            console.reopen();
        }
        tcsetattr(io::stdin(), OptionalActions::Now, &changed).ok();
    }

    /// Restores the original modes and sets flags under the same lock: otherwise the reader could
    /// take over the terminal in between, and the next program would start with the lead's modes.
    fn restore(&self, set_flags: impl FnOnce(&mut Modes)) {
        let mut modes = self.0.modes.lock();
        let was_lent = modes.is_lent;
        set_flags(&mut modes);
        if was_lent {
            return;
        }
        if let Some((console, outlet)) = &self.0.screen {
            console.close();
            outlet.drain(LAST_WORDS);
        }
        if !is_foreground() {
            return;
        }
        tcflush(io::stdin(), QueueSelector::IFlush).ok();
        if let Some(before) = modes.before.take() {
            // A closed terminal needs no restoring.
            tcsetattr(io::stdin(), OptionalActions::Now, &before).ok();
        }
    }

    /// Discards unread input and restores the terminal permanently.
    pub(super) fn end(&self) {
        self.restore(|modes| modes.is_over = true);
    }

    /// Restores the terminal while the process is suspended (Ctrl-Z) and on SIGQUIT (Ctrl-\).
    async fn follow(self, mut signals: JobSignals) -> io::Result<()> {
        loop {
            tokio::select! {
                _ = signals.suspend.recv() => {
                    if !can_be_resumed() {
                        continue;
                    }
                    self.restore(|_| {});
                    kill_process(getpid(), Signal::STOP)?;
                }
                _ = signals.resume.recv() => {
                    self.take_over();
                    // The reader waits as in the foreground, where it was stopped.
                    rustix::io::write(&self.0.resumed, &1_u64.to_ne_bytes())?;
                }
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

/// Restores the terminal when a panic unwinds.
#[derive(Debug)]
pub(super) struct RestoreAtEnd(pub(super) LeadTerminal);

impl Drop for RestoreAtEnd {
    fn drop(&mut self) {
        self.0.end();
    }
}

fn screen(theme: Theme, prompt: &str) -> io::Result<(Console, NonBlockingWriter)> {
    let outlet = NonBlockingWriter::new(Box::new(io::stderr()))?;
    let console = Console::closed(
        Box::new(outlet.clone()),
        Box::new(io::sink()),
        theme,
        Box::new(|| terminal_width(io::stderr())),
        prompt,
    );
    console.limit_frames();
    console.measure_height(Box::new(|| terminal_height(io::stderr())));
    Ok((console, outlet))
}

#[expect(
    clippy::disallowed_methods,
    reason = "there is no event for the end of another program's reading"
)]
fn pause() {
    std::thread::sleep(ASIDE);
}

/// The signals for job control, quit and resize.
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

/// Returns whether a person reads and types in this process.
fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Returns whether a shell can resume this process: its parent is in the same session. Otherwise,
/// as in `ssh -t HOST swarm run …`, the kernel also ignores SIGTSTP.
fn can_be_resumed() -> bool {
    let session = getsid(None).ok();
    let of_parent = getppid().and_then(|parent| getsid(Some(parent)).ok());
    session.is_some() && session == of_parent
}

/// Returns whether this process is in the foreground; the kernel stops a background process that
/// changes a terminal.
fn is_foreground() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp())
}
