//! `git` as agents' shells find it: first on their search path, it refuses what would reach into the work of others, and
//! otherwise becomes the real git.

mod act;
mod conclude;
mod here;

pub(crate) use act::act_as_git;
use here::text;
