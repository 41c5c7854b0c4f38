//! The shutdown handshake. The lead requests; the member's model gets the request and may refuse
//! until the end of that turn. Otherwise the member's *program* approves it at the end of the turn,
//! at the deadline, or immediately if the request is forced.

use parking_lot::Mutex;
use swarm_protocol::{
    BackendType, ControlFrame, Event, LEAD_NAME, MemberName, PaneId, RequestId, ShutdownApproved,
    ShutdownRejected, ShutdownRequest, SpawnId, UnixMs,
};
use swarm_store::{Draft, StoreError, Team};

use crate::MemberContext;

/// Parameters of a shutdown request.
#[derive(Debug, Clone, Copy)]
pub struct ShutdownAsk<'a> {
    /// The reason that the member gets.
    pub reason: Option<&'a str>,
    /// The requester's name in the journal.
    pub by: &'a str,
    /// The spawn that is asked, if it is known.
    pub spawn_id: Option<SpawnId>,
    /// Stops the member immediately instead of asking its model.
    pub force: bool,
}

/// Asks a member to stop. Returns the ID of the request, which the answer contains.
///
/// # Errors
/// Errors of the store, such as an unknown member.
pub async fn request_shutdown(
    team: &dyn swarm_store::Team,
    member: &MemberName,
    now: UnixMs,
    ask: ShutdownAsk<'_>,
) -> Result<RequestId, StoreError> {
    let request_id = RequestId::shutdown(now.0, member);
    let frame = ControlFrame::ShutdownRequest(ShutdownRequest {
        request_id: request_id.clone(),
        from: LEAD_NAME.to_owned(),
        reason: ask.reason.map(str::to_owned),
        timestamp: now.iso(),
        spawn_id: ask.spawn_id,
        force: ask.force,
    });
    let letter = (member.clone(), Draft::control(LEAD_NAME, &frame).urgent());
    // Unlike `post`, this never waits for the disk on the caller's thread: requests to the members
    // of a team overlap.
    for posted in team.post_all(&[letter]).await? {
        posted?;
    }
    let event = Event::ShutdownRequested {
        member: member.clone(),
        request: request_id.clone(),
        by: ask.by.to_owned(),
        reason: ask.reason.map(str::to_owned),
    };
    team.journal(event).await?;
    Ok(request_id)
}

/// The member's program agrees to stop.
///
/// # Errors
/// Errors of the store.
pub async fn approve_shutdown(
    context: &MemberContext,
    team: &dyn Team,
    request: &ShutdownRequest,
    pane: Option<PaneId>,
    backend: &BackendType,
) -> Result<(), StoreError> {
    let frame = ControlFrame::ShutdownApproved(ShutdownApproved {
        request_id: request.request_id.clone(),
        from: context.name.to_string(),
        timestamp: context.clock.now().iso(),
        pane_id: pane,
        backend_type: Some(backend.name().to_owned()),
    });
    team.send(&MemberName::lead(), context.control(&frame))
        .await
        .map(drop)
}

/// The member refuses to stop, for a reason. The refusal counts once the lead was told, whether or
/// not it could be added to the journal.
///
/// # Errors
/// Errors of the store; the lead was not notified then.
pub(crate) async fn reject_shutdown(
    context: &MemberContext,
    team: &dyn Team,
    request_id: &RequestId,
    reason: &str,
) -> Result<(), StoreError> {
    let frame = ControlFrame::ShutdownRejected(ShutdownRejected {
        request_id: request_id.clone(),
        from: context.name.to_string(),
        reason: reason.to_owned(),
        timestamp: context.clock.now().iso(),
    });
    team.send(&MemberName::lead(), context.control(&frame))
        .await?;
    let event = Event::ShutdownRejected {
        member: context.name.clone(),
        reason: reason.to_owned(),
    };
    if let Err(error) = team.journal(event).await {
        tracing::warn!(team = %team.name(), member = %context.name, %error, "cannot record a refusal in the journal");
    }
    Ok(())
}

/// A member's open shutdown request, shared by its loop and its `SendMessage` tool.
#[derive(Debug, Default)]
pub struct PendingShutdown {
    requests: Mutex<Requests>,
}

#[derive(Debug, Default)]
struct Requests {
    open: Option<ShutdownRequest>,
    /// The last one shown to the model.
    notified: Option<RequestId>,
    /// The last one that was refused. Its message is delivered again if it could not be marked as
    /// read.
    refused: Option<RequestId>,
}

impl PendingShutdown {
    /// Sets the open request, unless it was refused before. A later one replaces an earlier one,
    /// whose asker has given up or asks again.
    pub fn enter(&self, request: ShutdownRequest) {
        let mut requests = self.requests.lock();
        if requests.refused.as_ref() != Some(&request.request_id) {
            requests.open = Some(request);
        }
    }

    /// Returns the open request. The program approves it once it was shown to the model and not
    /// refused.
    pub fn open(&self) -> Option<ShutdownRequest> {
        self.requests.lock().open.clone()
    }

    /// Returns whether a request with this ID is open.
    pub fn is_open(&self, id: &RequestId) -> bool {
        let requests = self.requests.lock();
        let open = requests.open.as_ref();
        open.is_some_and(|request| &request.request_id == id)
    }

    /// Records that a request was shown to the model.
    pub fn mark_notified(&self, id: &RequestId) {
        self.requests.lock().notified = Some(id.clone());
    }

    /// Returns whether the request with this ID was shown to the model.
    pub fn was_notified(&self, id: &RequestId) -> bool {
        self.requests.lock().notified.as_ref() == Some(id)
    }

    /// Closes the open request with this ID because it is refused, before the refusal is sent: a
    /// refusal that is on its way must not be followed by an approval. Returns the request for
    /// [`Self::reopen`]; `None` if it is not open.
    pub fn close(&self, id: &RequestId) -> Option<ShutdownRequest> {
        let mut requests = self.requests.lock();
        let request = requests.open.take_if(|open| &open.request_id == id)?;
        requests.refused = Some(request.request_id.clone());
        Some(request)
    }

    /// Opens a closed request again because the refusal could not be sent. A later request remains
    /// in its place.
    pub fn reopen(&self, request: ShutdownRequest) {
        let mut requests = self.requests.lock();
        requests.refused.take_if(|id| *id == request.request_id);
        requests.open.get_or_insert(request);
    }

    /// Returns whether a request with this ID was refused.
    pub fn is_refused(&self, id: &RequestId) -> bool {
        self.requests.lock().refused.as_ref() == Some(id)
    }
}
