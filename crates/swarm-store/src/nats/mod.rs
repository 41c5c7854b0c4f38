//! A server of records that several machines reach: NATS with `JetStream`. Nothing of it is visible
//! above the store.

mod chunks;
mod connection;
mod consumer;
mod credentials;
mod lease;
mod lease_record;
mod listen;
mod listening;
mod log;
mod report;
mod requests;
mod server_clock;
mod settings;
mod space;
mod subjects;
mod team_requests;

pub(crate) use connection::{Background, Connection};
pub use report::HubReport;
pub use settings::{HubSettings, LeaseTerms};
pub(crate) use space::NatsSpace;
