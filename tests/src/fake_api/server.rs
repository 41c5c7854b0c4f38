//! The server: one thread for accepting, and one per connection.

use std::collections::HashMap;
use std::io::{self, BufReader, BufWriter, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;

use super::ask::Ask;
use super::dialect::Dialect;
use super::http::{self, Request};
use super::prompt_cache::{Counted, PromptCache, PromptTokens};
use super::reply::Reply;
use super::stream;
use crate::wait::wait_for;

/// Number of requests that a forgetful server keeps.
const FEW: usize = 64;

/// Timeout of a gate that a test never opens.
const FORGOTTEN: Duration = Duration::from_mins(1);

/// Decides the answers.
pub trait Brain: Send + Sync {
    /// Returns the answer to a request.
    fn reply(&self, ask: &Ask) -> Reply;
}

impl<F: Fn(&Ask) -> Reply + Send + Sync> Brain for F {
    fn reply(&self, ask: &Ask) -> Reply {
        self(ask)
    }
}

/// A recorded request.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The request in terms of the Messages API.
    pub ask: Ask,
    /// The body as received.
    pub sent: Value,
    /// Headers with lower-case names.
    pub headers: Vec<(String, String)>,
    /// Request path.
    pub path: String,
    /// Time at which it was received completely.
    pub at: Instant,
    /// Token counts of the prompt cache.
    pub tokens: PromptTokens,
}

impl Recorded {
    /// Returns the value of a header by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        http::header(&self.headers, name)
    }
}

/// A running server, stopped on drop.
#[derive(Debug)]
pub struct FakeApi {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    brain: Box<dyn Brain>,
    recorded: Mutex<Vec<Recorded>>,
    /// Number of requests by agent.
    counts: Mutex<HashMap<String, usize>>,
    /// Number of requests to keep.
    keeps: usize,
    cache: Mutex<PromptCache>,
    open: Mutex<Vec<TcpStream>>,
    refused: Mutex<Vec<String>>,
    messages: AtomicUsize,
    is_over: AtomicBool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("messages", &self.messages)
            .finish_non_exhaustive()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

impl FakeApi {
    /// Starts a server on a free port of the loopback address.
    ///
    /// # Panics
    /// If no socket can be opened.
    pub fn start(brain: impl Brain + 'static) -> Self {
        Self::keeping(brain, usize::MAX)
    }

    /// Starts a server that keeps only the last requests, for long runs.
    ///
    /// # Panics
    /// If no socket can be opened.
    pub fn forgetful(brain: impl Brain + 'static) -> Self {
        Self::keeping(brain, FEW)
    }

    fn keeping(brain: impl Brain + 'static, keeps: usize) -> Self {
        let listener =
            TcpListener::bind(("127.0.0.1", 0)).expect("a free port on the loopback address");
        let address = listener
            .local_addr()
            .expect("the address of a bound socket");
        let shared = Arc::new(Shared {
            brain: Box::new(brain),
            recorded: Mutex::default(),
            counts: Mutex::default(),
            keeps,
            cache: Mutex::default(),
            open: Mutex::default(),
            refused: Mutex::default(),
            messages: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
        });
        let accepting = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        Self {
            address,
            shared,
            accepting: Some(accepting),
        }
    }

    /// Returns the value for `ANTHROPIC_BASE_URL` or `OPENAI_BASE_URL`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns all recorded requests.
    pub fn requests(&self) -> Vec<Recorded> {
        locked(&self.shared.recorded).clone()
    }

    /// Returns the reasons of requests that the server itself rejected.
    pub fn refused(&self) -> Vec<String> {
        locked(&self.shared.refused).clone()
    }

    /// Returns the requests of one agent.
    pub fn requests_of(&self, agent: &str) -> Vec<Recorded> {
        let mut requests = self.requests();
        requests.retain(|recorded| recorded.ask.agent == agent);
        requests
    }

    /// Returns the last request of one agent.
    pub fn last_of(&self, agent: &str) -> Option<Recorded> {
        let recorded = locked(&self.shared.recorded);
        let mut of_agent = recorded.iter().rev();
        of_agent
            .find(|recorded| recorded.ask.agent == agent)
            .cloned()
    }

    /// Waits for a matching request of an agent and returns the first one.
    ///
    /// # Panics
    /// On timeout.
    #[track_caller]
    pub fn wait_for(&self, what: &str, agent: &str, fits: impl Fn(&Ask) -> bool) -> Recorded {
        let found = || {
            let of_agent = self.requests_of(agent);
            of_agent.into_iter().find(|recorded| fits(&recorded.ask))
        };
        wait_for(what, || self.summary(), found)
    }

    /// Returns a line for each request: the agent and its new messages.
    pub fn summary(&self) -> String {
        let mut lines = vec!["Requests to the model:".to_owned()];
        for recorded in self.requests() {
            let news: String = recorded.ask.news().chars().take(200).collect();
            lines.push(format!(
                "  {} #{}: {news:?}",
                recorded.ask.agent, recorded.ask.number
            ));
        }
        lines.join("\n")
    }
}

impl Drop for FakeApi {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // The accepting thread checks the flag only on a connection.
        drop(TcpStream::connect(self.address));
        for connection in locked(&self.shared.open).drain(..) {
            // The client may have closed the connection already.
            drop(connection.shutdown(Shutdown::Both));
        }
        if let Some(accepting) = self.accepting.take() {
            drop(accepting.join());
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for connection in listener.incoming() {
        if shared.is_over.load(Ordering::SeqCst) {
            return;
        }
        let Ok(connection) = connection else { continue };
        if let Ok(second) = connection.try_clone() {
            locked(&shared.open).push(second);
        }
        let shared = Arc::clone(shared);
        std::thread::spawn(move || {
            // A client may disconnect at any time; its request is recorded.
            drop(serve(&connection, &shared));
            drop(connection.shutdown(Shutdown::Both));
        });
    }
}

fn serve(connection: &TcpStream, shared: &Shared) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut from = BufReader::new(connection);
    // As real servers do, the head of a response and each chunk arrive in one piece.
    let mut to = BufWriter::new(connection);
    while let Some(request) = http::read_request(&mut from)? {
        let at = Instant::now();
        let dialect = Dialect::of(&request.path).filter(|_| request.method == "POST");
        let Some(dialect) = dialect else {
            let body = stream::error_body("not_found_error", "no such place").to_string();
            http::write_whole(&mut to, 404, &[], &body)?;
            continue;
        };
        let sent = serde_json::from_slice::<Value>(&request.body).unwrap_or_default();
        let understood = dialect.understood(&sent).and_then(|body| {
            let counted = locked(&shared.cache).count(&body)?;
            Ok((body, counted))
        });
        let (body, counted) = match understood {
            Ok(understood) if sent.is_object() => understood,
            refused => {
                let why = refused.err().unwrap_or("not an object".to_owned());
                locked(&shared.refused).push(why.clone());
                let body = dialect.error_body("invalid_request_error", &why);
                http::write_whole(&mut to, 400, &[], &body.to_string())?;
                continue;
            }
        };
        let ask = shared.record(&request, at, (sent, body), counted.tokens);
        let reply = shared.brain.reply(&ask);
        if !answer(&mut to, shared, dialect, &ask, &reply, counted)? {
            return Ok(());
        }
    }
    Ok(())
}

impl Shared {
    fn record(
        &self,
        request: &Request,
        at: Instant,
        (sent, body): (Value, Value),
        tokens: PromptTokens,
    ) -> Ask {
        let mut recorded = locked(&self.recorded);
        let ask = Ask::new(body, |agent| {
            let mut counts = locked(&self.counts);
            let count = counts.entry(agent.to_owned()).or_default();
            *count += 1;
            *count
        });
        if recorded.len() >= self.keeps {
            recorded.remove(0);
        }
        recorded.push(Recorded {
            ask: ask.clone(),
            sent,
            headers: request.headers.clone(),
            path: request.path.clone(),
            at,
            tokens,
        });
        ask
    }
}

/// Sends a reply. Returns false if the connection must not be reused.
fn answer(
    to: &mut impl Write,
    shared: &Shared,
    dialect: Dialect,
    ask: &Ask,
    reply: &Reply,
    counted: Counted,
) -> io::Result<bool> {
    let hold = |sent: usize| {
        if let Some((gate, after)) = &reply.held_by
            && *after == sent
        {
            gate.wait(FORGOTTEN);
        }
    };
    hold(0);
    if let Some(refusal) = &reply.refusal {
        let extra: Vec<(&str, &str)> = match &refusal.retry_after {
            Some(value) => vec![("retry-after", value)],
            None => Vec::new(),
        };
        let made_up = || stream::made_up(&refusal.kind);
        let message = refusal.message.clone().unwrap_or_else(made_up);
        let body = dialect.error_body(&refusal.kind, &message);
        http::write_whole(to, refusal.status, &extra, &body.to_string())?;
        return Ok(true);
    }
    let usage = counted.tokens.usage();
    locked(&shared.cache).answer_begins(counted);
    let number = shared.messages.fetch_add(1, Ordering::SeqCst) + 1;
    let model = ask.body["model"].as_str().unwrap_or("unknown");
    http::begin_stream(to)?;
    let frames = dialect.frames(reply, number, model, &usage);
    for (sent, frame) in frames.into_iter().enumerate() {
        if sent > 0 {
            hold(sent);
        }
        if let Some((_, kind)) = reply
            .error_after
            .as_ref()
            .filter(|(after, _)| *after == sent)
        {
            http::write_chunk(to, &dialect.error_frame(kind))?;
            http::end_stream(to)?;
            return Ok(true);
        }
        if reply.cut_after == Some(sent) {
            return Ok(false);
        }
        http::write_chunk(to, &frame)?;
    }
    http::end_stream(to)?;
    Ok(true)
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
