//! `swarm doctor`: what is there, what is missing, and what to do.

mod cleanup;
mod disk;
mod equipment;
mod finding;
mod instructions;
mod programs;
mod run;
mod sandbox;
mod servers;
mod trust;
mod written;

pub(super) use run::run;
