//! An MCP server with configurable faults. It speaks JSON-RPC over standard streams, or with
//! `--http FILE` over streamable HTTP on a port that it writes into the file. Each start adds its
//! pid to the file after `--starts`.

use std::fs::OpenOptions;
use std::io::{self, BufRead as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use swarm_tests::mcp_server::{Behaviour, Reply, Server, serve_http};

fn main() -> anyhow::Result<()> {
    let mut words = std::env::args().skip(1);
    let mut behaviour = Behaviour::Well;
    let (mut http, mut starts) = (None, None);
    while let Some(word) = words.next() {
        let value = words.next().unwrap_or_default();
        match word.as_str() {
            "--mode" => behaviour = value.parse().map_err(anyhow::Error::msg)?,
            "--http" => http = Some(PathBuf::from(value)),
            "--starts" => starts = Some(PathBuf::from(value)),
            other => anyhow::bail!("unknown argument {other}"),
        }
    }
    let mut is_first_start = true;
    if let Some(path) = starts {
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        is_first_start = file.metadata()?.len() == 0;
        writeln!(file, "{}", std::process::id())?;
    }
    misbehave_first(behaviour)?;
    let server = Arc::new(Server::new(behaviour));
    match http {
        Some(path) => serve_http(&server, &path),
        None => serve_streams(&server, is_first_start),
    }
}

fn misbehave_first(behaviour: Behaviour) -> anyhow::Result<()> {
    match behaviour {
        Behaviour::Exits => {
            writeln!(io::stderr(), "the licence has run out")?;
            #[expect(clippy::exit, reason = "exiting is the purpose of this behaviour")]
            std::process::exit(3);
        }
        Behaviour::Silent => swarm_tests::hostile::stay(),
        Behaviour::Floods => {
            std::thread::spawn(|| {
                let line = "blah ".repeat(200);
                while writeln!(io::stderr(), "{line}").is_ok() {}
            });
        }
        Behaviour::Stubborn => {
            // Both ignore SIGTERM, and the child has a separate session.
            Command::new("setsid")
                .args(["sh", "-c", "trap '' TERM; while :; do sleep 600; done"])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()?;
        }
        Behaviour::Well
        | Behaviour::Collides
        | Behaviour::Forgets
        | Behaviour::Refuses
        | Behaviour::Drops
        | Behaviour::Stateless
        | Behaviour::Abrupt
        | Behaviour::Unresponsive
        | Behaviour::SlowStateless
        | Behaviour::Many
        | Behaviour::Rich
        | Behaviour::RichStateless
        | Behaviour::Guarded => {}
    }
    Ok(())
}

fn serve_streams(server: &Arc<Server>, is_first_start: bool) -> anyhow::Result<()> {
    let is_slow = server.behaviour() == Behaviour::SlowStateless && is_first_start;
    let mut held = Vec::new();
    for (index, line) in io::stdin().lock().lines().enumerate() {
        let line = line?;
        if index == 0 && server.behaviour() == Behaviour::Abrupt && !line.contains("\"initialize\"")
        {
            return Ok(());
        }
        held.push(line);
        if is_slow && index == 0 {
            continue;
        }
        let (server, lines) = (Arc::clone(server), std::mem::take(&mut held));
        // Each request has its own thread, so that a slow one does not block the notification that
        // cancels it.
        std::thread::spawn(move || {
            for line in lines {
                if let Reply::Json(answer) = server.answer(&line) {
                    // The lock keeps lines of concurrent responses intact.
                    let mut out = io::stdout().lock();
                    drop(writeln!(out, "{answer}").and_then(|()| out.flush()));
                }
            }
        });
    }
    if server.behaviour() == Behaviour::Stubborn {
        swarm_tests::hostile::stay();
    }
    Ok(())
}
