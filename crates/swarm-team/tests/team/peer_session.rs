//! Messages between sessions over a socket.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_os::process::Process;
use swarm_protocol::{
    LifeKind, LifeRecord, MessageId, PeerAddress, PeerDelivery, PeerInbound, PeerMessage, PeerMode,
    PeerRecord, SessionId, SpawnId, SystemClock, UnixMs,
};
use swarm_store::{MemoryStore, Sessions};
use swarm_team::{
    HubPlace, PeerError, PeerInbox, PeerListener, PeerPlaces, PeerServer, peer_records,
};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::oneshot;

/// An inbox that reads immediately, unless messages are held.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    pub(crate) read: Mutex<Vec<String>>,
    pub(crate) held: Mutex<Vec<oneshot::Sender<()>>>,
    pub(crate) senders: Mutex<Vec<String>>,
}

impl PeerInbox for Reader {
    fn waiting(&self) -> (usize, usize) {
        (0, self.held.lock().len())
    }

    fn add(&self, message: PeerMessage, hold: bool) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        self.senders.lock().push(message.from);
        if hold {
            self.held.lock().push(sender);
        } else {
            self.read.lock().push(message.text);
            sender.send(()).unwrap();
        }
        receiver
    }

    fn notice(&self, line: String) {
        panic!("{line}");
    }
}

pub(crate) struct Session {
    directory: TempDir,
    pub(crate) reader: Arc<Reader>,
    pub(crate) server: PeerServer,
    pub(crate) socket: PathBuf,
    id: SessionId,
}

pub(crate) fn session(inbound: PeerInbound) -> Session {
    session_on(inbound, None)
}

fn session_on(inbound: PeerInbound, hub: Option<&Sessions>) -> Session {
    let directory = tempfile::tempdir().unwrap();
    let reader = Arc::new(Reader::default());
    let socket = directory.path().join("s.sock");
    let own = Process::running(std::process::id()).unwrap();
    let listener = PeerListener {
        hub: hub.map(|sessions| HubPlace {
            sessions: sessions.clone(),
            process: process(&own),
        }),
        inbound,
        ..listener(directory.path(), &socket, &reader)
    };
    let id = listener.record.session;
    Session {
        directory,
        reader,
        server: PeerServer::start(listener).unwrap(),
        socket,
        id,
    }
}

/// A new session of this process with this directory and this socket.
fn listener(directory: &Path, socket: &Path, reader: &Arc<Reader>) -> PeerListener {
    let own = Process::running(std::process::id()).unwrap();
    PeerListener {
        directory: directory.to_owned(),
        claude_sessions: directory.join("sessions"),
        record: PeerRecord {
            session: SessionId::random(),
            team: None,
            cwd: "/work".into(),
            socket: socket.to_owned(),
            token: "secret".to_owned(),
            pid: own.id(),
            proc_start: own.start.to_string(),
            started_at: UnixMs(1),
        },
        hub: None,
        inbound: PeerInbound::Auto,
        mode: Box::new(|| PeerMode::Prompting),
        inbox: reader.clone(),
    }
}

/// The holder of a lease on a hub.
fn process(own: &Process) -> LifeRecord {
    LifeRecord {
        host: "box".to_owned(),
        pid_space: "box#1".to_owned(),
        ..LifeRecord::new(
            LifeKind::Process,
            own.id(),
            own.start.to_string(),
            SpawnId::random(),
        )
    }
}

/// A machine without sessions of its own, on this hub.
fn elsewhere(hub: &Sessions) -> PeerPlaces {
    PeerPlaces {
        directory: "/no/where".into(),
        claude_sessions: "/no/where".into(),
        hubs: vec![hub.clone()],
    }
}

pub(crate) fn message(from: &str, text: &str) -> PeerMessage {
    PeerMessage {
        msg_id: MessageId::random(),
        from: from.to_owned(),
        from_mode: PeerMode::Prompting,
        text: text.to_owned(),
    }
}

impl Session {
    /// Starts another session of this process next to this one. Returns its socket too.
    pub(crate) fn another(&self) -> (PeerServer, PathBuf) {
        let socket = self.directory.path().join("another.sock");
        let listener = listener(self.directory.path(), &socket, &self.reader);
        (PeerServer::start(listener).unwrap(), socket)
    }

    /// Directory of the records of Claude Code's sessions.
    pub(crate) fn claude_sessions(&self) -> PathBuf {
        self.directory.path().join("sessions")
    }

    /// Sends from another machine, once the session is on the hub.
    async fn send_over(
        &self,
        hub: &Sessions,
        message: PeerMessage,
    ) -> Result<PeerDelivery, PeerError> {
        let places = elsewhere(hub);
        while places.sessions().await.0.is_empty() {
            tokio::task::yield_now().await;
        }
        let id = self.id.short();
        places.send(PeerAddress::Bridge(&id), message).await
    }

    async fn send(&self, from_mode: PeerMode, text: &str) -> Result<PeerDelivery, PeerError> {
        let message = PeerMessage {
            msg_id: MessageId::random(),
            from: "uds:/other".to_owned(),
            from_mode,
            text: text.to_owned(),
        };
        let places = PeerPlaces {
            directory: self.directory.path().to_owned(),
            claude_sessions: self.claude_sessions(),
            hubs: Vec::new(),
        };
        places
            .send(PeerAddress::Socket(&self.socket), message)
            .await
    }
}

#[tokio::test]
async fn a_message_is_delivered_to_a_session_that_listens_and_not_after_its_end() {
    let session = session(PeerInbound::Auto);
    let sent = session.send(PeerMode::Prompting, "hello").await;
    assert_eq!(sent.unwrap(), PeerDelivery::Delivered);
    assert_eq!(*session.reader.read.lock(), ["hello"]);
    let directory = session.directory;
    drop(session.server);
    assert_eq!(peer_records(directory.path()), []);
    assert!(!session.socket.exists());
    let places = PeerPlaces {
        directory: directory.path().to_owned(),
        claude_sessions: directory.path().join("sessions"),
        hubs: Vec::new(),
    };
    let to = PeerAddress::Socket(&session.socket);
    let late = places.send(to, message("user", "anybody?")).await;
    assert!(matches!(late, Err(PeerError::Unknown(_))), "{late:?}");
}

#[tokio::test]
async fn the_setting_holds_or_refuses_messages() {
    let session_of = session(PeerInbound::Auto);
    let held = session_of.send(PeerMode::Bypass, "do it").await;
    assert_eq!(held.unwrap(), PeerDelivery::Held);
    assert_eq!(session_of.reader.held.lock().len(), 1);
    let closed = session(PeerInbound::Refuse);
    let refused = closed.send(PeerMode::Prompting, "hello").await.unwrap_err();
    assert!(refused.to_string().contains("peers.inbound"), "{refused}");
    assert!(closed.reader.read.lock().is_empty());
}

#[tokio::test]
async fn a_burst_an_empty_text_and_a_huge_one_are_refused() {
    let session = session(PeerInbound::Accept);
    let empty = session.send(PeerMode::Prompting, " ").await.unwrap_err();
    assert!(empty.to_string().contains("empty"), "{empty}");
    let huge = "x".repeat(1_048_577);
    let huge = session.send(PeerMode::Prompting, &huge).await.unwrap_err();
    assert!(matches!(huge, PeerError::TooLong), "{huge}");
    for number in 0..30 {
        let sent = session.send(PeerMode::Prompting, &number.to_string()).await;
        assert_eq!(sent.unwrap(), PeerDelivery::Delivered, "{number}");
    }
    let more = session.send(PeerMode::Prompting, "31").await.unwrap_err();
    assert!(more.to_string().contains("more than 30"), "{more}");
    assert_eq!(session.reader.read.lock().len(), 30);
}

async fn answer_to(socket: &Path, lines: &str) -> String {
    let mut stream = UnixStream::connect(socket).await.unwrap();
    stream.write_all(lines.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    // A refused connection may also be reset.
    drop(stream.read_to_string(&mut answer).await);
    answer
}

#[tokio::test]
async fn a_connection_without_the_token_gets_no_answer() {
    let session = session(PeerInbound::Accept);
    let message =
        r#"{"type":"message","msg_id":"m","from":"user","from_mode":"prompting","text":"hi"}"#;
    for first in [r#"{"type":"auth","token":"guessed"}"#, message, "nonsense"] {
        let answer = answer_to(&session.socket, &format!("{first}\n{message}\n")).await;
        assert_eq!(answer, "", "{first}");
    }
    assert!(session.reader.read.lock().is_empty());
    let right = format!("{}\n{message}\n", r#"{"type":"auth","token":"secret"}"#);
    let answer = answer_to(&session.socket, &right).await;
    assert!(answer.contains(r#""status":"delivered""#), "{answer}");
}

#[tokio::test]
async fn a_connection_of_another_user_gets_no_answer() {
    let session = session(PeerInbound::Accept);
    // The user of the session is the owner of its socket.
    if std::os::unix::fs::chown(&session.socket, Some(65534), None).is_err() {
        eprintln!("NOT PROVEN HERE: only root can give a socket away, so no other user connected");
        return;
    }
    let lines = [
        r#"{"type":"auth","token":"secret"}"#,
        r#"{"type":"message","msg_id":"m","from":"user","from_mode":"prompting","text":"hi"}"#,
    ];
    let answer = answer_to(&session.socket, &format!("{}\n", lines.join("\n"))).await;
    assert_eq!(answer, "");
    assert!(session.reader.read.lock().is_empty());
}

fn hub(scratch: &TempDir) -> Sessions {
    let store = MemoryStore::new(scratch.path().to_owned(), Arc::new(SystemClock));
    store.nodes().sessions()
}

#[tokio::test]
async fn a_message_over_a_hub_follows_the_same_rules_as_one_over_a_socket() {
    let scratch = tempfile::tempdir().unwrap();
    let hub = hub(&scratch);
    let receiver = session_on(PeerInbound::Auto, Some(&hub));
    let sent = receiver.send_over(&hub, message("bridge:1a2b3c4d", "hello"));
    assert_eq!(sent.await.unwrap(), PeerDelivery::Delivered);
    assert_eq!(*receiver.reader.read.lock(), ["hello"]);
    let bypass = PeerMessage {
        from_mode: PeerMode::Bypass,
        ..message("bridge:1a2b3c4d", "do it")
    };
    let held = receiver.send_over(&hub, bypass).await;
    assert_eq!(held.unwrap(), PeerDelivery::Held);
    let empty = receiver.send_over(&hub, message("user@box", " ")).await;
    assert!(empty.unwrap_err().to_string().contains("empty"));
    for number in 0..28 {
        let sent = receiver.send_over(&hub, message("user@box", &number.to_string()));
        assert_eq!(sent.await.unwrap(), PeerDelivery::Delivered, "{number}");
    }
    let more = receiver.send_over(&hub, message("user@box", "31")).await;
    assert!(more.unwrap_err().to_string().contains("more than 30"));
    let listed = elsewhere(&hub).sessions().await.0;
    assert_eq!(listed[0].host.as_deref(), Some("box"));
    drop(receiver.server);
    while !elsewhere(&hub).sessions().await.0.is_empty() {
        tokio::task::yield_now().await;
    }
    let id = receiver.id.short();
    let to = PeerAddress::Bridge(&id);
    let late = elsewhere(&hub).send(to, message("user@box", "late")).await;
    assert!(matches!(late, Err(PeerError::Unknown(_))), "{late:?}");
}

#[tokio::test]
async fn a_sender_on_a_hub_is_never_taken_for_somebody_on_this_machine() {
    let scratch = tempfile::tempdir().unwrap();
    let hub = hub(&scratch);
    let receiver = session_on(PeerInbound::Accept, Some(&hub));
    let senders = ["user", "uds:/s", "team-lead", "user@box", "bridge:1a2b3c4d"];
    for from in senders {
        receiver.send_over(&hub, message(from, "hi")).await.unwrap();
    }
    let shown = [
        "user@unknown",
        "user@unknown",
        "user@unknown",
        "user@box",
        "bridge:1a2b3c4d",
    ];
    assert_eq!(*receiver.reader.senders.lock(), shown);
}

#[tokio::test]
async fn without_a_hub_or_with_an_unknown_id_nothing_is_sent() {
    let scratch = tempfile::tempdir().unwrap();
    let hub = hub(&scratch);
    let places = elsewhere(&hub);
    let send = |to| places.send(to, message("user", "hi"));
    let unknown = send(PeerAddress::Bridge("00000000")).await;
    assert!(matches!(unknown, Err(PeerError::Unknown(_))), "{unknown:?}");
    let nothing = send(PeerAddress::Bridge("")).await;
    assert!(
        matches!(nothing, Err(PeerError::NoTarget(_))),
        "{nothing:?}"
    );
    let places = PeerPlaces {
        hubs: Vec::new(),
        ..places.clone()
    };
    let no_hub = places.send(PeerAddress::Bridge("00000000"), message("user", "hi"));
    assert!(matches!(no_hub.await, Err(PeerError::NoHub)));
}
