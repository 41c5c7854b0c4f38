//! Images that a person attaches to a prompt, as marks in its text.

use std::path::Path;

const START: &str = "[Image #";

/// Returns the mark of an image in the input line. `None` if the path cannot be part of a mark.
pub fn image_mark(number: usize, path: Option<&Path>) -> Option<String> {
    let Some(path) = path else {
        return Some(format!("{START}{number}]"));
    };
    let path = path.to_str()?;
    let is_plain = !path.contains(|c: char| c == ']' || c.is_control());
    is_plain.then(|| format!("{START}{number}: {path}]"))
}

/// Returns the paths in the marks of a text, in order.
pub fn marked_images(text: &str) -> Vec<&str> {
    let marks = text.split(START).skip(1);
    let paths = marks.filter_map(|mark| {
        let (mark, _) = mark.split_once(']')?;
        let (number, path) = mark.split_once(": ")?;
        number.parse::<usize>().is_ok().then_some(path)
    });
    paths.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_in_a_text() {
        let mark = |number, path: &str| image_mark(number, Some(Path::new(path))).unwrap();
        let text = format!("compare {} to {}", mark(1, "/a b.png"), mark(2, "/c.jpg"));
        assert_eq!(marked_images(&text), ["/a b.png", "/c.jpg"]);
        for text in [
            "[Image #1]",
            "[Image #x: /a]",
            "[Image #1: /a",
            "Image #1: /a]",
        ] {
            assert_eq!(marked_images(text), [""; 0], "{text}");
        }
        assert_eq!(image_mark(1, Some(Path::new("/a]"))), None);
        assert_eq!(image_mark(3, None).unwrap(), "[Image #3]");
    }
}
