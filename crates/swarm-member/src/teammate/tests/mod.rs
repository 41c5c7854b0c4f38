//! A teammate in a team on disk, with a model that plays a script.

mod asking;
mod background;
mod crash;
mod desk;
mod duty;
mod foreign;
mod gate;
mod hooks;
mod idle;
mod life;
mod park;
mod pause;
mod person;
mod shutdown;
mod world;
