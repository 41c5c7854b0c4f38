//! Agent programs in the sandbox: what they cannot reach, what they see, and that their work goes on.

mod confined_by;
mod escapes;
mod own_directories;
