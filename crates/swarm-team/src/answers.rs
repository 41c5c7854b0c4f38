//! Answers between teammates: a question that is not answered in time is reported to the lead.

use std::sync::Arc;
use std::time::Duration;

use swarm_protocol::MemberName;
use swarm_store::{Draft, Team, summary_of};

use crate::peer_questions::is_question;
use crate::{Incoming, MemberContext};

impl MemberContext {
    /// Records a text that this member has sent to a peer. If it is a question from one teammate to
    /// another and is not answered in time, the lead is notified.
    pub(crate) fn has_asked(self: &Arc<Self>, to: &MemberName, text: &str) {
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
            // Another agent program has no tool to answer with.
            let is_asked = is_question(text) && !self.is_agent_program();
            let question = is_asked.then(|| summary_of(text, None));
            self.questions().hears(from, question);
        }
    }

    /// Returns the peers whose questions this member has read and not answered.
    pub async fn unanswered(&self) -> Vec<MemberName> {
        self.drop_former_peers().await;
        self.questions().unanswered()
    }

    /// Returns the questions that this member has read and not answered, with the first line of each.
    /// Every question is returned once.
    pub async fn take_unanswered(&self) -> Vec<(MemberName, String)> {
        self.drop_former_peers().await;
        self.questions().take_unshown()
    }

    /// Drops the questions of peers that have left the team. If the roster cannot be read, all are
    /// kept.
    async fn drop_former_peers(&self) {
        let Some(team) = self.team() else { return };
        if self.questions().unanswered().is_empty() {
            return;
        }
        if let Ok(config) = team.config().await {
            self.questions().keep(&config.names());
        }
    }

    /// Returns whether a text from a peer is in the inbox. The model may read it only at the end of
    /// its turn.
    async fn has_unread_text(&self, team: &dyn Team, peer: &MemberName) -> bool {
        let Ok(inbox) = team.inbox(&self.name).await else {
            return false;
        };
        let mut unread = inbox
            .unread()
            .filter(|entry| entry.from.trim() == peer.as_str());
        unread.any(|entry| Incoming::of(entry.clone()).is_of_peer())
    }

    async fn escalate(&self, asked: &MemberName, question: &str, waited: Duration) {
        let Some(team) = self.team() else { return };
        if self.has_unread_text(&*team, asked).await {
            return;
        }
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
