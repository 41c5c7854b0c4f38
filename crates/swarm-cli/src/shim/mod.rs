//! The `git` that agents' shells find first: refuses commands that affect the work of others, and
//! otherwise runs the real git.

mod act;
mod conclude;
mod here;

pub(crate) use act::act_as_git;
use here::text;
