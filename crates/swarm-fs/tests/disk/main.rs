//! The shared disk, with real processes, real locks and real deaths.

mod children;
mod faults;
mod files;
mod foreign;
mod life;
mod lock_door;
