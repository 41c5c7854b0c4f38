//! A person's terminal on a tmux server: border texts are expanded only when they are drawn.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::tmux::Tmux;
use super::world::World;
use crate::wait::wait_for;

/// A client of a tmux server on a separate terminal, by script(1). Terminated on drop.
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
    /// Attaches a terminal of this size to a server, and waits until it is drawn.
    ///
    /// # Panics
    /// If it cannot be started.
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
            // A pipe that stays open: the person types nothing and does not detach.
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

    /// Returns all output so far.
    pub fn drawn(&self) -> String {
        let bytes = std::fs::read(&self.screen).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until this was drawn.
    ///
    /// # Panics
    /// On timeout; shows every pane.
    #[track_caller]
    pub fn wait_for_drawn(&self, words: &str) {
        wait_for(
            &format!("{words:?} is drawn"),
            || self.tmux.picture(),
            || self.drawn().contains(words).then_some(()),
        );
    }

    /// Waits until all pending output is drawn: tmux draws it in one step, so a marker that is
    /// shown follows all earlier changes.
    ///
    /// # Panics
    /// If the server is gone or draws nothing.
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
        // The message stays until the next one, regardless of the machine's speed; meanwhile
        // nothing else is drawn spontaneously.
        show("0", &mark);
        self.wait_for_drawn(&mark);
        show("1", "");
    }
}

/// Returns tmux's names of the clients of a server.
fn clients(tmux: &Tmux) -> Vec<String> {
    let names = tmux.try_run(&["list-clients", "-F", "#{client_name}"]);
    let names = names.unwrap_or_default();
    names.lines().map(str::to_owned).collect()
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Both fail only if it has exited and was reaped.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
