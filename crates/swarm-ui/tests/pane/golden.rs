//! Compares a whole session with golden files.
//!
//! `SWARM_KEEP_LOOK=1 cargo test -p swarm-ui --test pane` rewrites the files; review the difference
//! before committing it.

use std::path::{Path, PathBuf};

use swarm_ui::Theme;

use crate::events::{drawn, strip_sgr};
use crate::session::session;

const WIDE: Theme = Theme::PLAIN.with_width(72);

/// The golden files and how each is drawn. Escapes are written as `\e`.
fn golden() -> Vec<(PathBuf, String)> {
    let themes = [
        ("plain.txt", WIDE),
        (
            "color.txt",
            Theme {
                color: true,
                ..WIDE
            },
        ),
        ("unbroken.txt", Theme::PLAIN),
        ("narrow.txt", Theme::PLAIN.with_width(34)),
    ];
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let golden = themes.map(|(name, theme)| {
        let drawn = drawn(theme, &session()).replace('\u{1b}', "\\e");
        (directory.join(name), drawn)
    });
    golden.to_vec()
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a person who changes the look asks for it by a variable; the files are part of the sources"
)]
fn a_pane_matches_its_golden_files() {
    let write = std::env::var_os("SWARM_KEEP_LOOK").is_some();
    for (path, drawn) in golden() {
        if write {
            std::fs::write(&path, &drawn).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap();
        assert_eq!(drawn, expected, "{}", path.display());
    }
}

#[test]
fn without_colours_there_are_no_escape_sequences() {
    assert!(!drawn(Theme::PLAIN, &session()).contains('\u{1b}'));
}

#[test]
fn colours_do_not_change_the_text() {
    let colored = Theme {
        color: true,
        ..WIDE
    };
    let bare = strip_sgr(&drawn(colored, &session()));
    // The two marks that are replaced by a background when colours are enabled.
    let bare = bare
        .replace(" explorer ", "[explorer]")
        .replace(" ▲ needs an answer  ", "▲ needs an answer: ");
    // Code is marked by its colour, or by the marks that the model wrote.
    assert_eq!(
        bare,
        drawn(WIDE, &session())
            .replace("`mean`", "mean")
            .replace("`n - 1`", "n - 1")
    );
}
