//! A network between a machine and a server: a proxy on the loopback interface.

use std::collections::HashSet;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::traffic::{Direction, Traffic};

/// A link to a server of this machine.
#[derive(Debug)]
pub struct Link {
    port: u16,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    is_cut: bool,
    is_dropped: bool,
    /// How long a packet takes in each direction.
    delay: Duration,
    /// What a direction carries in a second; `None` without a limit.
    bandwidth: Option<u32>,
    trap: Option<Trap>,
    /// Connections on which what the server sends is discarded.
    muted: HashSet<usize>,
    /// Number of connections that were ever made.
    made: usize,
    open: Vec<TcpStream>,
    /// `None` until somebody counts.
    traffic: Option<Traffic>,
}

/// Waits for a request.
#[derive(Debug)]
struct Trap {
    request: String,
    has_passed: bool,
    /// The answer that is lost together with the connection; without one, nothing is answered any more.
    answer: Option<String>,
}

impl Link {
    /// Opens a link to a port.
    ///
    /// # Panics
    /// If there is no free port.
    pub fn to(upstream: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0");
        let listener = listener.unwrap_or_else(|error| panic!("no port for a link: {error}"));
        let address = listener.local_addr();
        let port = address.map_or(0, |address| address.port());
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                if shared.lock().is_dropped {
                    return;
                }
                join(&near, upstream, &shared);
            }
        });
        Self { port, state }
    }

    /// Returns the URL of the server behind it.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Delays each packet in both directions.
    pub fn delay(&self, delay: Duration) {
        self.state.lock().delay = delay;
    }

    /// Limits the bytes per second in each direction.
    pub fn limit(&self, bandwidth: u32) {
        self.state.lock().bandwidth = Some(bandwidth);
    }

    /// Ends all connections and refuses new ones.
    pub fn cut(&self) {
        let mut state = self.state.lock();
        state.is_cut = true;
        state.disconnect();
    }

    /// Permits connections, and answers.
    pub fn heal(&self) {
        let mut state = self.state.lock();
        (state.is_cut, state.trap) = (false, None);
        state.muted.clear();
    }

    /// After the next packet of a client that contains `request`, the first packet of the server that
    /// contains `answer` is lost, and all connections with it.
    pub fn lose_answer(&self, request: &str, answer: &str) {
        self.set_trap(request, Some(answer.to_owned()));
    }

    /// After a packet that contains `request`, nothing that the server sends on this connection arrives.
    pub fn mute_after(&self, request: &str) {
        self.set_trap(request, None);
    }

    /// Counts requests from now on. Returns those until now.
    pub fn count_requests(&self) -> Traffic {
        let counted = self.state.lock().traffic.replace(Traffic::default());
        counted.unwrap_or_default()
    }

    /// Returns whether what was asked to be lost is lost.
    pub fn has_lost(&self) -> bool {
        let state = self.state.lock();
        !state.muted.is_empty() || state.trap.is_none()
    }

    fn set_trap(&self, request: &str, answer: Option<String>) {
        self.state.lock().trap = Some(Trap {
            request: request.to_owned(),
            has_passed: false,
            answer,
        });
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        {
            let mut state = self.state.lock();
            state.is_dropped = true;
            state.disconnect();
        }
        // The listener wakes up and ends.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

impl State {
    /// How long a direction is busy with a packet.
    fn time_on_the_line(&self, length: usize) -> Duration {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        self.bandwidth.map_or(Duration::ZERO, |bandwidth| {
            Duration::from_secs(1) * length / bandwidth
        })
    }

    fn disconnect(&mut self) {
        for end in self.open.drain(..) {
            // It may be closed already.
            drop(end.shutdown(Shutdown::Both));
        }
    }

    fn on_request(&mut self, connection: usize, bytes: &[u8]) {
        if let Some(trap) = &mut self.trap
            && contains(bytes, &trap.request)
        {
            trap.has_passed = true;
            if trap.answer.is_none() {
                self.muted.insert(connection);
            }
        }
    }

    /// Returns whether a packet of the server arrives.
    fn on_answer(&mut self, connection: usize, bytes: &[u8]) -> bool {
        let is_it = |trap: &Trap| {
            let answer = trap.answer.as_deref();
            trap.has_passed && answer.is_some_and(|answer| contains(bytes, answer))
        };
        if self.trap.as_ref().is_some_and(is_it) {
            self.trap = None;
            self.disconnect();
            return false;
        }
        !self.muted.contains(&connection)
    }
}

fn contains(bytes: &[u8], text: &str) -> bool {
    let mut windows = bytes.windows(text.len());
    windows.any(|window| window == text.as_bytes())
}

/// Connects a client with the server, unless the link is cut.
fn join(near: &TcpStream, upstream: u16, state: &Arc<Mutex<State>>) {
    let mut now = state.lock();
    if now.is_cut {
        return;
    }
    let Ok(far) = TcpStream::connect(("127.0.0.1", upstream)) else {
        return;
    };
    let pairs = [(near, &far), (&far, near)].map(|(from, to)| {
        let ends = (from.try_clone(), to.try_clone(), to.set_nodelay(true));
        match ends {
            (Ok(from), Ok(to), Ok(())) => Some((from, to)),
            _ => None,
        }
    });
    let [Some(up), Some(down)] = pairs else {
        return;
    };
    now.open
        .extend([near.try_clone(), far.try_clone()].into_iter().flatten());
    now.made += 1;
    let number = now.made;
    drop(now);
    let (mut asked, mut answered) = (Direction::default(), Direction::default());
    let leaves = move |state: &mut State, bytes: &[u8]| {
        asked.read(number, bytes, state.traffic.as_mut());
        state.on_request(number, bytes);
        true
    };
    carry(up, Arc::clone(state), leaves, |_, _| {});
    let arrives = move |state: &mut State, bytes: &[u8]| {
        answered.read(number, bytes, state.traffic.as_mut());
    };
    let leaves = move |state: &mut State, bytes: &[u8]| state.on_answer(number, bytes);
    carry(down, Arc::clone(state), leaves, arrives);
}

/// Carries what `leaves` permits from one end to the other, until one of them is closed.
fn carry(
    (mut from, mut to): (TcpStream, TcpStream),
    state: Arc<Mutex<State>>,
    mut leaves: impl FnMut(&mut State, &[u8]) -> bool + Send + 'static,
    mut arrives: impl FnMut(&mut State, &[u8]) + Send + 'static,
) {
    let (under_way, arriving) = mpsc::channel::<(Instant, Vec<u8>)>();
    let at_end = Arc::clone(&state);
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        let mut is_free_at = Instant::now();
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            let packet = &buffer[..length];
            let mut state = state.lock();
            let passes = leaves(&mut state, packet);
            is_free_at = is_free_at.max(Instant::now()) + state.time_on_the_line(length);
            let arrival = is_free_at + state.delay;
            drop(state);
            if passes && under_way.send((arrival, packet.to_vec())).is_err() {
                break;
            }
        }
    });
    thread::spawn(move || {
        for (arrival, packet) in arriving {
            while let Some(left) = arrival.checked_duration_since(Instant::now())
                && !left.is_zero()
            {
                thread::park_timeout(left);
            }
            arrives(&mut at_end.lock(), &packet);
            if to.write_all(&packet).is_err() {
                break;
            }
        }
        // It may be closed already.
        drop(to.shutdown(Shutdown::Both));
    });
}
