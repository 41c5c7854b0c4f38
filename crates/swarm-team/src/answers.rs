//! Answers between teammates: a question without one in time is told to the lead.

use std::sync::Arc;
use std::time::Duration;

use swarm_protocol::MemberName;
use swarm_store::Draft;

use crate::peer_questions::is_question;
use crate::send::summary_of;
use crate::{Incoming, MemberContext};

impl MemberContext {
    /// Records a text that this member has sent: an answer, and perhaps a question. If a teammate
    /// does not answer another one in time, the lead is told.
    pub(crate) fn sent_text(self: &Arc<Self>, to: &MemberName, text: &str) {
        self.questions().answers(to);
        let Some(timeout) = self.answer_timeout().filter(|_| is_question(text)) else {
            return;
        };
        if self.is_lead() || to.is_lead() {
            return;
        }
        let answered = self.questions().asks(to);
        let (context, to, question) = (Arc::clone(self), to.clone(), summary_of(text, None));
        tokio::spawn(async move {
            tokio::select! {
                () = answered.cancelled() => {}
                () = tokio::time::sleep(timeout) => context.escalate(&to, &question, timeout).await,
            }
        });
    }

    /// Records messages that this member's model reads.
    pub fn has_read(&self, messages: &[Incoming]) {
        for incoming in messages.iter().filter(|incoming| incoming.is_of_peer()) {
            let Ok(from) = MemberName::parse(incoming.entry.from.trim()) else {
                continue;
            };
            let text = &incoming.entry.text;
            let question = is_question(text).then(|| summary_of(text, None));
            self.questions().hears(from, question);
        }
    }

    /// Returns the peers whose questions this member has read and not answered, with the first line
    /// of each question.
    pub fn unanswered(&self) -> Vec<(MemberName, String)> {
        self.questions().unanswered()
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
