//! The request queue of a team in records.

use std::path::PathBuf;

use swarm_protocol::{
    Answer, AnsweredBy, Event, Grant, Member, MemberName, RequestId, RequestKind, RequestRecord,
    RequestState,
};

use super::team::RecordsTeam;
use super::values;
use crate::keys::{SigningKey, is_signed_by};
use crate::requests::{
    REQUESTER_ENDED, Stored, answer_event, answer_ignored, checked, not_found, notice_id, opened,
    repeated, require_open, sort, without_answer,
};
use crate::tasks::Letter;
use crate::{AnswerLookup, Draft, RequestList, Result, StoreError, VerifyKey};

impl RecordsTeam {
    pub(super) fn open_request(
        &self,
        request: &RequestRecord,
        notice: Option<&Draft>,
    ) -> Result<RequestRecord> {
        checked(&request.id)?;
        self.change(&values::requests(), |queue, events| {
            if let Some(found) = queue.requests.get(&request.id) {
                return repeated(found.clone(), request);
            }
            queue.highest = queue.highest.saturating_add(1);
            let mut request = request.clone();
            request.number = Some(queue.highest);
            events.push(opened(&request));
            if let Some(notice) = notice.cloned() {
                events.send(Letter {
                    to: MemberName::lead(),
                    entry: notice.into_entry(notice_id(&request), self.now()),
                });
            }
            queue.requests.insert(request.id.clone(), request.clone());
            Ok(request)
        })
    }

    pub(super) fn withdraw_request(
        &self,
        id: &RequestId,
        why: Option<&'static str>,
    ) -> Result<bool> {
        self.request(id)?;
        self.change(&values::requests(), |queue, events| {
            let Some(mut request) = queue.requests.get(id).cloned() else {
                return Ok(false);
            };
            if request.state != RequestState::Open {
                return Ok(false);
            }
            let answer = without_answer(why);
            events.push(self.answer(&mut request, answer, AnsweredBy::system())?);
            queue.requests.remove(id);
            Ok(true)
        })
    }

    pub(super) fn requests(&self) -> Result<RequestList> {
        let queue = self.read(&values::requests())?;
        let mut requests: Vec<RequestRecord> = queue.requests.into_values().collect();
        sort(&mut requests);
        Ok(RequestList {
            requests,
            broken: Vec::new(),
        })
    }

    pub(super) fn request(&self, id: &RequestId) -> Result<RequestRecord> {
        checked(id)?;
        let mut queue = self.read(&values::requests())?.requests;
        let found = queue.remove(id);
        found.ok_or_else(|| not_found(&self.team, id, queue.into_values().collect()))
    }

    pub(super) fn answer_request(
        &self,
        id: &RequestId,
        shown: Option<&RequestKind>,
        answer: &Answer,
        by: &AnsweredBy,
    ) -> Result<RequestRecord> {
        checked(id)?;
        self.change(&values::requests(), |queue, events| {
            let Some(request) = queue.requests.get_mut(id) else {
                let all = queue.requests.values();
                return Err(not_found(&self.team, id, all.cloned().collect()));
            };
            require_open(request, shown)?;
            events.push(self.answer(request, answer.clone(), by.clone())?);
            Ok(request.clone())
        })
    }

    pub(super) fn look_up_answer(
        &self,
        asked: &RequestRecord,
        key: Option<&VerifyKey>,
    ) -> Result<AnswerLookup> {
        self.request(&asked.id)?;
        // The event of an answer is in the journal before the answer is compared with it.
        self.read_published(&values::requests())?;
        let found = self.request(&asked.id)?;
        if found.state == RequestState::Open {
            return Ok(AnswerLookup::Pending);
        }
        let Some(reason) = self.why_not(&found, asked, key)? else {
            return Ok(AnswerLookup::Answered(Box::new(found)));
        };
        self.change(&values::requests(), |queue, _events| {
            match queue.requests.get_mut(&asked.id) {
                Some(request) if *request == found => {
                    request.clone_from(asked);
                    Ok(AnswerLookup::Rejected(reason.clone()))
                }
                // It was answered or closed since.
                _ => Ok(AnswerLookup::Pending),
            }
        })
    }

    pub(super) fn verify_key(&self) -> Result<Option<VerifyKey>> {
        Ok(Some(self.key()?.verify_key()))
    }

    pub(super) fn signed(&self, grant: &Grant, by: AnsweredBy) -> Result<AnsweredBy> {
        if !is_signed_by(&by) {
            return Ok(by);
        }
        Ok(self.key()?.signed(&self.team, grant, by, self.now()))
    }

    pub(super) fn ignore_answer(&self, id: &RequestId, why: &'static str) -> Result<bool> {
        checked(id)?;
        self.change(&values::requests(), |queue, events| {
            let found = queue.requests.get(id);
            let answered = found.filter(|found| found.state != RequestState::Open);
            let Some(request) = answered else {
                return Ok(false);
            };
            events.push(answer_ignored(request, why));
            queue.requests.remove(id);
            Ok(true)
        })
    }

    pub(super) fn close_request(&self, id: &RequestId) -> Result<()> {
        checked(id)?;
        self.change(&values::requests(), |queue, _events| {
            queue.requests.remove(id);
            Ok(())
        })
    }
}

impl RecordsTeam {
    /// Removes the requests of a terminated spawn from the queue.
    pub(super) fn close_requests_of(&self, member: &Member) -> Result<()> {
        let Some(spawn) = member.spawn_id() else {
            return Ok(());
        };
        self.change(&values::requests(), |queue, events| {
            let (mut gone, before) = (Vec::new(), queue.requests.len());
            queue.requests.retain(|_, request| {
                let is_its = request.spawn_id == Some(spawn);
                if is_its && request.state == RequestState::Open {
                    gone.push(request.clone());
                }
                !is_its
            });
            events.changes_nothing = queue.requests.len() == before;
            for mut request in gone {
                let answer = without_answer(Some(REQUESTER_ENDED));
                events.push(self.answer(&mut request, answer, AnsweredBy::system())?);
            }
            Ok(())
        })
    }

    fn key(&self) -> Result<SigningKey> {
        let record = values::key();
        let key = SigningKey::from_seed(&self.read(&record)?);
        key.ok_or_else(|| StoreError::SigningKey {
            path: PathBuf::from(record.key.as_str()),
            why: "it is not a seed".to_owned(),
        })
    }

    /// Sets the answer and returns its event.
    fn answer(&self, request: &mut RequestRecord, answer: Answer, by: AnsweredBy) -> Result<Event> {
        let by = if answer.is_grant() {
            self.signed(&Grant::answer(request, &answer), by)?
        } else {
            by
        };
        let at = self.now();
        let event = answer_event(request, &answer, by);
        request.state = RequestState::Answered { answer, at };
        Ok(event)
    }

    fn why_not(
        &self,
        found: &RequestRecord,
        asked: &RequestRecord,
        key: Option<&VerifyKey>,
    ) -> Result<Option<String>> {
        let stored = Stored {
            team: &self.team,
            found,
            asked,
        };
        stored.why_not(key, || {
            let is_its = |event: &Event| matches!(event, Event::RequestAnswered { request, .. } if *request == asked.id);
            let mut events = self.events_with(asked.id.as_str())?.into_iter().rev();
            Ok(events.find(|entry| is_its(&entry.event)).map(|entry| entry.event))
        })
    }
}
