//! A whole life against transcripts kept as files.
//!
//! `SWARM_KEEP_LOOK=1 cargo test -p swarm-ui --test pane` writes the files anew; look at the difference before you keep it.

use std::path::{Path, PathBuf};

use swarm_ui::Theme;

use crate::events::{drawn, strip_sgr};
use crate::life::life;

const WIDE: Theme = Theme {
    width: Some(72),
    ..Theme::PLAIN
};

/// The kept transcripts and how each is drawn. Escapes stand as `\e` in the files.
fn kept() -> Vec<(PathBuf, String)> {
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
        (
            "narrow-ascii.txt",
            Theme {
                width: Some(34),
                unicode: false,
                ..WIDE
            },
        ),
    ];
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let kept = themes.map(|(name, theme)| {
        let drawn = drawn(theme, &life()).replace('\u{1b}', "\\e");
        (directory.join(name), drawn)
    });
    kept.to_vec()
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a person who changes the look asks for it by a variable; the files are part of the sources"
)]
fn a_pane_looks_as_it_is_kept() {
    let write = std::env::var_os("SWARM_KEEP_LOOK").is_some();
    for (path, drawn) in kept() {
        if write {
            std::fs::write(&path, &drawn).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap();
        assert_eq!(drawn, expected, "{}", path.display());
    }
}

#[test]
fn without_colour_there_is_not_one_escape() {
    assert!(!drawn(Theme::PLAIN, &life()).contains('\u{1b}'));
}

#[test]
fn colours_change_nothing_but_the_look() {
    let colored = Theme {
        color: true,
        ..WIDE
    };
    let bare = strip_sgr(&drawn(colored, &life()));
    // The two marks that colours replace by a ground of their own.
    let bare = bare
        .replace(" explorer ", "[explorer]")
        .replace(" ▲ needs an answer  ", "▲ needs an answer: ");
    // Code is marked by its colour, or by the marks that the model wrote.
    assert_eq!(
        bare,
        drawn(WIDE, &life())
            .replace("`mean`", "mean")
            .replace("`n - 1`", "n - 1")
    );
}
