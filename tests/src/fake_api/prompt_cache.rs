//! The prompt cache of a provider, and the token counts that follow from it.
//!
//! The rules are those of the Messages API (<https://docs.claude.com/en/docs/build-with-claude/prompt-caching>), read
//! strictly where they leave room. A prompt is a row of blocks: tools, system prompt, messages. An entry is written at
//! each marked block whose prefix is long enough, and can be read once the answer to the request that wrote it has
//! begun. A request reads the longest entry that one of its marks finds: at its own block, or at one of the blocks
//! before it. Nothing is forgotten by time.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher as _};

use serde_json::{Map, Value, json};

/// Marks that a request may carry.
const MOST_MARKS: usize = 4;

/// Blocks at which a mark looks for an entry: its own, and those before it.
const LOOK_BACK: usize = 20;

/// Tokens below which a prefix is not kept.
const SHORTEST_PREFIX: u64 = 1024;

/// Bytes of JSON that are taken for a token.
const BYTES_A_TOKEN: usize = 4;

/// What is counted of a request's prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PromptTokens {
    /// Neither read from the cache nor written to it.
    pub fresh: u64,
    /// Read from the cache.
    pub read: u64,
    /// Written to the cache.
    pub written: u64,
}

impl PromptTokens {
    /// All of them.
    pub fn total(self) -> u64 {
        self.fresh + self.read + self.written
    }

    /// How requests are counted that come in rounds: within a round all of them are there before an answer begins. A
    /// cache of its own begins with nothing.
    ///
    /// # Panics
    /// When the API would refuse one.
    pub fn of_rounds(rounds: &[Vec<Value>]) -> Vec<Vec<Self>> {
        let mut cache = PromptCache::default();
        let rounds = rounds.iter().map(|bodies| {
            let count = |body| cache.count(body).expect("marks that the API takes");
            let counted: Vec<Counted> = bodies.iter().map(count).collect();
            let tokens = counted.iter().map(|one| one.tokens).collect();
            for one in counted {
                cache.answer_begins(one);
            }
            tokens
        });
        rounds.collect()
    }

    /// The `usage` at the head of an answer.
    pub(crate) fn usage(self) -> Value {
        json!({
            "input_tokens": self.fresh,
            "cache_creation_input_tokens": self.written,
            "cache_read_input_tokens": self.read,
            "output_tokens": 1,
        })
    }
}

impl std::iter::Sum for PromptTokens {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, next| Self {
            fresh: sum.fresh + next.fresh,
            read: sum.read + next.read,
            written: sum.written + next.written,
        })
    }
}

/// The digest of everything up to and with a block.
type Prefix = u64;

/// What can be read, from whichever agent it came: agents of one key share their cache.
#[derive(Debug, Default)]
pub(crate) struct PromptCache {
    entries: HashSet<Prefix>,
}

/// A request that was counted. What it writes can be read after [`PromptCache::answer_begins`].
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) tokens: PromptTokens,
    writes: Vec<Prefix>,
}

impl PromptCache {
    /// Counts a request when it comes in. The error says what the API has against its marks.
    pub(crate) fn count(&self, body: &Value) -> Result<Counted, String> {
        if let Some(tool) = listed(&body["tools"])
            .iter()
            .find(|tool| tool["defer_loading"] == true && tool.get("cache_control").is_some())
        {
            let name = &tool["name"];
            return Err(format!(
                "Tool {name} cannot have both defer_loading=true and cache_control set"
            ));
        }
        let blocks = blocks(body);
        let marks: Vec<usize> = (0..blocks.len())
            .filter(|at| blocks[*at].is_marked)
            .collect();
        if marks.len() > MOST_MARKS {
            return Err(format!(
                "a maximum of {MOST_MARKS} blocks with cache_control may be provided, found {}",
                marks.len()
            ));
        }
        if let Some(at) = marks.iter().find(|at| !blocks[**at].takes_mark) {
            return Err(format!("block {at} cannot carry cache_control"));
        }
        let upto = |at: usize| blocks[at].tokens_so_far;
        let found = marks.iter().filter_map(|mark| {
            let window = mark.saturating_sub(LOOK_BACK - 1)..=*mark;
            window
                .rev()
                .find(|at| self.entries.contains(&blocks[*at].prefix))
        });
        let read = found.max().map_or(0, upto);
        let kept: Vec<usize> = marks
            .into_iter()
            .filter(|mark| upto(*mark) >= SHORTEST_PREFIX)
            .collect();
        let marked = kept.last().map_or(0, |mark| upto(*mark)).max(read);
        let total = blocks.last().map_or(0, |block| block.tokens_so_far);
        Ok(Counted {
            tokens: PromptTokens {
                fresh: total - marked,
                read,
                written: marked - read,
            },
            writes: kept.into_iter().map(|mark| blocks[mark].prefix).collect(),
        })
    }

    /// The answer begins: what the request wrote can be read from now on.
    pub(crate) fn answer_begins(&mut self, counted: Counted) {
        self.entries.extend(counted.writes);
    }
}

/// A block of a prompt in its place.
#[derive(Debug)]
struct Block {
    prefix: Prefix,
    tokens_so_far: u64,
    is_marked: bool,
    takes_mark: bool,
}

/// The prompt in the order in which the API reads it. A prefix depends on the model and on every byte before its end,
/// marks left out; one in the messages also on how the model is to think and choose.
fn blocks(body: &Value) -> Vec<Block> {
    let mut digest = DefaultHasher::new();
    digest.write(body["model"].to_string().as_bytes());
    let mut bytes = 0;
    let mut blocks = Vec::new();
    let mut push = |digest: &mut DefaultHasher, role: &str, block: Value| {
        let kind = block["type"].as_str().unwrap_or_default();
        let takes_mark = !matches!(kind, "thinking" | "redacted_thinking") && block["text"] != "";
        let (plain, is_marked) = without_mark(block);
        let plain = plain.to_string();
        // The length keeps two blocks from running into one.
        digest.write(format!("{role} {} {plain}", plain.len()).as_bytes());
        bytes += plain.len();
        blocks.push(Block {
            prefix: digest.finish(),
            tokens_so_far: (bytes / BYTES_A_TOKEN) as u64,
            is_marked,
            takes_mark,
        });
    };
    // A deferred tool is no part of the prefix.
    for tool in listed(&body["tools"]) {
        if tool["defer_loading"] == true {
            continue;
        }
        push(&mut digest, "tool", tool);
    }
    for block in listed(&body["system"]) {
        push(&mut digest, "system", block);
    }
    for setting in ["thinking", "output_config", "tool_choice"] {
        digest.write(body[setting].to_string().as_bytes());
    }
    for message in listed(&body["messages"]) {
        let role = message["role"].as_str().unwrap_or_default();
        for block in listed(&message["content"]) {
            push(&mut digest, role, block);
        }
    }
    blocks
}

/// The elements of a list; a string is a list of one text block.
fn listed(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items.clone(),
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        _ => Vec::new(),
    }
}

fn without_mark(block: Value) -> (Value, bool) {
    match block {
        Value::Object(fields) => {
            let is_marked = fields.contains_key("cache_control");
            let rest: Map<String, Value> = fields
                .into_iter()
                .filter(|(name, _)| name != "cache_control")
                .collect();
            (Value::Object(rest), is_marked)
        }
        other => (other, false),
    }
}

#[cfg(test)]
#[path = "prompt_cache_tests.rs"]
mod tests;
