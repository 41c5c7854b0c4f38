//! A program that waits for messages and sends a request to a server, and nothing else.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

use super::inbox::{BareInbox, Class};
use crate::bench::roles::{Part, say};

/// Notification and durability of such a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Woken by the kernel; stores nothing.
    Woken,
    /// Woken by the kernel; the message is stored in a second file before the request, and marked
    /// as read.
    WokenAndKept,
    /// Polls once per second.
    Polls,
}

impl Manner {
    fn word(self) -> &'static str {
        match self {
            Self::Woken => "woken",
            Self::WokenAndKept => "kept",
            Self::Polls => "polls",
        }
    }
}

/// Starts one.
pub(crate) fn start(inbox: &BareInbox, address: &str, body: &Path, manner: Manner) -> Result<Part> {
    let path = |path: &Path| path.display().to_string();
    Part::start(&[
        "receive",
        manner.word(),
        &path(&inbox.path),
        &path(&inbox.lock),
        address,
        &path(body),
    ])
}

/// Runs it.
pub(crate) fn play(words: &[&str]) -> Result<()> {
    let [manner, path, lock, address, body] = words else {
        bail!("receive MANNER INBOX LOCK ADDRESS BODY");
    };
    let inbox = BareInbox {
        path: PathBuf::from(path),
        lock: PathBuf::from(lock),
    };
    let body = fs::read(body)?;
    let mut server = Server::connect(address)?;
    let directory = inbox.path.parent().context("a directory")?;
    let kept = directory.join("kept.jsonl");
    let mut wait = Wait::of(manner, directory)?;
    let mut seen = 0;
    say("ready")?;
    loop {
        let entries = inbox.read_locked()?;
        if entries.len() > seen {
            if *manner == "kept" {
                keep(&kept, &serde_json::to_vec(&entries[seen..])?)?;
                inbox.change(Class::Durable, |entries| {
                    for entry in entries {
                        entry["read"] = true.into();
                    }
                })?;
            }
            seen = entries.len();
            server.ask(&body)?;
        }
        wait.next()?;
    }
}

fn keep(path: &Path, line: &[u8]) -> Result<()> {
    let mut file = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)?;
    file.write_all(line)?;
    Ok(file.sync_data()?)
}

enum Wait {
    Watch(OwnedFd),
    Pause,
}

impl Wait {
    fn of(manner: &str, directory: &Path) -> Result<Self> {
        if manner == "polls" {
            return Ok(Self::Pause);
        }
        let watch = inotify::init(CreateFlags::CLOEXEC)?;
        inotify::add_watch(&watch, directory, WatchFlags::MOVED_TO)?;
        Ok(Self::Watch(watch))
    }

    fn next(&mut self) -> Result<()> {
        match self {
            Self::Pause => std::thread::sleep(Duration::from_secs(1)),
            Self::Watch(watch) => {
                let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
                inotify::Reader::new(&*watch, &mut buffer).next()?;
            }
        }
        Ok(())
    }
}

/// A persistent connection.
#[derive(Debug)]
pub(crate) struct Server {
    stream: TcpStream,
}

impl Server {
    /// Connects to `host:port`.
    pub(crate) fn connect(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream })
    }

    /// Sends a request and reads the whole response.
    pub(crate) fn ask(&mut self, body: &[u8]) -> Result<()> {
        let head = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut request = head.into_bytes();
        request.extend_from_slice(body);
        self.stream.write_all(&request)?;
        let mut answer = Vec::new();
        let mut chunk = [0; 4096];
        while !answer.ends_with(b"0\r\n\r\n") {
            let read = self.stream.read(&mut chunk)?;
            if read == 0 {
                bail!("the server closed the connection");
            }
            answer.extend_from_slice(&chunk[..read]);
        }
        Ok(())
    }
}
