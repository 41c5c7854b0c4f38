//! The measurements, one module for each row.

mod batch;
mod broadcast;
mod carried;
mod coop;
pub(crate) mod hub;
mod hub_growth;
mod idle;
mod list;
mod long;
mod message;
mod overview;
mod played;
mod sandbox;
mod screen;
pub(crate) mod send;
mod soak;
pub(crate) mod spawn;
mod stop;
mod tasks;
mod team;
mod watch;

pub(crate) use list::{ALL, Row};
