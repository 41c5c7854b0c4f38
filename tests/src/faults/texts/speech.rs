//! The model of a member: follows commands that consist of a word and the number of a text.

use serde_json::json;

use crate::fake_api::{Ask, Block, Reply};

/// The answer to a word without a text.
pub(super) const DONE: &str = "that was all";

/// Returns the answer to the last message.
pub(super) fn answer(ask: &Ask, texts: &[String]) -> Reply {
    let news = ask.news();
    let mut blocks = Vec::new();
    for word in ["say", "run", "ask", "env"] {
        for number in numbers(&news, word) {
            let Some(text) = texts.get(number) else {
                continue;
            };
            let id = format!("{word}-{number}");
            blocks.push(match word {
                "say" => Block::text(format!("{text}\n")),
                "run" => Block::tool(id, "Bash", json!({"command": text, "description": text})),
                "ask" => Block::tool(id, "AskUserQuestion", question(text)),
                _ => {
                    let command = format!("printf %s \"$V\" > \"$OUT/env-{number}\"");
                    Block::tool(id, "Bash", json!({ "command": command }))
                }
            });
        }
    }
    if blocks.is_empty() {
        return Reply::text(DONE);
    }
    Reply::blocks(blocks)
}

fn question(text: &str) -> serde_json::Value {
    json!({"questions": [{"question": text, "header": text, "options": [
        {"label": text, "description": text}, {"label": "none of it", "description": text}]}]})
}

/// Returns the numbers after a word and `#`, as in `say#7`.
fn numbers(news: &str, word: &str) -> Vec<usize> {
    let mark = format!("{word}#");
    let marks = news.split(&mark).skip(1);
    let digits = marks.map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
    let mut found: Vec<usize> = digits.filter_map(|digits| digits?.parse().ok()).collect();
    // It is also part of the summary of a message.
    found.dedup();
    found
}
