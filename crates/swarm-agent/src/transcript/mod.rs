//! Transcripts: one JSON line per event, in the format and location of Claude Code's.

mod assemble;
mod entry;
mod file;
mod line;
mod list;
mod path;
mod replay;
mod rewind;
mod written;

pub(crate) use entry::{Clearing, CompactTrigger, Compaction, Entry, TurnEnd};
pub use file::{BrokenTranscriptLine, TranscriptFile};
pub use line::TranscriptAuthor;
pub use list::{LeadSession, all_lead_sessions, is_coordinator_session, lead_sessions};
pub use path::{find_transcript, transcript_path};
pub use replay::TranscriptReplay;
pub use rewind::{RewindPoint, RewindPoints};
