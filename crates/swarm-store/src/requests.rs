//! The queue of requests to a person: one file each.

use swarm_os::LockGuard;
use swarm_protocol::{
    Answer, AnsweredBy, Event, Grant, LEAD_AGENT, Member, RequestId, RequestKind, RequestRecord,
    RequestState, input_digest,
};

use crate::error::answered;
use crate::file_team::{FileTeam, is_surely_there};
use crate::{BrokenFile, Result, StoreError, VerifyKey, record};

/// Maximum length in bytes of a call's input and of a reason in the journal.
const EXCERPT: usize = 1024;

/// Reason for ignoring an answer that is not in the journal.
pub const NOT_ENTERED: &str = "no command recorded it in the journal";

/// The requests on file.
#[derive(Debug, Clone, Default)]
pub struct RequestList {
    /// Oldest first.
    pub requests: Vec<RequestRecord>,
    /// Files in the directory that are not valid requests.
    pub broken: Vec<BrokenFile>,
}

/// Result of looking up the answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerLookup {
    /// No answer yet.
    Pending,
    /// The answered request; the answer is also in the journal.
    Answered(Box<RequestRecord>),
    /// The file held an invalid answer, with the reason. The request is open again.
    Rejected(String),
}

impl FileTeam {
    pub(crate) fn open_request(&self, mut request: RequestRecord) -> Result<RequestRecord> {
        let path = self.at.request(checked(&request.id)?);
        self.with_requests_lock(|held| {
            if is_surely_there(&path)? {
                return Err(StoreError::RequestExists {
                    id: request.id.clone(),
                });
            }
            request.number = Some(self.next_request_number(held)?);
            held.replace(&path, &record::pretty(&path, &request)?)?;
            self.record_done([Event::RequestOpened {
                request: request.id.clone(),
                number: request.number,
                from: request.from.clone(),
                tool: request.request.tool().to_owned(),
                description: request.description.clone(),
                input: excerpt(&request.request.input().to_string()),
            }]);
            Ok(request)
        })
    }

    pub(crate) fn requests(&self) -> Result<RequestList> {
        let directory = self.at.requests();
        let mut list = RequestList::default();
        let names = match swarm_os::names_in(&directory) {
            Ok(Some(names)) => names,
            Ok(None) | Err(_) if !self.exists() => return Err(self.not_found()),
            Ok(None) => return Ok(list),
            Err(error) => return Err(error.into()),
        };
        for name in names {
            let path = directory.join(&name);
            let hidden = name.as_encoded_bytes().starts_with(b".");
            if hidden || path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            match record::read(&path) {
                Ok(request) => list.requests.extend(request),
                Err(StoreError::Damaged { path, reason }) => {
                    list.broken.push(BrokenFile { path, reason });
                }
                Err(error) => return Err(error),
            }
        }
        list.requests
            .sort_by(|a, b| (a.asked_at, &a.id).cmp(&(b.asked_at, &b.id)));
        Ok(list)
    }

    pub(crate) fn request(&self, id: &RequestId) -> Result<RequestRecord> {
        match record::read(&self.at.request(checked(id)?))? {
            Some(request) => Ok(request),
            None if !self.exists() => Err(self.not_found()),
            None => Err(self.no_request(id)),
        }
    }

    pub(crate) fn answer_request(
        &self,
        id: &RequestId,
        shown: Option<&RequestKind>,
        answer: Answer,
        by: AnsweredBy,
    ) -> Result<RequestRecord> {
        checked(id)?;
        self.with_requests_lock(|held| {
            let mut request = self.request(id)?;
            if let RequestState::Answered { answer, .. } = request.state {
                return Err(StoreError::RequestAnswered {
                    id: id.clone(),
                    answer,
                });
            }
            if shown.is_some_and(|shown| *shown != request.request) {
                return Err(StoreError::RequestChanged { id: id.clone() });
            }
            self.write_answer(held, &mut request, answer, by)?;
            Ok(request)
        })
    }

    pub(crate) fn look_up_answer(
        &self,
        asked: &RequestRecord,
        key: Option<&VerifyKey>,
    ) -> Result<AnswerLookup> {
        let found = self.request(&asked.id)?;
        if found.state == RequestState::Open {
            return Ok(AnswerLookup::Pending);
        }
        if self.why_not(&found, asked, key)?.is_none() {
            return Ok(AnswerLookup::Answered(Box::new(found)));
        }
        let path = self.at.request(checked(&asked.id)?);
        self.with_requests_lock(|held| {
            // It may have been answered since.
            let found = self.request(&asked.id)?;
            if found.state == RequestState::Open {
                return Ok(AnswerLookup::Pending);
            }
            let Some(reason) = self.why_not(&found, asked, key)? else {
                return Ok(AnswerLookup::Answered(Box::new(found)));
            };
            held.replace(&path, &record::pretty(&path, asked)?)?;
            Ok(AnswerLookup::Rejected(reason))
        })
    }

    pub(crate) fn close_request(&self, id: &RequestId) -> Result<()> {
        let path = self.at.request(checked(id)?);
        self.with_requests_lock(|held| Ok(held.remove(&path)?))
    }
}

impl FileTeam {
    /// Returns an unused request number. The mark on disk is raised before the request is written;
    /// an unreadable mark is rebuilt from the stored requests.
    fn next_request_number(&self, held: &LockGuard) -> Result<u32> {
        let path = self.at.request_mark();
        let bytes = swarm_os::read_optional(&path)?.unwrap_or_default();
        let mark = std::str::from_utf8(&bytes).ok();
        let mark = mark.and_then(|text| text.trim().parse::<u32>().ok());
        let on_file = self.requests()?.requests.into_iter();
        let on_file = on_file.filter_map(|request| request.number).max();
        let next = mark.max(on_file).unwrap_or_default().saturating_add(1);
        held.replace(&path, next.to_string().as_bytes())?;
        Ok(next)
    }

    /// Returns why the stored answer is invalid; `None` if it is valid.
    fn why_not(
        &self,
        found: &RequestRecord,
        asked: &RequestRecord,
        key: Option<&VerifyKey>,
    ) -> Result<Option<String>> {
        let RequestState::Answered { answer, .. } = &found.state else {
            return Ok(None);
        };
        let path = self.at.request(&asked.id);
        // Normalized by a round trip through JSON.
        let asked: RequestRecord = record::parse(&path, &record::pretty(&path, asked)?)?;
        if found.request != asked.request || found.description != asked.description {
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
        }) = self.entered_answer(&asked.id)?
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
            .and_then(|key| self.forged(key, &asked, answer, &by))
            .map(str::to_owned))
    }

    /// Returns why an approval does not come from a holder of the team's private key, or exceeds
    /// what its signer may grant.
    fn forged(
        &self,
        key: &VerifyKey,
        asked: &RequestRecord,
        answer: &Answer,
        by: &AnsweredBy,
    ) -> Option<&'static str> {
        if !answer.is_grant() {
            return None;
        }
        if by.signature.is_none() {
            return Some("it is not signed");
        }
        if !key.verifies(&self.team, &Grant::answer(asked, answer), by) {
            return Some("its signature is invalid");
        }
        let exceeds = by.by == LEAD_AGENT && is_always(answer);
        exceeds.then_some("only a person can allow further calls")
    }

    /// Returns the last recorded answer to a request.
    fn entered_answer(&self, id: &RequestId) -> Result<Option<Event>> {
        self.last_event(
            id.as_str(),
            |event| matches!(event, Event::RequestAnswered { request, .. } if request == id),
        )
    }

    /// Removes the requests of a terminated spawn from the queue.
    pub(crate) fn close_requests_of(&self, member: &Member) -> Result<()> {
        let Some(spawn) = member.spawn_id() else {
            return Ok(());
        };
        let its = |request: &RequestRecord| request.spawn_id == Some(spawn);
        if !self.requests()?.requests.iter().any(its) {
            return Ok(());
        }
        self.with_requests_lock(|held| {
            for mut request in self.requests()?.requests.into_iter().filter(its) {
                if request.state == RequestState::Open {
                    self.write_answer(held, &mut request, Answer::Expired, AnsweredBy::system())?;
                }
                held.remove(&self.at.request(&request.id))?;
            }
            Ok(())
        })
    }

    /// The journal is written first: a stored answer without a journal entry is ignored.
    fn write_answer(
        &self,
        held: &LockGuard,
        request: &mut RequestRecord,
        answer: Answer,
        by: AnsweredBy,
    ) -> Result<()> {
        let path = self.at.request(&request.id);
        let by = if answer.is_grant() {
            self.signed(&Grant::answer(request, &answer), by)?
        } else {
            by
        };
        let event = Event::RequestAnswered {
            request: request.id.clone(),
            to: Some(request.from.clone()),
            answer: answered(&answer).to_owned(),
            always: is_always(&answer),
            why: match &answer {
                Answer::Denied { why } => why.as_deref().map(excerpt),
                _ => None,
            },
            digest: Some(request.request.computed_digest()),
            updated_digest: updated_digest_of(&request.request, &answer),
            by,
        };
        if answer == Answer::Expired {
            // A timeout means no, even if the journal cannot be written.
            self.record_done([event]);
        } else {
            self.record(event)?;
        }
        request.state = RequestState::Answered {
            answer,
            at: self.now(),
        };
        held.replace(&path, &record::pretty(&path, request)?)?;
        Ok(())
    }

    fn no_request(&self, id: &RequestId) -> StoreError {
        let list = self.requests().unwrap_or_default();
        StoreError::RequestNotFound {
            team: self.team.clone(),
            id: id.clone(),
            open: list
                .requests
                .into_iter()
                .filter(|request| request.state == RequestState::Open)
                .map(|request| request.id)
                .collect(),
        }
    }
}

fn is_always(answer: &Answer) -> bool {
    matches!(answer, Answer::Approved { always: true, .. })
}

/// The digest of an input that a person has changed.
fn updated_digest_of(asked: &RequestKind, answer: &Answer) -> Option<String> {
    match answer {
        Answer::Approved {
            updated_input: Some(input),
            ..
        } => Some(input_digest(asked.tool(), input)),
        _ => None,
    }
}

/// Returns the beginning of a text, with a mark if it is cut.
fn excerpt(text: &str) -> String {
    let end = text.floor_char_boundary(EXCERPT);
    match &text[..end] {
        all if end == text.len() => all.to_owned(),
        cut => format!("{cut}…"),
    }
}

/// Checks that an ID can be a file name.
fn checked(id: &RequestId) -> Result<&RequestId> {
    if id.is_file_name() {
        Ok(id)
    } else {
        Err(StoreError::BadRequestId { id: id.clone() })
    }
}
