//! The prompt cache of a provider, and the resulting token counts.
//!
//! The rules are those of the Messages API
//! (<https://docs.claude.com/en/docs/build-with-claude/prompt-caching>), interpreted strictly. A
//! prompt is a sequence of blocks: tools, system prompt, messages. An entry is written at each
//! marked block with a sufficiently long prefix, and can be read once the response to its request
//! has started. A request reads the longest entry that one of its marks finds: at its own block, or
//! at one of the preceding blocks. Entries do not expire.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher as _};

use serde_json::{Map, Value, json};

/// Maximum number of marks in a request.
const MOST_MARKS: usize = 4;

/// Number of blocks at which a mark looks for an entry: its own, and preceding ones.
const LOOK_BACK: usize = 20;

/// Minimum number of tokens of a cached prefix.
const SHORTEST_PREFIX: u64 = 1024;

/// Number of bytes of JSON per token.
const BYTES_A_TOKEN: usize = 4;

/// Token counts of a prompt.
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
    /// Returns the sum.
    pub fn total(self) -> u64 {
        self.fresh + self.read + self.written
    }

    /// Counts requests in rounds: all requests of a round arrive before the first response starts.
    /// Starts with an empty cache.
    ///
    /// # Panics
    /// If the API would reject a request.
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

    /// Returns the `usage` at the start of a response.
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

/// The digest of all blocks up to and including one.
type Prefix = u64;

/// The cache entries: agents with one key share their cache.
#[derive(Debug, Default)]
pub(crate) struct PromptCache {
    entries: HashSet<Prefix>,
}

/// A counted request. Its entries can be read after [`PromptCache::answer_begins`].
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) tokens: PromptTokens,
    writes: Vec<Prefix>,
}

impl PromptCache {
    /// Counts an incoming request. The error is that of the API about its marks.
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

    /// Makes the entries of a request readable because its response starts.
    pub(crate) fn answer_begins(&mut self, counted: Counted) {
        self.entries.extend(counted.writes);
    }
}

/// A block of a prompt.
#[derive(Debug)]
struct Block {
    prefix: Prefix,
    tokens_so_far: u64,
    is_marked: bool,
    takes_mark: bool,
}

/// Returns the blocks of a prompt in the order of the API. A prefix depends on the model and on
/// every byte before its end, without marks; in messages also on the thinking and tool choice
/// settings.
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
        // The length separates adjacent blocks.
        digest.write(format!("{role} {} {plain}", plain.len()).as_bytes());
        bytes += plain.len();
        blocks.push(Block {
            prefix: digest.finish(),
            tokens_so_far: (bytes / BYTES_A_TOKEN) as u64,
            is_marked,
            takes_mark,
        });
    };
    // A deferred tool is not part of the prefix.
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

/// Returns the elements of a list; a string is a list of one text block.
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
