//! The queue of requests that wait for a person: one file each.

use swarm_os::LockGuard;
use swarm_protocol::{
    Answer, AnsweredBy, Event, Member, RequestId, RequestKind, RequestRecord, RequestState,
    input_digest,
};

use crate::error::answered;
use crate::file_team::{FileTeam, is_surely_there};
use crate::{BrokenFile, Result, StoreError, record};

/// How much of a call's input and of a reason the journal repeats, in bytes.
const EXCERPT: usize = 1024;

/// Why an answer that the journal does not have is none.
pub const NOT_ENTERED: &str = "no command recorded it in the journal";

/// The requests on file.
#[derive(Debug, Clone, Default)]
pub struct RequestList {
    /// Oldest first.
    pub requests: Vec<RequestRecord>,
    /// Files in the directory that should be requests and are not.
    pub broken: Vec<BrokenFile>,
}

/// What the asker of a request finds when it looks for the answer.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerLookup {
    /// No answer yet.
    Pending,
    /// The request with the answer that is in the journal, too.
    Answered(Box<RequestRecord>),
    /// The file held an answer that nobody gave, for this reason. The request waits again, as it was asked.
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

    pub(crate) fn look_up_answer(&self, asked: &RequestRecord) -> Result<AnswerLookup> {
        let found = self.request(&asked.id)?;
        if found.state == RequestState::Open {
            return Ok(AnswerLookup::Pending);
        }
        if self.why_not(&found, asked)?.is_none() {
            return Ok(AnswerLookup::Answered(Box::new(found)));
        }
        let path = self.at.request(checked(&asked.id)?);
        self.with_requests_lock(|held| {
            // Somebody may have answered since.
            let found = self.request(&asked.id)?;
            if found.state == RequestState::Open {
                return Ok(AnswerLookup::Pending);
            }
            let Some(reason) = self.why_not(&found, asked)? else {
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
    /// A number that no request of the team had. The mark on disk is raised before the request is written; one that
    /// cannot be read is replaced, and the requests on file then say what is taken.
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

    /// Why the answer in the file is none; `None` for one that counts.
    fn why_not(&self, found: &RequestRecord, asked: &RequestRecord) -> Result<Option<String>> {
        let RequestState::Answered { answer, .. } = &found.state else {
            return Ok(None);
        };
        let path = self.at.request(&asked.id);
        // As it comes back from a file.
        let asked: RequestRecord = record::parse(&path, &record::pretty(&path, asked)?)?;
        if found.request != asked.request || found.description != asked.description {
            return Ok(Some("the request on file differs from the original".to_owned()));
        }
        let Some(Event::RequestAnswered {
            answer: word,
            always,
            digest,
            updated_digest,
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
        let is_bound = digest.is_none_or(|digest| digest == asked.request.computed_digest());
        Ok((!is_bound).then(|| "a different call was shown to the person who answered".to_owned()))
    }

    /// The last answer to a request in the journal.
    fn entered_answer(&self, id: &RequestId) -> Result<Option<Event>> {
        self.last_event(
            id.as_str(),
            |event| matches!(event, Event::RequestAnswered { request, .. } if request == id),
        )
    }

    /// Takes the requests of a spawn that has ended out of the queue: nobody waits for their answers any more.
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

    /// The journal comes first: an answer that is on file without it is not believed.
    fn write_answer(
        &self,
        held: &LockGuard,
        request: &mut RequestRecord,
        answer: Answer,
        by: AnsweredBy,
    ) -> Result<()> {
        let path = self.at.request(&request.id);
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
            // Silence means no, whatever the journal takes.
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

/// The beginning of a text, and that it goes on.
fn excerpt(text: &str) -> String {
    let end = text.floor_char_boundary(EXCERPT);
    match &text[..end] {
        all if end == text.len() => all.to_owned(),
        cut => format!("{cut}…"),
    }
}

/// Accepts an id that can name a file.
fn checked(id: &RequestId) -> Result<&RequestId> {
    if id.is_file_name() {
        Ok(id)
    } else {
        Err(StoreError::BadRequestId { id: id.clone() })
    }
}
