//! What is measured, one module for each row.

mod batch;
mod broadcast;
mod carried;
mod idle;
mod list;
mod message;
mod overview;
mod played;
pub(crate) mod send;
mod soak;
pub(crate) mod spawn;
mod tasks;
mod team;

pub(crate) use list::{ALL, Row};
