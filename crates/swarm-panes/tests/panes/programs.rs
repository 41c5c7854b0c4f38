//! The pane programs in `config/backends`, on fakes of their terminals.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::rig::{Directory, PATH};

/// A terminal's command that records its arguments. `answers` are branches of a shell's `case` about them.
fn terminal(directory: &Directory, name: &str, answers: &str) {
    let script = format!(
        "#!/bin/sh\nprintf '%s|' ${{WEZTERM_UNIX_SOCKET-}} \"$@\" >>'{}'; echo >>'{0}'\ncase \"$*\" in {answers} esac\n",
        directory.path("calls").display()
    );
    directory.script(name, &script);
}

/// A pane program without a terminal.
fn command(directory: &Directory, program: &str) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap();
    let program: PathBuf = root.join("config/backends").join(program);
    let path = format!("{}:{}", directory.path("").display(), PATH);
    let mut command = Command::new(program);
    command.env_clear().env("PATH", path);
    command
}

fn run(directory: &Directory, program: &str, arguments: &[&str], newest: &str) -> Output {
    command(directory, program)
        .args(arguments)
        .envs([
            ("SWARM_PANE_TITLE", "ada · it's"),
            ("SWARM_PANE_NEWEST", newest),
        ])
        .envs(match program {
            "wezterm" => [("WEZTERM_PANE", "3"), ("WEZTERM_UNIX_SOCKET", "/here")],
            "zellij" => [("ZELLIJ_PANE_ID", "4"), ("ZELLIJ_SESSION_NAME", "here")],
            _ => [("KITTY_WINDOW_ID", "5"), ("KITTY_LISTEN_ON", "unix:here")],
        })
        .output()
        .unwrap()
}

/// Opens a pane in a terminal with each of these newest panes, runs the other verbs about `pane` of another terminal,
/// and returns the recorded calls.
fn calls(program: &str, answers: &str, newest: &[&str], opened: &str, pane: &str) -> String {
    let directory = Directory::new();
    terminal(&directory, program, answers);
    for newest in newest {
        let words = ["open", "/bin/sh", "/a b/it's.sh"];
        let said = run(&directory, program, &words, newest);
        let id = String::from_utf8_lossy(&said.stdout);
        assert_eq!(id.trim_end(), opened, "{program}: {said:?}");
    }
    for verb in ["close", "capture", "focus"] {
        let said = run(&directory, program, &[verb, pane], "");
        assert!(said.status.success(), "{program} {verb}: {said:?}");
    }
    let unknown = run(&directory, program, &["dance"], "");
    assert_eq!(unknown.status.code(), Some(2), "{program}");
    std::fs::read_to_string(directory.path("calls")).unwrap()
}

/// Lists the pane that was opened last, by its first name.
const ZELLIJ: &str = r#"*list-panes*)
    sed -n 's/.*--name|\([^|]*\).*/terminal_17  terminal  \1/p' "${0%/*}/calls" | tail -n 1 ;;"#;

#[test]
fn zellij_opens_the_first_pane_right_of_the_lead_and_stacks_others_of_the_session_on_it() {
    let newest = ["", "here#terminal_16", "there#terminal_17"];
    let calls = calls(
        "zellij",
        ZELLIJ,
        &newest,
        "here#terminal_17",
        "there#terminal_17",
    );
    // The first name of a pane ends in a process id.
    let parts = calls.split("swarm-");
    let calls = parts.map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()));
    let calls = calls.collect::<Vec<_>>().join("swarm-");
    let opened = |place: &str| {
        format!(
            "action|new-pane|--no-focus|{place}|--name|swarm-|--close-on-exit|--|/bin/sh|/a b/it's.sh|\n\
             action|list-panes|\naction|rename-pane|--pane-id|terminal_17|ada · it's|\n"
        )
    };
    let right = opened("--direction|right");
    let stacked = opened("--stacked");
    let there = "--session|there|action";
    assert_eq!(
        calls,
        format!(
            "{right}{stacked}{right}{there}|close-pane|--pane-id|terminal_17|\n\
             {there}|dump-screen|--pane-id|terminal_17|--full|--ansi|\n{there}|focus-pane-id|terminal_17|\n"
        )
    );
}

#[test]
fn zellij_without_room_opens_no_pane() {
    let directory = Directory::new();
    terminal(&directory, "zellij", "");
    terminal(&directory, "sleep", "");
    let refused = run(&directory, "zellij", &["open", "/bin/sh", "/it.sh"], "");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && said.contains("no room"),
        "{said}"
    );
}

#[test]
fn wezterm_splits_the_lead_first_and_then_the_newest_pane_if_it_is_high_enough() {
    const LIST: &str = "WINID TABID PANEID WORKSPACE SIZE  TITLE\n0 0 15 default 48x15 dash\n0 0 16 default 48x16 dash";
    let answers = format!("*split-pane*|*spawn*) echo 17 ;; *list*) printf '{LIST}\\n' ;;");
    let newest = ["", "/here#16", "/here#15", "/there#16"];
    let calls = calls("wezterm", &answers, &newest, "/here#17", "/there#17");
    let here = |place: &str| {
        format!(
            "/here|cli|list|\n/here|cli|{place}|--|/bin/sh|/a b/it's.sh|\n/here|cli|activate-pane|--pane-id|3|\n"
        )
    };
    let right = here("split-pane|--right|--percent|60|--pane-id|3");
    let below = here("split-pane|--bottom|--pane-id|16");
    let tab = here("spawn|--pane-id|3");
    let there = "/there|cli";
    assert_eq!(
        calls,
        format!(
            "{right}{below}{tab}{right}{there}|kill-pane|--pane-id|17|\n\
             {there}|get-text|--escapes|--pane-id|17|\n{there}|activate-pane|--pane-id|17|\n"
        )
    );
}

#[test]
fn kitty_launches_a_window_without_the_focus() {
    let opened = "unix:here#17";
    let calls = calls(
        "kitty",
        "*launch*) echo 17 ;;",
        &["", "unix:here#16"],
        opened,
        "unix:there#17",
    );
    let launched =
        "@|--to|unix:here|launch|--type=window|--location=last|--keep-focus|--title|ada · it's|--|\
                    /bin/sh|/a b/it's.sh|\n"
            .repeat(2);
    let there = "@|--to|unix:there";
    assert_eq!(
        calls,
        format!(
            "{launched}{there}|close-window|--match|id:17|\n\
             {there}|get-text|--ansi|--extent|all|--match|id:17|\n{there}|focus-window|--match|id:17|\n"
        )
    );
}

#[test]
fn a_program_says_where_swarm_must_be_started() {
    let directory = Directory::new();
    for (program, place) in [
        ("zellij", "start swarm in a zellij pane"),
        ("wezterm", "start swarm in a WezTerm pane"),
        ("kitty", "start swarm in kitty"),
    ] {
        terminal(&directory, program, "");
        let refused = command(&directory, program).arg("open").output().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && said.contains(place), "{said}");
    }
}
