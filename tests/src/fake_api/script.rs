//! What several agents say, step by step, told by the conversation alone: a request that is made again gets the same
//! answer again, however often the server was restarted or the client retried.

use std::collections::BTreeMap;

use super::ask::Ask;
use super::reply::Reply;
use super::server::Brain;

/// What an agent says when there is mail but its next step waits for other news.
pub const NOTHING_TO_DO: &str = "Nothing to do yet.";

type Made = Box<dyn Fn(&Ask) -> Reply + Send + Sync>;

/// One step of an agent.
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
    /// Says this next.
    pub fn says(reply: Reply) -> Self {
        Self::thinks(move |_| reply.clone())
    }

    /// Looks at the request and says something next.
    pub fn thinks(reply: impl Fn(&Ask) -> Reply + Send + Sync + 'static) -> Self {
        Self {
            needs: None,
            reply: Box::new(reply),
        }
    }

    /// Waits with this step until the conversation holds a text.
    #[must_use]
    pub fn once_seen(mut self, needle: impl Into<String>) -> Self {
        self.needs = Some(needle.into());
        self
    }
}

/// The steps of every agent. One without steps, or at the end of them, has nothing to do.
#[derive(Debug, Default)]
pub struct Script {
    agents: BTreeMap<String, Vec<Step>>,
}

impl Script {
    /// A script in which nobody does anything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives an agent its steps.
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
            _ => Reply::text(NOTHING_TO_DO),
        }
    }
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
