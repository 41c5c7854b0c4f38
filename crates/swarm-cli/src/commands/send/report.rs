//! Delivery report of a message for each recipient.

use serde::Serialize;
use serde_json::{Value, json};
use swarm_protocol::{MemberName, TeamName};
use swarm_store::StoreError;
use swarm_team::Sent;
use swarm_ui::print::counted;

use super::receiver::sentence;
use crate::app::App;
use crate::failure::{Failure, Result};
use crate::output::plain;

/// A queued message and its delivery state.
#[derive(Debug)]
pub(super) struct Tracked {
    pub(super) sent: Sent,
    pub(super) reached: DeliveryState,
}

impl From<Sent> for Tracked {
    fn from(sent: Sent) -> Self {
        Self {
            sent,
            reached: DeliveryState::Queued,
        }
    }
}

/// A recipient that did not receive the message.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) to: MemberName,
    pub(super) failure: Failure,
}

impl From<(MemberName, StoreError)> for Refused {
    fn from((to, error): (MemberName, StoreError)) -> Self {
        Self {
            to,
            failure: error.into(),
        }
    }
}

/// The report of one `swarm send`.
pub(super) struct Report<'a> {
    pub(super) team: &'a TeamName,
    /// Whether the message was a broadcast; then the report is always a list.
    pub(super) to_all: bool,
    pub(super) sent: &'a [Tracked],
    pub(super) refused: &'a [Refused],
}

impl Report<'_> {
    /// Prints one line, or one object, per recipient.
    pub(super) fn show(&self, app: &App) -> Result<()> {
        if app.out.json {
            let sent = self.sent.iter().map(record);
            let records: Vec<Value> = sent.chain(self.refused.iter().map(no_record)).collect();
            return match &records[..] {
                [one] if !self.to_all && self.refused.is_empty() => app.out.json(one),
                _ if !self.to_all => Ok(()),
                records => app.out.json(&records),
            };
        }
        let now = app.clock.now();
        for Tracked { sent, reached } in self.sent {
            let doing = sent.receiver.as_ref();
            let doing = doing.filter(|_| *reached == DeliveryState::Queued);
            let doing = doing.map_or_else(String::new, |receiver| {
                format!(" ({})", sentence(receiver, self.team, now))
            });
            let line = format!("{} {}{}{doing}", words(*reached), sent.to, instead(sent));
            app.out.data(&plain(&line))?;
            if let Some(kept) = &sent.posted.quarantine {
                app.out.say(&format!(
                    "swarm: {}'s inbox was damaged and is kept as {}; its queued messages did not reach {}",
                    sent.to,
                    kept.display(),
                    sent.to
                ));
            }
        }
        Ok(())
    }
}

fn words(reached: DeliveryState) -> &'static str {
    match reached {
        DeliveryState::Queued => "queued for",
        DeliveryState::Delivered => "delivered to",
        DeliveryState::Acked => "acknowledged by",
        DeliveryState::Superseded => "replaced by a newer one for",
        DeliveryState::Lost => "lost on its way to",
    }
}

fn instead(sent: &Sent) -> String {
    match sent.posted.superseded.len() as u64 {
        0 => String::new(),
        count => format!(", in place of {}", counted(count, "unread message")),
    }
}

fn record(Tracked { sent, reached }: &Tracked) -> Value {
    json!({
        "to": sent.to,
        "msg_id": sent.posted.msg_id,
        "state": reached,
        "superseded": sent.posted.superseded,
        "quarantine": sent.posted.quarantine,
        "receiver": sent.receiver.as_ref().map(|receiver| json!({
            "state": receiver.state,
            "since": receiver.since,
            "detail": receiver.detail,
            "reads": receiver.reads,
        })),
    })
}

fn no_record(refused: &Refused) -> Value {
    let mut record = refused.failure.to_json();
    record["to"] = json!(refused.to);
    record["state"] = json!("refused");
    record
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum DeliveryState {
    Queued,
    /// Replaced by a newer message with the same key.
    Superseded,
    /// In an inbox that was damaged and moved aside.
    Lost,
    Delivered,
    Acked,
}

impl DeliveryState {
    /// Whether the message will never be read.
    pub(super) fn is_gone(self) -> bool {
        matches!(self, Self::Superseded | Self::Lost)
    }
}
