use serde_json::{Value, json};

use super::*;

/// Returns a text of about this many tokens.
fn long(tokens: usize) -> String {
    "word".repeat(tokens)
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn marked(mut block: Value) -> Value {
    block["cache_control"] = json!({"type": "ephemeral"});
    block
}

/// Returns a request whose conversation is one user message of these blocks.
fn body(system: &str, content: &[Value]) -> Value {
    json!({"model": "m", "system": [marked(text(system))],
        "messages": [{"role": "user", "content": content}]})
}

impl PromptCache {
    /// Counts a request whose response starts immediately.
    fn answered(&mut self, body: &Value) -> PromptTokens {
        let counted = self.count(body).unwrap();
        let tokens = counted.tokens;
        self.answer_begins(counted);
        tokens
    }
}

/// Returns the counts of two requests with a long system prompt and these further blocks.
fn read_after(first: &[Value], second: &[Value]) -> (PromptTokens, PromptTokens) {
    let mut cache = PromptCache::default();
    let system = long(1100);
    let first = cache.answered(&body(&system, first));
    (first, cache.answered(&body(&system, second)))
}

#[test]
fn every_token_of_a_prompt_is_counted_once() {
    let first = text(&long(500));
    let (one, two) = read_after(
        &[marked(first.clone())],
        &[first.clone(), marked(text(&long(300))), text(&long(200))],
    );
    assert_eq!((one.read, one.fresh), (0, 0));
    assert_eq!(two.read, one.written, "the written entry is read");
    assert!((300..330).contains(&two.written), "{two:?}");
    assert!((200..230).contains(&two.fresh), "{two:?}");
    assert_eq!(two.usage()["cache_read_input_tokens"], two.read);
    assert_eq!(two.total(), two.read + two.written + two.fresh);
}

#[test]
fn only_marks_write_and_find_entries() {
    let history = text(&long(2000));
    let (plain, with_mark) = ([history.clone()], [marked(history)]);
    let unmarked = read_after(&plain, &with_mark);
    assert!(unmarked.1.read < 1200, "nothing was kept: {unmarked:?}");
    let not_looked_for = read_after(&with_mark, &plain);
    assert!(not_looked_for.1.read < 1200, "{not_looked_for:?}");
    let both = read_after(&with_mark, &with_mark);
    assert_eq!((both.1.read, both.1.written), (both.0.written, 0));
}

#[test]
fn one_more_byte_in_the_prefix_is_a_miss() {
    let history = text(&long(2000));
    let changed = text(&format!("{}.", long(2000)));
    let (_, tokens) = read_after(&[marked(history)], &[marked(changed)]);
    assert!(tokens.read < 1200 && tokens.written > 2000, "{tokens:?}");
}

#[test]
fn a_mark_looks_at_twenty_blocks_and_no_further() {
    let history = text(&long(2000));
    let read = |between: usize| {
        let mut second = vec![history.clone()];
        second.extend((0..between).map(|n| text(&format!("b{n}"))));
        second.push(marked(text("end")));
        read_after(&[marked(history.clone())], &second).1.read
    };
    assert!(read(18) > 3000, "the entry is the twentieth block");
    assert!(read(19) < 1200, "the entry is the twenty-first block");
}

#[test]
fn an_entry_can_be_read_once_its_answer_has_begun() {
    let mut cache = PromptCache::default();
    let request = body(&long(1100), &[marked(text(&long(2000)))]);
    let first = cache.count(&request).unwrap();
    let second = cache.count(&request).unwrap();
    assert_eq!((first.tokens.read, second.tokens.read), (0, 0));
    cache.answer_begins(first);
    assert!(cache.count(&request).unwrap().tokens.read > 3000);
}

#[test]
fn a_short_prefix_is_not_cached() {
    let mut cache = PromptCache::default();
    let short = body(&long(900), &[]);
    assert_eq!(cache.answered(&short).written, 0);
    assert_eq!(cache.answered(&short).read, 0);
    let enough = body(&long(1024), &[]);
    assert!(cache.answered(&enough).written >= 1024);
}

#[test]
fn five_marks_and_marks_on_thinking_are_rejected() {
    let cache = PromptCache::default();
    let four = [1, 2, 3, 4].map(|n| marked(text(&n.to_string())));
    let refused = cache.count(&body("s", &four)).unwrap_err();
    assert!(refused.contains("found 5"), "{refused}");
    for block in [json!({"type": "thinking", "thinking": "hm"}), text("")] {
        cache.count(&body("s", &[marked(block)])).unwrap_err();
    }
}

#[test]
fn thinking_settings_invalidate_messages_and_another_model_invalidates_everything() {
    let mut cache = PromptCache::default();
    let request = body(&long(1100), &[marked(text(&long(2000)))]);
    let whole = cache.answered(&request).written;
    let read_with = |name: &str, value: Value| {
        let mut other = request.clone();
        other[name] = value;
        cache.count(&other).unwrap().tokens.read
    };
    assert_eq!(
        read_with("max_tokens", json!(7)),
        whole,
        "no part of a prompt"
    );
    let thinking = json!({"type": "enabled", "budget_tokens": 2048});
    let effort = json!({"effort": "low"});
    for (name, value) in [("thinking", thinking), ("output_config", effort)] {
        let read = read_with(name, value);
        assert!((1100..1200).contains(&read), "{name}: {read}");
    }
    assert_eq!(read_with("model", json!("other")), 0);
}
