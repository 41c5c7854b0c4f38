//! Text from an argument, a file or standard input.

use std::io::Read as _;
use std::path::Path;

use crate::failure::{Failure, Result};

/// Returns the text, or standard input if it is `-`. Rejects and stops reading input above `limit`
/// bytes.
pub(super) fn text_up_to(given: &str, limit: usize) -> Result<String> {
    if given != "-" {
        // The store checks the length of the argument.
        return Ok(given.to_owned());
    }
    let mut bytes = Vec::new();
    let up_to = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let mut stdin = std::io::stdin().lock().take(up_to);
    stdin
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::usage(format!("standard input cannot be read: {error}")))?;
    if bytes.len() > limit {
        let message = format!("standard input has more than {limit} bytes: nothing was sent");
        return Err(Failure::refused(message).with_hint(
            "write it to a file and send its path; `[inbox] max_message_bytes` sets the limit",
        ));
    }
    String::from_utf8(bytes)
        .map_err(|error| Failure::usage(format!("standard input is not UTF-8: {error}")))
}

/// Reads a file, or standard input if the path is `-`.
pub(super) fn file(path: &Path, base: &Path) -> Result<String> {
    if path.as_os_str() == "-" {
        return standard_input();
    }
    let path = base.join(path);
    std::fs::read_to_string(&path)
        .map_err(|error| Failure::usage(format!("{} cannot be read: {error}", path.display())))
}

/// Returns the prompt of a lead, or standard input if it is `-`.
pub(super) fn prompt(given: &str) -> Result<String> {
    let text = match given {
        "-" => standard_input()?,
        given => given.to_owned(),
    };
    if text.trim().is_empty() {
        return Err(Failure::usage("the prompt is empty").with_hint("describe the task"));
    }
    Ok(text)
}

/// Returns the name of the input in errors.
pub(super) fn name(path: &Path) -> String {
    if path.as_os_str() == "-" {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    }
}

fn standard_input() -> Result<String> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| Failure::usage(format!("standard input cannot be read: {error}")))?;
    Ok(text)
}
