//! Tables are aligned for any content.

use proptest::prelude::*;
use swarm_protocol::Color;
use swarm_ui::Theme;
use swarm_ui::print::{Cell, Table};
use unicode_width::UnicodeWidthStr;

fn status() -> Table {
    let mut table = Table::new(["NAME", "STATE", "TASK", "TOKENS"]).right([3]);
    table.row(["explorer", "idle", "", "12.4k"].map(Cell::from));
    table.row(["テスター", "waiting-permission", "2 日本語のタスク", "930"].map(Cell::from));
    table.row([
        Cell::name("implementer", Some(Color::Green)),
        Cell::new("dead").bad(),
        Cell::from("3 Fix the mean of an empty list"),
    ]);
    table
}

#[test]
fn columns_are_aligned_by_display_width() {
    assert_eq!(
        status().render(Theme::PLAIN),
        "\
NAME         STATE               TASK                             TOKENS
explorer     idle                                                  12.4k
テスター     waiting-permission  2 日本語のタスク                    930
implementer  dead                3 Fix the mean of an empty list
"
    );
}

#[test]
fn a_narrow_table_truncates_its_widest_columns() {
    let narrow = Theme::PLAIN.with_width(48);
    assert_eq!(
        status().render(narrow),
        "\
NAME         STATE          TASK          TOKENS
explorer     idle                          12.4k
テスター     waiting-perm…  2 日本語の…      930
implementer  dead           3 Fix the m…
"
    );
}

#[test]
fn colours_do_not_extend_to_padding() {
    let color = Theme {
        color: true,
        ..Theme::PLAIN
    };
    let drawn = status().render(color);
    assert!(drawn.contains("\u{1b}[1;32mimplementer\u{1b}[0m  \u{1b}[31mdead\u{1b}[0m  "));
    assert!(!status().render(Theme::PLAIN).contains('\u{1b}'));
}

#[test]
fn empty_columns_are_omitted_first_then_spare_ones_before_names_are_truncated() {
    let mut table = Table::new(["MEMBER", "PANE", "UNREAD", "DOING"]).spare([1]);
    table.row(["explorer", "%12", "", "Bash cargo test"].map(Cell::from));
    let drawn = |width| table.render(Theme::PLAIN.with_width(width));
    let whole = "MEMBER    PANE  UNREAD  DOING\nexplorer  %12           Bash cargo test\n";
    assert_eq!(drawn(39), whole);
    let without_empty = "MEMBER    PANE  DOING\nexplorer  %12   Bash cargo test\n";
    assert_eq!(drawn(31), without_empty);
    let without_spare = "MEMBER    DOING\nexplorer  Bash cargo test\n";
    assert_eq!(drawn(25), without_spare);
    assert_eq!(drawn(20), "MEMBER    DOING\nexplorer  Bash carg…\n");
}

#[test]
fn an_empty_table_consists_of_its_headings() {
    let table = Table::new(["ID", "SUBJECT"]);
    assert!(table.is_empty());
    assert_eq!(table.render(Theme::PLAIN), "ID  SUBJECT\n");
}

fn cell_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec!['日', 'a', ' ', '\n', '\u{1b}', '\u{301}', '\u{200d}']),
        any::<char>(),
    ];
    prop::collection::vec(piece, 0..12).prop_map(String::from_iter)
}

proptest! {
    #[test]
    fn no_line_is_too_long_or_ends_in_spaces(
        rows in prop::collection::vec(prop::collection::vec(cell_text(), 0..5), 0..5),
        width in 0_usize..60,
    ) {
        let mut table = Table::new(["A", "LONGER", "C"]).right([1]);
        for row in &rows {
            table.row(row.iter().map(Cell::from));
        }
        let drawn = table.render(Theme::PLAIN.with_width(width));
        prop_assert_eq!(drawn.lines().count(), rows.len() + 1);
        for line in drawn.lines() {
            // Three columns have two gaps, which remain.
            prop_assert!(line.width() <= width.max(4), "{line:?}");
            prop_assert_eq!(line, line.trim_end());
        }
    }
}

#[test]
fn a_whole_column_is_not_narrowed_while_others_are_omitted_and_narrowed() {
    let mut table = Table::new(["ADDRESS", "TEAM", "AGE", "DIRECTORY"])
        .whole(0)
        .spare([2]);
    let directory = "/home/you/a/long/path/to/a/project";
    table.row(
        [
            "uds:/run/user/1000/cc-socks/4711.sock",
            "alpha",
            "2 s",
            directory,
        ]
        .map(Cell::from),
    );
    let wide = table.render(Theme::PLAIN);
    assert!(wide.contains(directory), "{wide}");
    let narrow = table.render(Theme {
        width: Some(60),
        ..Theme::PLAIN
    });
    assert!(
        narrow.contains("uds:/run/user/1000/cc-socks/4711.sock  alpha"),
        "{narrow}"
    );
    assert!(
        narrow.lines().all(|line| line.chars().count() <= 60),
        "{narrow}"
    );
}

#[test]
fn a_path_that_does_not_fit_keeps_its_end() {
    let mut table = Table::new(["EVENT", "HOOK"]).middle([1]);
    table.row(["Stop", "/home/you/a/long/path/to/hooks/guard.sh"].map(Cell::from));
    let narrow = table.render(Theme::PLAIN.with_width(30));
    assert!(narrow.contains("/home/y…/hooks/guard.sh"), "{narrow}");
}
