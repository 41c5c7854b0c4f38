//! Everything that goes wrong on a shared disk and among processes, on purpose: kills, errors of the system, other
//! programs, old locks, damaged files. The suite runs each of these for seconds, `scripts/stress` for as long as it is told.

pub mod dice;
pub mod disk;
pub mod duel;
pub mod everything;
pub mod foreign;
pub mod ground;
pub mod history;
pub mod log;
pub mod mail;
pub mod others;
pub mod planted;
pub mod processes;
pub mod standstill;
pub mod steps;
pub mod stress;
pub mod tasks;
pub mod texts;
pub mod watching;
pub mod worker;
pub mod workers;
