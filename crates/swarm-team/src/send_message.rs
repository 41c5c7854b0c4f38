//! The `SendMessage` tool, in the shape that models trained for Claude Code expect.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use serde_json::{Value, json};
use swarm_protocol::{
    AnsweredBy, LEAD_NAME, MemberName, PeerAddress, PeerDelivery, PermissionMode, RequestId,
    RequestRecord, SpawnId, ToolKind,
};
use swarm_store::summary_of;
use swarm_tools::{BackgroundAgents, Tool, ToolContext, ToolOutput, parse, prompt, schema};

use crate::message_input::{Input, Message, Structured, ToWorker};
use crate::permission::{answer_call, answer_plan};
use crate::send::{SendError, error_for_model};
use crate::team_rights::request_mode;
use crate::{
    MemberContext, PeerLink, PendingShutdown, Prose, Sent, ShutdownAsk, reject_shutdown,
    request_shutdown, send_text,
};

/// Writes to other members, asks members to stop, and refuses to stop.
#[derive(Debug)]
pub struct SendMessageTool {
    context: Arc<MemberContext>,
    shutdown: Option<Arc<PendingShutdown>>,
    /// Sub-agents of this process. Names of members take precedence.
    background: Option<Weak<dyn BackgroundAgents>>,
    /// Other sessions, for a lead.
    sessions: Option<Arc<PeerLink>>,
    /// Whether the caller is a coordinator, which writes to its workers.
    to_workers: bool,
}

impl SendMessageTool {
    /// The lead's tool: it may ask members to stop.
    pub fn for_lead(context: Arc<MemberContext>) -> Self {
        Self {
            context,
            shutdown: None,
            background: None,
            sessions: None,
            to_workers: false,
        }
    }

    /// A coordinator's tool: it continues workers.
    pub fn for_coordinator(context: Arc<MemberContext>) -> Self {
        Self {
            to_workers: true,
            ..Self::for_lead(context)
        }
    }

    /// A teammate's tool: it may refuse an open shutdown request.
    pub fn for_teammate(context: Arc<MemberContext>, shutdown: Arc<PendingShutdown>) -> Self {
        Self {
            shutdown: Some(shutdown),
            ..Self::for_lead(context)
        }
    }

    /// Also reaches other sessions.
    #[must_use]
    pub fn to_sessions(mut self, sessions: Arc<PeerLink>) -> Self {
        self.sessions = Some(sessions);
        self
    }

    /// Also reaches the sub-agents of this process, by their ids and names.
    #[must_use]
    pub fn reaching(mut self, agents: Weak<dyn BackgroundAgents>) -> Self {
        self.background = Some(agents);
        self
    }

    /// Returns whether a name belongs to a member of the team.
    async fn is_member(&self, name: &str) -> bool {
        let (team, name) = (self.context.team(), MemberName::parse(name));
        let (Some(team), Ok(name)) = (team, name) else {
            return false;
        };
        team.config()
            .await
            .is_ok_and(|config| config.member(&name).is_some())
    }

    /// Returns the result of a text to a sub-agent; `None` if `to` is not a sub-agent.
    async fn to_sub_agent(&self, to: &str, text: &str) -> Option<ToolOutput> {
        let agents = self.background.as_ref()?.upgrade()?;
        let to = to.trim();
        // The team is read only if the name is ambiguous.
        if !agents.knows(to) || self.is_member(to).await {
            return None;
        }
        Some(match agents.send(to, text).await? {
            Ok(message) => {
                let out = json!({ "success": true, "message": message });
                ToolOutput::ok(out.to_string(), message)
            }
            Err(why) => refused(&why),
        })
    }

    /// Writes to another session.
    async fn to_session(&self, to: PeerAddress<'_>, message: &Message) -> ToolOutput {
        let Some(sessions) = &self.sessions else {
            return refused(
                "only the team lead writes to other sessions: write to team-lead instead",
            );
        };
        let Message::Text(text) = message else {
            return refused("another session gets text only: pass `message` as a string");
        };
        if text.trim().is_empty() {
            return refused(&SendError::Empty.to_string());
        }
        let (msg_id, reached) = match sessions.send(to, text).await {
            Ok(sent) => sent,
            Err(error) => return refused(&error.to_string()),
        };
        let message = reached_text(reached);
        let target = to.to_string();
        let out = json!({
            "success": true, "message": message, "msg_id": msg_id,
            "routing": { "sender": self.context.name, "target": target },
        });
        ToolOutput::ok(out.to_string(), format!("written to {target}"))
    }

    async fn text(&self, input: &Input, text: &str) -> ToolOutput {
        let prose = Prose {
            text,
            summary: input.summary.as_deref(),
            urgent: input.urgent,
            supersede: input.supersede.as_deref(),
        };
        match send_text(&self.context, &input.to, prose).await {
            Ok(sent) => {
                // A broadcast asks nobody in particular.
                if let [one] = &sent[..] {
                    self.context.has_asked(&one.to, text);
                }
                sent_output(&self.context, &sent)
            }
            Err(error) => refused(&error.to_string()),
        }
    }

    async fn request(&self, to: &str, reason: Option<&str>) -> ToolOutput {
        if !self.context.is_lead() {
            return refused(
                "only the team lead may ask a member to stop: write to the lead instead",
            );
        }
        let Some(team) = self.context.team() else {
            return refused("there is no team yet");
        };
        if to.trim() == "*" {
            return self.request_of_all(&*team, reason).await;
        }
        let target = match teammate(to) {
            Ok(name) => name,
            Err(why) => return refused(&why),
        };
        let now = self.context.clock.now();
        // Without a roster, the request fails as well.
        let config = team.config().await.ok();
        let spawn_id = config.and_then(|config| config.member(&target)?.spawn_id());
        match request_shutdown(&*team, &target, now, by_lead(reason, spawn_id)).await {
            Ok(request_id) => {
                self.context.note_sent(&target, "shutdown request");
                let message =
                    format!("Shutdown request sent to {target}; the answer arrives by mail.");
                let out = json!({
                    "success": true, "message": message,
                    "request_id": request_id, "target": target,
                });
                ToolOutput::ok(out.to_string(), "requested")
            }
            Err(error) => refused(&error_for_model(&error)),
        }
    }

    /// Asks every teammate; a failure for one does not affect the others.
    async fn request_of_all(
        &self,
        team: &dyn swarm_store::Team,
        reason: Option<&str>,
    ) -> ToolOutput {
        let config = match team.config().await {
            Ok(config) => config,
            Err(error) => return refused(&error_for_model(&error)),
        };
        let now = self.context.clock.now();
        let (mut asked, mut failed) = (Vec::new(), Vec::new());
        for member in config.teammates() {
            let ask = by_lead(reason, member.spawn_id());
            match request_shutdown(team, &member.name, now, ask).await {
                Ok(request_id) => {
                    self.context.note_sent(&member.name, "shutdown request");
                    asked.push(json!({ "target": member.name, "request_id": request_id }));
                }
                Err(error) => {
                    failed
                        .push(json!({ "target": member.name, "message": error_for_model(&error) }));
                }
            }
        }
        if asked.is_empty() && failed.is_empty() {
            return refused("the team has no other members");
        }
        let line = format!("asked {} to stop", asked.len());
        let all_asked = failed.is_empty();
        let out = json!({ "success": all_asked, "asked": asked, "failed": failed });
        ToolOutput {
            is_error: !all_asked,
            ..ToolOutput::ok(out.to_string(), line)
        }
    }

    /// Tells a teammate to change its mode, up to the lead's mode.
    async fn set_mode(&self, to: &str, mode: PermissionMode, own: PermissionMode) -> ToolOutput {
        if !self.context.is_lead() {
            return refused("only the team lead sets permission modes");
        }
        if !own.covers(mode) {
            let why =
                format!("mode {mode} is above your own, {own}: a person sets it with `swarm mode`");
            return refused(&why);
        }
        let Some(team) = self.context.team() else {
            return refused("there is no team yet");
        };
        let name = match teammate(to) {
            Ok(name) => name,
            Err(why) => return refused(&why),
        };
        match request_mode(&*team, &name, mode, AnsweredBy::lead_agent()).await {
            Ok(()) => {
                let message = format!(
                    "{name} uses mode {mode} from its next call, unless it is above its ceiling."
                );
                let out = json!({ "success": true, "message": message });
                ToolOutput::ok(out.to_string(), format!("mode {mode} for {name}"))
            }
            Err(error) => refused(&error_for_model(&error)),
        }
    }

    async fn respond(&self, id: &RequestId, approve: bool, reason: Option<&str>) -> ToolOutput {
        let Some(shutdown) = &self.shutdown else {
            return refused("the lead does not answer shutdown requests");
        };
        let not_open =
            || refused("there is no open shutdown request with that id from the team lead");
        if !shutdown.is_open(id) {
            return not_open();
        }
        if approve {
            let out = json!({
                "success": true, "request_id": id,
                "message": "Approved. End your turn; the program then ends this process.",
            });
            return ToolOutput::ok(out.to_string(), "approved");
        }
        let Some(reason) = reason.filter(|reason| !reason.trim().is_empty()) else {
            return refused("a refusal needs a reason: pass `reason`");
        };
        let Some(team) = self.context.team() else {
            return refused("there is no team");
        };
        // The turn may be cancelled while the refusal waits for a lock; it is sent anyway.
        let Some(request) = shutdown.close(id) else {
            return not_open();
        };
        match reject_shutdown(&self.context, &*team, id, reason).await {
            Ok(()) => {
                let out = json!({
                    "success": true, "request_id": id,
                    "message": "Refused. The lead was told why; continue your work.",
                });
                ToolOutput::ok(out.to_string(), "refused to stop")
            }
            Err(error) => {
                shutdown.reopen(request);
                refused(&error_for_model(&error))
            }
        }
    }
}

/// Returns the teammate that `to` names, or the reason for the model.
fn teammate(to: &str) -> Result<MemberName, String> {
    MemberName::teammate(to.trim()).map_err(|_| {
        let to = to.escape_debug();
        format!("`{to}` is not a teammate: pass the name of one as `to`")
    })
}

/// A request of the lead's model, which the member's model may refuse.
fn by_lead(reason: Option<&str>, spawn_id: Option<SpawnId>) -> ShutdownAsk<'_> {
    ShutdownAsk {
        reason,
        by: LEAD_NAME,
        spawn_id,
        force: false,
    }
}

/// Returns the result of an answer to a member's request.
fn answered(outcome: Result<RequestRecord, String>) -> ToolOutput {
    match outcome {
        Ok(record) => {
            let message = format!("{} received your answer.", record.from);
            let out = json!({ "success": true, "message": message, "request_id": record.id });
            ToolOutput::ok(out.to_string(), message)
        }
        Err(why) => refused(&why),
    }
}

/// Describes how far a message to another session has come.
fn reached_text(reached: PeerDelivery) -> &'static str {
    match reached {
        PeerDelivery::Delivered => "Delivered: it is in the session's conversation.",
        PeerDelivery::Held => {
            "Held: the session shows it to its user, who decides when it is read."
        }
        PeerDelivery::Queued | PeerDelivery::Expired => {
            "Queued: the session reads it between two calls or after its turn. It is lost if the session ends first."
        }
    }
}

fn refused(why: &str) -> ToolOutput {
    let content = json!({ "success": false, "message": why });
    ToolOutput {
        is_error: true,
        ..ToolOutput::ok(content.to_string(), why.lines().next().unwrap_or_default())
    }
}

fn sent_output(context: &MemberContext, queued: &[Sent]) -> ToolOutput {
    let names: Vec<&str> = queued.iter().map(|sent| sent.to.as_str()).collect();
    let now = context.clock.now();
    let sentence = |sent: &Sent| {
        let doing = sent.receiver.as_ref().map_or_else(String::new, |receiver| {
            format!(", {}", receiver.for_model(now, context.handoff_scan()))
        });
        let instead = match sent.posted.superseded.len() {
            0 => "",
            _ => " It replaces your unread one.",
        };
        format!("Message queued for {}{doing}.{instead}", sent.to)
    };
    let sentences: Vec<String> = queued.iter().map(sentence).collect();
    let message = sentences.join("\n");
    let out = match queued {
        [one] => json!({
            "success": true,
            "message": message,
            "msg_id": one.posted.msg_id,
            "routing": { "sender": context.name, "target": format!("@{}", one.to) },
        }),
        _ => json!({ "success": true, "message": message, "recipients": names }),
    };
    ToolOutput::ok(out.to_string(), format!("queued for {}", names.join(", ")))
}

#[async_trait]
impl Tool for SendMessageTool {
    fn name(&self) -> &'static str {
        "SendMessage"
    }

    fn description(&self) -> String {
        if self.to_workers {
            return prompt!("tools/SendMessage-coordinator").to_owned();
        }
        let shutdown = if self.context.is_lead() {
            "To stop a teammate, send {\"type\":\"shutdown_request\",\"reason\":\"…\"} as the message. To answer the plan \
             of one, send it {\"type\":\"plan_approval_response\",\"request_id\":\"…\",\"approve\":true}, or \
             \"approve\":false with \"feedback\"."
        } else {
            "To refuse a shutdown request of the lead, send {\"type\":\"shutdown_response\",\"request_id\":\"…\",\
             \"approve\":false,\"reason\":\"…\"} to \"team-lead\"."
        };
        prompt!("tools/SendMessage").replace("{shutdown}", shutdown)
    }

    fn input_schema(&self) -> Value {
        if self.to_workers {
            schema::<ToWorker>()
        } else {
            schema::<Input>()
        }
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Team
    }

    /// A message to another machine leaves what the rules and modes of this one protect.
    fn asks_person(&self, input: &Value) -> bool {
        let to = input["to"].as_str().and_then(PeerAddress::parse);
        to.is_some_and(PeerAddress::is_bridge)
            && self.sessions.is_some()
            && input["message"].is_string()
    }

    fn one_line(&self, input: &Value) -> String {
        let to = input["to"].as_str().unwrap_or("?");
        let line = match &input["message"] {
            // The person decides by the text itself.
            Value::String(text) if self.asks_person(input) => summary_of(text, None),
            Value::String(text) => summary_of(text, input["summary"].as_str()),
            structured => structured["type"].as_str().unwrap_or("?").to_owned(),
        };
        format!("SendMessage → {to}: {line}")
    }

    async fn call(&self, input: Value, ctx: &ToolContext) -> ToolOutput {
        let input: Input = match parse(self.name(), input) {
            Ok(input) => input,
            Err(why) => {
                return refused(&format!(
                    "nothing was sent: {why}. Pass `to` and `message`: a text, or an object of type \
                     shutdown_request, shutdown_response, mode_set_request, plan_approval_response or \
                     permission_response"
                ));
            }
        };
        if let Some(to) = PeerAddress::parse(&input.to).filter(|_| !self.to_workers) {
            return self.to_session(to, &input.message).await;
        }
        match &input.message {
            Message::Text(text) => match self.to_sub_agent(&input.to, text).await {
                Some(output) => output,
                None if self.to_workers && !self.is_member(input.to.trim()).await => {
                    refused(&format!(
                        "nothing was sent: there is no worker `{}`; pass the agent ID that the Agent call returned",
                        input.to.escape_debug()
                    ))
                }
                None => self.text(&input, text).await,
            },
            Message::Structured(Structured::ShutdownRequest { reason }) => {
                self.request(&input.to, reason.as_deref()).await
            }
            Message::Structured(Structured::ShutdownResponse {
                request_id,
                approve,
                reason,
            }) => self.respond(request_id, *approve, reason.as_deref()).await,
            Message::Structured(Structured::PlanApprovalResponse {
                request_id,
                approve,
                feedback,
            }) => {
                let mode = ctx.modes.as_ref().map(|modes| modes.mode());
                let (to, feedback) = (&input.to, feedback.as_deref());
                answered(answer_plan(&self.context, to, request_id, *approve, feedback, mode).await)
            }
            Message::Structured(Structured::ModeSetRequest { mode }) => {
                let own = ctx.modes.as_ref().map(|modes| modes.mode());
                self.set_mode(&input.to, *mode, own.unwrap_or_default())
                    .await
            }
            Message::Structured(Structured::PermissionResponse {
                request_id,
                approve,
                reason,
            }) => {
                let reason = reason.as_deref();
                let host = ctx.host.as_deref();
                let (context, to) = (&self.context, &input.to);
                answered(answer_call(context, to, request_id, *approve, reason, host).await)
            }
        }
    }
}
