//! Tracks printed messages so that each is printed once.

use std::collections::HashSet;

use swarm_protocol::{InboxEntry, MessageId};

/// Printed messages. An entry of another program gets an id only when it is read; until then its
/// content identifies it.
#[derive(Debug, Default)]
pub(super) struct Seen {
    ids: HashSet<MessageId>,
    nameless: HashSet<String>,
}

impl Seen {
    pub(super) fn take_new(&mut self, mut entries: Vec<InboxEntry>) -> Vec<InboxEntry> {
        entries.retain(|entry| self.is_new(entry));
        entries
    }

    fn is_new(&mut self, entry: &InboxEntry) -> bool {
        let words = || format!("{} {} {}", entry.timestamp, entry.from, entry.text);
        match &entry.msg_id {
            Some(id) => self.ids.insert(id.clone()) && !self.nameless.remove(&words()),
            None => self.nameless.insert(words()),
        }
    }
}

#[cfg(test)]
mod tests {
    use swarm_protocol::IsoTime;

    use super::*;

    #[test]
    fn message_without_id_is_shown_once() {
        let entry = |text: &str, id: Option<&str>| InboxEntry {
            msg_id: id.map(MessageId::new),
            ..InboxEntry::new("bob", text, IsoTime::new("now"))
        };
        let mut seen = Seen::default();
        let mut new = |entries: &[InboxEntry]| seen.take_new(entries.to_vec()).len();
        assert_eq!(new(&[entry("one", None), entry("two", Some("2"))]), 2);
        assert_eq!(new(&[entry("one", Some("1")), entry("two", Some("2"))]), 0);
        assert_eq!(new(&[entry("one", Some("1")), entry("one", Some("3"))]), 1);
    }
}
