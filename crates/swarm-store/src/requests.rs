//! The queue of requests that wait for a person: one file each.

use swarm_fs::Held;
use swarm_protocol::{
    Answer, AnsweredBy, Event, Member, RequestId, RequestKind, RequestRecord, RequestState,
};

use crate::error::answered;
use crate::team_files::{TeamFiles, is_surely_there};
use crate::{BrokenFile, Result, StoreError, record};

/// How much of a call's input and of a reason the journal repeats, in bytes.
const EXCERPT: usize = 1024;

/// The requests on file.
#[derive(Debug, Clone, Default)]
pub struct RequestList {
    /// Oldest first.
    pub requests: Vec<RequestRecord>,
    /// Files in the folder that should be requests and are not.
    pub broken: Vec<BrokenFile>,
}

impl TeamFiles<'_> {
    pub(crate) fn open_request(&self, request: &RequestRecord) -> Result<()> {
        let path = self.at.request(checked(&request.id)?);
        self.with_requests_lock(|held| {
            if is_surely_there(&path)? {
                return Err(StoreError::RequestExists {
                    id: request.id.clone(),
                });
            }
            held.replace(&path, &record::pretty(&path, request)?)?;
            let RequestKind::Permission { tool, input, .. } = &request.request;
            self.record_done([Event::RequestOpened {
                request: request.id.clone(),
                from: request.from.clone(),
                tool: tool.clone(),
                description: request.description.clone(),
                input: excerpt(&input.to_string()),
            }]);
            Ok(())
        })
    }

    pub(crate) fn requests(&self) -> Result<RequestList> {
        let folder = self.at.requests();
        let mut list = RequestList::default();
        let names = match swarm_fs::names_in(&folder) {
            Ok(Some(names)) => names,
            Ok(None) | Err(_) if !self.exists() => return Err(self.not_found()),
            Ok(None) => return Ok(list),
            Err(error) => return Err(error.into()),
        };
        for name in names {
            let path = folder.join(&name);
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
            self.write_answer(held, &mut request, answer, by)?;
            Ok(request)
        })
    }

    pub(crate) fn close_request(&self, id: &RequestId) -> Result<()> {
        let path = self.at.request(checked(id)?);
        self.with_requests_lock(|held| Ok(held.remove(&path)?))
    }

    /// Takes the requests of a spawn that has ended out of the queue: nobody waits for their answers any more.
    pub(crate) fn close_requests_of(&self, member: &Member) -> Result<()> {
        let Some(spawn) = member.spawn_id() else {
            return Ok(());
        };
        let its = |request: &RequestRecord| request.spawn_id == spawn;
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

    fn write_answer(
        &self,
        held: &Held,
        request: &mut RequestRecord,
        answer: Answer,
        by: AnsweredBy,
    ) -> Result<()> {
        let path = self.at.request(&request.id);
        let word = answered(&answer).to_owned();
        let always = matches!(answer, Answer::Approved { always: true });
        let why = match &answer {
            Answer::Denied { why } => why.as_deref().map(excerpt),
            _ => None,
        };
        request.state = RequestState::Answered {
            answer,
            at: self.now(),
        };
        held.replace(&path, &record::pretty(&path, request)?)?;
        self.record_done([Event::RequestAnswered {
            request: request.id.clone(),
            to: Some(request.from.clone()),
            answer: word,
            always,
            why,
            by,
        }]);
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
