//! A teammate in a team on disk, with a model that plays a script.

mod crash;
mod desk;
mod gate;
mod idle;
mod life;
mod model;
mod shutdown;
mod world;
