//! Scripts for several agents, driven by the conversation alone: a retried request gets the same
//! answer again, regardless of restarts of the server or the client.

use std::collections::BTreeMap;

use super::ask::Ask;
use super::reply::Reply;
use super::server::Brain;

/// Answer of an agent that receives a message while its next step waits.
pub const NOTHING_TO_DO: &str = "Nothing to do yet.";

type Made = Box<dyn Fn(&Ask) -> Reply + Send + Sync>;

/// A step of an agent.
pub struct Step {
    needs: Option<String>,
    reply: Made,
}

impl std::fmt::Debug for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Step")
            .field("needs", &self.needs)
            .finish_non_exhaustive()
    }
}

impl Step {
    /// Sends this reply.
    pub fn says(reply: Reply) -> Self {
        Self::thinks(move |_| reply.clone())
    }

    /// Computes the reply from the request.
    pub fn thinks(reply: impl Fn(&Ask) -> Reply + Send + Sync + 'static) -> Self {
        Self {
            needs: None,
            reply: Box::new(reply),
        }
    }

    /// Delays this step until the conversation contains a text.
    #[must_use]
    pub fn once_seen(mut self, needle: impl Into<String>) -> Self {
        self.needs = Some(needle.into());
        self
    }
}

/// The steps of every agent. An agent without remaining steps has nothing to do; a lead repeats its
/// last answer when it is asked for the final report.
#[derive(Debug, Default)]
pub struct Script {
    agents: BTreeMap<String, Vec<Step>>,
}

impl Script {
    /// Creates an empty script.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the steps of an agent.
    #[must_use]
    pub fn agent(mut self, name: impl Into<String>, steps: impl IntoIterator<Item = Step>) -> Self {
        self.agents.insert(name.into(), steps.into_iter().collect());
        self
    }
}

impl Brain for Script {
    fn reply(&self, ask: &Ask) -> Reply {
        let done = ask.own_texts().filter(|text| text != NOTHING_TO_DO).count();
        let step = self
            .agents
            .get(&ask.agent)
            .and_then(|steps| steps.get(done));
        match step {
            Some(step)
                if step
                    .needs
                    .as_ref()
                    .is_none_or(|needle| ask.has_seen(needle)) =>
            {
                (step.reply)(ask)
            }
            _ if ask.asks_for_report() => Reply::text(last_text(ask)),
            _ => Reply::text(NOTHING_TO_DO),
        }
    }
}

/// Returns the agent's last answer of the script.
fn last_text(ask: &Ask) -> String {
    let texts = ask.own_texts().filter(|text| text != NOTHING_TO_DO);
    texts.last().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::reply::Block;
    use super::*;

    fn ask(said: &[(&str, &str)]) -> Ask {
        let messages: Vec<Value> = said
            .iter()
            .map(|(role, text)| json!({"role": role, "content": text}))
            .collect();
        Ask::new(
            json!({"system": "agent id bob@t", "messages": messages}),
            |_| 1,
        )
    }

    #[test]
    fn steps_follow_the_conversation() {
        let script = Script::new().agent(
            "bob",
            [
                Step::says(Reply::text("one")),
                Step::says(Reply::text("two")).once_seen("go on"),
            ],
        );
        let said = |messages: &[(&str, &str)]| script.reply(&ask(messages)).blocks;
        assert_eq!(said(&[("user", "hi")]), [Block::text("one")]);
        assert_eq!(said(&[("user", "hi")]), [Block::text("one")], "asked again");
        let waiting = [("user", "hi"), ("assistant", "one"), ("user", "mail")];
        assert_eq!(said(&waiting), [Block::text(NOTHING_TO_DO)]);
        let more = [("assistant", NOTHING_TO_DO), ("user", "go on")];
        assert_eq!(
            said(&[&waiting[..], &more[..]].concat()),
            [Block::text("two")]
        );
    }
}
