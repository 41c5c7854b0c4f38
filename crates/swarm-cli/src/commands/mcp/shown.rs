//! Messages that a call has returned. They are acknowledged by the next call: it shows that the
//! client has the result.

use parking_lot::Mutex;

/// The messages that are not yet acknowledged.
#[derive(Debug, Default)]
pub(super) struct ShownMail(Mutex<Vec<Shown>>);

/// The messages of one call.
#[derive(Debug)]
struct Shown {
    call: String,
    ids: Vec<String>,
}

impl ShownMail {
    /// Adds the messages that a call returns.
    pub(super) fn add(&self, call: &str, ids: Vec<String>) {
        if !ids.is_empty() {
            let call = call.to_owned();
            self.0.lock().push(Shown { call, ids });
        }
    }

    /// Forgets the messages of a call whose result the client ignores. They stay unread.
    pub(super) fn withdraw(&self, call: &str) {
        self.0.lock().retain(|shown| shown.call != call);
    }

    /// Returns the ids of all messages.
    pub(super) fn ids(&self) -> Vec<String> {
        let shown = self.0.lock();
        shown.iter().flat_map(|shown| shown.ids.clone()).collect()
    }

    /// Removes messages that were acknowledged.
    pub(super) fn remove(&self, ids: &[String]) {
        let mut shown = self.0.lock();
        for shown in &mut *shown {
            shown.ids.retain(|id| !ids.contains(id));
        }
        shown.retain(|shown| !shown.ids.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_call_leaves_its_messages_unread() {
        let mail = ShownMail::default();
        mail.add("1", vec!["a".to_owned(), "b".to_owned()]);
        mail.add("2", vec!["c".to_owned()]);
        mail.withdraw("2");
        assert_eq!(mail.ids(), ["a", "b"]);
        mail.remove(&["a".to_owned()]);
        assert_eq!(mail.ids(), ["b"]);
    }
}
