//! A person's terminal at a tmux server: what is drawn there is seen by a person, and borders are worded only when they are drawn.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::tmux::Tmux;
use super::world::World;
use crate::wait::wait_for;

/// A client of a tmux server on a terminal of its own, by script(1). It ends when this is dropped.
#[derive(Debug)]
pub struct Terminal {
    tmux: Tmux,
    /// tmux's name for it.
    client: String,
    process: Child,
    screen: PathBuf,
    marks: AtomicUsize,
}

impl Terminal {
    /// Attaches to a server, with a terminal of this size, and waits until it is drawn.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn attach(world: &World, tmux: &Tmux, columns: u32, rows: u32) -> Self {
        let screen = world.directory().join("out/screen");
        let others = clients(tmux);
        let command = format!(
            "stty cols {columns} rows {rows}; exec tmux -u -S '{}' attach-session",
            tmux.socket().display()
        );
        let process = world
            .command("script")
            .args(["-q", "-f", "-c", &command])
            .arg(&screen)
            .env("SHELL", "/bin/sh")
            // A pipe that stays open: the person types nothing and does not leave.
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("script(1) can be started");
        let client = wait_for(
            "the terminal is attached",
            || tmux.picture(),
            || clients(tmux).into_iter().find(|one| !others.contains(one)),
        );
        let terminal = Self {
            tmux: tmux.clone(),
            client,
            process,
            screen,
            marks: AtomicUsize::new(0),
        };
        terminal.wait_until_drawn();
        terminal
    }

    /// Everything that was sent to it so far.
    pub fn drawn(&self) -> String {
        let bytes = std::fs::read(&self.screen).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until this is among what was drawn.
    ///
    /// # Panics
    /// When it does not come; shows every pane.
    #[track_caller]
    pub fn wait_for_drawn(&self, words: &str) {
        wait_for(
            &format!("{words:?} is drawn"),
            || self.tmux.picture(),
            || self.drawn().contains(words).then_some(()),
        );
    }

    /// Waits until everything is drawn that has to be by now: tmux draws all that is to be drawn at once, so a word that is
    /// shown comes after what was there before it.
    ///
    /// # Panics
    /// When the server is gone or draws nothing.
    #[track_caller]
    pub fn wait_until_drawn(&self) {
        let number = self.marks.fetch_add(1, Ordering::Relaxed);
        let mark = format!("drawn-{number}-by-now");
        let client = &self.client;
        self.tmux.run(&["refresh-client", "-t", client]);
        let show = |milliseconds: &str, words: &str| {
            let words = ["display-message", "-c", client, "-d", milliseconds, words];
            self.tmux.run(&words);
        };
        // It stays until the next one, however slow the machine; while it does, nothing else is drawn by itself.
        show("0", &mark);
        self.wait_for_drawn(&mark);
        show("1", "");
    }
}

/// tmux's names for those who look at a server.
fn clients(tmux: &Tmux) -> Vec<String> {
    let names = tmux.try_run(&["list-clients", "-F", "#{client_name}"]);
    let names = names.unwrap_or_default();
    names.lines().map(str::to_owned).collect()
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Both fail only when it has ended and was waited for.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
