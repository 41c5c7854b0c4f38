//! Answers of the lead's model. It may approve plans; other requests it can only deny, since an
//! agent cannot consent for a person.

use swarm_protocol::{
    AnsweredBy, PermissionMode, RequestId, RequestKind, RequestRecord, RequestState,
};
use swarm_store::blocking::Team;

use super::answer::{answer, approve, deny};
use crate::MemberContext;
use crate::send::error_for_model;

/// The lead's model approves or rejects a plan. A plan in a mode above its own, `mode`, cannot be
/// approved.
///
/// # Errors
/// The reason for the model.
pub(crate) fn answer_plan(
    context: &MemberContext,
    to: &str,
    id: &RequestId,
    yes: bool,
    feedback: Option<&str>,
    mode: Option<PermissionMode>,
) -> Result<RequestRecord, String> {
    let (team, record) = open_request_of(context, to, id)?;
    let RequestKind::Plan { mode: wanted, .. } = &record.request else {
        return Err(format!(
            "{id} is not a plan: a person must answer it, or you can deny it"
        ));
    };
    let feedback = feedback.map(str::trim).filter(|text| !text.is_empty());
    let by = AnsweredBy::lead_agent();
    let answered = match (yes, feedback) {
        (true, _) if !mode.unwrap_or_default().covers(*wanted) => {
            return Err(format!(
                "the plan would be carried out in mode {wanted}, which is above your own: a person must approve it"
            ));
        }
        (true, None) => approve(&*team, &record, false, by),
        (true, Some(feedback)) => answer(&*team, &record, vec![feedback.to_owned()], by),
        (false, feedback) => deny(&*team, &record, feedback.map(str::to_owned), by),
    };
    answered.map_err(|error| error_for_model(&error))
}

/// The lead's model denies a request.
///
/// # Errors
/// The reason for the model.
pub(crate) fn deny_permission(
    context: &MemberContext,
    to: &str,
    id: &RequestId,
    yes: bool,
    reason: Option<&str>,
) -> Result<RequestRecord, String> {
    let (team, record) = open_request_of(context, to, id)?;
    if yes {
        return Err(
            "only a person can approve this request, because your own rules do not allow the call either; you can deny it"
                .to_owned(),
        );
    }
    let why = reason.unwrap_or("The team lead denies it.").to_owned();
    deny(&*team, &record, Some(why), AnsweredBy::lead_agent())
        .map_err(|error| error_for_model(&error))
}

/// Returns the open request of this member.
fn open_request_of(
    context: &MemberContext,
    to: &str,
    id: &RequestId,
) -> Result<(std::sync::Arc<dyn Team>, RequestRecord), String> {
    if !context.is_lead() {
        return Err("only the team lead answers requests".to_owned());
    }
    let team = context.team().ok_or("there is no team yet")?;
    let record = team.request(id).map_err(|error| error_for_model(&error))?;
    if record.from.as_str() != to.trim() {
        return Err(format!(
            "request {id} is from {}, not from {to}",
            record.from
        ));
    }
    if record.state != RequestState::Open {
        return Err(format!("request {id} is already answered"));
    }
    if record.from.is_lead() {
        return Err("a member cannot answer its own request".to_owned());
    }
    Ok((team, record))
}
