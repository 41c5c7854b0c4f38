//! Notices to the lead's model about requests of members: that they wait for a person, and how they
//! were answered.

use parking_lot::Mutex;
use swarm_protocol::{
    Event, JournalEntry, LEAD_AGENT, LEAD_NAME, PERSON, RequestId, RequestRecord, RequestState,
};
use swarm_store::{StoreError, Team};

/// Requests of members, until the model knows the answers.
#[derive(Debug, Default)]
pub(super) struct OpenQuestions(Mutex<Vec<Question>>);

#[derive(Debug)]
struct Question {
    id: RequestId,
    /// `request p3 of bob (Bash)`.
    name: String,
    /// Whether the model knows about it.
    is_told: bool,
}

impl OpenQuestions {
    /// Adds a request, which the model reads itself if `is_told`. Returns `false` if it is already
    /// known.
    pub(super) fn add(&self, record: &RequestRecord, is_told: bool) -> bool {
        let mut questions = self.0.lock();
        if questions.iter().any(|question| question.id == record.id) {
            return false;
        }
        questions.push(Question {
            id: record.id.clone(),
            name: name_of(record),
            is_told,
        });
        true
    }

    /// Returns the news for the model and removes answered requests.
    pub(super) async fn news(&self, team: &dyn Team) -> Vec<String> {
        let known: Vec<_> = self.0.lock().iter().map(|one| one.id.clone()).collect();
        let mut answered = Vec::new();
        for id in known {
            if !waits(team, &id).await {
                answered.push(id);
            }
        }
        let journal = if answered.is_empty() {
            Vec::new()
        } else {
            let events = team.events().await;
            events.map_or_else(|_| Vec::new(), |events| events.entries)
        };
        let mut news = Vec::new();
        self.0.lock().retain_mut(|question| {
            if answered.contains(&question.id) {
                news.extend(verdict(&journal, question));
                return false;
            }
            if !std::mem::replace(&mut question.is_told, true) {
                news.push(format!("{} is waiting for a person.", question.name));
            }
            true
        });
        news
    }
}

/// Names a request in a message of the program, which must not contain words of the member. The
/// tool of a member of another program is such a word.
fn name_of(record: &RequestRecord) -> String {
    let tool = record.request.tool();
    let tool = record.spawn_id.map(|_| format!(" ({tool})"));
    let (number, from) = (record.short(), &record.from);
    format!("request {number} of {from}{}", tool.unwrap_or_default())
}

/// Returns whether a request is still open. An unreadable request is checked again later.
async fn waits(team: &dyn Team, id: &RequestId) -> bool {
    match team.request(id).await {
        Ok(record) => record.state == RequestState::Open,
        Err(StoreError::RequestNotFound { .. }) => false,
        Err(_) => true,
    }
}

/// Describes how a request was answered; `None` if the model answered it itself.
fn verdict(journal: &[JournalEntry], question: &Question) -> Option<String> {
    let name = &question.name;
    let answered = journal.iter().rev().find_map(|entry| match &entry.event {
        Event::RequestAnswered {
            request,
            answer,
            why,
            by,
            ..
        } if *request == question.id => Some((answer, why, by)),
        _ => None,
    });
    let Some((answer, why, by)) = answered else {
        return Some(format!("{name} is no longer waiting."));
    };
    let who = match by.by.as_str() {
        LEAD_AGENT => return None,
        PERSON => " by a person",
        LEAD_NAME => " by the lead",
        _ => "",
    };
    let why = why.as_deref().map(|why| format!(": {why}"));
    Some(format!(
        "{name} was {answer}{who}{}.",
        why.unwrap_or_default()
    ))
}
