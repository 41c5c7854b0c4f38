//! A model request as seen by a test: the agent, and the conversation so far.

use serde_json::Value;

/// Texts in a system prompt that precede the agent's name. A teammate's prompt contains its agent
/// id, a lead's only its name.
const MARKS: [&str; 2] = ["agent id ", "You are "];

/// The name for requests whose system prompt names no agent.
const NOBODY: &str = "nobody";

/// A model request.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Name of the agent according to its system prompt.
    pub agent: String,
    /// Number of the request among those of this agent, from 1. A retry counts again.
    pub number: usize,
    /// The whole body.
    pub body: Value,
}

impl Ask {
    /// Creates a request from its body.
    pub fn new(body: Value, number_of: impl FnOnce(&str) -> usize) -> Self {
        let agent = agent_of(&system_text(&body));
        let number = number_of(&agent);
        Self {
            agent,
            number,
            body,
        }
    }

    /// Returns the system prompt as one text.
    pub fn system(&self) -> String {
        system_text(&self.body)
    }

    /// Returns the conversation.
    pub fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map_or(&[], Vec::as_slice)
    }

    /// Returns the names of the offered tools.
    pub fn tools(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().map_or(&[][..], Vec::as_slice);
        tools
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .collect()
    }

    /// Returns all text of the last message: texts and tool results.
    pub fn news(&self) -> String {
        self.messages().last().map(text_of).unwrap_or_default()
    }

    /// Returns the estimated tokens of the prompt, four bytes of JSON each.
    pub fn tokens(&self) -> u64 {
        let parts = ["tools", "system", "messages"];
        let bytes: usize = parts
            .iter()
            .map(|part| self.body[*part].to_string().len())
            .sum();
        (bytes / 4) as u64
    }

    /// Returns whether the last message requests a summary of the conversation.
    pub fn asks_for_summary(&self) -> bool {
        self.news_has("6. Exact next step")
    }

    /// Returns whether the last message asks a lead for the final report of a run.
    pub fn asks_for_report(&self) -> bool {
        self.news_has("Write the final report now")
    }

    /// Returns whether the last message contains this text.
    pub fn news_has(&self, needle: &str) -> bool {
        self.news().contains(needle)
    }

    /// Returns whether any message of the conversation contains this text.
    pub fn has_seen(&self, needle: &str) -> bool {
        self.messages()
            .iter()
            .any(|message| text_of(message).contains(needle))
    }

    /// Returns the agent's previous answers.
    pub fn own_texts(&self) -> impl Iterator<Item = String> {
        self.messages()
            .iter()
            .filter(|message| message["role"] == "assistant")
            .map(text_of)
    }

    /// Returns how often a message or result contains exactly these lines.
    pub fn times_told(&self, lines: &str) -> usize {
        let told = self
            .messages()
            .iter()
            .filter(|message| message["role"] == "user");
        told.map(|message| {
            format!("\n{}\n", text_of(message))
                .matches(&format!("\n{lines}\n"))
                .count()
        })
        .sum()
    }

    /// Returns the result of the call with this id, and whether it was an error.
    pub fn result_of(&self, tool_use_id: &str) -> Option<(String, bool)> {
        let blocks = self.messages().iter().flat_map(blocks);
        let result = blocks
            .filter(|block| block["type"] == "tool_result")
            .find(|block| block["tool_use_id"] == tool_use_id)?;
        Some((
            block_text(result),
            result["is_error"].as_bool().unwrap_or(false),
        ))
    }
}

/// Returns the name of the agent in a system prompt, without its team.
pub fn agent_of(system: &str) -> String {
    let after = MARKS
        .iter()
        .find_map(|mark| Some(system.split_once(mark)?.1));
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let name = after.and_then(|after| {
        let after = after.trim_start_matches(['`', '"', '\'']);
        after.split(|c| !is_name(c)).next()
    });
    match name {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => NOBODY.to_owned(),
    }
}

fn system_text(body: &Value) -> String {
    match &body["system"] {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => join(blocks.iter().map(block_text)),
        _ => String::new(),
    }
}

fn blocks(message: &Value) -> &[Value] {
    message["content"].as_array().map_or(&[], Vec::as_slice)
}

fn text_of(message: &Value) -> String {
    match message["content"].as_str() {
        Some(text) => text.to_owned(),
        None => join(blocks(message).iter().map(block_text)),
    }
}

fn block_text(block: &Value) -> String {
    match (&block["text"], &block["content"]) {
        (Value::String(text), _) | (_, Value::String(text)) => text.clone(),
        (_, Value::Array(parts)) => join(parts.iter().map(block_text)),
        _ => String::new(),
    }
}

fn join(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_agent_is_identified_by_its_system_prompt() {
        assert_eq!(
            agent_of("You are an agent (agent id bob@demo). Work."),
            "bob"
        );
        assert_eq!(agent_of("Your agent id `bob_2@demo`."), "bob_2");
        assert_eq!(agent_of("You are team-lead, the lead."), "team-lead");
        assert_eq!(agent_of("Nobody in particular."), "nobody");
    }

    #[test]
    fn news_and_results_are_found_in_every_form() {
        let body = json!({"system": [{"type": "text", "text": "agent id a-b@t"}], "tools": [{"name": "Read"}],
            "messages": [
                {"role": "user", "content": "hello"},
                {"role": "assistant", "content": [{"type": "text", "text": "hm"}, {"type": "tool_use", "id": "t1"}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "is_error": true,
                     "content": [{"type": "text", "text": "no such file"}]},
                    {"type": "text", "text": "mail"}]}]});
        let ask = Ask::new(body, |_| 3);
        assert_eq!((ask.agent.as_str(), ask.number), ("a-b", 3));
        assert_eq!(ask.news(), "no such file\nmail");
        assert!(ask.has_seen("hello") && !ask.news_has("hello"));
        assert_eq!(ask.result_of("t1"), Some(("no such file".to_owned(), true)));
        assert_eq!(ask.own_texts().collect::<Vec<_>>(), ["hm\n"]);
        assert_eq!(ask.tools(), ["Read"]);
        assert_eq!(
            (
                ask.times_told("mail"),
                ask.times_told("hm"),
                ask.times_told("file")
            ),
            (1, 0, 0)
        );
    }
}
