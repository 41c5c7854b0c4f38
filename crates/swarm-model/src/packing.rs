//! Conversations in contiguous memory.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::message::Role;
use crate::stored::{StoredBlock, StoredMessage};

/// Maximum size of packed memory in bytes. Freeing it does not change the thresholds of the C
/// library's allocator, as freeing 128 kB does.
const PACK: usize = 32 * 1024;

/// Number of messages at the end that are not packed: cache markers are in the last ones.
const RECENT: usize = 6;

/// End of a message in a request.
pub(crate) const CLOSING: &[u8] = b"]}";

/// Returns the start of a message in a request.
pub(crate) fn opening(role: Role) -> &'static [u8] {
    match role {
        Role::User => br#"{"role":"user","content":["#,
        Role::Assistant => br#"{"role":"assistant","content":["#,
    }
}

/// Moves the JSON of messages into contiguous memory, with the bytes that the Messages API gets
/// between them. A request shares this memory, and copies only what is not packed or has changed.
/// Messages at the end stay where they are until enough has followed them.
///
/// Returns the number of messages at the start that need not be passed again.
pub fn pack(messages: &mut [Arc<StoredMessage>]) -> usize {
    let (mut begin, mut length) = (0, 0);
    for at in 0..messages.len().saturating_sub(RECENT) {
        let more = packed_length(&messages[at]);
        if length + more > PACK {
            pack_group(&mut messages[begin..at], length);
            (begin, length) = (at, 0);
        }
        length += more;
    }
    begin
}

/// Returns the length of a message and of the comma in front of it.
fn packed_length(message: &StoredMessage) -> usize {
    let blocks = message.blocks.iter().map(|block| block.bytes().len() + 1);
    opening(message.role).len() + blocks.sum::<usize>() + CLOSING.len() + 1
}

fn pack_group(messages: &mut [Arc<StoredMessage>], length: usize) {
    let ranges = packed_ranges(messages);
    // Alone, a message gains nothing, and a long one would be copied.
    if messages.len() < 2 || is_packed(messages, &ranges) {
        return;
    }
    let mut memory = Vec::with_capacity(length);
    for message in &*messages {
        if !memory.is_empty() {
            memory.push(b',');
        }
        memory.extend_from_slice(opening(message.role));
        for (index, block) in message.blocks.iter().enumerate() {
            if index > 0 {
                memory.push(b',');
            }
            memory.extend_from_slice(block.bytes());
        }
        memory.extend_from_slice(CLOSING);
    }
    let memory = Arc::new(Bytes::from(memory.into_boxed_slice()));
    let blocks = messages.iter_mut().flat_map(blocks_mut);
    for (block, range) in blocks.zip(ranges) {
        block.move_to(&memory, range);
    }
}

/// Returns the positions of the blocks in memory into which only these messages are packed.
fn packed_ranges(messages: &[Arc<StoredMessage>]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut at = 0;
    for message in messages {
        at += opening(message.role).len();
        for (index, block) in message.blocks.iter().enumerate() {
            let begin = at + usize::from(index > 0);
            at = begin + block.bytes().len();
            ranges.push(begin..at);
        }
        // The comma before the next message.
        at += CLOSING.len() + 1;
    }
    ranges
}

/// Whether messages are packed already, for example in the conversation from which this one was forked,
/// with which it shares them.
fn is_packed(messages: &[Arc<StoredMessage>], ranges: &[Range<usize>]) -> bool {
    let blocks = messages.iter().flat_map(|message| &message.blocks);
    let mut places = blocks.map(StoredBlock::place).zip(ranges);
    let Some(((first, at), expected)) = places.next() else {
        return false;
    };
    at == *expected
        && places.all(|((memory, at), expected)| Arc::ptr_eq(memory, first) && at == *expected)
}

fn blocks_mut(message: &mut Arc<StoredMessage>) -> &mut Vec<StoredBlock> {
    &mut Arc::make_mut(message).blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{ContentBlock, Message};

    fn conversation(lengths: impl IntoIterator<Item = usize>) -> Vec<Arc<StoredMessage>> {
        let message = |(at, length): (usize, usize)| {
            let blocks = ["x".repeat(length), format!("{at}")].map(ContentBlock::text);
            let message = match at % 2 {
                0 => Message::user(blocks.into()),
                _ => Message::assistant(blocks.into()),
            };
            Arc::new(StoredMessage::from(message))
        };
        lengths.into_iter().enumerate().map(message).collect()
    }

    #[test]
    fn packed_messages_are_equal_and_next_to_each_other_as_they_are_sent() {
        let before = conversation((0..200).map(|number| number * 7));
        let mut packed = before.clone();
        let done = pack(&mut packed);
        assert_eq!(packed, before);
        assert!((150..194).contains(&done), "{done}");
        let (memory, _) = packed[0].blocks[0].place();
        let in_it = packed.iter().take_while(|message| {
            let (other, _) = message.blocks[1].place();
            Arc::ptr_eq(memory, other)
        });
        let sent: Vec<&StoredMessage> = before[..in_it.count()].iter().map(|one| &**one).collect();
        let sent = serde_json::to_string(&sent).unwrap();
        assert_eq!(format!("[{}]", str::from_utf8(memory).unwrap()), sent);
        assert!(memory.len() > PACK / 2, "{}", memory.len());
    }

    #[test]
    fn messages_that_are_packed_stay_shared() {
        let mut packed = conversation((0..200).map(|number| number * 7));
        pack(&mut packed);
        let mut fork = packed.clone();
        pack(&mut fork);
        let mut both = packed.iter().zip(&fork);
        assert!(both.all(|(one, other)| Arc::ptr_eq(one, other)));
    }

    #[test]
    fn a_long_message_stays_where_it_is() {
        let mut messages = conversation([1, 2, 3 * PACK, 4, 5, 6, 7, 8, 9, 10, 11]);
        let before = messages.clone();
        let place =
            |messages: &[Arc<StoredMessage>], at: usize| messages[at].blocks[0].place().0.as_ptr();
        assert_eq!(pack(&mut messages), 3);
        assert_ne!(place(&messages, 0), place(&before, 0));
        assert_eq!(place(&messages, 0), place(&messages, 1));
        assert_eq!(place(&messages, 2), place(&before, 2));
    }
}
