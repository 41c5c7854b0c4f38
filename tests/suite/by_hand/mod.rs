//! Teams that are driven from the shell, without any agent.

mod help;
mod looking;
mod mail;
mod members;
mod tasks;
mod teams;
