//! Operations on the request queue.

use async_trait::async_trait;
use swarm_protocol::{Answer, AnsweredBy, Grant, RequestId, RequestKind, RequestRecord, UnixMs};

use crate::{AnswerLookup, Draft, RequestList, Result, VerifyKey};

/// The open requests to a person.
#[async_trait]
pub trait RequestQueue: Send + Sync {
    /// Adds a request to the queue, assigns its number, and returns it. The lead gets the `notice`
    /// of it once. A repetition completes an interrupted call. If the notice cannot be sent, the
    /// request is withdrawn.
    ///
    /// # Errors
    /// [`StoreError::BadRequestId`], [`StoreError::RequestExists`] for another request with this ID.
    async fn open_request(
        &self,
        request: RequestRecord,
        notice: Option<Draft>,
    ) -> Result<RequestRecord>;

    /// Returns the time by the clock that all processes of the team share: the server's, or that of
    /// this machine. Requests have their times by it.
    async fn server_time(&self) -> Result<UnixMs>;

    /// Returns the open and answered requests, oldest first.
    async fn requests(&self) -> Result<RequestList>;

    /// Returns one request.
    async fn request(&self, id: &RequestId) -> Result<RequestRecord>;

    /// Answers a request. Exactly one answer wins. With `shown`, the call that a person saw, fails
    /// if the request is for another call.
    ///
    /// # Errors
    /// [`StoreError::RequestAnswered`] with the answer that won, [`StoreError::RequestNotFound`],
    /// [`StoreError::RequestChanged`].
    async fn answer_request(
        &self,
        id: &RequestId,
        shown: Option<&RequestKind>,
        answer: Answer,
        by: AnsweredBy,
    ) -> Result<RequestRecord>;

    /// Looks up the answer to a request. An answer that no command has recorded in the journal, or
    /// an approval that is not signed with the private half of `key`, is removed.
    ///
    /// # Errors
    /// [`StoreError::RequestNotFound`], [`StoreError::Damaged`].
    async fn look_up_answer(
        &self,
        asked: &RequestRecord,
        key: Option<&VerifyKey>,
    ) -> Result<AnswerLookup>;

    /// Returns the public half of the team's key; `None` for a team of another program.
    ///
    /// # Errors
    /// [`StoreError::SigningKey`] if the key of another team is missing or unusable.
    async fn verify_key(&self) -> Result<Option<VerifyKey>>;

    /// Signs a grant with the team's key, if the team has one.
    ///
    /// # Errors
    /// [`StoreError::SigningKey`].
    async fn signed(&self, grant: &Grant, by: AnsweredBy) -> Result<AnsweredBy>;

    /// Records that a request was withdrawn, and `why`, or without a reason that it expired, and
    /// removes it from the queue. Returns `false` if it was answered before, and then changes
    /// nothing.
    ///
    /// # Errors
    /// [`StoreError::RequestNotFound`].
    async fn withdraw_request(&self, id: &RequestId, why: Option<&'static str>) -> Result<bool>;

    /// Removes an answered request whose answer nobody will read, and records that it was ignored, and
    /// `why`. Returns `false` if it is open or removed, and then changes nothing.
    async fn ignore_answer(&self, id: &RequestId, why: &'static str) -> Result<bool>;

    /// Removes a request from the queue after its answer was read. Does nothing if it is already
    /// removed.
    async fn close_request(&self, id: &RequestId) -> Result<()>;
}
