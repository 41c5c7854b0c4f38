//! Work of members on other machines than the lead's: they publish their branches on the hub, and the
//! lead's machine fetches and merges them.

mod fetch;
mod merge_order;
mod ordered_merge;
mod publisher;
mod taken_merge;

pub use fetch::{NotFetched, fetch_published};
pub use merge_order::{MergeOrder, MergeReply, SentTarget};
pub use publisher::BranchPublisher;
pub use taken_merge::{MergeCarrier, TakenMerge, carry_out_merges};
