//! Our own tmux server: for a lead outside tmux, or where panes are to stay out of the user's sight.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use swarm_protocol::{SpawnId, TeamName};
use tmux_interface::{NewSession, ResizeWindow, SetHook, SetOption, StartServer, TmuxCommand};

use super::batch::Batch;
use super::commands::{placeholder, set_on_window};
use crate::{Arrangement, Size};

/// The session on our own server; Claude Code names its own so too.
pub const OWN_SESSION: &str = "claude-swarm";

/// The first window on our own server.
pub const OWN_WINDOW: &str = "swarm-view";

/// Size of a window that nobody looks at. tmux would take 80 by 24.
pub(crate) const UNWATCHED: Size = Size::new(200, 50);

/// Window options with the smallest client that each arrangement can be shown to.
const TILED_NEEDS: [&str; 2] = ["@swarm_tiled_columns", "@swarm_tiled_rows"];
const STACKED_NEEDS: [&str; 2] = ["@swarm_stacked_columns", "@swarm_stacked_rows"];

/// What the file names of our sockets begin with.
const SOCKET_PREFIX: &str = "claude-swarm-";

/// The socket of the server with this number, in a directory that only the user can enter.
pub fn own_socket(directory: &Path, number: u32) -> PathBuf {
    directory.join(format!("{SOCKET_PREFIX}{number}"))
}

/// The number of a team's own server. It depends on nothing but the team, so spawns that run in parallel choose the same
/// socket, and tmux's lock file decides which of them starts the server. FNV-1a; with 32 bits the socket's path stays short.
pub fn server_number(root: &Path, team: &TeamName) -> u32 {
    let bytes = root.as_os_str().as_bytes().iter();
    let bytes = bytes.chain(&[0]).chain(team.as_str().as_bytes());
    bytes.fold(0x811c_9dc5, |hash: u32, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

/// Whether a socket that a roster names is that of a server of our own.
pub fn is_own_socket(socket: &Path) -> bool {
    let name = socket.file_name().and_then(OsStr::to_str);
    let number = name.and_then(|name| name.strip_prefix(SOCKET_PREFIX));
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

/// The sockets of swarm's own servers in a directory, whether or not their server runs.
pub(crate) fn own_sockets(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut sockets: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| is_own_socket(path))
        .collect();
    sockets.sort();
    sockets
}

/// The sockets of swarm's own servers whose server has ended: the kernel refuses to connect.
pub fn dead_sockets(directory: &Path) -> Vec<PathBuf> {
    let mut sockets = own_sockets(directory);
    sockets.retain(|socket| {
        UnixStream::connect(socket).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
    });
    sockets
}

/// Starts the server if need be and makes the session with one pane, whose id is printed.
///
/// `window-size` stays as tmux has it: 3.3a crashes when a session is made while it is `manual`. Each window gets a
/// fixed size of its own right after it is made.
pub(crate) fn create_session(spawn_id: &SpawnId) -> Batch {
    let session = NewSession::new()
        .detached()
        .print()
        .format("#{pane_id}")
        .session_name(OWN_SESSION)
        .window_name(OWN_WINDOW)
        .width(usize::from(UNWATCHED.columns))
        .height(usize::from(UNWATCHED.rows))
        .build();
    Batch::new()
        .then(&StartServer::new().build())
        .then_all(SERVER_OPTIONS.map(|(option, value)| global(option, value)))
        .then_all(REFIT_HOOKS.map(|hook| {
            SetHook::new()
                .global()
                .hook_name(hook)
                .command(refit())
                .build()
        }))
        .then_with(&session, placeholder(spawn_id))
}

/// Options of our own server, which reads no configuration file.
const SERVER_OPTIONS: [(&str, &str); 14] = [
    ("history-limit", "10000"),
    ("default-terminal", "tmux-256color"),
    ("default-size", "200x50"),
    // A pane's environment is exactly what it is started with, whoever attaches.
    ("update-environment", ""),
    ("exit-empty", "on"),
    ("mouse", "on"),
    ("escape-time", "10"),
    ("set-titles", "on"),
    ("set-titles-string", "swarm"),
    ("status-style", "bg=colour236,fg=colour250"),
    ("status-left", "#[fg=colour208,bold] swarm #[default] "),
    ("status-right-length", "60"),
    (
        "status-right",
        " C-b d leave · C-b z zoom · C-b arrows move ",
    ),
    ("window-status-current-style", "bold,fg=colour255"),
];

fn global(option: &'static str, value: &'static str) -> TmuxCommand<'static> {
    SetOption::new()
        .global()
        .option(option)
        .value(value)
        .build()
}

/// When the windows are fitted to who looks at them.
const REFIT_HOOKS: [&str; 3] = [
    "client-attached",
    "client-resized",
    "session-window-changed",
];

/// Takes the size of the largest client if this one is large enough for every pane, one row being the status line's;
/// a smaller one sees a part of the window and shrinks nothing.
fn refit() -> String {
    let large_enough = |needs: [&str; 2]| {
        format!(
            "#{{&&:#{{e|>=:#{{client_width}},#{{{}}}}},#{{e|>:#{{client_height}},#{{{}}}}}}}",
            needs[0], needs[1]
        )
    };
    let arrange = |arrangement: Arrangement| {
        format!(
            "resize-window -A ; select-layout {}",
            arrangement.layout_name()
        )
    };
    format!(
        "if-shell -F '{}' '{}' \"if-shell -F '{}' '{}'\"",
        large_enough(TILED_NEEDS),
        arrange(Arrangement::Tiled),
        large_enough(STACKED_NEEDS),
        arrange(Arrangement::Stacked),
    )
}

/// Gives a window a size that no client changes but by [`refit`].
pub(crate) fn fix_size(target: &str, size: Size) -> [TmuxCommand<'static>; 2] {
    let resize = ResizeWindow::new()
        .target_window(target.to_owned())
        .width(usize::from(size.columns))
        .height(usize::from(size.rows))
        .build();
    [resize, set_on_window(target, "window-size", "manual")]
}

/// Notes for [`refit`] what the panes of a window need.
pub(crate) fn note_needs(target: &str, panes: usize) -> Vec<TmuxCommand<'static>> {
    [
        (TILED_NEEDS, Arrangement::Tiled.needs(panes)),
        (STACKED_NEEDS, Arrangement::Stacked.needs(panes)),
    ]
    .into_iter()
    .flat_map(|(names, needs)| {
        [
            set_on_window(target, names[0], &needs.columns.to_string()),
            set_on_window(target, names[1], &needs.rows.to_string()),
        ]
    })
    .collect()
}

/// Pauses, in milliseconds, while a server that has lost its last session ends: at once, but for a busy machine or a
/// client that is slow to let go.
const ENDING: [u64; 11] = [2, 5, 10, 20, 40, 80, 160, 300, 500, 1000, 1000];

/// Removes the socket file of a server that has ended or is about to; tmux leaves it behind.
pub(crate) async fn remove_dead_socket(socket: &Path) {
    for pause in ENDING {
        match UnixStream::connect(socket) {
            Ok(_) => tokio::time::sleep(Duration::from_millis(pause)).await,
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                if let Err(error) = remove_unless_started(socket) {
                    tracing::debug!(socket = %socket.display(), %error, "dead socket not removed");
                }
                return;
            }
            Err(_) => return,
        }
    }
}

/// Removes a dead socket under the lock file that tmux takes to start a server there: another spawn may have started one
/// since the last look.
fn remove_unless_started(socket: &Path) -> io::Result<()> {
    let mut lock = OsString::from(socket);
    lock.push(".lock");
    let file = File::create(&lock)?;
    if file.try_lock().is_err() {
        return Ok(());
    }
    let is_dead = UnixStream::connect(socket)
        .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
    let removed = if is_dead {
        std::fs::remove_file(socket)
    } else {
        Ok(())
    };
    std::fs::remove_file(&lock)?;
    removed
}
