//! A lead on real files, with members that are played by threads and processes.

mod child;
mod headless;
mod model;
mod recovery;
mod stop;
pub(crate) mod world;
