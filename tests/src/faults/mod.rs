//! Fault injection for the shared disk and processes: kills, I/O errors, other programs, stale
//! locks, damaged files. The suite runs each part for seconds, `scripts/stress` for as long as
//! requested.

mod arrivals;
pub mod dice;
pub mod disk;
pub mod duel;
pub mod everything;
pub mod foreign;
pub mod ground;
pub mod history;
pub mod hub;
pub mod log;
pub mod mail;
pub mod others;
pub mod planted;
pub mod processes;
pub mod standstill;
pub mod steps;
pub mod stress;
mod stress_parts;
pub mod tasks;
pub mod texts;
pub mod watching;
pub mod worker;
pub mod workers;
