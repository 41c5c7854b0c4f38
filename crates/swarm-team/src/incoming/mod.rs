//! Incoming mail: frames for the program and text for the model.

mod for_model;
mod for_people;
mod message;
#[cfg(test)]
mod tests;

pub use message::{Incoming, sort_mail, speaker};
