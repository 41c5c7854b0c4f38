//! The headless lead: one prompt, a team, an orderly end.

mod assemble;
mod desk;
mod farewell;
mod headless;
mod parts;
mod prompt;
mod report;
mod result_text;
mod servers;
mod settle;
mod supervise;
mod team_tools;
mod turn;

#[cfg(test)]
mod desk_tests;
#[cfg(test)]
mod report_tests;
#[cfg(test)]
mod settle_tests;
#[cfg(test)]
mod tests;

pub use headless::run_headless;
pub use parts::LeadParts;
pub use report::{MemberLine, Outcome, RunReport, TaskLine};
