//! The pane programs in `config/backends`, on fakes of their terminals.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::rig::{Directory, PATH};

/// A terminal's command that records its arguments and prints a pane id for `words`.
fn terminal(directory: &Directory, name: &str, words: &str) {
    let script = format!(
        "#!/bin/sh\nprintf '%s|' \"$@\" >>'{}'; echo >>'{0}'\ncase \"$*\" in *{words}*) echo 17 ;; esac\n",
        directory.path("calls").display()
    );
    directory.script(name, &script);
}

fn run(directory: &Directory, program: &str, arguments: &[&str], newest: &str) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap();
    let program: PathBuf = root.join("config/backends").join(program);
    let path = format!("{}:{}", directory.path("").display(), PATH);
    Command::new(program)
        .args(arguments)
        .env_clear()
        .env("PATH", path)
        .envs([
            ("SWARM_PANE_TITLE", "ada · it's"),
            ("SWARM_PANE_NEWEST", newest),
        ])
        .envs([("WEZTERM_PANE", "3"), ("ZELLIJ_PANE_ID", "4")])
        .output()
        .unwrap()
}

/// Runs every verb and returns the recorded calls.
fn calls(program: &str, command: &str, words: &str) -> String {
    let directory = Directory::new();
    terminal(&directory, command, words);
    for newest in ["", "16"] {
        let opened = run(
            &directory,
            program,
            &["open", "/bin/sh", "/a b/it's.sh"],
            newest,
        );
        assert_eq!(
            String::from_utf8_lossy(&opened.stdout),
            "17\n",
            "{program}: {opened:?}"
        );
    }
    for verb in ["close", "capture", "focus"] {
        assert!(
            run(&directory, program, &[verb, "17"], "").status.success(),
            "{program} {verb}"
        );
    }
    let unknown = run(&directory, program, &["dance"], "");
    assert_eq!(unknown.status.code(), Some(2), "{program}");
    std::fs::read_to_string(directory.path("calls")).unwrap()
}

#[test]
fn zellij_opens_shows_and_closes_a_pane_and_keeps_the_focus() {
    let calls = calls("zellij", "zellij", "new-pane");
    let opened = "action|new-pane|--name|ada · it's|--close-on-exit|--|/bin/sh|/a b/it's.sh|\n\
                  action|focus-pane-id|4|\n";
    assert_eq!(
        calls,
        format!(
            "{opened}{opened}action|close-pane|--pane-id|17|\n\
             action|dump-screen|--pane-id|17|--full|--ansi|\naction|focus-pane-id|17|\n"
        )
    );
}

#[test]
fn wezterm_splits_the_lead_first_and_then_the_newest_pane() {
    assert_eq!(
        calls("wezterm", "wezterm", "split-pane"),
        "cli|split-pane|--right|--percent|60|--pane-id|3|--|/bin/sh|/a b/it's.sh|\n\
         cli|activate-pane|--pane-id|3|\n\
         cli|split-pane|--bottom|--pane-id|16|--|/bin/sh|/a b/it's.sh|\n\
         cli|activate-pane|--pane-id|3|\n\
         cli|kill-pane|--pane-id|17|\ncli|get-text|--escapes|--pane-id|17|\n\
         cli|activate-pane|--pane-id|17|\n"
    );
}

#[test]
fn kitty_launches_a_window_without_the_focus() {
    let launched =
        "@|launch|--type=window|--keep-focus|--title|ada · it's|--|/bin/sh|/a b/it's.sh|\n";
    assert_eq!(
        calls("kitty", "kitten", "launch"),
        format!(
            "{launched}{launched}@|close-window|--match|id:17|\n\
             @|get-text|--ansi|--extent|all|--match|id:17|\n@|focus-window|--match|id:17|\n"
        )
    );
}
