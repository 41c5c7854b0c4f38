//! The environment is read here and nowhere else in the program.

use std::ffi::OsString;

use swarm_config::Environment;
use swarm_protocol::ErrorKind;

use crate::failure::Failure;

/// One variable, for a program that reads no others: what it is in their stead should start at once.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the environment"
)]
pub(crate) fn raw_variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// The variables of this process and its working directory.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the environment"
)]
pub(crate) fn read() -> Result<Environment, Failure> {
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let cwd = std::env::current_dir().map_err(|error| {
        let message = format!("the working directory cannot be read: {error}");
        Failure::new(ErrorKind::Environment, message)
            .with_hint("change into a directory that exists")
    })?;
    Ok(Environment::new(variables, &cwd))
}
