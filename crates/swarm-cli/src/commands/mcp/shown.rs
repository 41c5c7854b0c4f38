//! Messages that a call has returned. They are acknowledged by the next call: it shows that the
//! client has the result.

use std::collections::BTreeMap;

use parking_lot::Mutex;

/// The messages that calls have returned: their ids with the call, `None` once acknowledged. A
/// parallel call may have read an acknowledged message before.
#[derive(Debug, Default)]
pub(super) struct ShownMail(Mutex<BTreeMap<String, Option<String>>>);

impl ShownMail {
    /// Adds a message that a call returns. Returns whether no other call has returned it.
    pub(super) fn add(&self, call: &str, id: String) -> bool {
        let mut shown = self.0.lock();
        let is_new = !shown.contains_key(&id);
        if is_new {
            shown.insert(id, Some(call.to_owned()));
        }
        is_new
    }

    /// Forgets the messages of a call whose result the client ignores. They stay unread.
    pub(super) fn withdraw(&self, call: &str) {
        let mut shown = self.0.lock();
        shown.retain(|_, by| by.as_deref() != Some(call));
    }

    /// Returns the ids of the messages that are not yet acknowledged.
    pub(super) fn ids(&self) -> Vec<String> {
        let shown = self.0.lock();
        let open = shown.iter().filter(|(_, by)| by.is_some());
        open.map(|(id, _)| id.clone()).collect()
    }

    /// Records that messages were acknowledged.
    pub(super) fn acknowledged(&self, ids: &[String]) {
        let mut shown = self.0.lock();
        for id in ids {
            if let Some(by) = shown.get_mut(id) {
                *by = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_call_leaves_its_messages_unread() {
        let mail = ShownMail::default();
        for (call, id) in [("1", "a"), ("1", "b"), ("2", "c")] {
            assert!(mail.add(call, id.to_owned()));
        }
        mail.withdraw("2");
        assert_eq!(mail.ids(), ["a", "b"]);
        mail.acknowledged(&["a".to_owned()]);
        assert_eq!(mail.ids(), ["b"]);
        assert!(mail.add("3", "c".to_owned()), "it is still unread");
    }

    #[test]
    fn parallel_calls_return_a_message_once() {
        let mail = ShownMail::default();
        assert!(mail.add("1", "a".to_owned()));
        assert!(!mail.add("2", "a".to_owned()));
        mail.acknowledged(&mail.ids());
        assert!(!mail.add("3", "a".to_owned()), "it was read before");
        mail.withdraw("1");
        assert!(!mail.add("3", "a".to_owned()));
    }
}
