//! Links of words, which terminals open (OSC 8).

use std::sync::Arc;

use swarm_protocol::partial_debug;

/// Returns the address of a word such as `https://example.com` or `src/lib.rs:7`; `None` for other
/// words.
pub type Linker = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Ends of words that a line had no room for.
const CUT: [&str; 2] = ["…", "..."];

/// Ends a link.
pub(super) const END: &str = "\u{1b}]8;;\u{7}";

pub(super) struct Links(Linker);

impl Links {
    pub(super) fn new(linker: Linker) -> Self {
        Self(linker)
    }

    /// Returns the sequence in front of a word that is a link; [`END`] follows the word.
    pub(super) fn start(&self, word: &str) -> Option<String> {
        let address = (self.0)(word)?;
        let is_plain = address.bytes().all(|byte| byte.is_ascii_graphic());
        is_plain.then(|| format!("\u{1b}]8;;{address}\u{7}"))
    }

    /// Makes links of the words in a line, which may have styles. The last word of a line that is
    /// `full` may continue in the next one, so that its address is not known.
    pub(super) fn in_line(&self, line: &str, full: bool) -> String {
        let (line, last) = match line.rsplit_once(' ') {
            Some((before, last)) if full => (before, Some(last)),
            _ => (line, None),
        };
        let words = line.split(' ').map(|word| self.in_word(word));
        let words = words.chain(last.map(str::to_owned));
        words.collect::<Vec<_>>().join(" ")
    }

    fn in_word(&self, word: &str) -> String {
        let plain = without_styles(word);
        let is_cut = CUT.iter().any(|end| plain.ends_with(end));
        match self.start(&plain).filter(|_| !is_cut) {
            Some(start) => format!("{start}{word}{END}"),
            None => word.to_owned(),
        }
    }
}

partial_debug!(Links);

/// Removes swarm's own styles from a text.
pub(super) fn without_styles(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once('m').map_or("", |(_, rest)| rest));
    first + &rest.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_styled_line_are_links_unless_they_are_cut() {
        let links = Links::new(Arc::new(|word| {
            word.contains(':').then(|| format!("a://{word}"))
        }));
        let link = |word: &str| format!("\u{1b}]8;;a://b:1\u{7}{word}{END}");
        for (line, expected) in [
            ("  b:1 c", format!("  {} c", link("b:1"))),
            (
                "\u{1b}[31mx b:\u{1b}[36m1\u{1b}[0m",
                format!("\u{1b}[31mx {}", link("b:\u{1b}[36m1\u{1b}[0m")),
            ),
            ("b:1… b:1...", "b:1… b:1...".to_owned()),
            ("", String::new()),
        ] {
            assert_eq!(links.in_line(line, false), expected, "{line:?}");
        }
        let linked = links.in_line("b:1 b:1", true);
        assert_eq!(linked, format!("{} b:1", link("b:1")));
    }
}
