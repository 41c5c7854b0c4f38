//! The queue of requests to a person: one file each.

use swarm_os::LockGuard;
use swarm_protocol::{
    Answer, AnsweredBy, Event, Grant, Member, RequestId, RequestKind, RequestRecord, RequestState,
};

use crate::file::record;
use crate::file::team::{FileTeam, is_surely_there};
use crate::requests::{
    REQUESTER_ENDED, Stored, answer_event, answer_ignored, checked, not_found, notice_id, opened,
    repeated, require_open, sort, without_answer,
};
use crate::{AnswerLookup, BrokenFile, Draft, RequestList, Result, StoreError, VerifyKey};

/// Why a request without a notice is withdrawn.
const NOT_NOTIFIED: &str = "the lead could not be notified";

impl FileTeam {
    pub(crate) fn open_request(
        &self,
        request: &RequestRecord,
        notice: Option<&Draft>,
    ) -> Result<RequestRecord> {
        let path = self.at.request(checked(&request.id)?);
        let opened = self.with_requests_lock(|held| {
            if is_surely_there(&path)? {
                return repeated(self.request(&request.id)?, request);
            }
            let mut request = request.clone();
            request.number = Some(self.next_request_number(held)?);
            held.replace(&path, &record::pretty(&path, &request)?)?;
            self.record_done([opened(&request)]);
            Ok(request)
        })?;
        if let Some(notice) = notice
            && let Err(error) = self.tell_lead(notice.clone(), notice_id(&opened))
        {
            self.withdraw_request(&opened.id, Some(NOT_NOTIFIED))?;
            return Err(error);
        }
        Ok(opened)
    }

    pub(crate) fn withdraw_request(
        &self,
        id: &RequestId,
        why: Option<&'static str>,
    ) -> Result<bool> {
        let path = self.at.request(checked(id)?);
        self.with_requests_lock(|held| {
            let mut request = self.request(id)?;
            if request.state != RequestState::Open {
                return Ok(false);
            }
            let answer = without_answer(why);
            self.write_answer(held, &mut request, answer, AnsweredBy::system())?;
            held.remove(&path)?;
            Ok(true)
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
        sort(&mut list.requests);
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
        answer: &Answer,
        by: &AnsweredBy,
    ) -> Result<RequestRecord> {
        checked(id)?;
        self.with_requests_lock(|held| {
            let mut request = self.request(id)?;
            require_open(&request, shown)?;
            self.write_answer(held, &mut request, answer.clone(), by.clone())?;
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

    pub(crate) fn ignore_answer(&self, id: &RequestId, why: &'static str) -> Result<bool> {
        let path = self.at.request(checked(id)?);
        self.with_requests_lock(|held| {
            let found: Option<RequestRecord> = record::read(&path)?;
            let answered = found.filter(|found| found.state != RequestState::Open);
            let Some(request) = answered else {
                return Ok(false);
            };
            held.remove(&path)?;
            self.record_done([answer_ignored(&request, why)]);
            Ok(true)
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
        let path = self.at.request(&asked.id);
        let asked: RequestRecord = record::parse(&path, &record::pretty(&path, asked)?)?;
        let stored = Stored {
            team: &self.team,
            found,
            asked: &asked,
        };
        stored.why_not(key, || self.entered_answer(&asked.id))
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
                    let answer = without_answer(Some(REQUESTER_ENDED));
                    self.write_answer(held, &mut request, answer, AnsweredBy::system())?;
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
        let event = answer_event(request, &answer, by);
        if matches!(answer, Answer::Expired | Answer::Withdrawn { .. }) {
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
        not_found(&self.team, id, list.requests)
    }
}
