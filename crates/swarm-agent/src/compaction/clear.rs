//! Clears the results of old tool calls, which needs no model request.

use std::collections::HashSet;
use std::sync::Arc;

use swarm_model::{StoredBlock, StoredMessage};

use super::meter::{BYTES_A_TOKEN, block_size};
use super::run::TAIL;
use super::tail::beginning;
use crate::history::CLEARED;
use crate::transcript::{Clearing, CompactTrigger, Entry};
use crate::{Result, Session};

/// Results up to this many bytes are kept: the placeholder would hardly be shorter.
const SHORT: u64 = 300;

/// A sweep must free at least this fraction (1/n) of the window, because the server then has to
/// read the rest once without its prompt cache.
const WORTHWHILE: u64 = 4;

impl Session {
    /// Clears all but the latest results in one sweep if that frees enough. Returns whether it did.
    pub(crate) fn clear_old_results(&mut self) -> Result<bool> {
        let limits = &self.parts.limits;
        let Some(window) = limits.window.filter(|_| limits.clear_tool_results) else {
            return Ok(false);
        };
        let whole = self.history.for_model();
        let (kept, _) = beginning(&whole, window * BYTES_A_TOKEN / TAIL);
        let (calls, bytes) = old_results(&whole[..kept], &whole[kept..]);
        let saved = bytes / BYTES_A_TOKEN;
        if saved < window / WORTHWHILE {
            return Ok(false);
        }
        let count = calls.len();
        let cleared = Clearing {
            trigger: CompactTrigger::Auto.word().to_owned(),
            pre_tokens: self.meter.tokens(),
            tokens_saved: saved,
            calls,
            ..Clearing::default()
        };
        self.append(Entry::Cleared(cleared))?;
        let line = format!("cleared {count} old tool results, about {saved} tokens");
        self.notice(line);
        Ok(true)
    }
}

/// Returns the calls whose results can be cleared and the bytes that frees. Ids that recur in the
/// last messages are kept.
fn old_results(old: &[Arc<StoredMessage>], last: &[Arc<StoredMessage>]) -> (Vec<String>, u64) {
    let results = |messages: &'_ [Arc<StoredMessage>]| -> Vec<StoredBlock> {
        let blocks = messages.iter().flat_map(|message| &message.blocks);
        let results = blocks.filter(|block| block.result_id().is_some());
        results.cloned().collect()
    };
    let kept = results(last);
    let kept: HashSet<&str> = kept
        .iter()
        .filter_map(|block| Some(&**block.result_id()?))
        .collect();
    let (mut calls, mut bytes) = (Vec::new(), 0);
    for result in results(old) {
        let length = block_size(&result);
        let id = result.result_id().filter(|id| !kept.contains(&***id));
        if let Some(id) = id.filter(|_| length > SHORT) {
            calls.push(id.to_string());
            bytes += length.saturating_sub(CLEARED.len() as u64);
        }
    }
    (calls, bytes)
}
