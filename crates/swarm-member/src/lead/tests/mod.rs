//! A lead on real files, with members simulated by threads and processes.

mod commands;
mod headless;
mod person;
mod played;
