//! Text that is given as an argument, in a file or on standard input.

use std::io::Read as _;
use std::path::Path;

use crate::failure::Failure;

/// The text itself, or standard input where it is `-`.
pub(super) fn text(given: &str) -> Result<String, Failure> {
    if given == "-" {
        standard_input()
    } else {
        Ok(given.to_owned())
    }
}

/// The content of a file, or standard input where its name is `-`.
pub(super) fn file(path: &Path, base: &Path) -> Result<String, Failure> {
    if path.as_os_str() == "-" {
        return standard_input();
    }
    let path = base.join(path);
    std::fs::read_to_string(&path)
        .map_err(|error| Failure::usage(format!("{} cannot be read: {error}", path.display())))
}

/// What a file is called in an error.
pub(super) fn name(path: &Path) -> String {
    if path.as_os_str() == "-" {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    }
}

fn standard_input() -> Result<String, Failure> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| Failure::usage(format!("standard input cannot be read: {error}")))?;
    Ok(text)
}
