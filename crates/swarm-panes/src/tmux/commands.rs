//! The tmux commands that swarm sends, built with the typed builders of `tmux_interface`.
//!
//! Targets are ids (`%7`, `@3`, `$1`) that tmux gave, never names or indexes. Pane and window options only: nothing
//! here touches an option of the user's server or session.

use std::ffi::OsString;

use swarm_protocol::{Color, PaneId, SpawnId};
use tmux_interface::{
    CapturePane, IfShell, RespawnPane, SelectLayout, SelectPane, SetHook, SetOption, SplitWindow,
    TmuxCommand,
};

use super::snapshot::{JOINT, Tag};
use crate::text::{self, DisplayText};
use crate::{PaneCommand, PaneError, PaneSpec};

/// What tmux takes in one call: one message of 16 KiB, less its header and the number of words (`client.c`).
pub(crate) const CALL_LIMIT: usize = 16_384 - 4;

/// What is left of one call for a program, its arguments and its environment.
pub(crate) const WORDS_LIMIT: usize = CALL_LIMIT - 700;

/// A process that waits in a pane that has to be made with one: `new-window` and `new-session` know no empty pane.
/// Two words, because tmux gives a single one to the user's shell.
const PLACEHOLDER: [&str; 2] = ["sleep", "2147483647"];

/// What stands on a pane's border: the title in the member's colour, turned around where the keys go, then how its
/// program ended or, while it runs, what that tells its terminal behind its own name (`ada · working`). That it ended is
/// there before how: a tmux with utempter may not hear of a child's end until something reminds it. A person who is
/// needed is told in reverse. Values that a format names are not expanded again and every `#` of a terminal's title
/// is doubled, so no text can run or style anything here.
const BORDER_FORMAT: &str = "#{?@swarm_style,#[fg=#{@swarm_style}],}#[bold]#{?pane_active,#[reverse],} #{@swarm_title} \
     #[default]#{?@swarm_style,#[fg=#{@swarm_style}],}\
     #{?#{||:#{&&:#{pane_dead},#{@swarm_started}},#{||:#{pane_dead_signal},#{!=:#{pane_dead_status},}}},\
     · ended #{?pane_dead_signal,by signal #{pane_dead_signal} ,\
     #{?#{!=:#{pane_dead_status},},with status #{pane_dead_status} ,}},\
     #{?#{m:* · NEEDS *,#{pane_title}},#[reverse],}\
     #{?#{m:* · *,#{pane_title}},#{s/^[^ ]* · /· /;q/h:pane_title} ,}}#[default]";

/// The words of [`PLACEHOLDER`] after a command's flags. The process bears the mark of its spawn: whoever clears up after a
/// spawner that was killed before it could tag the pane finds it by that.
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

/// Where a split puts the new pane.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Split {
    /// To the right, with so many columns.
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
    // An empty word makes an empty pane; it must come last.
    command.push_param("");
    command
}

/// Tags the pane that a split in the same call has just made, which is known by its place only: the one of this number in
/// the window, if it is empty and bears no tag. A spawner that is killed before the next call leaves a pane of which
/// everybody can tell whose it was.
pub(crate) fn tag_new(window: &str, index: u32, tag: &Tag) -> TmuxCommand<'static> {
    let target = format!("{window}.{index}");
    let is_it = format!(
        "#{{&&:#{{==:#{{window_id}}.#{{pane_index}},{target}}},#{{==:#{{pane_pid}}#{{@swarm_spawn}},0}}}}"
    );
    // What stands in the command string is checked: an id `@<digits>`, names of letters, digits, `-` and `_`, and a uuid.
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

/// Sets an option of one pane.
pub(crate) fn set_on_pane(pane: &PaneId, option: &str, value: &str) -> TmuxCommand<'static> {
    SetOption::new()
        .pane()
        .target_pane(pane.as_str().to_owned())
        .option(option.to_owned())
        .value(value.to_owned())
        .build()
}

/// Sets an option of the window that a pane or window id names.
pub(crate) fn set_on_window(target: &str, option: &str, value: &str) -> TmuxCommand<'static> {
    SetOption::new()
        .window()
        .target_pane(target.to_owned())
        .option(option.to_owned())
        .value(value.to_owned())
        .build()
}

/// Takes an option off a pane, so that the window's own value holds again.
pub(crate) fn unset_on_pane(pane: &PaneId, option: &str) -> TmuxCommand<'static> {
    SetOption::new()
        .pane()
        .unset()
        .quiet()
        .target_pane(pane.as_str().to_owned())
        .option(option.to_owned())
        .build()
}

/// Takes an option off a window, so that the user's own value holds again.
pub(crate) fn unset_on_window(target: &str, option: &str) -> TmuxCommand<'static> {
    SetOption::new()
        .window()
        .unset()
        .quiet()
        .target_pane(target.to_owned())
        .option(option.to_owned())
        .build()
}

/// Arranges the panes of a window anew by one of tmux's layouts.
pub(crate) fn select_layout(pane: &PaneId, layout: &'static str) -> TmuxCommand<'static> {
    SelectLayout::new()
        .target_pane(pane.as_str().to_owned())
        .layout_name(layout)
        .build()
}

/// Tags a new pane as ours, and gives it title, colour and a stay after failure.
pub(crate) fn dress(pane: &PaneId, spec: &PaneSpec) -> Vec<TmuxCommand<'static>> {
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
    // Newer versions let people forbid programs to set titles; older ones know no such option.
    commands.push(
        SetOption::new()
            .pane()
            .quiet()
            .target_pane(pane.as_str().to_owned())
            .option("allow-set-title")
            .value("on")
            .build(),
    );
    // tmux does not draw a border anew when the process ends, but when the title changes.
    commands.push(
        SetHook::new()
            .pane()
            .target_session(pane.as_str().to_owned())
            .hook_name("pane-died")
            .command(format!("select-pane -t {pane} -T '#{{@swarm_title}}'"))
            .build(),
    );
    // Until the program says more. The name on the border is our option, which no program can overwrite.
    commands.push(
        SelectPane::new()
            .target_pane(pane.as_str().to_owned())
            .title(format!("{title}{JOINT}starting"))
            .build(),
    );
    commands
}

/// Runs a program in a pane in place of what is there.
///
/// `tmux_interface` takes the program as one string, which tmux gives to a shell; so the builder makes the head and
/// the rest are our own words.
///
/// # Errors
/// [`PaneError::Invalid`] for a variable that cannot be passed.
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
        // These describe the terminal, and tmux is the terminal: the caller's would be wrong.
        if !matches!(
            name.as_str(),
            "TERM" | "TERMINFO" | "COLUMNS" | "LINES" | "TMUX" | "TMUX_PANE" | "COLORTERM"
        ) {
            words.extend(["-e".into(), word]);
        }
    }
    words.push("--".into());
    if command.args.is_empty() {
        // A single word would go to the user's shell.
        words.extend(["/bin/sh".into(), "-c".into(), "exec \"$0\"".into()]);
    }
    words.push(command.program.clone().into_os_string());
    words.extend(command.args.iter().cloned());
    Ok((head, words))
}

/// Prints the content of a pane; `from` counts lines from the top of what it shows, negative ones into what has
/// scrolled out.
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
    // The id that stands in the command string is one that tmux gave: `%` and digits.
    let mut command = IfShell::new()
        .not_execute()
        .target_pane(pane.as_str().to_owned())
        .shell_command("#{window_zoomed_flag}")
        .command("")
        .build();
    command.push_param(format!("resize-pane -Z -t {pane}"));
    command
}

/// The last word of [`kill_if`] when it killed.
pub(crate) const KILLED: &str = "killed";

/// Kills a pane if its tag names this spawn, in one step within the server, so that the id cannot come to mean
/// another pane in between.
pub(crate) fn kill_if(pane: &PaneId, tag: &Tag) -> TmuxCommand<'static> {
    // Both parts that stand in the command string are checked: an id `%<digits>` and a uuid.
    let mut command = IfShell::new()
        .not_execute()
        .target_pane(pane.as_str().to_owned())
        .shell_command(format!("#{{==:#{{@swarm_spawn}},{}}}", tag.spawn_id))
        .command(format!("kill-pane -t {pane} ; display-message -p {KILLED}"))
        .build();
    command.push_param("display-message -p foreign");
    command
}
