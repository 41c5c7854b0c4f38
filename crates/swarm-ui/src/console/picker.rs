//! A list on the whole terminal, from which one item is picked.

use super::full_screen::{Area, FullScreen, LastRow, Step};
use super::input::{Key, PaneInput};
use super::styled::{PLAIN, REVERSE};
use crate::sanitize::clean_line;
use crate::style::{Style, paint};
use crate::width::{columns, fit};

/// An item of a picker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PickerItem {
    /// Id of the item, for the answer.
    pub id: String,
    /// What it is, in one line.
    pub title: String,
    /// More about it, such as its age.
    pub note: String,
}

/// Shows a list that typed words narrow.
#[derive(Debug)]
pub struct Picker {
    /// Name of the list, for the answer.
    name: String,
    title: String,
    /// Lines between the title and the items.
    about: Vec<String>,
    items: Vec<PickerItem>,
    words: String,
    selected: usize,
}

impl Picker {
    /// Creates a picker. `name` identifies it in the answer.
    pub fn new(name: impl Into<String>, title: impl Into<String>, items: Vec<PickerItem>) -> Self {
        Self {
            name: name.into(),
            title: title.into(),
            about: Vec::new(),
            items,
            words: String::new(),
            selected: 0,
        }
    }

    /// Shows lines between the title and the items.
    #[must_use]
    pub fn about(mut self, lines: Vec<String>) -> Self {
        self.about = lines;
        self
    }

    /// Returns the items that contain all typed words.
    fn matching(&self) -> Vec<&PickerItem> {
        let words = self.words.to_lowercase();
        let words: Vec<&str> = words.split_whitespace().collect();
        let is_wanted = |item: &&PickerItem| {
            let text = format!("{} {} {}", item.title, item.note, item.id).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        self.items.iter().filter(is_wanted).collect()
    }

    fn done(&self, item: Option<String>) -> Step {
        Step::Done(PaneInput::Picked {
            list: self.name.clone(),
            item,
        })
    }

    fn row(item: &PickerItem, is_selected: bool, area: Area) -> String {
        let room = area.columns.saturating_sub(4);
        let note = fit(&clean_line(&item.note), room / 2);
        let beside = room.saturating_sub(columns(&note) + 2);
        let title = fit(&clean_line(&item.title), beside);
        let gap = " ".repeat((room - columns(&note)).saturating_sub(columns(&title)));
        if is_selected {
            format!("{REVERSE}> {title}{gap}{note} {PLAIN}")
        } else {
            format!("  {title}{gap}{}", paint(area.theme, Style::Dim, &note))
        }
    }
}

impl FullScreen for Picker {
    fn draw(&mut self, area: Area) -> (Vec<String>, LastRow) {
        let matching = self.matching();
        let selected = self.selected.min(matching.len().saturating_sub(1));
        let count = match self.words.as_str() {
            "" => String::new(),
            _ => format!(" ({} of {})", matching.len(), self.items.len()),
        };
        let room = area.columns.saturating_sub(columns(&count));
        let title = fit(&clean_line(&self.title), room) + &count;
        let mut rows = vec![paint(area.theme, Style::Bold, &title)];
        // At least half of the rows are for items.
        let about = self.about.iter().take(area.rows / 2);
        rows.extend(about.map(|line| {
            let words = line.trim_start_matches(' ');
            let indent = &line[..line.len() - words.len()];
            let line = format!("{indent}{}", clean_line(words));
            let line = fit(&line, area.columns);
            paint(area.theme, Style::Dim, &line)
        }));
        let room = area.rows.saturating_sub(rows.len()).max(1);
        let first = (selected + 1).saturating_sub(room);
        let shown = matching.iter().enumerate().skip(first).take(room);
        rows.extend(shown.map(|(at, item)| Self::row(item, at == selected, area)));
        let last = LastRow::Prompt(match self.words.as_str() {
            "" => "type to search, Enter: choose, Esc: cancel > ".to_owned(),
            words => format!("> {words}"),
        });
        self.selected = selected;
        (rows, last)
    }

    fn key(&mut self, key: &Key, area: Area) -> Step {
        let page = area.rows.saturating_sub(2).max(1);
        match key {
            Key::Interrupt if self.words.is_empty() => return self.done(None),
            Key::EndOfInput => return self.done(None),
            Key::Enter => {
                let picked = self
                    .matching()
                    .get(self.selected)
                    .map(|item| item.id.clone());
                if picked.is_some() {
                    return self.done(picked);
                }
            }
            Key::Interrupt | Key::ClearBefore => self.words.clear(),
            Key::Text(text) | Key::Pasted(text) => {
                self.words.push_str(text);
                self.selected = 0;
            }
            Key::Backspace => drop(self.words.pop()),
            Key::Up => self.selected = self.selected.saturating_sub(1),
            Key::Down => self.selected += 1,
            Key::PageUp => self.selected = self.selected.saturating_sub(page),
            Key::PageDown => self.selected += page,
            Key::Home => self.selected = 0,
            Key::End => self.selected = self.items.len(),
            _ => {}
        }
        self.selected = self.selected.min(self.matching().len().saturating_sub(1));
        Step::Stay
    }

    fn output_arrived(&mut self, _area: Area) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::Theme;

    const AREA: Area = Area {
        columns: 30,
        rows: 4,
        theme: Theme::PLAIN,
    };

    fn picker(count: usize) -> Picker {
        let items = (1..=count).map(|number| PickerItem {
            id: format!("id{number}"),
            title: format!("Fix bug {number}"),
            note: "2 h".to_owned(),
        });
        Picker::new("list", "choose", items.collect())
    }

    #[test]
    fn lines_about_the_choice_leave_half_of_the_rows_for_items() {
        let lines = (1..=9).map(|number| format!("  effect {number}"));
        let mut picker = picker(2).about(lines.collect());
        let (rows, _) = picker.draw(AREA);
        assert_eq!(rows.len(), AREA.rows);
        assert!(rows[1].starts_with("  effect 1") && rows[3].contains("Fix bug 1"));
    }

    fn press(picker: &mut Picker, keys: &[Key]) -> Step {
        keys.iter().fold(Step::Stay, |_, key| picker.key(key, AREA))
    }

    fn picked(item: Option<&str>) -> Step {
        Step::Done(PaneInput::Picked {
            list: "list".to_owned(),
            item: item.map(str::to_owned),
        })
    }

    #[test]
    fn words_narrow_the_list_and_enter_picks() {
        let mut list = picker(12);
        let text = |text: &str| Key::Text(text.to_owned());
        assert_eq!(
            press(&mut list, &[text("BUG"), text(" 1"), Key::Down, Key::Enter]),
            picked(Some("id10"))
        );
        assert_eq!(list.matching().len(), 4);
        assert_eq!(list.draw(AREA).0[0], "choose (4 of 12)");
        assert_eq!(picker(12).draw(AREA).0[0], "choose", "nothing is left out");
        assert_eq!(
            press(&mut list, &[text("x"), Key::Enter]),
            Step::Stay,
            "nothing matches"
        );
        assert_eq!(
            press(&mut list, &[Key::Interrupt]),
            Step::Stay,
            "the first Esc clears the words"
        );
        assert_eq!(press(&mut list, &[Key::Interrupt]), picked(None));
    }

    #[test]
    fn the_selected_item_is_always_visible() {
        let mut list = picker(12);
        for key in [
            Key::End,
            Key::Up,
            Key::PageUp,
            Key::Home,
            Key::PageDown,
            Key::Down,
        ] {
            list.key(&key, AREA);
            let (rows, _) = list.draw(AREA);
            assert!(rows.len() <= AREA.rows);
            assert!(
                rows.iter().any(|row| row.contains("> Fix")),
                "{key:?} {rows:?}"
            );
        }
        assert!(picker(0).draw(AREA).0.len() == 1);
        assert_eq!(picker(0).key(&Key::Enter, AREA), Step::Stay);
    }
}
