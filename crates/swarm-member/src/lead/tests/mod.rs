//! A lead on real files, with members that are played by threads and processes.

mod commands;
mod headless;
mod person;
mod played;
