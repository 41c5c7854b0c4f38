//! Links of words, which terminals open (OSC 8).

use swarm_protocol::partial_debug;

/// Returns the address of a word such as `https://example.com` or `src/lib.rs:7`; `None` for other
/// words.
pub type Linker = Box<dyn Fn(&str) -> Option<String> + Send>;

/// Ends a link.
pub(super) const END: &str = "\u{1b}]8;;\u{7}";

/// The links of a text.
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
}

partial_debug!(Links);
