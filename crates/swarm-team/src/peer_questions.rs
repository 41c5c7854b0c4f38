//! Questions between teammates: who waits for an answer, and whom a turn has not answered.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use swarm_protocol::MemberName;
use swarm_store::Draft;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::send::summary_of;
use crate::{Incoming, MemberContext};

/// The open questions of a member.
#[derive(Debug, Default)]
pub(crate) struct PeerQuestions {
    /// Its questions; dropping one ends the wait for the answer.
    asked: Mutex<BTreeMap<MemberName, DropGuard>>,
    /// Questions of peers that it has read and not answered.
    received: Mutex<BTreeMap<MemberName, String>>,
}

impl MemberContext {
    /// Records a text that this member has sent: an answer, and perhaps a question. If a teammate
    /// does not answer another one in time, the lead is told.
    pub(crate) fn sent_text(self: &Arc<Self>, to: &MemberName, text: &str) {
        self.questions().received.lock().remove(to);
        let Some(timeout) = self.answer_timeout().filter(|_| is_question(text)) else {
            return;
        };
        if self.is_lead() || to.is_lead() {
            return;
        }
        let answered = CancellationToken::new();
        let waits = answered.clone();
        let (context, to, question) = (Arc::clone(self), to.clone(), summary_of(text, None));
        let asked = to.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = waits.cancelled() => {}
                () = tokio::time::sleep(timeout) => context.escalate(&asked, &question, timeout).await,
            }
        });
        let mut open = self.questions().asked.lock();
        open.insert(to, answered.drop_guard());
    }

    /// Records messages that this member's model reads.
    pub fn has_read(&self, messages: &[Incoming]) {
        for incoming in messages.iter().filter(|incoming| incoming.is_of_peer()) {
            let Ok(from) = MemberName::parse(incoming.entry.from.trim()) else {
                continue;
            };
            self.questions().asked.lock().remove(&from);
            if is_question(&incoming.entry.text) {
                let question = summary_of(&incoming.entry.text, None);
                self.questions().received.lock().insert(from, question);
            }
        }
    }

    /// Returns the peers whose questions this member has read and not answered, with the first line
    /// of each question.
    pub fn unanswered(&self) -> Vec<(MemberName, String)> {
        let received = self.questions().received.lock();
        let all = received.iter();
        all.map(|(name, question)| (name.clone(), question.clone()))
            .collect()
    }

    async fn escalate(&self, asked: &MemberName, question: &str, waited: Duration) {
        let Some(team) = self.team() else { return };
        let minutes = waited.as_secs().div_ceil(60);
        let text = format!(
            "{} asked {asked} a question {minutes} min ago and has no answer: \"{question}\". Answer {} yourself, or make \
             sure that {asked} does.",
            self.name, self.name
        );
        let summary = format!("{} has no answer from {asked}", self.name);
        let message = Draft::system(text).with_summary(summary);
        if let Err(error) = team.send(&MemberName::lead(), message).await {
            tracing::warn!(member = %self.name, %error, "the lead was not told about an open question");
        }
    }
}

/// Returns whether a text asks something: a word in it ends with a question mark.
fn is_question(text: &str) -> bool {
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
