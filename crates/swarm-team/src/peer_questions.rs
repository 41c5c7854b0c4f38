//! The open questions of a member: whose answer it waits for, and whom it has not answered.

use std::collections::BTreeMap;
use std::mem;

use parking_lot::Mutex;
use swarm_protocol::MemberName;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Questions between a member and its peers.
#[derive(Debug, Default)]
pub(crate) struct PeerQuestions {
    /// Its questions; dropping one ends the wait for the answer.
    asked: Mutex<BTreeMap<MemberName, DropGuard>>,
    /// Questions of peers that it has read and not answered.
    received: Mutex<BTreeMap<MemberName, Received>>,
}

/// A question of a peer.
#[derive(Debug)]
struct Received {
    question: String,
    is_shown: bool,
}

impl PeerQuestions {
    /// Records a question to a peer. The token is cancelled by its answer, or by another question
    /// to the same peer.
    pub(crate) fn asks(&self, peer: &MemberName) -> CancellationToken {
        let answered = CancellationToken::new();
        let guard = answered.clone().drop_guard();
        self.asked.lock().insert(peer.clone(), guard);
        answered
    }

    /// Records a text to a peer, which answers its question.
    pub(crate) fn answers(&self, peer: &MemberName) {
        self.received.lock().remove(peer);
    }

    /// Records a text of a peer: an answer, and a question if it asks something.
    pub(crate) fn hears(&self, peer: MemberName, question: Option<String>) {
        self.asked.lock().remove(&peer);
        if let Some(question) = question {
            let received = Received {
                question,
                is_shown: false,
            };
            self.received.lock().insert(peer, received);
        }
    }

    /// Drops the questions of peers that are not among `members`.
    pub(crate) fn keep(&self, members: &[MemberName]) {
        let mut received = self.received.lock();
        received.retain(|peer, _| members.contains(peer));
    }

    /// Returns the peers whose questions are not answered.
    pub(crate) fn unanswered(&self) -> Vec<MemberName> {
        self.received.lock().keys().cloned().collect()
    }

    /// Returns the unanswered questions that an earlier call has not returned.
    pub(crate) fn take_unshown(&self) -> Vec<(MemberName, String)> {
        let mut received = self.received.lock();
        let unshown = received.iter_mut().filter_map(|(peer, received)| {
            let was_shown = mem::replace(&mut received.is_shown, true);
            (!was_shown).then(|| (peer.clone(), received.question.clone()))
        });
        unshown.collect()
    }
}

/// Returns whether a text asks something: a word in it ends with a question mark.
pub(crate) fn is_question(text: &str) -> bool {
    text.split_whitespace().any(|word| {
        let word = word.trim_end_matches(['"', '\'', ')', '*', '_', '`']);
        word.ends_with('?') && word.len() > 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_recognized_by_a_word_with_a_question_mark() {
        for text in ["Which one?", "Is it \"a\"? I need it.", "(really?)"] {
            assert!(is_question(text), "{text}");
        }
        for text in ["See http://x/?q=1", "a ? b : c", "Done.", "?"] {
            assert!(!is_question(text), "{text}");
        }
    }
}
