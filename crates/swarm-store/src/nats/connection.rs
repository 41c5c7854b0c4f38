//! The connections of this process to a hub.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::Duration;

use async_nats::jetstream::{self, Context};
use async_nats::{Client, ClientError, ConnectError, ConnectErrorKind, ConnectOptions, Event};
use parking_lot::Mutex;
use swarm_protocol::TeamName;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{OnceCell, watch};
use tokio::task::JoinHandle;

use super::credentials::{check_certificates, with_credentials};
use super::settings::HubSettings;
use super::subjects;
use crate::records::{Answered, NoAnswer};
use crate::{Result, StoreError};

/// Longest wait for the first connection.
const CONNECTING: Duration = Duration::from_secs(5);

/// Pause between two signs of life. A connection without an answer to three of them is made again:
/// nothing else tells that packets are lost.
const PING: Duration = Duration::from_secs(3);

/// Pause before the second attempt to connect. Each further one is longer by that.
const AGAIN: Duration = Duration::from_millis(50);

/// How often a first connection that breaks is made again: for two seconds together.
const BROKEN: u32 = 8;

/// Longest pause between two attempts to connect again.
const RECONNECTING: Duration = Duration::from_secs(2);

/// How much longer a caller waits than the request that it waits for.
const SPARE: Duration = Duration::from_secs(1);

/// How long the requests that were permitted may take after one was not: the server does not say
/// to which of them it refers.
const OTHERS: Duration = Duration::from_millis(300);

/// The thread that keeps connections and the leases of this process alive.
#[derive(Debug)]
pub(crate) struct Background {
    /// `None` once dropped.
    runtime: Option<Runtime>,
    handle: Handle,
}

/// The connection of one team, which is made when it is first used, and made again when it is lost.
/// Each team has its own, so that credentials can be limited to its subjects.
pub(crate) struct Connection {
    settings: HubSettings,
    team: TeamName,
    background: Arc<Background>,
    client: OnceCell<(Client, Context)>,
    /// Whether it is connected, and how often the connection was lost.
    connected: watch::Sender<(bool, u64)>,
    /// What the server last said about a request that it does not answer.
    refusal: Arc<Mutex<Option<String>>>,
    /// How often the credentials did not permit a request.
    forbidden: watch::Sender<u64>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Connection")
            .field(&self.settings.url)
            .finish()
    }
}

impl Background {
    /// Starts the thread.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) fn start(settings: &HubSettings) -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("swarm-hub")
            .enable_all()
            .build()
            .map_err(|error| StoreError::HubUnreachable {
                hub: settings.url.clone(),
                reason: error.to_string(),
            })?;
        Ok(Self {
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
        })
    }
}

impl Connection {
    /// Prepares a connection.
    pub(crate) fn new(settings: HubSettings, team: &TeamName, background: Arc<Background>) -> Self {
        Self {
            settings,
            team: team.clone(),
            background,
            client: OnceCell::new(),
            connected: watch::Sender::new((false, 0)),
            refusal: Arc::default(),
            forbidden: watch::Sender::new(0),
        }
    }

    pub(super) fn settings(&self) -> &HubSettings {
        &self.settings
    }

    /// Waits on the calling thread until the background thread has done something.
    pub(super) fn wait<T: Send + 'static>(
        self: &Arc<Self>,
        at_most: Duration,
        work: impl Future<Output = Answered<T>> + Send + 'static,
    ) -> Answered<T> {
        self.begin(at_most, work)()
    }

    /// Has the background thread begin with something. The result waits until it is done.
    pub(super) fn begin<T, W>(
        self: &Arc<Self>,
        at_most: Duration,
        work: W,
    ) -> impl FnOnce() -> Answered<T> + use<T, W>
    where
        T: Send + 'static,
        W: Future<Output = Answered<T>> + Send + 'static,
    {
        let (tell, told) = mpsc::sync_channel(1);
        let (lost, forbidden) = (self.lost(), self.forbidden());
        // It can have kilobytes, and is passed on several times.
        let work = Box::pin(work);
        let work = async {
            tokio::select! {
                answer = work => Some(answer),
                () = lost => None,
                error = forbidden => Some(Err(NoAnswer::Failed(error))),
            }
        };
        self.spawn(async move {
            let done = tokio::time::timeout(at_most, work).await;
            // The caller may have given up.
            drop(tell.send(done));
        });
        let hub = Arc::clone(self);
        move || match told.recv_timeout(at_most + SPARE) {
            Ok(Ok(Some(answer))) => answer,
            Ok(Ok(None) | Err(_)) | Err(_) => Err(NoAnswer::Unanswered(hub.silent())),
        }
    }

    /// Resolves when the connection is lost: requests on it are not answered any more.
    fn lost(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut connected = self.connected.subscribe();
        let before = connected.borrow().1;
        async move {
            // Fails when the connection is dropped.
            drop(connected.wait_for(|now| now.1 != before).await);
        }
    }

    /// Resolves when the credentials do not permit a request.
    fn forbidden(&self) -> impl Future<Output = StoreError> + Send + use<> {
        let mut forbidden = self.forbidden.subscribe();
        let (team, hub) = (self.team.clone(), self.settings.url.clone());
        let refusal = Arc::clone(&self.refusal);
        async move {
            if forbidden.changed().await.is_err() {
                // The connection was dropped.
                return std::future::pending().await;
            }
            tokio::time::sleep(OTHERS).await;
            let reason = refusal.lock().clone().unwrap_or_default();
            StoreError::HubForbidden { team, hub, reason }
        }
    }

    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        self.background.handle.spawn(task)
    }

    /// Returns the error of a request that was not answered.
    fn silent(&self) -> StoreError {
        let (hub, refusal) = (self.settings.url.clone(), self.refusal.lock().clone());
        match refusal {
            Some(reason) if is_forbidden(&reason) => {
                let team = self.team.clone();
                StoreError::HubForbidden { team, hub, reason }
            }
            Some(reason) if is_login(&reason) => self.not_accepted(),
            // The server may have said why it ends the connection, which does not matter later.
            _ if self.client.initialized() && !self.connected.borrow().0 => {
                StoreError::HubLost(hub)
            }
            Some(reason) => StoreError::HubUnreachable { hub, reason },
            None => StoreError::HubSilent(hub),
        }
    }

    /// Returns the client once it is connected.
    pub(super) async fn client(&self) -> Answered<&Client> {
        self.connection().await.map(|(client, _)| client)
    }

    async fn connection(&self) -> Answered<&(Client, Context)> {
        // Each request contains this future, most of which is for the first one.
        let connect = || Box::pin(self.connect());
        let connection = self.client.get_or_try_init(connect).await?;
        if !self.connected.borrow().0 {
            let mut connected = self.connected.subscribe();
            // The sender is part of `self`.
            drop(connected.wait_for(|connected| connected.0).await);
        }
        Ok(connection)
    }

    /// Returns how many bytes the server has sent.
    pub(super) fn received(&self) -> u64 {
        let client = self.last_client();
        client.map_or(0, |client| {
            client.statistics().in_bytes.load(Ordering::Relaxed)
        })
    }

    /// Returns the client if it was ever connected.
    pub(super) fn last_client(&self) -> Option<&Client> {
        self.client.get().map(|(client, _)| client)
    }

    pub(super) async fn jetstream(&self) -> Answered<Context> {
        Ok(self.connection().await?.1.clone())
    }

    /// Returns what changes when the connection is lost or made again.
    pub(super) fn reconnects(&self) -> watch::Receiver<(bool, u64)> {
        self.connected.subscribe()
    }

    /// Connects. A connection that is accepted and breaks is made again for a moment only: something
    /// other than a server may listen at the address.
    async fn connect(&self) -> Answered<(Client, Context)> {
        let mut attempt = 0;
        let client = loop {
            let options = self.options().map_err(NoAnswer::Failed)?;
            match options.connect(self.settings.url.as_str()).await {
                Ok(client) => break client,
                Err(error) if is_broken(&error) && attempt < BROKEN => {
                    attempt += 1;
                    tokio::time::sleep(AGAIN * attempt).await;
                }
                Err(error) => return Err(self.not_connected(&error)),
            }
        };
        note_connected(&self.connected);
        let context = jetstream::new(client.clone());
        Ok((client, context))
    }

    fn options(&self) -> Result<ConnectOptions> {
        let connected = self.connected.clone();
        let (refusal, forbidden) = (Arc::clone(&self.refusal), self.forbidden.clone());
        let mut options = ConnectOptions::new()
            .name("swarm")
            .custom_inbox_prefix(subjects::replies(&self.team))
            .connection_timeout(CONNECTING)
            .request_timeout(None)
            .ping_interval(PING)
            .reconnect_delay_callback(pause_before)
            .event_callback(move |event| {
                let connected = connected.clone();
                let (refusal, forbidden) = (Arc::clone(&refusal), forbidden.clone());
                async move {
                    match event {
                        Event::Connected => {
                            *refusal.lock() = None;
                            note_connected(&connected);
                        }
                        Event::Disconnected | Event::Closed => {
                            connected.send_modify(|now| *now = (false, now.1 + 1));
                        }
                        Event::ServerError(error) => {
                            tracing::warn!(%error, "hub");
                            let reason = error.to_string();
                            let is_forbidden = is_forbidden(&reason);
                            *refusal.lock() = Some(reason);
                            if is_forbidden {
                                forbidden.send_modify(|times| *times += 1);
                            }
                        }
                        Event::ClientError(ClientError::Other(reason)) if is_login(&reason) => {
                            *refusal.lock() = Some(reason);
                        }
                        other => tracing::debug!(%other, "hub"),
                    }
                }
            });
        if let Some(ca) = &self.settings.ca {
            check_certificates(ca).map_err(|why| StoreError::HubCertificate {
                hub: self.settings.url.clone(),
                why,
            })?;
            options = options.add_root_certificates(ca.clone()).require_tls(true);
        }
        if let Some(path) = &self.settings.credentials {
            options = with_credentials(options, path).map_err(|why| StoreError::HubLogin {
                hub: self.settings.url.clone(),
                why,
            })?;
        }
        Ok(options)
    }
}

/// The first connection is reported twice.
fn note_connected(connected: &watch::Sender<(bool, u64)>) {
    connected.send_if_modified(|now| !std::mem::replace(&mut now.0, true));
}

/// Returns the pause before an attempt to connect. The first one is what every command begins with.
fn pause_before(attempt: usize) -> Duration {
    let failed = u32::try_from(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
    RECONNECTING.min(AGAIN.saturating_mul(failed))
}

/// What TLS reports when the other side does not use it.
const NOT_ENCRYPTED: &str = "corrupt message";

/// What TLS reports about a certificate of an unknown authority.
const UNKNOWN_ISSUER: &str = "UnknownIssuer";

impl Connection {
    /// A hub that says nothing may answer the next attempt, as with any request.
    fn not_connected(&self, error: &ConnectError) -> NoAnswer {
        match error.kind() {
            ConnectErrorKind::TimedOut => NoAnswer::Unanswered(self.silent()),
            _ => NoAnswer::Failed(self.unreachable(error)),
        }
    }

    fn not_accepted(&self) -> StoreError {
        let why = match self.settings.credentials {
            Some(_) => "it does not accept the credentials",
            None => "it requires credentials",
        };
        StoreError::HubLogin {
            hub: self.settings.url.clone(),
            why: why.to_owned(),
        }
    }

    fn unreachable(&self, error: &ConnectError) -> StoreError {
        let hub = self.settings.url.clone();
        if is_login(&error.kind().to_string()) {
            return self.not_accepted();
        }
        let mut reason = with_cause(error);
        if reason.contains(UNKNOWN_ISSUER) {
            let known = match &self.settings.ca {
                Some(ca) => format!("that {} names", ca.display()),
                None => "that this system trusts".to_owned(),
            };
            let why = format!("its certificate is not signed by an authority {known}");
            return StoreError::HubCertificate { hub, why };
        }
        if reason.contains(NOT_ENCRYPTED) {
            reason =
                format!("{reason}; a server without TLS has a URL with `nats://` and no CA file");
        }
        StoreError::HubUnreachable { hub, reason }
    }
}

/// Returns whether a connection ended before it could be used. Somebody had accepted it: the next one
/// may last.
fn is_broken(error: &ConnectError) -> bool {
    let source = error.source();
    match source.and_then(|source| source.downcast_ref::<io::Error>()) {
        Some(error) => matches!(
            error.kind(),
            io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::UnexpectedEof
        ),
        // The end of the connection is a text.
        None => error.kind() == ConnectErrorKind::Io,
    }
}

/// Returns whether the client says that the server does not accept the credentials. Of attempts to
/// connect again, it reports only the text.
fn is_login(reason: &str) -> bool {
    let kinds = [
        ConnectErrorKind::Authentication,
        ConnectErrorKind::AuthorizationViolation,
    ];
    kinds.iter().any(|kind| kind.to_string() == reason)
}

/// Returns whether the server refuses a request, but not the connection, for lack of permission.
fn is_forbidden(reason: &str) -> bool {
    reason
        .to_ascii_lowercase()
        .contains("permissions violation")
}

/// Formats an error of the client with its cause, which some of its errors include in their text.
pub(super) fn with_cause(error: &dyn Error) -> String {
    let text = error.to_string();
    match error.source().map(ToString::to_string) {
        Some(cause) if !text.contains(&cause) => format!("{text}: {cause}"),
        _ => text,
    }
}

/// Names a team whose requests go through the connection.
pub(super) fn absent(hub: &Connection, team: &TeamName) -> StoreError {
    StoreError::NotOnHub {
        team: team.clone(),
        hub: hub.settings().url.clone(),
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // The last handle may be dropped in an asynchronous context, where a runtime may not block.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_attempt_to_connect_does_not_wait() {
        let pauses = [1, 2, 3, usize::MAX].map(pause_before);
        assert_eq!(pauses, [Duration::ZERO, AGAIN, AGAIN * 2, RECONNECTING]);
    }

    #[test]
    fn a_hub_that_accepts_no_connection_in_time_is_silent_and_asked_again() {
        let settings = HubSettings {
            url: "nats://127.0.0.1:1".to_owned(),
            credentials: None,
            ca: None,
        };
        let background = Arc::new(Background::start(&settings).unwrap());
        let hub = Connection::new(settings, &TeamName::nodes(), background);
        let error = |kind| hub.not_connected(&ConnectError::new(kind));
        let silent = error(ConnectErrorKind::TimedOut);
        assert!(
            matches!(silent, NoAnswer::Unanswered(StoreError::HubSilent(_))),
            "{silent:?}"
        );
        let unknown = error(ConnectErrorKind::Dns);
        assert!(
            matches!(unknown, NoAnswer::Failed(StoreError::HubUnreachable { .. })),
            "{unknown:?}"
        );
    }
}
