//! What the prompt cache of a provider makes of the requests of real programs.

mod fork;
mod long;
