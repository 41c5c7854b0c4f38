//! `swarm doctor`: checks the installation and suggests fixes.

mod agent_config;
mod agent_programs;
mod cleanup;
mod disk;
mod finding;
mod hubs;
mod instructions;
mod programs;
mod run;
mod sandbox;
mod servers;
mod trust;
mod written;

pub(super) use run::{DoctorArgs, run};
