//! swarm's own tmux server: for a lead outside tmux, or for panes hidden from the user.

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

/// The session on swarm's own server; Claude Code uses the same name.
pub const OWN_SESSION: &str = "claude-swarm";

/// The first window on swarm's own server.
pub const OWN_WINDOW: &str = "swarm-view";

/// Size of a window without an attached client. tmux's default is 80 by 24.
pub(crate) const UNWATCHED: Size = Size::new(200, 50);

/// Window options with the smallest client size for each arrangement.
const TILED_NEEDS: [&str; 2] = ["@swarm_tiled_columns", "@swarm_tiled_rows"];
const STACKED_NEEDS: [&str; 2] = ["@swarm_stacked_columns", "@swarm_stacked_rows"];

/// Prefix of the file names of swarm's sockets.
const SOCKET_PREFIX: &str = "claude-swarm-";

/// Returns the socket of the server with this number, in a directory that only the user can enter.
pub fn own_socket(directory: &Path, number: u32) -> PathBuf {
    directory.join(format!("{SOCKET_PREFIX}{number}"))
}

/// Returns the number of a team's own server. It depends only on the team, so parallel spawns
/// choose the same socket, and tmux's lock file decides which of them starts the server. FNV-1a; 32
/// bits keep the socket path short.
pub fn server_number(root: &Path, team: &TeamName) -> u32 {
    let bytes = root.as_os_str().as_bytes().iter();
    let bytes = bytes.chain(&[0]).chain(team.as_str().as_bytes());
    bytes.fold(0x811c_9dc5, |hash: u32, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

/// Returns whether a socket in a roster belongs to swarm's own server.
pub fn is_own_socket(socket: &Path) -> bool {
    let name = socket.file_name().and_then(OsStr::to_str);
    let number = name.and_then(|name| name.strip_prefix(SOCKET_PREFIX));
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Returns the sockets of swarm's own servers in a directory, including those of servers that do
/// not run.
pub(crate) fn own_sockets(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut sockets: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| is_own_socket(path))
        .collect();
    sockets.sort();
    sockets
}

/// Returns the sockets of swarm's own servers that have exited: connections are refused.
pub fn dead_sockets(directory: &Path) -> Vec<PathBuf> {
    let mut sockets = own_sockets(directory);
    sockets.retain(|socket| {
        UnixStream::connect(socket).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
    });
    sockets
}

/// Starts the server if necessary and creates the session with one pane, whose id is printed.
///
/// `window-size` keeps tmux's default: 3.3a crashes if a session is created while it is `manual`.
/// Each window gets a fixed size right after its creation.
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

/// Options of swarm's own server, which reads no configuration file.
const SERVER_OPTIONS: [(&str, &str); 14] = [
    ("history-limit", "10000"),
    ("default-terminal", "tmux-256color"),
    ("default-size", "200x50"),
    // A pane's environment is exactly that of its command, regardless of attached clients.
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

/// Events after which windows are resized to their clients.
const REFIT_HOOKS: [&str; 3] = [
    "client-attached",
    "client-resized",
    "session-window-changed",
];

/// Resizes to the largest client if it is large enough for every pane (one row is the status line);
/// a smaller client sees a part of the window.
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

/// Gives a window a size that only [`refit`] changes.
pub(crate) fn fix_size(target: &str, size: Size) -> [TmuxCommand<'static>; 2] {
    let resize = ResizeWindow::new()
        .target_window(target.to_owned())
        .width(usize::from(size.columns))
        .height(usize::from(size.rows))
        .build();
    [resize, set_on_window(target, "window-size", "manual")]
}

/// Stores the required size of a window's panes for [`refit`].
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

/// Pauses, in milliseconds, while a server without sessions exits. It usually exits immediately,
/// except on a busy machine or with a slow client.
const EXIT_PAUSES: [u64; 11] = [2, 5, 10, 20, 40, 80, 160, 300, 500, 1000, 1000];

/// Removes the socket file of a server that has exited or is exiting; tmux does not remove it.
pub(crate) async fn remove_dead_socket(socket: &Path) {
    for pause in EXIT_PAUSES {
        match UnixStream::connect(socket) {
            Ok(_) => tokio::time::sleep(Duration::from_millis(pause)).await,
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                if let Err(error) = remove_unless_started(socket) {
                    tracing::debug!(socket = %socket.display(), %error, "stale socket not removed");
                }
                return;
            }
            Err(_) => return,
        }
    }
}

/// Removes a stale socket while holding the lock file that tmux uses to start a server: another
/// spawn may have started one since the last check.
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
