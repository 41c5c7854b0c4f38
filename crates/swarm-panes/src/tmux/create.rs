//! Making a pane: find its place, make it there, dress it, and divide its window anew, or leave a window that others
//! have filled meanwhile.

use std::time::Duration;

use swarm_protocol::PaneId;
use tmux_interface::{BreakPane, KillPane, NewWindow};

use super::arrange::{self, Owner};
use super::backend::TmuxBackend;
use super::batch::Batch;
use super::commands::{dress, placeholder, split};
use super::own_server::{OWN_WINDOW, create_session};
use super::placement::{self, NO_ROOM, Placement, WhyNot};
use super::snapshot::{PaneRow, Snapshot};
use super::tidy::Left;
use crate::{Pane, PaneError, PaneSpec};

/// How often a place is looked for again when another process took it, or a server was just ending.
const ATTEMPTS: u32 = 8;

/// Pause before the next attempt; a server that was told to end needs about 100 ms.
const PAUSE: Duration = Duration::from_millis(40);

/// Opens a pane. The caller holds the lock that keeps this process from opening two at a time.
pub(crate) async fn open(backend: &TmuxBackend, spec: &PaneSpec) -> Result<Pane, PaneError> {
    let (id, why_not) = make(backend, spec).await?;
    match settle(backend, spec, &id, why_not).await {
        Ok(spot) => Ok(Pane {
            id,
            socket: Some(backend.server().socket().to_owned()),
            spot,
        }),
        Err(error) => {
            let kill = KillPane::new().target_pane(id.as_str().to_owned()).build();
            if let Err(left) = backend.server().run(&Batch::new().then(&kill)).await {
                tracing::debug!(pane = %id, error = %left, "half-made pane not closed");
            }
            if let Err(left) = backend.tidy(backend.server(), Left::default()).await {
                tracing::debug!(pane = %id, error = %left, "windows not tidied");
            }
            Err(error)
        }
    }
}

/// Makes an empty pane and returns its id, and why it is not beside the lead.
async fn make(
    backend: &TmuxBackend,
    spec: &PaneSpec,
) -> Result<(PaneId, Option<WhyNot>), PaneError> {
    let mut attempt = 1;
    loop {
        let snapshot = Snapshot::take(backend.server()).await?;
        let (placement, why_not) = backend.place(&snapshot, spec)?;
        match make_there(backend, spec, &placement).await {
            Ok(id) => return Ok((id, why_not)),
            // Another process made the session first, took the room, or the server was ending.
            Err(error @ (PaneError::Refused { .. } | PaneError::ServerGone { .. }))
                if attempt < ATTEMPTS =>
            {
                tracing::debug!(member = %spec.member, %error, attempt, "no pane there");
                if let (Placement::Split { .. }, PaneError::Refused { .. }) = (&placement, &error)
                    && let Some(session) = session_of(&snapshot, &placement)
                {
                    if backend.insists_on_split() {
                        return Err(PaneError::NoSplit { why: NO_ROOM });
                    }
                    let further = Placement::Window { session, number: 2 };
                    let id = make_there(backend, spec, &further).await?;
                    return Ok((id, Some(NO_ROOM)));
                }
                attempt += 1;
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => return Err(error),
        }
    }
}

fn session_of(snapshot: &Snapshot, placement: &Placement) -> Option<String> {
    match placement {
        Placement::Split { pane, .. } => snapshot.pane(pane).map(|row| row.session.clone()),
        Placement::Window { session, .. } => Some(session.clone()),
        Placement::Session => None,
    }
}

async fn make_there(
    backend: &TmuxBackend,
    spec: &PaneSpec,
    placement: &Placement,
) -> Result<PaneId, PaneError> {
    let batch = match placement {
        Placement::Split { pane, columns } => {
            Batch::new().then(&split(pane, Placement::split_of(*columns)))
        }
        Placement::Window { session, number } => {
            let window = NewWindow::new()
                .detached()
                .print()
                .format("#{pane_id}")
                .window_name(window_name(&base_name(backend, spec), *number))
                .target_window(format!("{session}:"))
                .build();
            Batch::new().then_with(&window, placeholder(&spec.spawn_id))
        }
        Placement::Session => {
            if let Some(folder) = backend.server().socket().parent() {
                swarm_fs::ensure_private_dir(folder)?;
            }
            create_session(&spec.spawn_id)
        }
    };
    let output = backend.server().run(&batch).await?;
    let id = output.trim();
    if super::backend::is_pane_id(id) {
        Ok(PaneId::new(id))
    } else {
        Err(PaneError::Unreadable {
            what: "the id of a new pane",
            line: output,
        })
    }
}

fn base_name(backend: &TmuxBackend, spec: &PaneSpec) -> String {
    match backend.owner() {
        Owner::Swarm => OWN_WINDOW.to_owned(),
        Owner::User => format!("swarm-{}", spec.team),
    }
}

/// The name of the so-and-so-many-th window.
fn window_name(base: &str, number: usize) -> String {
    if number < 2 {
        base.to_owned()
    } else {
        format!("{base}-{number}")
    }
}

/// Dresses a new pane and divides its window. Where several processes opened panes at one time the window may hold
/// more than it has room for: then this one moves to a window of its own. Returns where that is, in words.
async fn settle(
    backend: &TmuxBackend,
    spec: &PaneSpec,
    id: &PaneId,
    why_not: Option<WhyNot>,
) -> Result<Option<String>, PaneError> {
    let server = backend.server();
    let dressing = Batch::new()
        .then_all(dress(id, spec))
        .then(&Snapshot::command());
    let dressed = Snapshot::parse(&server.run(&dressing).await?)?;
    let row = found(&dressed, id)?;
    let unwatched = backend.unwatched();
    if !placement::is_one_too_many(&dressed, row, backend.lead_pane(), unwatched) {
        divide(backend, spec, &dressed, id).await?;
        return Ok(spot(backend, spec, row, why_not));
    }
    if backend.insists_on_split() {
        return Err(PaneError::NoSplit { why: NO_ROOM });
    }
    let away = BreakPane::new()
        .detached()
        .src_pane(id.as_str().to_owned())
        .dst_window(format!("{}:", row.session))
        .window_name(window_name(&base_name(backend, spec), 2))
        .build();
    let left = row.window.clone();
    let moved = Batch::new().then(&away).then(&Snapshot::command());
    let moved = Snapshot::parse(&server.run(&moved).await?)?;
    if let Some(neighbour) = moved.rows.iter().find(|row| row.window == left) {
        divide(backend, spec, &moved, &neighbour.id).await?;
    }
    divide(backend, spec, &moved, id).await?;
    Ok(spot(
        backend,
        spec,
        found(&moved, id)?,
        why_not.or(Some(NO_ROOM)),
    ))
}

/// Where a pane in the user's tmux is, for the user.
fn spot(
    backend: &TmuxBackend,
    spec: &PaneSpec,
    row: &PaneRow,
    why_not: Option<WhyNot>,
) -> Option<String> {
    backend.lead_pane()?;
    Some(match why_not {
        None => "beside the lead".to_owned(),
        Some(why) => format!(
            "in window {} in the background, since the lead's window {why}; `swarm attach {}` goes there",
            row.window_name, spec.member
        ),
    })
}

/// Divides the window of a pane and lets its borders say who is there.
async fn divide(
    backend: &TmuxBackend,
    spec: &PaneSpec,
    snapshot: &Snapshot,
    id: &PaneId,
) -> Result<(), PaneError> {
    let row = found(snapshot, id)?;
    let panes = snapshot.window(&row.session, &row.window);
    let framing = arrange::frame(backend.server(), &panes).await?;
    let division = arrange::divide(&panes, backend.lead_pane(), backend.owner());
    let is_lead = |row: &&&PaneRow| backend.lead_pane() == Some(&row.id);
    let sign = match panes.iter().find(is_lead) {
        Some(lead) => arrange::sign_lead(backend.server(), lead, spec).await?,
        None => Vec::new(),
    };
    let batch = Batch::new()
        .then_all(framing)
        .then_all(sign)
        .then_all(division);
    if batch.is_empty() {
        return Ok(());
    }
    backend.server().run(&batch).await.map(drop)
}

fn found<'a>(snapshot: &'a Snapshot, id: &PaneId) -> Result<&'a PaneRow, PaneError> {
    snapshot
        .pane(id)
        .ok_or_else(|| PaneError::Gone { pane: id.clone() })
}
