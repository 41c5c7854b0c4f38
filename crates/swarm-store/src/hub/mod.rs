//! Teams on hubs: what this machine keeps of them, and a store with teams of both kinds.

mod root_store;
mod store;

pub use root_store::RootStore;
pub use store::HubStore;
