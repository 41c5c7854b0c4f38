//! Assembly of tool calls from pieces as servers send them.

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Assembles pieces and returns the calls as id, name and input.
fn calls(pieces: &[Value]) -> Vec<(String, String, Value)> {
    let mut calls = Calls::default();
    for piece in pieces {
        calls.take(serde_json::from_value(piece.clone()).unwrap());
    }
    calls
        .into_content()
        .map(|block| match block {
            ContentBlock::ToolUse { id, name, input } => (id, name, input),
            other => panic!("{other:?}"),
        })
        .collect()
}

fn inputs(pieces: &[Value]) -> Vec<(String, Value)> {
    let calls = calls(pieces);
    let mut ids: Vec<&str> = calls.iter().map(|(id, ..)| id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert!(
        ids.len() == calls.len() && !ids.contains(&""),
        "ids are unique: {calls:?}"
    );
    calls
        .into_iter()
        .map(|(_, name, input)| (name, input))
        .collect()
}

fn whole(name: &str, input: &Value) -> Value {
    json!({"function": {"name": name, "arguments": input.to_string()}})
}

fn with(mut piece: Value, key: &str, value: Value) -> Value {
    piece[key] = value;
    piece
}

#[test]
fn pieces_are_joined_by_their_index() {
    let made = calls(&[
        json!({"index": 0, "id": "call_a", "type": "function", "function": {"name": "Read", "arguments": ""}}),
        json!({"index": 0, "function": {"arguments": "{\"file_pa"}}),
        json!({"index": 1, "id": "call_b", "type": "function", "function": {"name": "Bash", "arguments": ""}}),
        json!({"index": 0, "function": {"arguments": "th\":\"/é\"}"}}),
        json!({"index": 1, "id": null, "function": {"name": null, "arguments": "{}"}}),
    ]);
    assert_eq!(
        made,
        [
            (
                "call_a".to_owned(),
                "Read".to_owned(),
                json!({"file_path": "/é"})
            ),
            ("call_b".to_owned(), "Bash".to_owned(), json!({})),
        ]
    );
}

#[test]
fn whole_calls_without_index_or_id_are_kept_apart() {
    let (a, b) = (json!({"x": 1}), json!({"x": 2}));
    let expected = [
        ("Read".to_owned(), a.clone()),
        ("Read".to_owned(), b.clone()),
    ];
    let pieces = [whole("Read", &a), whole("Read", &b)];
    assert_eq!(inputs(&pieces), expected, "neither index nor id");
    let zero = pieces.clone().map(|piece| with(piece, "index", json!(0)));
    assert_eq!(inputs(&zero), expected, "every index 0, no id");
    let same = zero.clone().map(|piece| with(piece, "id", json!("call_0")));
    assert_eq!(inputs(&same), expected, "the same index and id");
    let [first, second] = zero;
    let ids = [
        with(first, "id", json!("call_1")),
        with(second, "id", json!("call_2")),
    ];
    assert_eq!(inputs(&ids), expected, "every index 0, ids");
    let [first, second] = pieces;
    let no_index = [
        with(first, "id", json!("call_1")),
        with(second, "id", json!("call_2")),
    ];
    assert_eq!(inputs(&no_index), expected, "ids without index");
}

#[test]
fn calls_without_input_that_share_an_index_are_distinguished_by_id() {
    let piece =
        |id: &str| json!({"index": 0, "id": id, "function": {"name": "List", "arguments": ""}});
    let expected = ("List".to_owned(), json!({}));
    assert_eq!(
        inputs(&[piece("call_1"), piece("call_2")]),
        [expected.clone(), expected]
    );
}

#[test]
fn pieces_that_repeat_id_and_name_are_one_call() {
    let piece = |more: &str| json!({"index": 0, "id": "call_a", "function": {"name": "Read", "arguments": more}});
    assert_eq!(
        inputs(&[
            piece(""),
            piece("{\"x\""),
            piece(":1}"),
            piece("\n "),
            piece("")
        ]),
        [("Read".to_owned(), json!({"x": 1}))]
    );
}

#[test]
fn input_may_be_an_object_or_null_or_doubly_encoded() {
    for (arguments, expected) in [
        (json!({"x": 1}), json!({"x": 1})),
        (json!(null), json!({})),
        (json!(""), json!({})),
        (json!(" "), json!({})),
        (json!("null"), json!({})),
        (json!("\"{\\\"x\\\":1}\""), json!({"x": 1})),
    ] {
        let piece =
            json!({"index": 0, "id": "c", "function": {"name": "Read", "arguments": arguments}});
        assert_eq!(inputs(&[piece]), [("Read".to_owned(), expected)]);
    }
}

#[test]
fn broken_input_is_kept_as_raw_text() {
    for raw in ["{\"x\":", "[1]", "\"text\"", "7", "{}{}"] {
        let piece = json!({"index": 0, "id": "c", "function": {"name": "Read", "arguments": raw}});
        assert_eq!(inputs(&[piece]), [("Read".to_owned(), json!(raw))]);
    }
}

#[test]
fn a_call_without_a_name_gets_a_placeholder_name() {
    let made = inputs(&[json!({"index": 0, "function": {"arguments": "{}"}})]);
    assert_eq!(made, [(MISSING_NAME.to_owned(), json!({}))]);
}

/// How a server splits calls into pieces.
#[derive(Debug, Clone, Copy)]
enum Manner {
    ByTheBook,
    WholeWithoutIndex,
    AllIndexZero,
    Bare,
}

fn written(manner: Manner, made: &[(String, Value)], size: usize) -> Vec<Value> {
    let mut pieces = Vec::new();
    for (number, (name, input)) in made.iter().enumerate() {
        let id = format!("call_{number}");
        match manner {
            Manner::ByTheBook => {
                pieces.push(
                    json!({"index": number, "id": id, "function": {"name": name, "arguments": ""}}),
                );
                let text: Vec<char> = input.to_string().chars().collect();
                for part in text.chunks(size) {
                    let part: String = part.iter().collect();
                    pieces.push(json!({"index": number, "function": {"arguments": part}}));
                }
            }
            Manner::WholeWithoutIndex => pieces.push(with(whole(name, input), "id", json!(id))),
            Manner::AllIndexZero => {
                let piece = with(whole(name, input), "id", json!(id));
                pieces.push(with(piece, "index", json!(0)));
            }
            Manner::Bare => {
                pieces.push(json!({"function": {"name": name, "arguments": input}}));
            }
        }
    }
    pieces
}

proptest! {
    #[test]
    fn every_server_style_gives_the_same_calls(
        made in proptest::collection::vec(("[A-Za-z_]{1,12}", "[ -~é🧠]{0,20}"), 0..5),
        manner in prop_oneof![Just(Manner::ByTheBook), Just(Manner::WholeWithoutIndex), Just(Manner::AllIndexZero), Just(Manner::Bare)],
        size in 1usize..9,
    ) {
        let made: Vec<(String, Value)> = made.into_iter().map(|(name, text)| (name, json!({"text": text}))).collect();
        prop_assert_eq!(inputs(&written(manner, &made, size)), made);
    }

    #[test]
    fn no_pieces_lose_a_call_its_id_or_panic(
        pieces in proptest::collection::vec((proptest::option::of(0u64..3), proptest::option::of("[ab]?"), proptest::option::of("[RW]?"), "[{}a:\"]{0,4}"), 0..12),
    ) {
        let pieces: Vec<Value> = pieces.into_iter().map(|(index, id, name, more)| {
            json!({"index": index, "id": id, "function": {"name": name, "arguments": more}})
        }).collect();
        inputs(&pieces);
    }
}
