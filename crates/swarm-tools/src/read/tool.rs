//! What a model sees of Read.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use rustix::fs::OFlags;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use swarm_protocol::ToolKind;

use super::lines::{self, Shown, Window};
use crate::files::{Stamp, Target, touched};
use crate::one_line::{counted, with_path};
use crate::parameters::{parse, schema};
use crate::picture::{LARGEST_FILE, is_picture, shown};
use crate::{Tool, ToolContext, ToolOutput, blocking, prompt};

/// Bytes that tell a picture's kind.
const BEGINNING: u64 = 32;

/// Shows the lines of a file, or a picture.
#[derive(Debug, Clone, Copy, Default)]
pub struct Read;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Absolute path of the file
    file_path: String,
    /// The line to start from, counted from 1
    #[schemars(range(min = 1))]
    offset: Option<usize>,
    /// The number of lines to read
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

#[async_trait]
impl Tool for Read {
    fn name(&self) -> &'static str {
        "Read"
    }

    fn description(&self) -> String {
        prompt!("tools/Read").to_owned()
    }

    fn input_schema(&self) -> Value {
        schema::<Parameters>()
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Read
    }

    fn is_read_only(&self, _input: &Value) -> bool {
        true
    }

    fn one_line(&self, input: &Value) -> String {
        with_path("Read", input["file_path"].as_str().unwrap_or_default())
    }

    fn touches(&self, input: &Value, cwd: &Path) -> Vec<PathBuf> {
        touched(input, "file_path", cwd)
    }

    async fn call(&self, input: Value, ctx: &ToolContext) -> ToolOutput {
        blocking::run(ctx, move |ctx| {
            read(input, ctx).unwrap_or_else(ToolOutput::error)
        })
        .await
    }
}

fn read(input: Value, ctx: &ToolContext) -> Result<ToolOutput, String> {
    let input: Parameters = parse("Read", input)?;
    let target = Target::to_read(&input.file_path, ctx)?;
    let window = Window {
        first: input.offset.unwrap_or(1).max(1),
        count: input
            .limit
            .filter(|limit| *limit > 0)
            .unwrap_or(ctx.limits.read_lines),
        line_chars: ctx.limits.read_line_chars,
        chars: ctx.limits.read_chars,
    };
    let given = target.given.display();
    let file = open(&target)?;
    let failed = |error: std::io::Error| format!("{given} cannot be read: {error}.");
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(format!(
            "{given} is a directory. List it with Glob or `ls`."
        ));
    }
    if !metadata.is_file() {
        return Err(format!(
            "{given} is not a regular file but a device, pipe or socket."
        ));
    }
    if begins_as_picture(&file).map_err(failed)? {
        let output = show_picture(&file, metadata.len());
        let output = output.map_err(|why| format!("{given} cannot be shown: {why}."))?;
        let stamp = Stamp::with_hash(&metadata, None);
        ctx.files.lock().saw(&target.real, stamp);
        return Ok(output);
    }
    let shown = lines::show(file, metadata.len(), window).map_err(failed)?;
    if shown.binary {
        return Err(format!(
            "{given} is a binary file of {} bytes. This tool reads text and pictures; look at it with a fitting program.",
            metadata.len()
        ));
    }
    let mut files = ctx.files.lock();
    files.saw(&target.real, lines::stamp(&metadata, &shown));
    drop(files);
    let response = response(&target.given, &shown, window);
    Ok(output(&shown, window).with_response(response))
}

/// The lines without their numbers, as hooks know them from Claude Code.
fn response(path: &Path, shown: &Shown, window: Window) -> Value {
    let lines = shown.text.lines();
    let plain = lines.map(|line| line.split_once('\t').map_or(line, |(_, text)| text));
    json!({"type": "text", "file": {
        "filePath": path,
        "content": plain.collect::<Vec<_>>().join("\n"),
        "numLines": shown.lines,
        "startLine": window.first,
        "totalLines": shown.total,
    }})
}

/// Whether a file is a picture, by its content. It is at its beginning afterwards.
fn begins_as_picture(mut file: &File) -> io::Result<bool> {
    let mut beginning = Vec::new();
    file.take(BEGINNING).read_to_end(&mut beginning)?;
    file.rewind()?;
    Ok(is_picture(&beginning))
}

/// The whole picture. The error is half a sentence.
fn show_picture(file: &File, length: u64) -> Result<ToolOutput, String> {
    if length > LARGEST_FILE {
        return Err(format!(
            "a picture may have {} MiB",
            LARGEST_FILE / 1024 / 1024
        ));
    }
    let mut bytes = Vec::new();
    let read = file.take(LARGEST_FILE).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    let shown = shown(&bytes)?;
    let (width, height) = shown.size;
    let kind = shown.picture.media_type.trim_start_matches("image/");
    let size = format!("{width} x {height} pixels");
    let scaled = shown.scaled.map_or_else(String::new, |(width, height)| {
        format!(", shown at {width} x {height}")
    });
    let text = format!("[{kind} picture, {size}{scaled}]");
    let line = format!("{kind}, {width} x {height}");
    Ok(ToolOutput::ok(text, line).with_pictures(vec![shown.picture]))
}

fn open(target: &Target) -> Result<File, String> {
    // A pipe without writer would block the opening; links were followed already.
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(&target.real)
        .map_err(|error| {
            let given = target.given.display();
            match error.kind() {
                std::io::ErrorKind::NotFound => format!("{given} does not exist.{}", near(target)),
                _ => format!("{given} cannot be read: {error}."),
            }
        })
}

/// A hint at a file of the same name but for capitals or extension, in the same folder.
fn near(target: &Target) -> String {
    let stem = |path: &Path| {
        path.file_stem()
            .map(|stem| stem.to_string_lossy().to_lowercase())
    };
    let entries = target
        .real
        .parent()
        .and_then(|folder| std::fs::read_dir(folder).ok());
    let mut alike: Vec<String> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| stem(&entry.path()) == stem(&target.real))
        .map(|entry| entry.path().display().to_string())
        .collect();
    alike.sort();
    match alike.first() {
        Some(path) => format!(" Is {path} meant?"),
        None => String::new(),
    }
}

fn output(shown: &Shown, window: Window) -> ToolOutput {
    if shown.complete && shown.total == 0 {
        return ToolOutput::ok("The file exists and is empty.", "empty");
    }
    if shown.lines == 0 {
        let has = counted(shown.total, "line");
        return ToolOutput::error(format!(
            "The file has only {has}: nothing stands at line {}.",
            window.first
        ));
    }
    let last = window.first + shown.lines - 1;
    let more = if shown.complete && last < shown.total {
        format!(
            "\n[lines {} to {last} of {}; read on with offset {}]",
            window.first,
            shown.total,
            last + 1
        )
    } else if shown.complete {
        String::new()
    } else {
        format!(
            "\n[lines {} to {last}; the file goes on, read on with offset {}]",
            window.first,
            last + 1
        )
    };
    ToolOutput::ok(
        format!("{}{more}", shown.text),
        counted(shown.lines, "line"),
    )
}
