//! Colours as hex numbers: swarm's own dark ground, and the 256 colours of terminals.

use crate::picture::cell::{Hue, Ink};

/// Ground of a window.
pub(super) const GROUND: &str = "#14161c";

/// Ground of the bar above a window and of the status line below it.
pub(super) const BAR: &str = "#1e222b";

/// Text without a colour.
pub(super) const TEXT: &str = "#d5d9e2";

/// Borders without a colour.
pub(super) const FAINT: &str = "#4a5160";

/// Words on a bar.
pub(super) const CAPTION: &str = "#8b93a5";

/// The first sixteen colours. Terminals differ here; these are chosen to be read on [`GROUND`].
const SIXTEEN: [&str; 16] = [
    "#3b4252", "#f0717a", "#8fcf7e", "#e9c46a", "#6ea8fe", "#c792ea", "#5fd0d6", "#d5d9e2",
    "#6b7486", "#ff8b92", "#a6e194", "#ffd98a", "#8fbcff", "#dbb0f5", "#83e3e8", "#ffffff",
];

/// Brightness steps of the colour cube of xterm.
const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// A colour as `#rrggbb`.
pub(super) fn hex(hue: Hue) -> String {
    let (red, green, blue) = match hue {
        Hue::Indexed(index @ 0..=15) => return SIXTEEN[usize::from(index)].to_owned(),
        Hue::Indexed(index @ 16..=231) => {
            let place = usize::from(index - 16);
            (CUBE[place / 36], CUBE[place / 6 % 6], CUBE[place % 6])
        }
        Hue::Indexed(index) => {
            let gray = 8 + 10 * (index - 232);
            (gray, gray, gray)
        }
        Hue::Rgb(red, green, blue) => (red, green, blue),
    };
    format!("#{red:02x}{green:02x}{blue:02x}")
}

impl Ink {
    /// Colour of the text.
    pub(super) fn text_color(self) -> String {
        if self.reverse {
            self.background.map_or_else(|| GROUND.to_owned(), hex)
        } else {
            self.foreground.map_or_else(|| TEXT.to_owned(), hex)
        }
    }

    /// Colour of the ground, where it is not the window's.
    pub(super) fn ground_color(self) -> Option<String> {
        if self.reverse {
            Some(self.foreground.map_or_else(|| TEXT.to_owned(), hex))
        } else {
            self.background.map(hex)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cube_and_the_grays_are_those_of_xterm() {
        assert_eq!(hex(Hue::Indexed(208)), "#ff8700");
        assert_eq!(hex(Hue::Indexed(205)), "#ff5faf");
        assert_eq!(hex(Hue::Indexed(16)), "#000000");
        assert_eq!(hex(Hue::Indexed(231)), "#ffffff");
        assert_eq!(hex(Hue::Indexed(232)), "#080808");
        assert_eq!(hex(Hue::Indexed(255)), "#eeeeee");
        assert_eq!(hex(Hue::Rgb(1, 2, 255)), "#0102ff");
    }
}
