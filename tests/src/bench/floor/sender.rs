//! A program that adds messages to a minimal inbox, and one that empties it.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

use super::inbox::{BareInbox, Class, entry};
use crate::bench::roles::{ready, say, until_closed};

fn inbox(path: &str, lock: &str) -> BareInbox {
    BareInbox {
        path: PathBuf::from(path),
        lock: PathBuf::from(lock),
    }
}

/// Sends a number of messages and prints the nanoseconds of each.
pub(crate) fn play(words: &[&str]) -> Result<()> {
    let [path, lock, class, count] = words else {
        bail!("send INBOX LOCK CLASS COUNT");
    };
    let (inbox, class) = (inbox(path, lock), Class::parse(class));
    let mut times = Vec::new();
    ready()?;
    for number in 0..count.parse()? {
        let began = Instant::now();
        inbox.change(class, |entries| entries.push(entry(number)))?;
        times.push(began.elapsed().as_nanos().to_string());
    }
    say(&times.join(" "))
}

/// Empties an inbox whenever it changes, and prints the number of messages.
pub(crate) fn drain(words: &[&str]) -> Result<()> {
    let [path, lock, class] = words else {
        bail!("drain INBOX LOCK CLASS");
    };
    let (inbox, class) = (inbox(path, lock), Class::parse(class));
    let watch = inotify::init(CreateFlags::CLOEXEC)?;
    let directory = inbox.path.parent().context("a directory")?;
    inotify::add_watch(&watch, directory, WatchFlags::MOVED_TO)?;
    ready()?;
    std::thread::spawn(move || drain_on_change(&inbox, class, &watch));
    until_closed();
    Ok(())
}

fn drain_on_change(inbox: &BareInbox, class: Class, watch: &OwnedFd) -> Result<()> {
    let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
    loop {
        if !inbox.read()?.is_empty() {
            inbox.change(class, Vec::clear)?;
        }
        inotify::Reader::new(watch, &mut buffer).next()?;
    }
}
