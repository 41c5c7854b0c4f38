//! Programs that run another program named in their arguments.

use swarm_protocol::word_list;

use super::script::Word;

/// Programs whose arguments contain a command, at a position that depends on their options.
pub(super) const RUN_OTHERS: [&str; 29] = [
    "builtin", "busybox", "chroot", "chrt", "command", "doas", "env", "exec", "flock", "ionice",
    "ltrace", "nice", "nohup", "nsenter", "parallel", "runuser", "script", "setarch", "setsid",
    "ssh", "stdbuf", "strace", "su", "sudo", "taskset", "timeout", "unshare", "watch", "xargs",
];

/// Programs that read a script from `-c` or from standard input.
pub(crate) const SHELLS: [&str; 7] = ["ash", "bash", "dash", "fish", "ksh", "sh", "zsh"];

/// Words that precede a command.
pub(super) const KEYWORDS: [&str; 11] = [
    "!", "{", "coproc", "do", "elif", "else", "if", "then", "time", "until", "while",
];

/// Variables that affect only a program's output, not what it runs or where.
const HARMLESS_VARIABLES: [&str; 14] = word_list(
    "CI CLICOLOR COLUMNS DEBUG FORCE_COLOR LANG LANGUAGE LC_ALL LINES NODE_ENV NO_COLOR
    RUST_BACKTRACE RUST_LOG TZ",
);

/// Removes one harmless wrapper from a command: assignments of harmless variables, or a program
/// that only limits, times or buffers another.
pub(super) fn unwrap_harmless(words: &[Word]) -> Option<&[Word]> {
    let (first, rest) = words.split_first()?;
    if let Some(name) = first.assigned_name() {
        let harmless = HARMLESS_VARIABLES.contains(&name) && first.is_literal();
        return harmless.then_some(rest);
    }
    if !first.is_literal() || first.raw != first.text {
        return None;
    }
    let rest = match first.text.as_str() {
        "nohup" => rest,
        "time" => skip(rest, |option| option == "-p", &[]),
        "nice" => skip(rest, is_niceness, &["-n"]),
        "stdbuf" => skip(rest, is_buffering, &[]),
        "timeout" => {
            let plain = |option: &str| {
                matches!(
                    option,
                    "--foreground" | "--preserve-status" | "-v" | "--verbose"
                ) || option.starts_with("--signal=")
                    || option.starts_with("--kill-after=")
            };
            let (duration, rest) = skip(rest, plain, &["-k", "-s"]).split_first()?;
            if !is_duration(&duration.text) {
                return None;
            }
            rest
        }
        _ => return None,
    };
    let next = rest.first()?;
    (!next.text.starts_with('-')).then_some(rest)
}

/// Skips leading options: those that are `known`, and those in `with_value` together with the next
/// word.
pub(super) fn skip<'a>(
    mut words: &'a [Word],
    known: impl Fn(&str) -> bool,
    with_value: &[&str],
) -> &'a [Word] {
    while let Some((first, rest)) = words.split_first() {
        if with_value.contains(&first.text.as_str()) {
            words = rest.get(1..).unwrap_or_default();
        } else if known(&first.text) {
            words = rest;
        } else {
            break;
        }
    }
    words
}

fn is_niceness(option: &str) -> bool {
    let number = option
        .strip_prefix("--adjustment=")
        .or_else(|| option.strip_prefix('-'));
    number.is_some_and(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()))
}

fn is_buffering(option: &str) -> bool {
    let mode = ["-i", "-o", "-e"]
        .iter()
        .find_map(|stream| option.strip_prefix(stream));
    mode.is_some_and(|mode| !mode.is_empty() && mode.chars().all(|c| c.is_ascii_alphanumeric()))
}

fn is_duration(text: &str) -> bool {
    let number = text.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or(text);
    !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.')
}
