//! The screen of a lead: keys while answers stream, a lead that waits, and a long transcript.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use parking_lot::{Condvar, Mutex};

use super::played::{Played, pause};
use crate::bench::figure::{Figure, Unit, number};
use crate::bench::order::Order;
use crate::bench::process::ticks;
use crate::bench::table::{Aim, Line};
use crate::fake_api::{Ask, Reply};

/// Longest time from a key to its frame, in seconds: one frame of a screen with 60 per second.
const FRAME: f64 = 0.016;
/// Longest time until a long transcript is shown, in seconds.
const OPENING: f64 = 0.3;
/// Size of an answer in bytes, and number of answers in a long transcript.
const ANSWER: usize = 1_000_000;
const ANSWERS: usize = 10;
/// How long a waiting lead is watched.
const WATCHED: Duration = Duration::from_secs(10);
/// Processor time that it may use: 0.5 % of one core, in ticks of 10 ms.
const WAITING: f64 = 5.0;
/// Between two keys.
const TYPING: Duration = Duration::from_millis(20);
/// Timeout of every wait.
const LONGEST: Duration = Duration::from_mins(2);
/// The typed letter, which is in no answer.
const LETTER: &str = "q";
/// Letters that fit into the input line.
const LETTERS: usize = 40;
/// Ctrl-U, which clears the input line.
const CLEAR: &str = "\u{15}";
/// Ctrl-O, which opens the transcript in a pager.
const TRANSCRIPT: &str = "\u{f}";
/// What is drawn at the end of a turn.
const IDLE: &str = "idle";
const PAGE_UP: &str = "\u{1b}[5~";
/// Closes the pager.
const CLOSE: &str = "q";

/// A person types while half of the answers stream, the lead waits, the other answers stream, and
/// the transcript is read.
pub(crate) fn measure(order: &Order) -> Result<Vec<Line>> {
    let played = Played::new(order, |_: &Ask| {
        Reply::text("An answer in *Markdown* with `code`.\n\n".repeat(ANSWER / 38))
    });
    let mut screen = Screen::open(&played)?;
    let mut typed = Vec::new();
    for _ in 0..ANSWERS / 2 {
        screen.type_during_answer(&mut typed)?;
    }
    let began = ticks(screen.pid);
    pause(WATCHED);
    let waited = number(ticks(screen.pid) - began);
    let answers = (0..ANSWERS / 2).map(|_| screen.ticks_of_answer());
    let answers = answers.collect::<Result<Vec<_>>>()?;
    let opened = screen.press(TRANSCRIPT, "transcript")?;
    let pages = (0..order.runs(100)).map(|_| screen.press(PAGE_UP, ""));
    let pages = pages.collect::<Result<Vec<_>>>()?;
    screen.press(CLOSE, "")?;
    Ok(vec![
        Line::alone(
            "key to screen while 1 MB streams",
            Figure::times(typed),
            Aim::SlowestAtMost(FRAME),
        ),
        Line::alone(
            "ticks of 10 ms for an answer of 1 MB in deltas of 12 bytes",
            Figure::of(Unit::Count, answers),
            Aim::None,
        ),
        Line::alone(
            "waiting lead: ticks of 10 ms in 10 s",
            Figure::of(Unit::Count, [waited]),
            Aim::AtMost(WAITING),
        ),
        Line::alone(
            "opening a transcript of 10 MB",
            Figure::times([opened]),
            Aim::AtMost(OPENING),
        ),
        Line::alone(
            "scrolling in it by a page",
            Figure::times(pages),
            Aim::SlowestAtMost(FRAME),
        ),
    ])
}

/// A lead in a terminal of script(1). Terminated on drop.
struct Screen {
    process: Child,
    keys: ChildStdin,
    drawn: Arc<Drawn>,
    pid: u32,
}

/// What was drawn.
#[derive(Default)]
struct Drawn {
    shown: Mutex<Shown>,
    changed: Condvar,
}

#[derive(Default)]
struct Shown {
    /// Since the last key.
    bytes: Vec<u8>,
    /// Whether a turn has ended since the last prompt. A turn may end between two keys.
    is_idle: bool,
}

impl Screen {
    fn open(played: &Played) -> Result<Self> {
        let pid = played.world.directory().join("lead.pid");
        let command = format!(
            "stty cols 80 rows 24; echo $$ > '{}'; exec '{}' lead --model {}",
            pid.display(),
            played.world.program("swarm").display(),
            crate::stage::MODEL
        );
        let mut process = played
            .world
            .command("script")
            .args(["-q", "-f", "-c", &command, "/dev/null"])
            .env("SHELL", "/bin/sh")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let drawn = Arc::<Drawn>::default();
        let (shared, output) = (Arc::clone(&drawn), process.stdout.take());
        let output = output.context("the output of script(1)")?;
        std::thread::spawn(move || shared.read(output));
        let mut screen = Self {
            keys: process.stdin.take().context("the input of script(1)")?,
            process,
            drawn,
            pid: 0,
        };
        screen.drawn.wait_for("team-lead > ")?;
        screen.pid = std::fs::read_to_string(pid)?.trim().parse()?;
        Ok(screen)
    }

    /// Types during an answer, and adds the times from the keys to their frames.
    fn type_during_answer(&mut self, times: &mut Vec<Duration>) -> Result<()> {
        self.submit()?;
        while !self.drawn.shown.lock().is_idle {
            self.press(CLEAR, "")?;
            for count in 1..=LETTERS {
                pause(TYPING);
                times.push(self.press(LETTER, &LETTER.repeat(count))?);
            }
        }
        self.press(CLEAR, "").map(drop)
    }

    /// Returns the processor time of an answer in ticks.
    fn ticks_of_answer(&mut self) -> Result<f64> {
        let began = ticks(self.pid);
        self.submit()?;
        self.drawn.wait(|shown| shown.is_idle, "idle")?;
        Ok(number(ticks(self.pid) - began))
    }

    /// Sends a prompt, and waits until its turn begins.
    fn submit(&mut self) -> Result<()> {
        self.drawn.shown.lock().is_idle = false;
        self.press("stream\r", "working").map(drop)
    }

    /// Presses a key, and returns the time until the screen shows a text, or anything.
    fn press(&mut self, key: &str, shows: &str) -> Result<Duration> {
        self.drawn.shown.lock().bytes.clear();
        let began = Instant::now();
        self.keys.write_all(key.as_bytes())?;
        self.keys.flush()?;
        self.drawn.wait_for(shows)?;
        Ok(began.elapsed())
    }
}

impl Drawn {
    fn read(&self, mut output: ChildStdout) {
        let mut piece = vec![0; 65_536];
        while let Ok(length @ 1..) = output.read(&mut piece) {
            let mut shown = self.shown.lock();
            let checked = shown.bytes.len().saturating_sub(IDLE.len());
            shown.bytes.extend_from_slice(&piece[..length]);
            shown.is_idle |= contains(&shown.bytes[checked..], IDLE);
            self.changed.notify_all();
        }
    }

    /// Waits until a text, or anything, is drawn.
    fn wait_for(&self, text: &str) -> Result<()> {
        let is_there = |shown: &mut Shown| {
            let is_there = !shown.bytes.is_empty() && contains(&shown.bytes, text);
            if !is_there {
                // Only its end may be the beginning of the text.
                let checked = shown.bytes.len().saturating_sub(text.len());
                shown.bytes.drain(..checked);
            }
            is_there
        };
        self.wait(is_there, text)
    }

    fn wait(&self, mut is_there: impl FnMut(&mut Shown) -> bool, what: &str) -> Result<()> {
        let mut shown = self.shown.lock();
        let is_missing = |shown: &mut Shown| !is_there(shown);
        let waited = self.changed.wait_while_for(&mut shown, is_missing, LONGEST);
        if waited.timed_out() {
            let last = String::from_utf8_lossy(&shown.bytes);
            bail!("not drawn: {what:?}\n{last}");
        }
        Ok(())
    }
}

fn contains(bytes: &[u8], text: &str) -> bool {
    text.is_empty()
        || bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes())
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Both fail only if it has exited and was reaped.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
