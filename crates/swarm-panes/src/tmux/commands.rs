//! The tmux commands that swarm sends, built with the typed builders of `tmux_interface`.
//!
//! Targets are ids from tmux (`%7`, `@3`, `$1`), never names or indexes. Only pane and window
//! options are set, never options of the user's server or session.

use std::ffi::OsString;

use swarm_protocol::{Color, PaneId, SpawnId};
use tmux_interface::{
    CapturePane, IfShell, RespawnPane, SelectLayout, SelectPane, SetHook, SetOption, SplitWindow,
    TmuxCommand,
};

use super::snapshot::{TITLE_SEPARATOR, Tag};
use crate::text::{self, DisplayText};
use crate::{PaneCommand, PaneError, PaneSpec};

/// Limit of tmux for one call: one message of 16 KiB, less its header and the argument count
/// (`client.c`).
pub(crate) const CALL_LIMIT: usize = 16_384 - 4;

/// Remaining bytes in one call for a program, its arguments and its environment.
pub(crate) const WORDS_LIMIT: usize = CALL_LIMIT - 700;

/// Placeholder process for panes that cannot be created empty: `new-window` and `new-session`
/// require a command. Two words, because tmux passes a single word to the user's shell.
const PLACEHOLDER: [&str; 2] = ["sleep", "2147483647"];

/// Border text of a pane: the title in the member's colour, in reverse video if the pane is active,
/// followed by the exit status or, while the program runs, by the state from its terminal title
/// (`ada · working`). The exit is shown before its status is known: a tmux with utempter may not
/// notice a child's exit until it is signalled again. A state that needs a person is shown in
/// reverse video. Values in a format are not expanded again and every `#` of a terminal title is
/// doubled, so no text can execute or style anything here.
const BORDER_FORMAT: &str = "#{?@swarm_style,#[fg=#{@swarm_style}],}#[bold]#{?pane_active,#[reverse],} #{@swarm_title} \
     #[default]#{?@swarm_style,#[fg=#{@swarm_style}],}\
     #{?#{||:#{&&:#{pane_dead},#{@swarm_started}},#{||:#{pane_dead_signal},#{!=:#{pane_dead_status},}}},\
     · exited #{?pane_dead_signal,on signal #{pane_dead_signal} ,\
     #{?#{!=:#{pane_dead_status},},with status #{pane_dead_status} ,}},\
     #{?#{m:* · NEEDS *,#{pane_title}},#[reverse],}\
     #{?#{m:* · *,#{pane_title}},#{s/^[^ ]* · /· /;q/h:pane_title} ,}}#[default]";

/// Returns the words of [`PLACEHOLDER`] after a command's options. The process carries the spawn id
/// in its environment, which identifies it if the spawner is killed before it tags the pane.
pub(crate) fn placeholder(spawn_id: &SpawnId) -> [OsString; 5] {
    let mark = format!("SWARM_SPAWN_ID={spawn_id}");
    [
        "--".into(),
        "env".into(),
        mark.into(),
        PLACEHOLDER[0].into(),
        PLACEHOLDER[1].into(),
    ]
}

/// Position of the new pane of a split.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Split {
    /// To the right, with this number of columns.
    Right(u16),
    /// Below.
    Below,
}

/// Splits a pane; the new one is empty and its id is printed.
pub(crate) fn split(pane: &PaneId, how: Split) -> TmuxCommand<'static> {
    let split = SplitWindow::new()
        .detached()
        .print()
        .format("#{pane_id}")
        .target_pane(pane.as_str().to_owned());
    let mut command = match how {
        Split::Below => split.vertical().build(),
        Split::Right(columns) => {
            let mut command = split.horizontal().build();
            command.push_option("-l", columns.to_string());
            command
        }
    };
    // An empty word creates an empty pane; it must be the last one.
    command.push_param("");
    command
}

/// Tags the pane that a split in the same call has created, which is known only by its position:
/// the pane with this index in the window, if it is empty and has no tag. The owner of the pane is
/// then known even if the spawner is killed before the next call.
pub(crate) fn tag_new(window: &str, index: u32, tag: &Tag) -> TmuxCommand<'static> {
    let target = format!("{window}.{index}");
    let is_it = format!(
        "#{{&&:#{{==:#{{window_id}}.#{{pane_index}},{target}}},#{{==:#{{pane_pid}}#{{@swarm_spawn}},0}}}}"
    );
    // The command string contains only validated parts: an id `@<digits>`, names of letters,
    // digits, `-` and `_`, and a UUID.
    let set = |option: &str, value: &str| format!("set-option -p -t {target} {option} {value}");
    let sets = [
        set("@swarm_team", tag.team.as_str()),
        set("@swarm_member", tag.member.as_str()),
        set("@swarm_spawn", &tag.spawn_id.to_string()),
    ];
    IfShell::new()
        .not_execute()
        .target_pane(target.clone())
        .shell_command(is_it)
        .command(sets.join(" ; "))
        .build()
}

/// Sets a pane option.
pub(crate) fn set_on_pane(pane: &PaneId, option: &str, value: &str) -> TmuxCommand<'static> {
    SetOption::new()
        .pane()
        .target_pane(pane.as_str().to_owned())
        .option(option.to_owned())
        .value(value.to_owned())
        .build()
}

/// Sets an option of the window with this pane or window id.
pub(crate) fn set_on_window(target: &str, option: &str, value: &str) -> TmuxCommand<'static> {
    SetOption::new()
        .window()
        .target_pane(target.to_owned())
        .option(option.to_owned())
        .value(value.to_owned())
        .build()
}

/// Removes an option from a pane, which restores the window's value.
pub(crate) fn unset_on_pane(pane: &PaneId, option: &str) -> TmuxCommand<'static> {
    SetOption::new()
        .pane()
        .unset()
        .quiet()
        .target_pane(pane.as_str().to_owned())
        .option(option.to_owned())
        .build()
}

/// Removes an option from a window, which restores the user's value.
pub(crate) fn unset_on_window(target: &str, option: &str) -> TmuxCommand<'static> {
    SetOption::new()
        .window()
        .unset()
        .quiet()
        .target_pane(target.to_owned())
        .option(option.to_owned())
        .build()
}

/// Applies one of tmux's layouts to a window.
pub(crate) fn select_layout(pane: &PaneId, layout: &'static str) -> TmuxCommand<'static> {
    SelectLayout::new()
        .target_pane(pane.as_str().to_owned())
        .layout_name(layout)
        .build()
}

/// Tags a new pane, sets its title and colour, and makes it remain after a failure.
pub(crate) fn configure(pane: &PaneId, spec: &PaneSpec) -> Vec<TmuxCommand<'static>> {
    let title = DisplayText::new(&spec.title);
    let root = spec.root.to_string_lossy();
    let options = [
        ("@swarm_root", &*root),
        ("@swarm_team", spec.team.as_str()),
        ("@swarm_member", spec.member.as_str()),
        ("@swarm_spawn", &spec.spawn_id.to_string()),
        ("@swarm_color", spec.color.map_or("", Color::name)),
        ("@swarm_style", spec.color.map_or("", Color::tmux)),
        ("@swarm_title", title.as_str()),
        ("remain-on-exit", "failed"),
        ("pane-border-format", BORDER_FORMAT),
    ];
    let mut commands: Vec<_> = options
        .into_iter()
        .map(|(option, value)| set_on_pane(pane, option, value))
        .collect();
    // Newer versions can forbid programs to set titles; older ones do not have the option.
    commands.push(
        SetOption::new()
            .pane()
            .quiet()
            .target_pane(pane.as_str().to_owned())
            .option("allow-set-title")
            .value("on")
            .build(),
    );
    // tmux redraws a border when the title changes, but not when the process exits.
    commands.push(
        SetHook::new()
            .pane()
            .target_session(pane.as_str().to_owned())
            .hook_name("pane-died")
            .command(format!("select-pane -t {pane} -T '#{{@swarm_title}}'"))
            .build(),
    );
    // Initial title, until the program sets another one. The name on the border is a separate
    // option that no program can overwrite.
    commands.push(
        SelectPane::new()
            .target_pane(pane.as_str().to_owned())
            .title(format!("{title}{TITLE_SEPARATOR}starting"))
            .build(),
    );
    commands
}

/// Runs a program in a pane, replacing whatever runs there.
///
/// `tmux_interface` takes the program as one string, which tmux passes to a shell; so the builder
/// creates only the start of the command.
///
/// # Errors
/// [`PaneError::Invalid`] for an environment variable that cannot be passed.
pub(crate) fn respawn(
    pane: &PaneId,
    command: &PaneCommand,
) -> Result<(TmuxCommand<'static>, Vec<OsString>), PaneError> {
    let head = RespawnPane::new()
        .kill()
        .target_pane(pane.as_str().to_owned())
        .build();
    let mut words = vec!["-c".into(), text::start_directory(&command.cwd)];
    for (name, value) in &command.env {
        let word = text::environment_word(name, value)?;
        // These variables describe the terminal, which is tmux: the caller's values would be wrong.
        if !matches!(
            name.as_str(),
            "TERM" | "TERMINFO" | "COLUMNS" | "LINES" | "TMUX" | "TMUX_PANE" | "COLORTERM"
        ) {
            words.extend(["-e".into(), word]);
        }
    }
    words.push("--".into());
    if command.args.is_empty() {
        // tmux would pass a single word to the user's shell.
        words.extend(["/bin/sh".into(), "-c".into(), "exec \"$0\"".into()]);
    }
    words.push(command.program.clone().into_os_string());
    words.extend(command.args.iter().cloned());
    Ok((head, words))
}

/// Prints the content of a pane; `from` is the first line relative to the top of the visible part,
/// negative for scrollback.
pub(crate) fn capture(pane: &PaneId, from: Option<i64>, escapes: bool) -> TmuxCommand<'static> {
    let mut capture = CapturePane::new()
        .stdout()
        .target_pane(pane.as_str().to_owned());
    if let Some(from) = from {
        capture = capture.start_line(from.to_string());
    }
    if escapes {
        capture = capture.escape_sequences();
    }
    capture.build()
}

/// Zooms a pane unless its window is zoomed.
pub(crate) fn zoom(pane: &PaneId) -> TmuxCommand<'static> {
    // The id in the command string comes from tmux: `%` and digits.
    let mut command = IfShell::new()
        .not_execute()
        .target_pane(pane.as_str().to_owned())
        .shell_command("#{window_zoomed_flag}")
        .command("")
        .build();
    command.push_param(format!("resize-pane -Z -t {pane}"));
    command
}

/// Last output line of [`kill_if`] if it killed the pane.
pub(crate) const KILLED: &str = "killed";

/// Kills a pane if its tag has this spawn id, atomically within the server, so that the id cannot
/// be reused in between.
pub(crate) fn kill_if(pane: &PaneId, tag: &Tag) -> TmuxCommand<'static> {
    // Both parts of the command string are validated: an id `%<digits>` and a UUID.
    let mut command = IfShell::new()
        .not_execute()
        .target_pane(pane.as_str().to_owned())
        .shell_command(format!("#{{==:#{{@swarm_spawn}},{}}}", tag.spawn_id))
        .command(format!("kill-pane -t {pane} ; display-message -p {KILLED}"))
        .build();
    command.push_param("display-message -p foreign");
    command
}
