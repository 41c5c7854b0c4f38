//! Journal events of requests, and which answers count. No I/O.

use serde_json::Value;
use swarm_protocol::{
    Answer, AnsweredBy, Event, Grant, LEAD_AGENT, MessageId, RequestId, RequestKind, RequestRecord,
    RequestState, TeamName, input_digest,
};

use super::NOT_ENTERED;
use crate::error::answered;
use crate::{Result, StoreError, VerifyKey};

/// Maximum length in bytes of a call's input and of a reason in the journal.
const LONGEST: usize = 64 * 1024;

/// Returns the event of a new request.
pub(crate) fn opened(request: &RequestRecord) -> Event {
    Event::RequestOpened {
        request: request.id.clone(),
        number: request.number,
        from: request.from.clone(),
        tool: request.request.tool().to_owned(),
        description: request.description.clone(),
        input: excerpt(&request.request.input().to_string()),
        digest: request.request.computed_digest(),
    }
}

/// Why the open requests of a spawn that has ended are withdrawn.
pub(crate) const REQUESTER_ENDED: &str = "the requester has ended";

/// Returns how an open request ends without an answer: withdrawn for this reason, or expired.
pub(crate) fn without_answer(why: Option<&str>) -> Answer {
    why.map_or(Answer::Expired, |why| Answer::Withdrawn {
        why: why.to_owned(),
    })
}

/// Returns the event of an answer.
pub(crate) fn answer_event(request: &RequestRecord, answer: &Answer, by: AnsweredBy) -> Event {
    Event::RequestAnswered {
        request: request.id.clone(),
        to: Some(request.from.clone()),
        answer: answered(answer).to_owned(),
        always: is_always(answer),
        why: match answer {
            Answer::Denied { why } => why.as_deref().map(excerpt),
            Answer::Withdrawn { why } => Some(excerpt(why)),
            _ => None,
        },
        answers: match answer {
            Answer::Answered { answers } => answers.iter().map(|text| excerpt(text)).collect(),
            _ => Vec::new(),
        },
        digest: Some(request.request.computed_digest()),
        updated_digest: updated_digest_of(&request.request, answer),
        updated_input: updated_input(answer).map(|input| excerpt(&input.to_string())),
        by,
    }
}

/// Returns the event of an answer that nobody will read.
pub(crate) fn answer_ignored(request: &RequestRecord, why: &str) -> Event {
    Event::AnswerIgnored {
        request: request.id.clone(),
        member: request.from.clone(),
        reason: why.to_owned(),
    }
}

/// Returns the existing request that another call has opened before, if this is the same one.
pub(crate) fn repeated(found: RequestRecord, request: &RequestRecord) -> Result<RequestRecord> {
    let of = |one: &RequestRecord| {
        (
            one.from.clone(),
            one.spawn_id,
            one.request.computed_digest(),
        )
    };
    if of(&found) == of(request) {
        return Ok(found);
    }
    Err(StoreError::RequestExists(found.id))
}

/// Returns the ID of the notice of a request.
pub(crate) fn notice_id(request: &RequestRecord) -> MessageId {
    MessageId::new(request.id.to_string())
}

/// Checks that a request can be answered: it is open and, with `shown`, for the call that a person
/// saw.
pub(crate) fn require_open(request: &RequestRecord, shown: Option<&RequestKind>) -> Result<()> {
    let id = &request.id;
    if let RequestState::Answered { answer, .. } = &request.state {
        return Err(StoreError::RequestAnswered {
            id: id.clone(),
            answer: answer.clone(),
        });
    }
    if shown.is_some_and(|shown| *shown != request.request) {
        return Err(StoreError::RequestChanged(id.clone()));
    }
    Ok(())
}

/// An answered request as stored, to be compared with the one that was asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stored<'a> {
    pub(crate) team: &'a TeamName,
    pub(crate) found: &'a RequestRecord,
    /// The request as asked, normalized by a round trip through JSON.
    pub(crate) asked: &'a RequestRecord,
}

impl Stored<'_> {
    /// Returns why the stored answer is invalid; `None` if it is valid. `entered` returns the event
    /// that its command recorded.
    pub(crate) fn why_not(
        &self,
        key: Option<&VerifyKey>,
        entered: impl FnOnce() -> Result<Option<Event>>,
    ) -> Result<Option<String>> {
        let RequestState::Answered { answer, .. } = &self.found.state else {
            return Ok(None);
        };
        let asked = self.asked;
        if self.found.request != asked.request || self.found.description != asked.description {
            return Ok(Some(
                "the request on file differs from the original".to_owned(),
            ));
        }
        let Some(Event::RequestAnswered {
            answer: word,
            always,
            digest,
            updated_digest,
            by,
            ..
        }) = entered()?
        else {
            return Ok(Some(NOT_ENTERED.to_owned()));
        };
        let is_same = word == answered(answer) && always == is_always(answer);
        let is_edited_so = updated_digest == updated_digest_of(&asked.request, answer);
        if !is_same {
            return Ok(Some(format!("the journal says `{word}`")));
        }
        if !is_edited_so {
            return Ok(Some("another input was entered in the journal".to_owned()));
        }
        if digest.is_some_and(|digest| digest != asked.request.computed_digest()) {
            let why = "a different call was shown to the person who answered";
            return Ok(Some(why.to_owned()));
        }
        Ok(key
            .and_then(|key| self.forged(key, answer, &by))
            .map(str::to_owned))
    }

    /// Returns why an approval does not come from a holder of the team's private key, or exceeds
    /// what its signer may grant.
    fn forged(&self, key: &VerifyKey, answer: &Answer, by: &AnsweredBy) -> Option<&'static str> {
        if !answer.is_grant() {
            return None;
        }
        if by.signature.is_none() {
            return Some("it is not signed");
        }
        if !key.verifies(self.team, &Grant::answer(self.asked, answer), by) {
            return Some("its signature is invalid");
        }
        let exceeds = by.by == LEAD_AGENT && is_always(answer);
        exceeds.then_some("only a person can allow further calls")
    }
}

/// Sorts requests, oldest first.
pub(crate) fn sort(requests: &mut [RequestRecord]) {
    requests.sort_by(|a, b| (a.asked_at, &a.id).cmp(&(b.asked_at, &b.id)));
}

/// Returns the error of an unknown request.
pub(crate) fn not_found(team: &TeamName, id: &RequestId, known: Vec<RequestRecord>) -> StoreError {
    let open = known.into_iter();
    let open = open.filter(|request| request.state == RequestState::Open);
    StoreError::RequestNotFound {
        team: team.clone(),
        id: id.clone(),
        open: open
            .map(|request| format!("{} of {}", request.short(), request.from))
            .collect(),
    }
}

/// Checks that an ID can be a file name.
pub(crate) fn checked(id: &RequestId) -> Result<&RequestId> {
    if id.is_file_name() {
        Ok(id)
    } else {
        Err(StoreError::BadRequestId(id.clone()))
    }
}

fn is_always(answer: &Answer) -> bool {
    matches!(answer, Answer::Approved { always: true, .. })
}

/// The digest of an input that a person has changed.
fn updated_digest_of(asked: &RequestKind, answer: &Answer) -> Option<String> {
    updated_input(answer).map(|input| input_digest(asked.tool(), input))
}

fn updated_input(answer: &Answer) -> Option<&Value> {
    match answer {
        Answer::Approved { updated_input, .. } => updated_input.as_ref(),
        _ => None,
    }
}

/// Returns a text, or its beginning and how much of it that is.
fn excerpt(text: &str) -> String {
    let end = text.floor_char_boundary(LONGEST);
    match &text[..end] {
        all if end == text.len() => all.to_owned(),
        cut => format!("{cut}… [{end} of {} bytes]", text.len()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use swarm_protocol::{MemberName, UnixMs};

    use super::*;

    fn of(command: &str) -> RequestRecord {
        let kind = RequestKind::Permission {
            tool: "Bash".to_owned(),
            tool_use_id: "t1".to_owned(),
            input: json!({ "command": command }),
            digest: String::new(),
            suggestions: Vec::new(),
        };
        let from = MemberName::teammate("bob").unwrap();
        RequestRecord::open(RequestId::new("perm-1-abcdefg"), from, kind, UnixMs(1))
    }

    #[test]
    fn the_journal_has_what_was_allowed_or_answered_and_why_a_request_ended() {
        let asked = of("make");
        let of = |answer: &Answer| match answer_event(&asked, answer, AnsweredBy::default()) {
            Event::RequestAnswered {
                why,
                answers,
                updated_input,
                ..
            } => (why, answers, updated_input),
            other => panic!("{other:?}"),
        };
        let edited = Answer::Approved {
            always: false,
            updated_input: Some(json!({"command": "make all"})),
        };
        let (_, _, input) = of(&edited);
        assert_eq!(input.as_deref(), Some(r#"{"command":"make all"}"#));
        let answers = vec!["blue".to_owned(), "2".to_owned()];
        let answered = Answer::Answered {
            answers: answers.clone(),
        };
        assert_eq!(of(&answered), (None, answers, None));
        let withdrawn = without_answer(Some("a rule allows it"));
        assert_eq!(of(&withdrawn).0.as_deref(), Some("a rule allows it"));
        assert_eq!(of(&without_answer(None)).0, None, "it timed out");
    }

    #[test]
    fn a_stored_answer_counts_if_it_was_entered_for_the_same_call() {
        let approved = |always, updated_input| Answer::Approved {
            always,
            updated_input,
        };
        let once = || approved(false, None);
        let denied = Answer::Denied { why: None };
        let edited = approved(false, Some(json!({"command": "make all"})));
        let mut described = of("make");
        described.description = "Bash make help".to_owned();
        let team = TeamName::parse("crew").unwrap();
        for (found, stored, shown, entered, is_valid) in [
            (of("make"), once(), of("make"), once(), true),
            (of("make install"), once(), of("make"), once(), false),
            (described, once(), of("make"), once(), false),
            (of("make"), denied, of("make"), once(), false),
            (of("make"), approved(true, None), of("make"), once(), false),
            (of("make"), edited, of("make"), once(), false),
            (of("make"), once(), of("make install"), once(), false),
        ] {
            let event = answer_event(&shown, &entered, AnsweredBy::default());
            let state = RequestState::Answered {
                answer: stored,
                at: UnixMs(2),
            };
            let found = RequestRecord { state, ..found };
            let stored = Stored {
                team: &team,
                found: &found,
                asked: &of("make"),
            };
            let why = stored.why_not(None, || Ok(Some(event))).unwrap();
            assert_eq!(why.is_none(), is_valid, "{found:?} {why:?}");
        }
    }
}
