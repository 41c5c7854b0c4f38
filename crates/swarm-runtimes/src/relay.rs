//! MCP servers for an agent program: the team's tools, and the servers of the member. The program may
//! be in a sandbox, where it cannot open the team's files, so the server that it starts only passes
//! bytes on to the member's process, outside of the sandbox: to a child with `swarm mcp`, or to the
//! member's own connection to a server. Unix sockets are closed there, and agent programs start their
//! servers more than once, so the connection is TCP on the loopback address.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, Shutdown};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use swarm_tools::ToolContext;
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinHandle, JoinSet};
use uuid::Uuid;

use crate::handed_server::HandedServer;

/// First argument that makes swarm pass on standard input and output to a server: the one that the
/// second argument names, without one the team's tools.
pub const MCP_RELAY: &str = "__mcp-relay";

/// Variable with `PORT:TOKEN` of the servers. A process that reads it may act as this member, which the
/// program and its commands may anyway.
pub const MCP_RELAY_VARIABLE: &str = "SWARM_MCP_RELAY";

/// Longest name of a server that is read.
const MAX_NAME: usize = 64;

/// How long a client may take to send its token.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(2);

/// How many clients may be connected that have not sent their token.
const MAX_WITHOUT_TOKEN: usize = 16;

/// Pause after a connection could not be accepted, for example because too many files are open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The listener for an agent program's MCP servers. Dropping it terminates them.
#[derive(Debug)]
pub(crate) struct Relay {
    /// Value of [`MCP_RELAY_VARIABLE`].
    address: String,
    task: JoinHandle<()>,
}

/// What clients are connected to.
#[derive(Debug)]
struct Servers {
    swarm: PathBuf,
    cwd: PathBuf,
    env: Arc<BTreeMap<String, String>>,
    token: String,
    handed: Vec<HandedServer>,
}

impl Relay {
    /// Listens for clients of the team's tools of the member whose commands have this context, and
    /// of its servers.
    pub(crate) fn serve(
        swarm: &Path,
        context: &ToolContext,
        handed: Vec<HandedServer>,
    ) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let servers = Servers {
            swarm: swarm.to_owned(),
            cwd: context.cwd.clone(),
            env: Arc::clone(&context.env),
            token: Uuid::new_v4().simple().to_string(),
            handed,
        };
        Ok(Self {
            address: format!("{port}:{}", servers.token),
            task: tokio::spawn(accept(TcpListener::from_std(listener)?, servers)),
        })
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, servers: Servers) {
    let servers = Arc::new(servers);
    let places = Arc::new(Semaphore::new(MAX_WITHOUT_TOKEN));
    let mut clients = JoinSet::new();
    // The semaphore is never closed.
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        let client = match listener.accept().await {
            Ok((client, _)) => client,
            Err(error) => {
                tracing::warn!(%error, "a connection for an MCP server was not accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        while clients.try_join_next().is_some() {}
        let servers = Arc::clone(&servers);
        clients.spawn(async move {
            if let Err(error) = servers.serve(client, place).await {
                tracing::warn!(%error, "a connection for an MCP server failed");
            }
        });
    }
}

impl Servers {
    /// Connects a client that knows the token to the server that it names. Until then the client
    /// takes up `place`.
    async fn serve(&self, mut client: TcpStream, place: OwnedSemaphorePermit) -> io::Result<()> {
        let greeting = self.greeting(&mut client);
        let name = tokio::time::timeout(TOKEN_TIMEOUT, greeting).await??;
        drop(place);
        if name.is_empty() {
            return self.serve_team(client).await;
        }
        let found = self.handed.iter().find(|server| server.name == name);
        let server = found.ok_or(io::ErrorKind::NotFound)?;
        server.serve(client).await.map_err(io::Error::other)
    }

    /// Reads the token and the name of a server, a line each.
    async fn greeting(&self, client: &mut TcpStream) -> io::Result<String> {
        let mut token = vec![0; self.token.len() + 1];
        client.read_exact(&mut token).await?;
        if token.strip_suffix(b"\n") != Some(self.token.as_bytes()) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let mut name = Vec::new();
        loop {
            match client.read_u8().await? {
                b'\n' => return String::from_utf8(name).map_err(io::Error::other),
                _ if name.len() == MAX_NAME => return Err(io::ErrorKind::InvalidInput.into()),
                byte => name.push(byte),
            }
        }
    }

    /// Runs a server of the team's tools for a client.
    async fn serve_team(&self, client: TcpStream) -> io::Result<()> {
        let client = client.into_std()?;
        client.set_nonblocking(false)?;
        let input = OwnedFd::from(client.try_clone()?);
        let mut server = Command::new(&self.swarm);
        server
            .arg("mcp")
            .current_dir(&self.cwd)
            .env_clear()
            .envs(&*self.env)
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(OwnedFd::from(client)))
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = server.spawn()?;
        // It holds the connection, which must end with it.
        drop(server);
        child.wait().await.map(drop)
    }
}

/// Passes on standard input and output to a server at `address`, the value of [`MCP_RELAY_VARIABLE`],
/// until it ends. The name is empty for the team's tools.
///
/// # Errors
/// Fails if there is no server at this address.
pub fn relay_mcp_server(address: &str, name: &str) -> io::Result<()> {
    let (port, token) = address.split_once(':').ok_or(io::ErrorKind::InvalidInput)?;
    let port: u16 = port.parse().map_err(io::Error::other)?;
    let mut server = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    write!(server, "{token}\n{name}\n")?;
    let mut requests = server.try_clone()?;
    // Ends with this process: a read of standard input cannot be cancelled.
    std::thread::spawn(move || {
        let read = io::copy(&mut io::stdin().lock(), &mut requests);
        read.and(requests.shutdown(Shutdown::Write))
    });
    io::copy(&mut server, &mut io::stdout()).map(drop)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::os::unix::fs::PermissionsExt as _;

    use swarm_protocol::MemberName;
    use swarm_tools::Caller;

    use super::*;

    /// Serves a program that repeats what it reads, as the member in `directory`.
    fn serve(directory: &Path) -> Relay {
        let program = directory.join("swarm");
        let script = "#!/bin/sh\necho \"$1 $WHO\"; exec cat\n";
        swarm_os::replace_alone(&program, script.as_bytes()).unwrap();
        let executable = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(&program, executable).unwrap();
        let mut context = ToolContext::new(directory.to_owned(), Caller::new(MemberName::lead()));
        let who = ("WHO".to_owned(), "bob".to_owned());
        let path = ("PATH".to_owned(), "/usr/bin:/bin".to_owned());
        context.env = Arc::new([who, path].into());
        Relay::serve(&program, &context, Vec::new()).unwrap()
    }

    fn connect(tools: &Relay, token: Option<&str>) -> std::net::TcpStream {
        let (port, known) = tools.address().split_once(':').unwrap();
        let port: u16 = port.parse().unwrap();
        let mut client = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        write!(client, "{}\n\n", token.unwrap_or(known)).unwrap();
        client
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn each_client_with_the_token_gets_a_server_of_the_member() {
        let directory = tempfile::tempdir().unwrap();
        let tools = serve(directory.path());
        let clients = [connect(&tools, None), connect(&tools, None)];
        for mut client in clients {
            writeln!(client, "request").unwrap();
            client.shutdown(Shutdown::Write).unwrap();
            let lines: Vec<_> = BufReader::new(client).lines().map(Result::unwrap).collect();
            assert_eq!(lines, ["mcp bob", "request"], "until the end of both");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn clients_that_send_no_token_hold_up_nobody_for_long_and_servers_take_up_no_place() {
        let directory = tempfile::tempdir().unwrap();
        let tools = serve(directory.path());
        let (port, _) = tools.address().split_once(':').unwrap();
        let port: u16 = port.parse().unwrap();
        let silent = || std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let _silent: Vec<_> = (0..MAX_WITHOUT_TOKEN).map(|_| silent()).collect();
        let clients: Vec<_> = (0..=MAX_WITHOUT_TOKEN)
            .map(|_| connect(&tools, None))
            .collect();
        for client in clients {
            let mut line = String::new();
            BufReader::new(client).read_line(&mut line).unwrap();
            assert_eq!(line, "mcp bob\n");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn nobody_gets_a_server_without_the_token_or_after_the_program() {
        let directory = tempfile::tempdir().unwrap();
        let tools = serve(directory.path());
        let mut text = String::new();
        let mut stranger = connect(&tools, Some(&"0".repeat(32)));
        stranger.read_to_string(&mut text).ok();
        assert_eq!(text, "");
        let mut client = BufReader::new(connect(&tools, None));
        client.read_line(&mut text).unwrap();
        assert_eq!(text, "mcp bob\n");
        drop(tools);
        text.clear();
        client.read_to_string(&mut text).ok();
        assert_eq!(text, "");
    }
}
