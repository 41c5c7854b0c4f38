//! The input of `SendMessage`.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use swarm_protocol::{PermissionMode, RequestId};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Name of the member, `*` for all other members, the id or name of one of your sub-agents, or
    /// the address of another session (`uds:PATH`, or `bridge:ID` on another machine), if you are
    /// the lead
    pub(crate) to: String,
    /// The message in 5 to 10 words
    pub(crate) summary: Option<String>,
    #[serde(deserialize_with = "message")]
    #[schemars(schema_with = "message_schema")]
    pub(crate) message: Message,
    /// Deliver it between two tool calls of a working receiver
    #[serde(default)]
    pub(crate) urgent: bool,
    /// A key such as `progress`: replaces your unread message to the same member with the same key
    pub(crate) supersede: Option<String>,
}

/// The input schema for a coordinator.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ToWorker {
    /// Agent ID or name of the worker
    to: String,
    /// The message in 5 to 10 words
    summary: Option<String>,
    /// The text
    message: String,
}

#[derive(Debug)]
pub(crate) enum Message {
    Text(String),
    Structured(Structured),
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Structured {
    ShutdownRequest {
        #[serde(default)]
        reason: Option<String>,
    },
    ShutdownResponse {
        request_id: RequestId,
        approve: bool,
        #[serde(default)]
        reason: Option<String>,
    },
    PlanApprovalResponse {
        request_id: RequestId,
        #[serde(deserialize_with = "yes_or_no")]
        approve: bool,
        #[serde(default)]
        feedback: Option<String>,
    },
    ModeSetRequest {
        mode: PermissionMode,
    },
    PermissionResponse {
        request_id: RequestId,
        #[serde(deserialize_with = "yes_or_no")]
        approve: bool,
        #[serde(default)]
        reason: Option<String>,
    },
}

/// Models also write the word as a string, as Claude Code allows.
fn yes_or_no<'de, D: Deserializer<'de>>(input: D) -> Result<bool, D::Error> {
    match Value::deserialize(input)? {
        Value::Bool(yes) => Ok(yes),
        Value::String(word) if word == "true" => Ok(true),
        Value::String(word) if word == "false" => Ok(false),
        other => Err(D::Error::custom(format!(
            "`approve` is {other}, not true or false"
        ))),
    }
}

fn message_schema(_: &mut SchemaGenerator) -> Schema {
    let modes = PermissionMode::ALL.map(PermissionMode::name);
    json_schema!({
        "description": "The text, or a structured message",
        "anyOf": [
            { "type": "string" },
            { "type": "object", "properties": {
                "type": { "const": "shutdown_request" }, "reason": { "type": "string" } },
              "required": ["type"] },
            { "type": "object", "properties": {
                "type": { "const": "shutdown_response" }, "request_id": { "type": "string" },
                "approve": { "type": "boolean" }, "reason": { "type": "string" } },
              "required": ["type", "request_id", "approve"] },
            { "type": "object", "properties": {
                "type": { "const": "mode_set_request" }, "mode": { "enum": modes } },
              "required": ["type", "mode"] },
            { "type": "object", "properties": {
                "type": { "const": "plan_approval_response" }, "request_id": { "type": "string" },
                "approve": { "type": "boolean" }, "feedback": { "type": "string" } },
              "required": ["type", "request_id", "approve"] },
            { "type": "object", "properties": {
                "type": { "const": "permission_response" }, "request_id": { "type": "string" },
                "approve": { "type": "boolean" }, "reason": { "type": "string" } },
              "required": ["type", "request_id", "approve"] }
        ]
    })
}

/// Parses the message: serde's errors for an untagged enum are not helpful.
fn message<'de, D: Deserializer<'de>>(input: D) -> Result<Message, D::Error> {
    match Value::deserialize(input)? {
        Value::String(text) => Ok(Message::Text(text)),
        object @ Value::Object(_) => serde_json::from_value(object)
            .map(Message::Structured)
            .map_err(|error| D::Error::custom(format!("`message`: {error}"))),
        _ => Err(D::Error::custom("`message` must be a string or an object")),
    }
}
