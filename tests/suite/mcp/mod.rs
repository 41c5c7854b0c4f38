//! MCP servers: those that behave and those that do not, alone and in the hands of a team.

mod asks;
mod bench;
mod family;
mod flow;
mod pool;
mod search;
mod trouble;
