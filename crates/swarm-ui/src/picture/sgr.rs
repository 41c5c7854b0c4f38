//! The numbers of an SGR sequence (ECMA-48, 8.3.117; the colour forms are those of ISO 8613-6 and of xterm).

use crate::picture::cell::{Hue, Ink};

impl Ink {
    /// Applies the parameters between `ESC [` and `m`.
    pub(super) fn apply(&mut self, parameters: &str) {
        let mut groups = parameters.split(';');
        while let Some(group) = groups.next() {
            let mut parts = group.split(':');
            let code = parts.next().unwrap_or_default();
            let Ok(code) = (if code.is_empty() { Ok(0) } else { code.parse() }) else {
                continue;
            };
            let parts: Vec<&str> = parts.collect();
            match code {
                38 => self.foreground = hue(&parts, &mut groups).or(self.foreground),
                48 => self.background = hue(&parts, &mut groups).or(self.background),
                58 => drop(hue(&parts, &mut groups)),
                4 => self.underline = parts.first() != Some(&"0"),
                code => self.apply_code(code),
            }
        }
    }

    fn apply_code(&mut self, code: u8) {
        match code {
            0 => *self = Self::default(),
            1 => self.bold = true,
            2 => self.dim = true,
            3 => self.italic = true,
            7 => self.reverse = true,
            21 => self.underline = true,
            22 => (self.bold, self.dim) = (false, false),
            23 => self.italic = false,
            24 => self.underline = false,
            27 => self.reverse = false,
            30..=37 => self.foreground = Some(Hue::Indexed(code - 30)),
            39 => self.foreground = None,
            40..=47 => self.background = Some(Hue::Indexed(code - 40)),
            49 => self.background = None,
            90..=97 => self.foreground = Some(Hue::Indexed(code - 90 + 8)),
            100..=107 => self.background = Some(Hue::Indexed(code - 100 + 8)),
            _ => {}
        }
    }
}

/// The colour after 38 or 48: in the same group (`38:5:N`, `38:2::R:G:B`) or in the next ones (`38;5;N`, `38;2;R;G;B`).
fn hue<'a>(parts: &[&str], groups: &mut impl Iterator<Item = &'a str>) -> Option<Hue> {
    let number = |text: &str| {
        if text.is_empty() {
            Some(0)
        } else {
            text.parse::<u8>().ok()
        }
    };
    let Some((kind, rest)) = parts.split_first() else {
        return match groups.next()? {
            "5" => Some(Hue::Indexed(number(groups.next()?)?)),
            "2" => {
                let channels = [groups.next()?, groups.next()?, groups.next()?];
                let [red, green, blue] = channels.map(number);
                Some(Hue::Rgb(red?, green?, blue?))
            }
            _ => None,
        };
    };
    match (*kind, rest) {
        ("5", [index, ..]) => Some(Hue::Indexed(number(index)?)),
        // With or without the empty colour space.
        ("2", [_, red, green, blue, ..] | [red, green, blue]) => {
            Some(Hue::Rgb(number(red)?, number(green)?, number(blue)?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ink(parameters: &str) -> Ink {
        let mut ink = Ink::default();
        ink.apply(parameters);
        ink
    }

    #[test]
    fn every_form_of_a_colour_is_understood() {
        for (parameters, hue) in [
            ("31", Hue::Indexed(1)),
            ("97", Hue::Indexed(15)),
            ("38;5;208", Hue::Indexed(208)),
            ("38:5:208", Hue::Indexed(208)),
            ("38;2;1;2;3", Hue::Rgb(1, 2, 3)),
            ("38:2::1:2:3", Hue::Rgb(1, 2, 3)),
            ("38:2:1:2:3", Hue::Rgb(1, 2, 3)),
        ] {
            assert_eq!(ink(parameters).foreground, Some(hue), "{parameters}");
            let background = parameters
                .replacen("38", "48", 1)
                .replacen("31", "41", 1)
                .replacen("97", "107", 1);
            assert_eq!(ink(&background).background, Some(hue), "{background}");
        }
    }

    #[test]
    fn attributes_are_set_and_taken_back() {
        let all = ink("1;2;3;4;7");
        assert!(all.bold && all.dim && all.italic && all.underline && all.reverse);
        assert_eq!(ink("1;2;3;4;7;31;42;22;23;24;27;39;49"), Ink::default());
        assert_eq!(ink("1;31;"), Ink::default());
        assert_eq!(ink("1;4;"), ink(""));
        assert!(!ink("4;4:0").underline && ink("4:3").underline);
    }

    #[test]
    fn nonsense_changes_nothing() {
        for parameters in [
            "38", "38;5", "38;5;999", "38;9", "38:2:1", "999", "x", "58;5;1",
        ] {
            assert_eq!(ink(parameters), Ink::default(), "{parameters}");
        }
    }

    #[test]
    fn what_follows_a_colour_counts_again() {
        let ink = ink("38;5;1;1;48;2;0;0;0;4");
        assert!(ink.bold && ink.underline);
    }
}
