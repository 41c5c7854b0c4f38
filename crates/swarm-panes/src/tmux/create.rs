//! Making a pane: find its place, make it there, dress it, and divide its window anew, or leave a window that others
//! have filled meanwhile.

use std::time::{Duration, Instant};

use swarm_protocol::PaneId;
use tmux_interface::{BreakPane, KillPane, NewWindow};

use super::arrange::{self, Owner};
use super::backend::TmuxBackend;
use super::batch::Batch;
use super::commands::{CALL_LIMIT, dress, placeholder, split, tag_new};
use super::facts::{Facts, Questions};
use super::layout_lock::Layout;
use super::own_server::{OWN_SESSION, OWN_WINDOW, create_session};
use super::placement::{self, NO_ROOM, Placement, WhyNot};
use super::program::{Child, starting};
use super::snapshot::{PaneRow, Snapshot, Tag};
use super::tidy::Left;
use crate::{Pane, PaneCommand, PaneError, PaneSpec};

/// How often a place is looked for again when another process took it, or a server was just ending.
const ATTEMPTS: u32 = 8;

/// Pause before the next attempt; a server that was told to end needs about 100 ms.
const PAUSE: Duration = Duration::from_millis(40);

/// Opens a pane, and runs a program in it if there is one. The caller holds the lock that keeps this process from opening
/// two at a time, and the layout that it guards.
pub(crate) async fn open(
    backend: &TmuxBackend,
    spec: &PaneSpec,
    command: Option<&PaneCommand>,
    layout: &mut Layout<'_>,
) -> Result<Pane, PaneError> {
    let made = make(backend, spec, layout).await?;
    let id = made.id.clone();
    match settle(backend, spec, made, command, layout).await {
        Ok(pane) => Ok(pane),
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

/// A pane that was made and is not dressed yet.
struct Made {
    id: PaneId,
    /// Why it is not beside the lead.
    why_not: Option<WhyNot>,
    /// What is known of its window.
    facts: Facts,
    /// The server right after it was made.
    around: Snapshot,
}

/// Makes an empty pane.
async fn make(
    backend: &TmuxBackend,
    spec: &PaneSpec,
    layout: &mut Layout<'_>,
) -> Result<Made, PaneError> {
    let mut attempt = 1;
    loop {
        let snapshot = match layout.take_seen() {
            Some(snapshot) => snapshot,
            None => Snapshot::take(backend.server()).await?,
        };
        let (placement, why_not) = backend.place(&snapshot, spec)?;
        match make_there(backend, spec, &placement, &snapshot).await {
            Ok(made) => return Ok(Made { why_not, ..made }),
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
                    let made = make_there(backend, spec, &further, &snapshot).await?;
                    return Ok(Made {
                        why_not: Some(NO_ROOM),
                        ..made
                    });
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

/// Makes an empty pane, and in the same call asks what must be known to put it in order.
async fn make_there(
    backend: &TmuxBackend,
    spec: &PaneSpec,
    placement: &Placement,
    before: &Snapshot,
) -> Result<Made, PaneError> {
    let making = making(backend, spec, placement, before)?;
    let questions = questions(backend, placement, before);
    let batch = making
        .and(questions.commands(&spec.spawn_id))
        .then(&Snapshot::command());
    let output = backend.server().run(&batch).await?;
    let (id, facts, panes) = questions.read(&spec.spawn_id, &output)?;
    let id = id.trim();
    if !super::backend::is_pane_id(id) {
        return Err(PaneError::Unreadable {
            what: "the id of a new pane",
            line: output,
        });
    }
    Ok(Made {
        id: PaneId::new(id),
        why_not: None,
        facts,
        around: Snapshot::parse(panes)?,
    })
}

/// The commands that make an empty pane and print its id.
fn making(
    backend: &TmuxBackend,
    spec: &PaneSpec,
    placement: &Placement,
    before: &Snapshot,
) -> Result<Batch, PaneError> {
    Ok(match placement {
        Placement::Split { pane, columns } => {
            let splitting = Batch::new().then(&split(pane, Placement::split_of(*columns)));
            match before.pane(pane) {
                // tmux counts the new pane after the one that it was split from.
                Some(row) => splitting.then(&tag_new(
                    &row.window,
                    row.index.saturating_add(1),
                    &Tag::of(spec),
                )),
                None => splitting,
            }
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
            if let Some(directory) = backend.server().socket().parent() {
                swarm_os::ensure_private_dir(directory)?;
            }
            create_session(&spec.spawn_id)
        }
    })
}

/// What is to be known of the window that the pane will be in, as far as a window can be named that may not be there yet.
fn questions(backend: &TmuxBackend, placement: &Placement, before: &Snapshot) -> Questions {
    match placement {
        Placement::Split { pane, .. } => before.pane(pane).map_or_else(Questions::default, |row| {
            let panes = before.window(&row.session, &row.window);
            Questions::about(&panes, backend.lead_pane()).asked_at(&row.id)
        }),
        Placement::Window { .. } => Questions::default(),
        Placement::Session => Questions {
            options_at: Some(format!("{OWN_SESSION}:")),
            wording_of: None,
        },
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

/// Dresses a new pane, divides its window and runs the program. Where several processes opened panes at one time the
/// window may hold more than it has room for: then this one moves to a window of its own.
async fn settle(
    backend: &TmuxBackend,
    spec: &PaneSpec,
    made: Made,
    command: Option<&PaneCommand>,
    layout: &mut Layout<'_>,
) -> Result<Pane, PaneError> {
    let Made {
        id,
        mut why_not,
        mut facts,
        mut around,
    } = made;
    around.adopt(&id, &Tag::of(spec));
    let row = found(&around, &id)?;
    let mut dressing = Batch::new().then_all(dress(&id, spec));
    if placement::is_one_too_many(&around, row, backend.lead_pane(), backend.unwatched()) {
        if backend.insists_on_split() {
            return Err(PaneError::NoSplit { why: NO_ROOM });
        }
        let left = row.window.clone();
        around = move_away(backend, spec, row, dressing).await?;
        dressing = Batch::new();
        facts = Facts::default();
        why_not = why_not.or(Some(NO_ROOM));
        if let Some(neighbour) = around.rows.iter().find(|row| row.window == left) {
            let division = divide(backend, spec, &around, &neighbour.id, &facts).await?;
            run(backend, &division).await?;
        }
    }
    let row = found(&around, &id)?;
    let division = divide(backend, spec, &around, &id, &facts).await?;
    let pane = Pane {
        socket: Some(backend.server().socket().to_owned()),
        spot: spot(backend, row, why_not),
        id,
    };
    let dressed = dressing.and(division);
    match command {
        Some(command) => {
            let began = Instant::now();
            let after = dress_and_start(backend, &pane, dressed, command).await?;
            layout.note(began, after);
        }
        None => run(backend, &dressed).await?,
    }
    Ok(pane)
}

/// Gives a dressed pane its program, in the same call if that has room for both, and returns the server as it is then.
async fn dress_and_start(
    backend: &TmuxBackend,
    pane: &Pane,
    dressed: Batch,
    command: &PaneCommand,
) -> Result<Snapshot, PaneError> {
    let starting = starting(&pane.id, command)?.then(&Snapshot::command());
    let batch = if dressed.bytes() + starting.bytes() <= CALL_LIMIT {
        dressed.and(starting)
    } else {
        run(backend, &dressed).await?;
        starting
    };
    let after = Snapshot::parse(&backend.server().run(&batch).await?)?;
    backend.remember(pane, Child::in_pane(&after, &pane.id));
    Ok(after)
}

/// Dresses a pane and moves it to a window of its own.
async fn move_away(
    backend: &TmuxBackend,
    spec: &PaneSpec,
    row: &PaneRow,
    dressing: Batch,
) -> Result<Snapshot, PaneError> {
    let away = BreakPane::new()
        .detached()
        .src_pane(row.id.as_str().to_owned())
        .dst_window(format!("{}:", row.session))
        .window_name(window_name(&base_name(backend, spec), 2))
        .build();
    let batch = dressing.then(&away).then(&Snapshot::command());
    Snapshot::parse(&backend.server().run(&batch).await?)
}

async fn run(backend: &TmuxBackend, batch: &Batch) -> Result<(), PaneError> {
    if batch.is_empty() {
        return Ok(());
    }
    backend.server().run(batch).await.map(drop)
}

/// Where a pane in the user's tmux is, for the user.
fn spot(backend: &TmuxBackend, row: &PaneRow, why_not: Option<WhyNot>) -> Option<String> {
    backend.lead_pane()?;
    Some(match why_not {
        None => "beside the lead".to_owned(),
        Some(why) => format!(
            "in window {} in the background, since the lead's window {why}; `swarm attach` goes there",
            row.window_name
        ),
    })
}

/// The commands that divide the window of a pane and let its borders say who is there. What is not among the facts is
/// asked.
async fn divide(
    backend: &TmuxBackend,
    spec: &PaneSpec,
    snapshot: &Snapshot,
    id: &PaneId,
    facts: &Facts,
) -> Result<Batch, PaneError> {
    let row = found(snapshot, id)?;
    let panes = snapshot.window(&row.session, &row.window);
    let questions = Questions::about(&panes, backend.lead_pane());
    let asked = if questions.are_answered_by(facts) {
        facts.clone()
    } else {
        questions.ask(backend.server()).await?
    };
    let is_lead = |row: &&&PaneRow| backend.lead_pane() == Some(&row.id);
    let sign = panes
        .iter()
        .find(is_lead)
        .map(|lead| arrange::sign_lead(lead, spec, &asked));
    let division = arrange::divide(&panes, backend.lead_pane(), backend.owner());
    Ok(Batch::new()
        .then_all(arrange::frame(&panes, &asked))
        .then_all(sign.unwrap_or_default())
        .then_all(division))
}

fn found<'a>(snapshot: &'a Snapshot, id: &PaneId) -> Result<&'a PaneRow, PaneError> {
    snapshot
        .pane(id)
        .ok_or_else(|| PaneError::Gone { pane: id.clone() })
}
