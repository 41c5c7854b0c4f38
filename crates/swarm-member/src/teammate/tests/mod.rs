//! A teammate in a team on disk, with a scripted model.

mod asking;
mod background;
mod broker;
mod crash;
mod foreign;
mod hooks;
mod idle;
mod lost_lease;
mod mail;
mod member_loop;
mod park;
mod pause;
mod person;
mod shutdown;
mod task_follow_up;
mod unanswered;
mod world;
