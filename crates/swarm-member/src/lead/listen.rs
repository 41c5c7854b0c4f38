//! The lead as a session that other sessions write to.

use std::path::PathBuf;
use std::sync::Arc;

use swarm_agent::Rights;
use swarm_protocol::{MessageId, PeerMode, PeerRecord, SESSION_ADDRESS, SessionId};
use swarm_team::{PeerLink, PeerListener, PeerServer};

use super::role::LeadRole;
use super::{LeadParts, PeerPlace};
use crate::role::MemberLoop;

/// Path of a session's socket. Socket paths are limited to 107 bytes, so it has only the first part
/// of the id.
fn socket(place: &PeerPlace, session: SessionId) -> PathBuf {
    let id = session.to_string();
    let short = id.split('-').next().unwrap_or(&id);
    place.sockets.join(format!("peer-{short}.sock"))
}

fn mode_of(rights: &Arc<Rights>) -> Box<dyn Fn() -> PeerMode + Send + Sync> {
    let rights = Arc::clone(rights);
    Box::new(move || PeerMode::of(rights.mode()))
}

/// Returns how the lead's tools reach other sessions.
pub(super) fn peer_link(parts: &LeadParts, rights: &Arc<Rights>) -> Option<Arc<PeerLink>> {
    let place = parts.peers.as_ref()?;
    Some(Arc::new(PeerLink {
        directory: place.records.clone(),
        session: parts.session,
        address: format!(
            "{SESSION_ADDRESS}{}",
            socket(place, parts.session).display()
        ),
        mode: mode_of(rights),
    }))
}

impl MemberLoop<LeadRole> {
    /// Begins to listen for messages of other sessions. A failure is shown; the lead works without
    /// them.
    pub(super) fn listen(&self) -> Option<PeerServer> {
        let parts = &self.role.parts;
        let place = parts.peers.as_ref()?;
        let dep = &parts.spawn_context;
        let listener = PeerListener {
            directory: place.records.clone(),
            record: PeerRecord {
                session: parts.session,
                team: parts.team.clone(),
                cwd: dep.cwd.clone(),
                socket: socket(place, parts.session),
                token: MessageId::random().to_string(),
                pid: dep.process.pid,
                proc_start: dep.process.start.clone(),
                started_at: dep.clock.now(),
            },
            inbound: place.inbound,
            mode: mode_of(&self.session.parts().rights),
            inbox: Arc::clone(&self.mail) as _,
        };
        PeerServer::start(listener)
            .inspect_err(|error| {
                self.reporter
                    .notice(format!("other sessions cannot write to this one: {error}"));
            })
            .ok()
    }
}
