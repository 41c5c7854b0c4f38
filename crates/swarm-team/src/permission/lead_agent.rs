//! Answers of the lead's model. It may deny every request, and approve plans and the calls that it
//! could make itself without approval. Further requests need a person.

use swarm_protocol::{
    Answer, AnsweredBy, PermissionMode, RequestId, RequestKind, RequestRecord, RequestState,
};
use swarm_store::Team;
use swarm_tools::{CallHost, MemberCall};

use super::answer::{answer_request, earlier_answer};
use crate::MemberContext;
use crate::send::error_for_model;

/// The lead's model approves or rejects a plan. A plan in a mode above its own, `mode`, cannot be
/// approved.
///
/// # Errors
/// The reason for the model.
pub(crate) async fn answer_plan(
    context: &MemberContext,
    to: &str,
    id: &RequestId,
    yes: bool,
    feedback: Option<&str>,
    mode: Option<PermissionMode>,
) -> Result<RequestRecord, String> {
    let (team, record) = open_request_of(context, to, id).await?;
    let RequestKind::Plan { mode: wanted, .. } = &record.request else {
        return Err(format!(
            "{id} is not a plan: a person must answer it, or you can deny it"
        ));
    };
    let feedback = feedback.map(str::trim).filter(|text| !text.is_empty());
    let by = AnsweredBy::lead_agent();
    let answer = match (yes, feedback.map(str::to_owned)) {
        (true, _) if !mode.unwrap_or_default().covers(*wanted) => {
            return Err(format!(
                "the plan would be carried out in mode {wanted}, which is above your own: a person must approve it"
            ));
        }
        (true, None) => Answer::once(),
        (true, Some(feedback)) => Answer::Answered {
            answers: vec![feedback],
        },
        (false, why) => Answer::Denied { why },
    };
    let answered = answer_request(&*team, &record, answer, by).await;
    answered.map_err(|error| error_for_model(&error))
}

/// The lead's model denies a call, or approves it if `host` could make it without approval.
///
/// # Errors
/// The reason for the model.
pub(crate) async fn answer_call(
    context: &MemberContext,
    to: &str,
    id: &RequestId,
    yes: bool,
    reason: Option<&str>,
    host: Option<&dyn CallHost>,
) -> Result<RequestRecord, String> {
    let (team, record) = open_request_of(context, to, id).await?;
    let by = AnsweredBy::lead_agent();
    let answer = if yes {
        may_make(&*team, &record, host).await.map_err(|why| {
            format!(
                "only a person can approve this request, because you could not make the call yourself: {why}. You can deny it"
            )
        })?;
        Answer::once()
    } else {
        let why = reason.unwrap_or("The team lead denies it.").to_owned();
        Answer::Denied { why: Some(why) }
    };
    let answered = answer_request(&*team, &record, answer, by).await;
    answered.map_err(|error| error_for_model(&error))
}

/// Checks a call against the rules and the mode of the lead's agent.
async fn may_make(
    team: &dyn Team,
    record: &RequestRecord,
    host: Option<&dyn CallHost>,
) -> Result<(), String> {
    let RequestKind::Permission { tool, input, .. } = &record.request else {
        return Err("it is not a call of a tool".to_owned());
    };
    let host = host.ok_or("your permissions are not known here")?;
    let config = team
        .config()
        .await
        .map_err(|error| error_for_model(&error))?;
    let member = config.member(&record.from);
    let member = member.ok_or_else(|| format!("{} has left the team", record.from))?;
    let cwd = &member.cwd;
    host.may_make(&MemberCall { tool, input, cwd })
}

/// Returns the open request of this member.
async fn open_request_of(
    context: &MemberContext,
    to: &str,
    id: &RequestId,
) -> Result<(std::sync::Arc<dyn Team>, RequestRecord), String> {
    if !context.is_lead() {
        return Err("only the team lead answers requests".to_owned());
    }
    let team = context.team().ok_or("there is no team yet")?;
    let record = match team.request(id).await {
        Ok(record) => record,
        Err(error) => {
            let earlier = earlier_answer(&*team, id).await;
            let answer = earlier.as_ref().map(|earlier| earlier.answer.as_str());
            return Err(match answer {
                Some(answer @ ("expired" | "withdrawn")) => {
                    format!("request {id} is {answer}: nobody waits for an answer")
                }
                Some(answer) => {
                    format!("request {id} is already {answer}, and the first answer counts")
                }
                None => error_for_model(&error),
            });
        }
    };
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
