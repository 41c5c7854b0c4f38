//! The only module that reads environment variables.

use std::ffi::OsString;
use std::io;

use swarm_config::Environment;

/// Returns one variable, for early checks that must be fast.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the environment"
)]
pub(crate) fn raw_variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Returns the variables of this process and its working directory.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the environment"
)]
pub(crate) fn read() -> io::Result<Environment> {
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Ok(Environment::new(variables, &std::env::current_dir()?))
}
