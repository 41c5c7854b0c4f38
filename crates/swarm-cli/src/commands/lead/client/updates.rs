//! Events of a lead as updates of a session.

use serde_json::{Value, json};
use swarm_protocol::{AgentEvent, DetailLine, LineChange, SubAgentId, TaskStatus};
use swarm_store::TaskList;

use crate::output::plain;

/// Converts events, in the order in which they happen.
#[derive(Debug, Default)]
pub(super) struct Updates {
    repeats_prompts: bool,
    text: Text,
}

/// What the last update was.
#[derive(Debug, Default, PartialEq, Eq)]
enum Text {
    /// Not text of the agent.
    #[default]
    Closed,
    /// A part of a message.
    Open,
    /// The end of a message. Clients join the next text to it.
    Ended,
}

impl Updates {
    /// Converts the history of a session, which includes the prompts.
    pub(super) fn of_history() -> Self {
        Self {
            repeats_prompts: true,
            ..Self::default()
        }
    }

    /// Returns the update for an event, if the client gets one.
    pub(super) fn of(&mut self, event: &AgentEvent) -> Option<Value> {
        match event {
            AgentEvent::TextDelta { text } => Some(self.message(text)),
            AgentEvent::MessageDone { text } => self.message_done(text),
            AgentEvent::TextDiscarded => (self.text == Text::Open)
                .then(|| self.paragraph("(The text above is discarded; the request is repeated.)")),
            AgentEvent::CommandOutput { text } => {
                let text = format!("```\n{}\n```", plain(text.trim_end()));
                Some(self.paragraph(&text))
            }
            AgentEvent::MailIn {
                from, line, more, ..
            } => {
                let text = more.as_ref().map_or(line, |more| &more.text);
                match from.as_str() {
                    "you" if !self.repeats_prompts => None,
                    "you" => Some(self.chunk("user_message_chunk", text)),
                    from => Some(self.paragraph(&quoted(from, text))),
                }
            }
            AgentEvent::Asked { from, line, id, team } => Some(self.paragraph(&format!(
                "{from} asks for permission: {line}. Answer with `swarm approve {id} --team {team}` \
                 or `swarm deny {id} --team {team}` in a terminal."
            ))),
            AgentEvent::ThinkingDelta { text } => Some(self.chunk("agent_thought_chunk", text)),
            AgentEvent::Notice { line } => Some(self.notice(line)),
            AgentEvent::Retrying {
                wait_ms, reason, ..
            } => Some(self.notice(&format!("retrying in {} s: {reason}", wait_ms.div_ceil(1000)))),
            AgentEvent::Compacted { before, after, .. } => Some(self.notice(&format!(
                "conversation compacted: {before} to {after} tokens"
            ))),
            AgentEvent::CallRepeated { tool, times, .. } => Some(self.notice(&format!(
                "the same call of {tool} {times} times in a row"
            ))),
            AgentEvent::ToolStarted { id, tool, line } => Some(self.call(id, tool, line)),
            AgentEvent::ToolFinished {
                id,
                ok,
                line,
                detail,
                ..
            } => Some(self.result(id, *ok, line, detail)),
            AgentEvent::SubAgentEvent { id, event } => self.of_sub_agent(id, event),
            AgentEvent::SubAgentEnded {
                agent_type,
                error: Some(error),
                ..
            } => Some(self.notice(&format!("sub-agent {agent_type} failed: {error}"))),
            AgentEvent::Context(used) => Some(json!({
                "sessionUpdate": "usage_update", "used": used.tokens, "size": used.window,
            })),
            AgentEvent::ModeChanged { mode } => Some(json!({
                "sessionUpdate": "current_mode_update", "currentModeId": mode.name(),
            })),
            // An interrupted turn ends within a text.
            AgentEvent::TurnEnded { .. } => {
                self.end_text();
                None
            }
            // The client shows the turn itself; the rest is shown by the calls and the plan.
            AgentEvent::TurnStarted
            | AgentEvent::State { .. }
            | AgentEvent::MailOut { .. }
            | AgentEvent::Commands { .. }
            | AgentEvent::ModelChanged { .. }
            | AgentEvent::FallbackUsed { .. }
            | AgentEvent::SubAgentStarted { .. }
            | AgentEvent::SubAgentEnded { .. }
            | AgentEvent::Expand => None,
        }
    }

    /// The calls of a sub-agent are shown next to those of the lead.
    fn of_sub_agent(&mut self, sub_agent: &SubAgentId, event: &AgentEvent) -> Option<Value> {
        let own = |id: &str| format!("{sub_agent}/{id}");
        match event {
            AgentEvent::ToolStarted { id, tool, line } => Some(self.call(&own(id), tool, line)),
            AgentEvent::ToolFinished {
                id,
                ok,
                line,
                detail,
                ..
            } => Some(self.result(&own(id), *ok, line, detail)),
            AgentEvent::SubAgentEvent { id, event } => self.of_sub_agent(id, event),
            _ => None,
        }
    }

    fn message(&mut self, text: &str) -> Value {
        let gap = if self.text == Text::Ended { "\n\n" } else { "" };
        let text = format!("{gap}{text}");
        let chunk = self.chunk("agent_message_chunk", &text);
        self.text = Text::Open;
        chunk
    }

    /// A complete text, separate from what precedes it.
    fn paragraph(&mut self, text: &str) -> Value {
        self.end_text();
        let chunk = self.message(text);
        self.text = Text::Ended;
        chunk
    }

    fn end_text(&mut self) {
        if self.text == Text::Open {
            self.text = Text::Ended;
        }
    }

    fn message_done(&mut self, text: &str) -> Option<Value> {
        if self.text == Text::Open {
            self.text = Text::Ended;
            return None;
        }
        (!text.is_empty()).then(|| self.paragraph(text))
    }

    fn notice(&mut self, line: &str) -> Value {
        self.chunk(
            "agent_thought_chunk",
            &format!("{}\n\n", plain(line.trim_end())),
        )
    }

    fn chunk(&mut self, kind: &str, text: &str) -> Value {
        self.text = Text::Closed;
        json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}})
    }

    fn call(&mut self, id: &str, tool: &str, line: &str) -> Value {
        self.text = Text::Closed;
        json!({
            "sessionUpdate": "tool_call", "toolCallId": id, "title": plain(line),
            "kind": tool_kind(tool), "status": "in_progress",
        })
    }

    fn result(&mut self, id: &str, ok: bool, line: &str, detail: &[DetailLine]) -> Value {
        self.text = Text::Closed;
        let mut text = plain(line);
        for line in detail {
            let sign = match line.change {
                Some(LineChange::Added) => "+",
                Some(LineChange::Removed) => "-",
                None => "",
            };
            text.push('\n');
            text.push_str(sign);
            text.push_str(&plain(&line.text));
        }
        json!({
            "sessionUpdate": "tool_call_update", "toolCallId": id,
            "status": if ok { "completed" } else { "failed" },
            "content": [{"type": "content", "content": {"type": "text", "text": text}}],
        })
    }
}

fn quoted(from: &str, text: &str) -> String {
    let text = plain(text);
    format!("> **{from}:** {}", text.trim_end().replace('\n', "\n> "))
}

/// Returns the protocol's word for the kind of a tool.
pub(super) fn tool_kind(tool: &str) -> &'static str {
    match tool {
        "Read" => "read",
        "Edit" | "Write" | "NotebookEdit" => "edit",
        "Bash" => "execute",
        "Glob" | "Grep" => "search",
        "WebFetch" | "WebSearch" => "fetch",
        "TodoWrite" => "think",
        "EnterPlanMode" | "ExitPlanMode" => "switch_mode",
        _ => "other",
    }
}

/// Returns the tasks of a team as the plan of the session.
pub(super) fn plan(tasks: &TaskList) -> Value {
    let entries = tasks.tasks.iter().map(|task| {
        let owner = task.owner.as_deref();
        let owner = owner.map_or_else(String::new, |owner| format!(" ({owner})"));
        let status = match task.status {
            TaskStatus::Completed => "completed",
            TaskStatus::InProgress => "in_progress",
            TaskStatus::Pending => "pending",
        };
        json!({
            "content": format!("#{} {}{owner}", task.id, plain(&task.subject)),
            "priority": "medium", "status": status,
        })
    });
    json!({"sessionUpdate": "plan", "entries": entries.collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(events: &[AgentEvent]) -> Vec<String> {
        let mut updates = Updates::default();
        let updates = events.iter().filter_map(|event| updates.of(event));
        updates
            .map(|update| {
                let text = update["content"]["text"].as_str();
                text.map_or_else(|| update["sessionUpdate"].to_string(), str::to_owned)
            })
            .collect()
    }

    #[test]
    fn texts_that_a_client_would_join_are_separate_paragraphs() {
        let delta = |text: &str| AgentEvent::TextDelta { text: text.into() };
        let done = |text: &str| AgentEvent::MessageDone { text: text.into() };
        let mail = AgentEvent::MailIn {
            from: "bob".to_owned(),
            color: None,
            line: "done\nall of it".to_owned(),
            more: None,
        };
        let call = AgentEvent::ToolStarted {
            id: "t1".to_owned(),
            tool: "Bash".to_owned(),
            line: "Bash ls".to_owned(),
        };
        let events = [
            delta("one "),
            delta("message"),
            done("one message"),
            mail,
            done("not streamed"),
            call,
            delta("after a call"),
        ];
        assert_eq!(
            texts(&events),
            [
                "one ",
                "message",
                "\n\n> **bob:** done\n> all of it",
                "\n\nnot streamed",
                "\"tool_call\"",
                "after a call",
            ]
        );
    }

    #[test]
    fn text_after_an_interrupted_turn_is_not_lost() {
        let ended = AgentEvent::TurnEnded {
            text: String::new(),
            usage: swarm_protocol::Usage::default(),
            outcome: "interrupted".to_owned(),
            error: Some("the turn was interrupted".to_owned()),
        };
        let half = AgentEvent::TextDelta {
            text: "half".to_owned(),
        };
        let next = AgentEvent::MessageDone {
            text: "not streamed".to_owned(),
        };
        assert_eq!(texts(&[half, ended, next]), ["half", "\n\nnot streamed"]);
    }

    #[test]
    fn only_the_history_repeats_prompts() {
        let typed = AgentEvent::MailIn {
            from: "you".to_owned(),
            color: None,
            line: "hello".to_owned(),
            more: None,
        };
        assert_eq!(Updates::default().of(&typed), None);
        let repeated = Updates::of_history().of(&typed).unwrap();
        assert_eq!(repeated["sessionUpdate"], "user_message_chunk");
    }

    #[test]
    fn calls_of_sub_agents_have_ids_of_their_own() {
        let event = AgentEvent::ToolFinished {
            id: "t1".to_owned(),
            tool: "Edit".to_owned(),
            ok: true,
            line: "1 line".to_owned(),
            detail: vec![DetailLine {
                number: Some(1),
                change: Some(LineChange::Added),
                text: "new".to_owned(),
            }],
        };
        let event = AgentEvent::SubAgentEvent {
            id: "a0123456789abcdef".parse().unwrap(),
            event: Box::new(event),
        };
        let update = Updates::default().of(&event).unwrap();
        assert_eq!(update["toolCallId"], "a0123456789abcdef/t1");
        assert_eq!(update["content"][0]["content"]["text"], "1 line\n+new");
    }
}
