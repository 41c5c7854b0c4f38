//! The lead as a session that other sessions write to.

use std::path::PathBuf;
use std::sync::Arc;

use swarm_agent::Rights;
use swarm_protocol::{MessageId, PeerAddress, PeerMode, PeerRecord, SessionId};
use swarm_store::Sessions;
use swarm_team::{HubPlace, PeerLink, PeerListener, PeerPlaces, PeerServer};

use super::role::LeadRole;
use super::{LeadParts, PeerPlace};
use crate::role::MemberLoop;

/// Path of a session's socket. Socket paths are limited to 107 bytes, so it has only the first part
/// of the id.
fn socket(place: &PeerPlace, session: SessionId) -> PathBuf {
    place.sockets.join(format!("peer-{}.sock", session.short()))
}

fn mode_of(rights: &Arc<Rights>) -> Box<dyn Fn() -> PeerMode + Send + Sync> {
    let rights = Arc::clone(rights);
    Box::new(move || PeerMode::of(rights.mode()))
}

/// Returns the sessions of the hub of the lead's team.
fn on_hub(parts: &LeadParts) -> Option<Sessions> {
    let team = parts.spawn_context.store.team(parts.team.as_ref()?);
    Some(team.orders()?.nodes().sessions())
}

/// Returns how the lead's tools reach other sessions.
pub(super) fn peer_link(parts: &LeadParts, rights: &Arc<Rights>) -> Option<Arc<PeerLink>> {
    let place = parts.peers.as_ref()?;
    Some(Arc::new(PeerLink {
        places: PeerPlaces {
            directory: place.records.clone(),
            claude_sessions: place.claude_sessions.clone(),
            hubs: on_hub(parts).into_iter().collect(),
        },
        session: parts.session,
        address: PeerAddress::Socket(&socket(place, parts.session)).to_string(),
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
            claude_sessions: place.claude_sessions.clone(),
            record: PeerRecord {
                session: parts.session,
                team: parts.team.clone(),
                cwd: dep.workspace.cwd.clone(),
                socket: socket(place, parts.session),
                // Claude Code sends a key only if it is 32 hex digits.
                token: MessageId::random().to_string().replace('-', ""),
                pid: dep.process.pid,
                proc_start: dep.process.start.clone(),
                started_at: dep.clock.now(),
            },
            hub: on_hub(parts).map(|sessions| HubPlace {
                sessions,
                process: dep.process.holder(),
            }),
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
