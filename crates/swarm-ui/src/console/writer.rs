//! Non-blocking output to a terminal. A terminal blocks its writers if nothing reads it (a stopped
//! tmux, a connection that hangs), and an agent must not be blocked.

use std::io::{self, Write};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use swarm_protocol::partial_debug;

/// Maximum number of queued bytes: more than a screen with a few hundred lines of history.
const LIMIT: usize = 256 * 1024;

/// Writes to a terminal from a separate thread. Output that exceeds the queue of a blocked terminal
/// is dropped, with a notice once the terminal is read again. Clones share the terminal.
#[derive(Clone)]
pub struct NonBlockingWriter(Arc<Shared>);

struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<u8>,
    /// Number of bytes dropped since the last accepted piece.
    left_out: usize,
    is_writing: bool,
    /// Whether the terminal is gone.
    is_over: bool,
}

partial_debug!(NonBlockingWriter);

impl NonBlockingWriter {
    /// Creates a writer for `terminal`.
    ///
    /// # Errors
    /// If the thread cannot be created.
    pub fn new(terminal: Box<dyn Write + Send>) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            changed: Condvar::new(),
        });
        let writer = thread::Builder::new().name("write-screen".to_owned());
        let its = Arc::clone(&shared);
        writer.spawn(move || its.write_on(terminal))?;
        Ok(Self(shared))
    }

    /// Waits until all output is written, at most for `patience`; returns `false` on timeout.
    pub fn drain(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let mut queue = self.0.queue.lock();
        loop {
            if queue.is_over || (queue.waiting.is_empty() && !queue.is_writing) {
                return true;
            }
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                return false;
            };
            self.0.changed.wait_for(&mut queue, left);
        }
    }
}

impl Write for NonBlockingWriter {
    /// Accepts a whole piece or nothing: a partial sequence would garble the following output.
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let mut queue = self.0.queue.lock();
        if queue.is_over {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if !queue.waiting.is_empty() && queue.waiting.len() + piece.len() > LIMIT {
            queue.left_out += piece.len();
        } else {
            if queue.left_out > 0 {
                let note = format!(
                    "\r\n[{} bytes not shown: the terminal was not being read]\r\n",
                    queue.left_out
                );
                queue.waiting.extend_from_slice(note.as_bytes());
                queue.left_out = 0;
            }
            queue.waiting.extend_from_slice(piece);
            self.0.changed.notify_all();
        }
        Ok(piece.len())
    }

    /// Does not wait; use [`NonBlockingWriter::drain`].
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    /// Main loop of the thread; it blocks while there is nothing to write.
    fn write_on(&self, mut terminal: Box<dyn Write + Send>) {
        let mut queue = self.queue.lock();
        loop {
            while queue.waiting.is_empty() {
                self.changed.wait(&mut queue);
            }
            let piece = std::mem::take(&mut queue.waiting);
            queue.is_writing = true;
            drop(queue);
            let written = terminal.write_all(&piece).and_then(|()| terminal.flush());
            queue = self.queue.lock();
            queue.is_writing = false;
            queue.is_over = written.is_err();
            self.changed.notify_all();
            if queue.is_over {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    const SOON: Duration = Duration::from_mins(1);

    #[test]
    fn output_arrives_in_order() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut outlet = NonBlockingWriter::new(Box::new(ours)).unwrap();
        let lines: Vec<String> = (0..100).map(|number| format!("line {number}\n")).collect();
        for line in &lines {
            outlet.write_all(line.as_bytes()).unwrap();
        }
        assert!(outlet.drain(SOON));
        let expected = lines.concat();
        let mut read = vec![0; expected.len()];
        theirs.read_exact(&mut read).unwrap();
        assert_eq!(String::from_utf8(read).unwrap(), expected);
    }

    #[test]
    fn a_blocked_terminal_does_not_block_the_writer_and_reports_dropped_output() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        // Everything before this point may have been read.
        theirs
            .set_read_timeout(Some(Duration::from_millis(10)))
            .unwrap();
        let mut outlet = NonBlockingWriter::new(Box::new(ours)).unwrap();
        let piece = [b'x'; 1000];
        // Far more than the kernel and the queue can hold: the writer returns anyway.
        for _ in 0..20_000 {
            outlet.write_all(&piece).unwrap();
        }
        assert!(!outlet.drain(Duration::ZERO));
        let mut read = Vec::new();
        let mut part = vec![0; 65_536];
        while !outlet.drain(Duration::ZERO) {
            let count = theirs.read(&mut part).unwrap_or(0);
            read.extend_from_slice(&part[..count]);
        }
        assert!(read.len() < 20_000 * piece.len());
        outlet.write_all(b"there again").unwrap();
        let shown = loop {
            let count = theirs.read(&mut part).unwrap_or(0);
            read.extend_from_slice(&part[..count]);
            if read.ends_with(b"there again") {
                break String::from_utf8(read).unwrap();
            }
        };
        let note = shown.trim_start_matches('x');
        assert!(
            note.starts_with("\r\n[") && note.contains("bytes not shown"),
            "{note}"
        );
    }

    #[test]
    fn draining_waits_for_a_partial_write() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut outlet = NonBlockingWriter::new(Box::new(ours)).unwrap();
        // More than the kernel buffers, in one piece.
        let piece = vec![b'x'; 8 * 1024 * 1024];
        outlet.write_all(&piece).unwrap();
        // It is being written by now, so the queue is empty.
        theirs.read_exact(&mut [0]).unwrap();
        assert!(!outlet.drain(Duration::ZERO));
        let mut rest = vec![0; piece.len() - 1];
        theirs.read_exact(&mut rest).unwrap();
        assert!(outlet.drain(SOON));
    }

    #[test]
    fn a_closed_terminal_is_an_error_and_is_not_awaited() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        let mut outlet = NonBlockingWriter::new(Box::new(ours)).unwrap();
        outlet.write_all(b"into the void").unwrap();
        assert!(outlet.drain(SOON));
        outlet.write_all(b"again").unwrap_err();
    }
}
