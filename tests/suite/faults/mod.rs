//! What goes wrong on purpose, for a few seconds each. The long runs are `scripts/stress`.

mod duel;
mod files;
mod flushes;
mod foreign;
mod hub;
mod locks;
mod mail;
mod processes;
mod setting;
mod standstill;
mod steps;
mod tasks;
mod texts;
mod watching;
