//! The only module that reads environment variables.

use std::ffi::OsString;

use swarm_config::Environment;

use crate::failure::Failure;

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
pub(crate) fn read() -> Result<Environment, Failure> {
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let cwd = std::env::current_dir().map_err(|error| {
        let message = format!("the working directory cannot be read: {error}");
        Failure::environment(message).with_hint("change into a directory that exists")
    })?;
    Ok(Environment::new(variables, &cwd))
}
