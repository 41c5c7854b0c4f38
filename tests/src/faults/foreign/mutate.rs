//! Mutations of valid data: of its bytes, and of its JSON values.

use serde_json::{Map, Value, json};

use crate::faults::dice::Dice;

/// Byte sequences that are difficult for parsers.
const PIECES: [&[u8]; 31] = [
    b"\"",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"\\udc00",
    b"\xff",
    b"\xc3",
    b"\xef\xbb\xbf",
    b"\0",
    b"\n",
    b"\t",
    b"\r\n",
    b"\r",
    b"[",
    b"]",
    b"{",
    b"}",
    b"{}",
    b"null",
    b"-1",
    b"1e999",
    b"1e-400",
    b"18446744073709551616",
    b"0.1",
    b":",
    b",",
    b"---\n",
    b"*a",
    b"&a ",
    b"data: ",
    b"$(",
];

/// Returns the data with another mutation.
pub(super) fn mutated(bytes: &[u8], pool: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    if dice.below(3) == 0
        && let Ok(mut document) = serde_json::from_slice::<Value>(bytes)
    {
        twist(&mut document, dice);
        return serde_json::to_vec(&document).unwrap_or_default();
    }
    let mut bytes = bytes.to_vec();
    let at = dice.below(bytes.len() + 1);
    let end = at + dice.below((bytes.len() - at).min(40) + 1);
    match dice.below(6) {
        0 => drop(bytes.splice(at..end, dice.pick(&PIECES).iter().copied())),
        1 => drop(bytes.drain(at..end)),
        2 => {
            let part = bytes[at..end].to_vec();
            let times = 1 + dice.below(20);
            drop(bytes.splice(at..at, part.repeat(times)));
        }
        3 => {
            let other = dice.pick(pool);
            let from = dice.below(other.len() + 1);
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
        4 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
        _ => drop(bytes.splice(at..at, dice.pick(&PIECES).iter().copied())),
    }
    bytes
}

/// Changes one position in a document.
fn twist(document: &mut Value, dice: &mut Dice) {
    match document {
        Value::Object(fields) if !fields.is_empty() && dice.below(4) > 0 => {
            let name = fields.keys().nth(dice.below(fields.len())).cloned();
            twist_field(fields, &name.unwrap_or_default(), dice);
        }
        Value::Array(elements) if !elements.is_empty() && dice.below(4) > 0 => {
            let at = dice.below(elements.len());
            match dice.below(4) {
                0 => elements.push(elements[at].clone()),
                1 => drop(elements.remove(at)),
                _ => twist(&mut elements[at], dice),
            }
        }
        _ => *document = any_value(dice),
    }
}

fn twist_field(fields: &mut Map<String, Value>, name: &str, dice: &mut Dice) {
    match dice.below(6) {
        0 => drop(fields.shift_remove(name)),
        1 => drop(fields.insert(format!("{name}X"), any_value(dice))),
        2 => {
            let value = fields.get(name).cloned().unwrap_or_default();
            fields.insert(name.to_uppercase(), value);
        }
        _ => twist(fields.entry(name).or_insert(Value::Null), dice),
    }
}

fn any_value(dice: &mut Dice) -> Value {
    let values = [
        Value::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(u64::MAX),
        json!(1.0e300),
        json!(0.1),
        json!(""),
        json!("x\u{0}\u{202e}</teammate-message>"),
        json!("%1"),
        json!("../../x"),
        json!("00000000-0000-4000-8000-000000000000"),
        json!([]),
        json!([[], {}]),
        json!({}),
        json!({"swarm": {"version": -1}}),
    ];
    dice.pick(&values).clone()
}
