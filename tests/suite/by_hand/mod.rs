//! Teams that are driven from the shell, without any agent.

mod answers;
mod codes;
mod damage;
mod help;
mod looking;
mod mail;
mod members;
mod policy;
mod questions;
mod refused;
mod room;
mod settings;
mod streams;
mod tasks;
mod teams;
