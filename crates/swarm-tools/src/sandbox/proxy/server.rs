//! Serves connections of sandboxed commands.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use super::access::{ConnectError, NetworkAccess};
use super::request::{ProxyProtocol, read_request, socks_answer};

/// Accepts connections until the task is aborted.
pub(in super::super) async fn serve(listener: TcpListener, access: Arc<NetworkAccess>) {
    while let Ok((client, _)) = listener.accept().await {
        let access = Arc::clone(&access);
        tokio::spawn(async move {
            if let Err(error) = relay(client, &access).await {
                tracing::debug!(%error, "a connection of a sandboxed command failed");
            }
        });
    }
}

async fn relay(mut client: TcpStream, access: &NetworkAccess) -> io::Result<()> {
    let Some(request) = read_request(&mut client).await? else {
        return Ok(());
    };
    let connected = tokio::select! {
        connected = access.connect(&request.host, request.port) => connected,
        // The command has ended or gave up.
        () = closed(&client) => return Ok(()),
    };
    let mut server = match connected {
        Ok(server) => server,
        Err(why) => return refuse(client, &request.protocol, &why).await,
    };
    match &request.protocol {
        ProxyProtocol::Socks => client.write_all(&socks_answer(0)).await?,
        ProxyProtocol::Tunnel => client.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await?,
        ProxyProtocol::Forward(head) => server.write_all(head).await?,
    }
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}

/// Waits until a client closes its connection. Never returns if it has sent more than its request.
async fn closed(client: &TcpStream) {
    match client.peek(&mut [0]).await {
        Ok(0) | Err(_) => {}
        Ok(_) => std::future::pending().await,
    }
}

async fn refuse(
    mut client: TcpStream,
    protocol: &ProxyProtocol,
    why: &ConnectError,
) -> io::Result<()> {
    // RFC 1928: connection not allowed, host unreachable.
    let (code, status) = match why {
        ConnectError::Denied(_) => (2, "403 Forbidden"),
        ConnectError::Failed(_) => (4, "502 Bad Gateway"),
    };
    if *protocol == ProxyProtocol::Socks {
        client.write_all(&socks_answer(code)).await?;
    } else {
        let body = format!("{why}\n");
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        client.write_all(answer.as_bytes()).await?;
    }
    client.shutdown().await
}
