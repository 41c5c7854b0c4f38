//! `fs/read_text_file` and `fs/write_text_file`: with the checks and confinement of swarm's own
//! file tools.

use serde_json::{Value, json};
use swarm_agent::{ForeignCall, Turn};
use swarm_protocol::ToolKind;
use tokio_util::sync::CancellationToken;

use crate::approvals::Approvals;

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 20 << 20;

/// Reads a file, or `limit` lines of it from the line number `line`.
pub(super) async fn read(
    turn: &Turn<'_>,
    params: &Value,
    cancel: &CancellationToken,
) -> Result<Value, String> {
    let mut input = json!({"file_path": path(params)?});
    for (field, name) in [("line", "offset"), ("limit", "limit")] {
        if let Some(number) = params[field].as_u64() {
            input[name] = json!(number);
        }
    }
    let call = call("Read", &input, ToolKind::Read);
    let input = turn.permit(&call, cancel).await?;
    let path = input["file_path"].as_str().unwrap_or_default();
    let failed = |error: std::io::Error| format!("{path}: {error}");
    let found = tokio::fs::metadata(path).await.map_err(failed)?;
    if !found.is_file() {
        return Err(format!("{path} is not a regular file"));
    }
    if found.len() > MAX_BYTES {
        return Err(format!("{path} is larger than {} MiB", MAX_BYTES >> 20));
    }
    let text = tokio::fs::read_to_string(path).await.map_err(failed)?;
    let number = |field: &str| input[field].as_u64().and_then(|n| usize::try_from(n).ok());
    let (from, limit) = (number("offset"), number("limit"));
    if from.is_none() && limit.is_none() {
        return Ok(json!({"content": text}));
    }
    let lines = text.split_inclusive('\n');
    let lines = lines.skip(from.unwrap_or(1).saturating_sub(1));
    let content: String = lines.take(limit.unwrap_or(usize::MAX)).collect();
    Ok(json!({"content": content}))
}

/// Writes a file. A change that a person approved in this turn is not asked about again.
pub(super) async fn write(
    turn: &Turn<'_>,
    params: &Value,
    approvals: &Approvals,
    cancel: CancellationToken,
) -> Result<Value, String> {
    let path = path(params)?;
    let content = params["content"].as_str().unwrap_or_default();
    let input = json!({"file_path": path, "content": content});
    let call = call("Write", &input, ToolKind::Edit);
    let output = if approvals.take(&call.tool, &call.input).is_some() {
        turn.run_approved(&call, cancel).await
    } else {
        turn.run_tool(&call, cancel).await
    };
    if output.is_error {
        return Err(output.content);
    }
    Ok(json!({}))
}

fn path(params: &Value) -> Result<&str, String> {
    let path = params["path"].as_str().filter(|path| path.starts_with('/'));
    path.ok_or_else(|| "the path must be absolute".to_owned())
}

fn call(tool: &str, input: &Value, kind: ToolKind) -> ForeignCall {
    let path = input["file_path"].as_str().unwrap_or_default();
    ForeignCall {
        id: String::new(),
        tool: tool.to_owned(),
        line: format!("{tool} {path}"),
        input: input.clone(),
        kind,
    }
}
