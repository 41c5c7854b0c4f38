//! A lead on real files, with members simulated by threads and processes.

mod commands;
mod ends;
mod headless;
mod person;
mod played;
