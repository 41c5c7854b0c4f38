//! Messages between sessions over a socket.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_os::process::Process;
use swarm_protocol::{
    MessageId, PeerDelivery, PeerInbound, PeerMessage, PeerMode, PeerRecord, SessionId, UnixMs,
};
use swarm_team::{PeerError, PeerInbox, PeerListener, PeerServer, peer_records, send_to_session};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::oneshot;

/// An inbox that reads immediately, unless messages are held.
#[derive(Debug, Default)]
struct Reader {
    read: Mutex<Vec<String>>,
    held: Mutex<Vec<oneshot::Sender<()>>>,
}

impl PeerInbox for Reader {
    fn waiting(&self) -> (usize, usize) {
        (0, self.held.lock().len())
    }

    fn add(&self, message: PeerMessage, hold: bool) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        if hold {
            self.held.lock().push(sender);
        } else {
            self.read.lock().push(message.text);
            sender.send(()).unwrap();
        }
        receiver
    }
}

struct Session {
    directory: TempDir,
    reader: Arc<Reader>,
    server: PeerServer,
    socket: PathBuf,
}

fn session(inbound: PeerInbound) -> Session {
    let directory = tempfile::tempdir().unwrap();
    let reader = Arc::new(Reader::default());
    let socket = directory.path().join("s.sock");
    let own = Process::running(std::process::id()).unwrap();
    let server = PeerServer::start(PeerListener {
        directory: directory.path().to_owned(),
        record: PeerRecord {
            session: SessionId::random(),
            team: None,
            cwd: "/work".into(),
            socket: socket.clone(),
            token: "secret".to_owned(),
            pid: own.id(),
            proc_start: own.start.to_string(),
            started_at: UnixMs(1),
        },
        inbound,
        mode: Box::new(|| PeerMode::Prompting),
        inbox: reader.clone(),
    });
    Session {
        directory,
        reader,
        server: server.unwrap(),
        socket,
    }
}

impl Session {
    async fn send(&self, from_mode: PeerMode, text: &str) -> Result<PeerDelivery, PeerError> {
        let message = PeerMessage {
            msg_id: MessageId::random(),
            from: "uds:/other".to_owned(),
            from_mode,
            text: text.to_owned(),
        };
        send_to_session(self.directory.path(), &self.socket, message).await
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
    let message = PeerMessage {
        msg_id: MessageId::random(),
        from: "user".to_owned(),
        from_mode: PeerMode::Prompting,
        text: "anybody?".to_owned(),
    };
    let late = send_to_session(directory.path(), &session.socket, message).await;
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
