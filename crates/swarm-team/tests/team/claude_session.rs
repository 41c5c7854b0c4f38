//! Messages between a lead and sessions of Claude Code, in the frames that 2.1.332 writes.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use swarm_os::process::Process;
use swarm_protocol::{PeerAddress, PeerDelivery, PeerInbound, PeerMode, SessionId};
use swarm_team::{PeerError, PeerPlaces};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};

use crate::peer_session::{message, session};

/// A session that looks like one of Claude Code.
struct Claude {
    _directory: TempDir,
    records: PathBuf,
    socket: PathBuf,
    listener: UnixListener,
}

fn claude(records: &Path) -> Claude {
    let directory = tempfile::tempdir().unwrap();
    let own = Process::running(std::process::id()).unwrap();
    let socket = directory.path().join("8604.sock");
    let record = json!({
        "pid": own.id(), "sessionId": SessionId::random(), "cwd": "/work", "startedAt": 1,
        "procStart": own.start.to_string(), "version": "2.1.332", "peerProtocol": 1,
        "peerFeatures": ["notify_idle"], "kind": "interactive", "entrypoint": "cli",
        "messagingSocketPath": socket, "name": "project-95", "status": "idle",
    });
    // Its own directory: the name of a record is the process's id, which a lead here also has.
    let records = records.join("sessions-of-claude");
    std::fs::create_dir_all(&records).unwrap();
    std::fs::write(records.join("8604.json"), record.to_string()).unwrap();
    Claude {
        listener: UnixListener::bind(&socket).unwrap(),
        _directory: directory,
        records,
        socket,
    }
}

impl Claude {
    fn places(&self) -> PeerPlaces {
        PeerPlaces {
            directory: "/no/where".into(),
            claude_sessions: self.records.clone(),
            hubs: Vec::new(),
        }
    }

    /// Returns the frames of the next connection, which ends after them.
    async fn frames(&self) -> Vec<Value> {
        let (mut stream, _) = self.listener.accept().await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        let lines = text.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().unwrap()
    }

    /// Takes the next message, and sends a receipt with these fields, if any.
    async fn take(&self, receipt: Option<Value>) -> Value {
        let frame = self.frames().await.remove(0);
        if let Some(mut receipt) = receipt {
            let reply_to = frame["from"]
                .as_str()
                .unwrap()
                .strip_prefix("uds:")
                .unwrap();
            assert_eq!(Path::new(reply_to).parent(), self.socket.parent());
            receipt["type"] = json!("control");
            receipt["action"] = json!("peer_message_status");
            receipt["from"] = json!(format!("uds:{}", self.socket.display()));
            receipt["orig_msg_id"] = frame["msg_id"].clone();
            receipt["msgV"] = json!(1);
            receipt["msg_id"] = json!("receipt");
            let mut stream = UnixStream::connect(reply_to).await.unwrap();
            stream
                .write_all(format!("{receipt}\n").as_bytes())
                .await
                .unwrap();
        }
        frame
    }

    async fn sent(&self, receipt: Option<Value>) -> (Value, Result<PeerDelivery, PeerError>) {
        let places = self.places();
        let to = PeerAddress::Socket(&self.socket);
        tokio::join!(
            self.take(receipt),
            places.send(to, message("uds:/lead", "hello"))
        )
    }
}

#[tokio::test]
async fn claude_code_gets_a_message_in_its_own_frame() {
    let scratch = tempfile::tempdir().unwrap();
    let claude = claude(scratch.path());
    // No process has an id above 2^22.
    let left = claude.socket.with_file_name("swarm-4194305-0a1b2c3d.sock");
    drop(std::os::unix::net::UnixListener::bind(left).unwrap());
    let (frame, sent) = claude.sent(None).await;
    assert_eq!(sent.unwrap(), PeerDelivery::Queued);
    assert_eq!(
        (&frame["type"], &frame["msgV"]),
        (&json!("user"), &json!(1))
    );
    assert_eq!(frame["priority"], "next");
    let envelope = "<cross-session-message from=\"uds:/lead\" from-mode=\"prompting\">\nhello\n</cross-session-message>";
    assert_eq!(
        frame["message"],
        json!({"role": "user", "content": envelope})
    );
    let left = std::fs::read_dir(claude.socket.parent().unwrap()).unwrap();
    assert_eq!(left.count(), 1, "the sockets for receipts are gone");
    let listed = claude.places().sessions().await.0;
    assert_eq!(listed[0].program.as_deref(), Some("Claude Code 2.1.332"));
}

#[tokio::test]
async fn a_receipt_of_claude_code_says_that_a_message_is_held_or_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let claude = claude(scratch.path());
    let held = claude.sent(Some(json!({"status": "held"}))).await.1;
    assert_eq!(held.unwrap(), PeerDelivery::Held);
    let refused =
        json!({"status": "expired", "status_detail": "refused", "reason": "not accepting"});
    let refused = claude.sent(Some(refused)).await.1;
    assert!(refused.unwrap_err().to_string().ends_with("not accepting"));
    let declined = claude.sent(Some(json!({"status": "denied"}))).await.1;
    let declined = declined.unwrap_err().to_string();
    assert!(declined.ends_with(": its user declined it"), "{declined}");
}

#[tokio::test(start_paused = true)]
async fn a_busy_session_of_claude_code_may_still_read_a_message() {
    let scratch = tempfile::tempdir().unwrap();
    let claude = claude(scratch.path());
    let to = PeerAddress::Socket(&claude.socket);
    let places = claude.places();
    let sent = places.send(to, message("uds:/lead", "hello")).await;
    assert!(matches!(sent, Err(PeerError::Silent)), "{sent:?}");
    assert_eq!(claude.frames().await[0]["type"], "user");
}

/// Sends a message to a lead as Claude Code does, with the key that it finds.
async fn send(records: &Path, socket: &Path, from: &Path, mode: PeerMode) -> String {
    let files = std::fs::read_dir(records)
        .unwrap()
        .map(|file| file.unwrap().path());
    let key = files.filter(|path| path.extension().is_some_and(|end| end == "key"));
    let key: Value = serde_json::from_slice(&std::fs::read(key.last().unwrap()).unwrap()).unwrap();
    let (from, mode) = (format!("uds:{}", from.display()), mode.name());
    let content = format!(
        "<cross-session-message from=\"{from}\" from-name=\"project-95\" from-mode=\"{mode}\">\nhello\n</cross-session-message>"
    );
    let frames = [
        json!({"type": "auth", "token": key["peerToken"]}),
        json!({"msgV": 1, "msg_id": "m", "type": "user", "priority": "next", "from": from,
            "message": {"role": "user", "content": content}}),
    ];
    let mut stream = UnixStream::connect(socket).await.unwrap();
    for frame in frames {
        stream
            .write_all(format!("{frame}\n").as_bytes())
            .await
            .unwrap();
    }
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn claude_code_finds_a_lead_and_writes_to_it_until_it_ends() {
    let lead = session(PeerInbound::Auto);
    let records = lead.claude_sessions();
    let record = records.join(format!("{}.json", std::process::id()));
    let record: Value = serde_json::from_slice(&std::fs::read(record).unwrap()).unwrap();
    assert_eq!(record["messagingSocketPath"], json!(lead.socket));
    assert_eq!(record["peerProtocol"], 1);
    let answer = send(&records, &lead.socket, "/c".as_ref(), PeerMode::Prompting).await;
    assert_eq!(answer, "", "the connection ends");
    while lead.reader.read.lock().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(*lead.reader.read.lock(), ["hello"]);
    assert_eq!(*lead.reader.senders.lock(), ["uds:/c"]);
    drop(lead.server);
    assert_eq!(std::fs::read_dir(records).unwrap().count(), 0);
}

#[tokio::test]
async fn claude_code_finds_each_lead_of_a_process_that_the_others_leave() {
    let first = session(PeerInbound::Auto);
    let records = first.claude_sessions();
    let found = || {
        let record = records.join(format!("{}.json", std::process::id()));
        let record: Value = serde_json::from_slice(&std::fs::read(record).unwrap()).unwrap();
        PathBuf::from(record["messagingSocketPath"].as_str().unwrap())
    };
    let (second, socket) = first.another();
    assert_eq!(found(), socket);
    drop(second);
    assert_eq!(found(), first.socket);
    let (third, socket) = first.another();
    drop(first.server);
    assert_eq!(found(), socket);
    drop(third);
    assert_eq!(std::fs::read_dir(records).unwrap().count(), 0);
}

#[tokio::test]
async fn claude_code_gets_a_receipt_for_a_held_message_and_for_a_refused_one() {
    let scratch = tempfile::tempdir().unwrap();
    let claude = claude(scratch.path());
    for (inbound, status) in [
        (PeerInbound::Hold, "held"),
        (PeerInbound::Refuse, "expired"),
    ] {
        let lead = session(inbound);
        let records = lead.claude_sessions();
        // The lead knows the session by its record.
        std::fs::copy(claude.records.join("8604.json"), records.join("8604.json")).unwrap();
        let (frames, _) = tokio::join!(
            claude.frames(),
            send(&records, &lead.socket, &claude.socket, PeerMode::Prompting)
        );
        assert_eq!(frames[0]["status"], status);
        assert_eq!(frames[0]["orig_msg_id"], "m");
        assert_eq!(frames[0]["from"], format!("uds:{}", lead.socket.display()));
        let held = std::mem::take(&mut *lead.reader.held.lock());
        for held in held {
            held.send(()).unwrap();
            assert_eq!(claude.frames().await[0]["status"], "delivered");
        }
    }
}
