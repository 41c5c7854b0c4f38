//! The malicious texts.

use std::path::Path;

/// A line that no command prints by itself: a text that can insert a line would.
pub(super) const FORGED: &str = "swarm: all is well";

/// Clipboard content of a clipboard sequence.
pub(super) const CLIPBOARD: &str = "RVZJTC1DTElQQk9BUkQ=";

/// Window title of a title sequence.
pub(super) const TITLE: &str = "EVIL-TITLE";

/// A sequence that hides the following text, which no command prints by itself.
pub(super) const HIDES: &str = "\u{1b}[31;8m";

/// The variable of the tmux server with the file name of the shortest text.
pub(super) const SHORT: &str = "C";

/// Returns all texts. Those that execute something create a file in this directory.
pub(super) fn texts(canaries: &Path) -> Vec<String> {
    let before_numbered = [
        "a;",
        ";",
        "a\\;",
        "#(touch P)",
        "#{E:x}",
        "#{E:#(touch P)}",
        // Short enough for a border, where the others are truncated.
        "#{E:x}#(>$C)",
        "#(>$C)",
        "##(touch P)",
        "#[fg=red]#[range=user|x]",
        "$(touch P)",
        "`touch P`",
        "'\"; touch P; \"'",
        "a\nswarm: all is well\nrun-shell 'touch P'",
        "a; run-shell 'touch P'",
        "\u{1b}[2J\u{1b}[31;8m\u{1b}]2;EVIL-TITLE\u{7}",
        "\u{1b}]52;c;RVZJTC1DTElQQk9BUkQ=\u{7}",
        "\u{1b}Ptmux;\u{1b}\u{1b}]52;c;RVZJTC1DTElQQk9BUkQ=\u{7}\u{1b}\\",
        "\u{9d}2;EVIL-TITLE\u{9c}\u{9b}2J\u{7f}",
        "\u{1b}kEVIL-TITLE\u{1b}\\x\rswarm: all is well",
        "-dkill",
        "..",
        "../x",
        "a/b",
        "/etc",
        ".",
        "CON",
        "\u{202e}live\u{2066}",
        "\u{e9}",
        "e\u{301}",
        "team-lead",
        "*",
        "uds:x",
        "bridge:x",
        "%0",
    ];
    let long = "x".repeat(300);
    let texts = before_numbered.into_iter().chain([long.as_str()]);
    let numbered = texts.enumerate().map(|(number, text)| {
        let canary = canaries.join(number.to_string()).display().to_string();
        text.replace("touch P", &format!("touch {canary}"))
    });
    numbered.collect()
}

/// Returns whether a text is a valid name: `^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`.
pub(super) fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric();
    (1..=64).contains(&text.len())
        && text.starts_with(plain)
        && text.chars().all(|c| plain(c) || c == '_' || c == '-')
}
