//! Paths in tool inputs.

use std::path::{Path, PathBuf};

use serde_json::Value;
use swarm_protocol::folded_path;

use super::resolve;
use crate::ToolContext;

/// A path as given and with symbolic links resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// Absolute, with `.` and `..` removed lexically.
    pub(crate) given: PathBuf,
    /// With symbolic links resolved.
    pub(crate) real: PathBuf,
}

impl Target {
    /// Parses a path of an input; a relative path is based on `cwd`.
    pub(crate) fn new(path: &str, cwd: &Path) -> Result<Self, String> {
        if path.is_empty() {
            return Err("The path is empty.".into());
        }
        if path.contains('\0') {
            return Err("A path cannot contain a NUL character.".into());
        }
        if path == "~" || path.starts_with("~/") {
            return Err(format!(
                "`{path}` is not absolute: write out the path of the home directory."
            ));
        }
        let given = folded_path(&cwd.join(path));
        let Some(real) = resolve(&given) else {
            return Err(format!(
                "{} contains a cycle of symbolic links.",
                given.display()
            ));
        };
        Ok(Self { given, real })
    }

    /// Parses a path for reading. Fails if it must not be read.
    pub(crate) fn to_read(path: &str, ctx: &ToolContext) -> Result<Self, String> {
        let target = Self::new(path, &ctx.cwd)?;
        match ctx.protected.read_refusal(&target.real) {
            Some(why) => Err(why),
            None => Ok(target),
        }
    }

    /// Parses a path for writing. Fails if it must not be written. A symbolic link that leads out
    /// of the working directory is refused, because permission was given for the path as named.
    pub(crate) fn to_write(path: &str, ctx: &ToolContext) -> Result<Self, String> {
        let target = Self::new(path, &ctx.cwd)?;
        if let Some(why) = ctx.protected.write_refusal(&target.real) {
            return Err(why);
        }
        if let Some(confine) = &ctx.confine
            && let Some(why) = confine.refusal(&target.given, &target.real)
        {
            return Err(why);
        }
        let home = resolve(&ctx.cwd).unwrap_or_else(|| ctx.cwd.clone());
        if target.given.starts_with(&ctx.cwd) && !target.real.starts_with(&home) {
            return Err(format!(
                "{} leads through a symbolic link to {}, outside the working directory. Use that path directly if you mean it.",
                target.given.display(),
                target.real.display()
            ));
        }
        Ok(target)
    }
}

/// Returns the resolved path in `field` of an input, for the permission check.
pub(crate) fn touched(input: &Value, field: &str, cwd: &Path) -> Vec<PathBuf> {
    let path = input.get(field).and_then(Value::as_str).unwrap_or(".");
    Target::new(path, cwd)
        .map(|target| target.real)
        .into_iter()
        .collect()
}
