//! Creates panes: selects a position, creates and configures the pane, and rearranges its window,
//! or leaves a window that has been filled by others meanwhile.

use std::time::{Duration, Instant};

use swarm_protocol::PaneId;
use tmux_interface::{BreakPane, KillPane, NewWindow};

use super::arrange::{self, Owner};
use super::backend::{TmuxBackend, of_missing_pane};
use super::batch::Batch;
use super::commands::{CALL_LIMIT, configure, placeholder, split, tag_new};
use super::facts::{WindowFacts, WindowQuery};
use super::layout_lock::Layout;
use super::own_server::{OWN_SESSION, OWN_WINDOW, create_session};
use super::placement::{self, NO_ROOM, NoSplitReason, Placement};
use super::program::{Child, starting};
use super::snapshot::{PaneRow, Snapshot, Tag};
use super::tidy::ClosingWindow;
use crate::{Pane, PaneCommand, PaneError, PaneSpec};

/// Maximum number of attempts if another process takes the position or the server exits.
const ATTEMPTS: u32 = 8;

/// Pause before the next attempt; a server needs about 100 ms to exit.
const PAUSE: Duration = Duration::from_millis(40);

/// Opens a pane, and runs a program in it if there is one. The caller holds the layout lock.
pub(crate) async fn open(
    backend: &TmuxBackend,
    spec: &PaneSpec,
    command: Option<&PaneCommand>,
    layout: &mut Layout<'_>,
) -> Result<Pane, PaneError> {
    let made = create_with_retries(backend, spec, layout).await?;
    let id = made.id.clone();
    match finish_pane(backend, spec, made, command, layout).await {
        Ok(pane) => Ok(pane),
        Err(error) => {
            let kill = KillPane::new().target_pane(id.as_str().to_owned()).build();
            if let Err(left) = backend.server().run(&Batch::new().then(&kill)).await {
                tracing::debug!(pane = %id, error = %left, "incomplete pane not closed");
            }
            if let Err(left) = backend
                .tidy(backend.server(), ClosingWindow::default())
                .await
            {
                tracing::debug!(pane = %id, error = %left, "windows not tidied");
            }
            Err(error)
        }
    }
}

/// A new pane that is not configured yet.
struct NewPane {
    id: PaneId,
    /// Reason for which it is not next to the lead.
    no_split: Option<NoSplitReason>,
    /// Facts about its window.
    facts: WindowFacts,
    /// State of the server right after its creation.
    around: Snapshot,
}

/// Creates an empty pane, retrying if the server changes meanwhile.
async fn create_with_retries(
    backend: &TmuxBackend,
    spec: &PaneSpec,
    layout: &mut Layout<'_>,
) -> Result<NewPane, PaneError> {
    let mut attempt = 1;
    loop {
        let snapshot = match layout.take_last_snapshot() {
            Some(snapshot) => snapshot,
            None => Snapshot::take(backend.server()).await?,
        };
        let (placement, no_split) = backend.select_placement(&snapshot, spec)?;
        match create_at(backend, spec, &placement, &snapshot).await {
            Ok(made) => return Ok(NewPane { no_split, ..made }),
            // Another process created the session first or took the room, or the server was
            // exiting.
            Err(error @ (PaneError::Refused { .. } | PaneError::ServerGone(_)))
                if attempt < ATTEMPTS =>
            {
                tracing::debug!(member = %spec.member, %error, attempt, "pane not created");
                if let (Placement::Split { .. }, PaneError::Refused { .. }) = (&placement, &error)
                    && let Some(session) = session_of(&snapshot, &placement)
                {
                    if backend.requires_split() {
                        return Err(PaneError::NoSplit(NO_ROOM));
                    }
                    let further = Placement::Window { session, number: 2 };
                    let made = create_at(backend, spec, &further, &snapshot).await?;
                    return Ok(NewPane {
                        no_split: Some(NO_ROOM),
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

/// Creates an empty pane, and in the same call reads the facts that are needed to configure it.
async fn create_at(
    backend: &TmuxBackend,
    spec: &PaneSpec,
    placement: &Placement,
    before: &Snapshot,
) -> Result<NewPane, PaneError> {
    let create_commands = create_commands(backend, spec, placement, before)?;
    let window_query = window_query(backend, placement, before);
    let batch = create_commands
        .and(window_query.commands(&spec.spawn_id))
        .then(&Snapshot::command());
    let output = backend.server().run(&batch).await?;
    let (id, facts, panes) = window_query.read(&spec.spawn_id, &output)?;
    let id = id.trim();
    if !super::backend::is_pane_id(id) {
        return Err(PaneError::Unreadable {
            what: "the id of the new pane",
            line: output,
        });
    }
    Ok(NewPane {
        id: PaneId::new(id),
        no_split: None,
        facts,
        around: Snapshot::parse(panes)?,
    })
}

/// Returns the commands that create an empty pane and print its id.
fn create_commands(
    backend: &TmuxBackend,
    spec: &PaneSpec,
    placement: &Placement,
    before: &Snapshot,
) -> Result<Batch, PaneError> {
    Ok(match placement {
        Placement::Split { pane, columns } => {
            let splitting = Batch::new().then(&split(pane, Placement::split_of(*columns)));
            match before.pane(pane) {
                // tmux assigns the new pane the index after the pane that was split.
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

/// Returns the query for the window of the new pane, as far as it is known before it exists.
fn window_query(backend: &TmuxBackend, placement: &Placement, before: &Snapshot) -> WindowQuery {
    match placement {
        Placement::Split { pane, .. } => {
            before.pane(pane).map_or_else(WindowQuery::default, |row| {
                let panes = before.window(&row.session, &row.window);
                WindowQuery::about(&panes, backend.lead_pane()).limited_to(&row.id)
            })
        }
        Placement::Window { .. } => WindowQuery::default(),
        Placement::Session => WindowQuery {
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

/// Returns the name of the window with this number.
pub(crate) fn window_name(base: &str, number: usize) -> String {
    if number < 2 {
        base.to_owned()
    } else {
        format!("{base}-{number}")
    }
}

/// Configures a new pane, rearranges its window and runs the program. If several processes opened
/// panes concurrently, the window may have too many; this pane is then moved to another window.
async fn finish_pane(
    backend: &TmuxBackend,
    spec: &PaneSpec,
    made: NewPane,
    command: Option<&PaneCommand>,
    layout: &mut Layout<'_>,
) -> Result<Pane, PaneError> {
    let NewPane {
        id,
        mut no_split,
        mut facts,
        mut around,
    } = made;
    around.set_tag(&id, &Tag::of(spec));
    let row = find_row(&around, &id)?;
    let mut dressing = Batch::new().then_all(configure(&id, spec));
    if placement::exceeds_room(&around, row, backend.lead_pane(), backend.unwatched()) {
        if backend.requires_split() {
            return Err(PaneError::NoSplit(NO_ROOM));
        }
        let left = row.window.clone();
        around = move_to_new_window(backend, spec, row, dressing).await?;
        dressing = Batch::new();
        facts = WindowFacts::default();
        no_split = no_split.or(Some(NO_ROOM));
        if let Some(neighbour) = around.rows.iter().find(|row| row.window == left) {
            let division = arrange_window(backend, spec, &around, &neighbour.id, &facts).await?;
            run(backend, &division).await?;
        }
    }
    let row = find_row(&around, &id)?;
    let division = arrange_window(backend, spec, &around, &id, &facts).await?;
    let pane = Pane {
        socket: Some(backend.server().socket().to_owned()),
        position: position(backend, row, no_split),
        id,
    };
    let dressed = dressing.and(division);
    match command {
        Some(command) => {
            let began = Instant::now();
            let after = configure_and_start(backend, &pane, dressed, command).await?;
            layout.note(began, after);
        }
        None => run(backend, &dressed).await?,
    }
    Ok(pane)
}

/// Configures a pane and starts its program, in the same call if the size limit permits, and
/// returns the resulting state of the server.
async fn configure_and_start(
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
    // Who deletes the team meanwhile closes the pane.
    let started = backend.server().run(&batch).await;
    let after = Snapshot::parse(&started.map_err(|error| of_missing_pane(&pane.id, error))?)?;
    backend.remember(pane, Child::in_pane(&after, &pane.id));
    Ok(after)
}

/// Configures a pane and moves it to a new window.
async fn move_to_new_window(
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

/// Describes the position of a pane in the user's tmux.
fn position(
    backend: &TmuxBackend,
    row: &PaneRow,
    no_split: Option<NoSplitReason>,
) -> Option<String> {
    backend.lead_pane()?;
    Some(match no_split {
        None => "next to the lead".to_owned(),
        Some(why) => format!(
            "in background window {}, because the lead's window {why}; run `swarm attach` to see it",
            row.window_name
        ),
    })
}

/// Returns the commands that rearrange the window of a pane and update its borders. Missing facts
/// are queried.
async fn arrange_window(
    backend: &TmuxBackend,
    spec: &PaneSpec,
    snapshot: &Snapshot,
    id: &PaneId,
    facts: &WindowFacts,
) -> Result<Batch, PaneError> {
    let row = find_row(snapshot, id)?;
    let panes = snapshot.window(&row.session, &row.window);
    let window_query = WindowQuery::about(&panes, backend.lead_pane());
    let asked = if window_query.is_answered_by(facts) {
        facts.clone()
    } else {
        window_query.ask(backend.server()).await?
    };
    let is_lead = |row: &&&PaneRow| backend.lead_pane() == Some(&row.id);
    let sign = panes
        .iter()
        .find(is_lead)
        .map(|lead| arrange::label_lead(lead, spec, &asked));
    let division = arrange::arrange_window(&panes, backend.lead_pane(), backend.owner());
    Ok(Batch::new()
        .then_all(arrange::show_titles(&panes, &asked))
        .then_all(sign.unwrap_or_default())
        .then_all(division))
}

fn find_row<'a>(snapshot: &'a Snapshot, id: &PaneId) -> Result<&'a PaneRow, PaneError> {
    snapshot.pane(id).ok_or_else(|| PaneError::Gone(id.clone()))
}
