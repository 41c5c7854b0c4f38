//! The schema of a run's result.

use std::sync::Arc;

use swarm_tools::RequiredOutput;

use crate::app::App;
use crate::failure::{Failure, Result};

/// Parses the schema of `--json-schema`.
pub(super) fn required_output(
    app: &App,
    given: Option<&str>,
) -> Result<Option<Arc<RequiredOutput>>> {
    let Some(given) = given else { return Ok(None) };
    let text = if given.trim_start().starts_with(['{', '[']) {
        given.to_owned()
    } else {
        let path = app.env.cwd.join(given);
        std::fs::read_to_string(&path).map_err(|error| {
            let message = format!("the JSON schema {} cannot be read: {error}", path.display());
            Failure::usage(message).with_hint("pass the schema itself or the path of a file")
        })?
    };
    let output = RequiredOutput::parse(&text)
        .map_err(|error| Failure::usage(format!("`--json-schema`: {error}")))?;
    Ok(Some(Arc::new(output)))
}
