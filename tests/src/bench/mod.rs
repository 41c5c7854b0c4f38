//! Costs of swarm compared with minimal programs on the same machine in the same run:
//! `scripts/bench`.

mod figure;
mod floor;
mod machine;
mod order;
mod process;
mod roles;
mod rows;
mod run;
mod scratch;
mod table;

pub use run::main;
