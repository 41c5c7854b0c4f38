//! The Read tool: parameters and results.

use std::fs::{File, Metadata};
use std::io::{self, Read as _, Seek as _};
use std::path::Path;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use swarm_protocol::ToolKind;

use super::lines::{self, Shown, Window};
use super::pdf;
use crate::files::{self, Stamp, Target, refuse_special};
use crate::notebook;
use crate::one_line::counted;
use crate::picture::{MAX_FILE_BYTES, Picture, is_picture, shown};
use crate::{ToolContext, ToolOutput, TypedTool, blocking, prompt};

/// Number of bytes examined to detect the file type.
const TYPE_BYTES: u64 = 32;

/// Shows the lines of a file, an image, a PDF file, or the cells of a notebook.
#[derive(Debug, Clone, Copy, Default)]
pub struct Read;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Absolute path of the file
    file_path: String,
    /// The line to start from (1-based)
    #[schemars(range(min = 1))]
    offset: Option<usize>,
    /// The number of lines to read
    #[schemars(range(min = 1))]
    limit: Option<usize>,
    /// Pages of a PDF file, for example "3" or "1-5"; at most 20
    pages: Option<String>,
}

#[async_trait]
impl TypedTool for Read {
    type Parameters = Parameters;
    const NAME: &'static str = "Read";
    const PROMPT: &'static str = prompt!("tools/Read");
    const KIND: ToolKind = ToolKind::Read;
    const READ_ONLY: bool = true;
    const PATH: Option<&'static str> = Some("file_path");

    async fn call(&self, input: Parameters, ctx: &ToolContext) -> Result<ToolOutput, String> {
        blocking::run(ctx, move |ctx| read(&input, ctx)).await
    }
}

fn read(input: &Parameters, ctx: &ToolContext) -> Result<ToolOutput, String> {
    let target = Target::to_read(&input.file_path, ctx)?;
    let given = target.given.display();
    let file = open(&target)?;
    let failed = |error: std::io::Error| format!("cannot read {given}: {error}.");
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(format!(
            "{given} is a directory. List it with Glob or `ls`."
        ));
    }
    refuse_special(&metadata, &target)?;
    let content = Content::of(&file, &target, input).map_err(failed)?;
    let is_pdf = matches!(content, Content::Pdf);
    if is_pdf && (input.offset.is_some() || input.limit.is_some()) {
        return Err(format!(
            "{given} is a PDF file, which has no lines: use `pages` instead of `offset` and `limit`."
        ));
    }
    if let Some(pages) = input.pages.as_ref().filter(|_| !is_pdf) {
        return Err(format!(
            "{given} is not a PDF file, so `pages` (\"{pages}\") does not apply; use `offset` and `limit`."
        ));
    }
    let not_shown = |why: String| format!("{given} cannot be shown: {why}.");
    let output = match content {
        Content::Picture => {
            let bytes = read_all(&file, &metadata, MAX_FILE_BYTES).map_err(not_shown)?;
            show_picture(&bytes).map_err(not_shown)?
        }
        Content::Pdf => {
            let bytes = read_all(&file, &metadata, pdf::MAX_FILE_BYTES).map_err(not_shown)?;
            let to = pdf::Reader {
                documents: ctx.documents,
                chars: ctx.limits.read_chars,
            };
            pdf::show(&bytes, input.pages.as_deref(), to).map_err(not_shown)?
        }
        Content::Notebook(text) => {
            let shown = notebook::show(&text, &target.given, ctx.limits.read_chars);
            let shown = shown.map_err(not_shown)?;
            let stamp = Stamp::of(&metadata, text.as_bytes());
            ctx.files.lock().record(&target.real, stamp);
            return Ok(shown);
        }
        Content::Other => return read_lines(file, &metadata, &target, input, ctx),
    };
    let stamp = Stamp::with_hash(&metadata, None);
    ctx.files.lock().record(&target.real, stamp);
    Ok(output)
}

/// Reads an image for a model, scaled down if it exceeds the limits.
///
/// # Errors
/// A sentence that says why it cannot be read.
pub fn read_picture(path: &str, ctx: &ToolContext) -> Result<Picture, String> {
    let target = Target::to_read(path, ctx)?;
    let given = target.given.display();
    let not_shown = |why: String| format!("{given} cannot be shown: {why}.");
    let file = open(&target)?;
    let metadata = file
        .metadata()
        .map_err(|error| not_shown(error.to_string()))?;
    if !metadata.is_file() {
        return Err(not_shown("it is not a file".to_owned()));
    }
    let bytes = read_all(&file, &metadata, MAX_FILE_BYTES).map_err(not_shown)?;
    Picture::of(&bytes).map_err(not_shown)
}

enum Content {
    Picture,
    Pdf,
    /// Text of a notebook that is shown as cells.
    Notebook(String),
    Other,
}

impl Content {
    /// Detects the type from the content, except for notebooks, which need the extension `ipynb`.
    /// Rewinds the file.
    fn of(mut file: &File, target: &Target, input: &Parameters) -> io::Result<Self> {
        let mut beginning = Vec::new();
        file.take(TYPE_BYTES).read_to_end(&mut beginning)?;
        file.rewind()?;
        if is_picture(&beginning) {
            return Ok(Self::Picture);
        }
        if pdf::is_pdf(&beginning) {
            return Ok(Self::Pdf);
        }
        let is_named_so = target.real.extension().is_some_and(|end| end == "ipynb");
        // `offset` and `limit` request lines, not cells.
        if !is_named_so || input.offset.is_some() || input.limit.is_some() {
            return Ok(Self::Other);
        }
        let mut text = Vec::new();
        file.take(MAX_FILE_BYTES).read_to_end(&mut text)?;
        file.rewind()?;
        // A damaged notebook is shown as text.
        Ok(match String::from_utf8(text) {
            Ok(text) if notebook::is_notebook(&text) => Self::Notebook(text),
            _ => Self::Other,
        })
    }
}

fn read_lines(
    file: File,
    metadata: &Metadata,
    target: &Target,
    input: &Parameters,
    ctx: &ToolContext,
) -> Result<ToolOutput, String> {
    let given = target.given.display();
    let window = Window {
        first: input.offset.unwrap_or(1).max(1),
        count: input
            .limit
            .filter(|limit| *limit > 0)
            .unwrap_or(ctx.limits.read_lines),
        line_chars: ctx.limits.read_line_chars,
        chars: ctx.limits.read_chars,
    };
    let shown = lines::show(file, metadata.len(), window)
        .map_err(|error| format!("cannot read {given}: {error}."))?;
    if shown.binary {
        return Err(format!(
            "{given} is a binary file of {} bytes. This tool reads text, images and PDF files; use a suitable program.",
            metadata.len()
        ));
    }
    let mut files = ctx.files.lock();
    files.record(&target.real, Stamp::with_hash(metadata, shown.hash));
    drop(files);
    let response = response(&target.given, &shown, window);
    Ok(output(&shown, window).with_response(response))
}

/// Returns the lines without their numbers in Claude Code's format, for hooks.
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

/// Reads a whole file of at most `most` bytes. The error is a clause for use in a sentence.
fn read_all(file: &File, metadata: &Metadata, most: u64) -> Result<Vec<u8>, String> {
    if metadata.len() > most {
        return Err(format!("it is larger than {} MiB", most / 1024 / 1024));
    }
    let mut bytes = Vec::new();
    let read = file.take(most).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// Shows an image. The error is a clause for use in a sentence.
fn show_picture(bytes: &[u8]) -> Result<ToolOutput, String> {
    let shown = shown(bytes)?;
    let (width, height) = shown.size;
    let kind = shown.picture.media_type.trim_start_matches("image/");
    let size = format!("{width} x {height} pixels");
    let scaled = shown.scaled.map_or_else(String::new, |(width, height)| {
        format!(", shown at {width} x {height}")
    });
    let text = format!("[{kind} image, {size}{scaled}]");
    let line = format!("{kind}, {width} x {height}");
    Ok(ToolOutput::ok(text, line).with_pictures(vec![shown.picture]))
}

fn open(target: &Target) -> Result<File, String> {
    files::open(target).map_err(|error| {
        let given = target.given.display();
        match error.kind() {
            io::ErrorKind::NotFound => format!("{given} does not exist.{}", suggestion(target)),
            _ => format!("cannot read {given}: {error}."),
        }
    })
}

/// Suggests a file in the same directory whose name differs only in case or extension.
fn suggestion(target: &Target) -> String {
    let stem = |path: &Path| {
        path.file_stem()
            .map(|stem| stem.to_string_lossy().to_lowercase())
    };
    let entries = target
        .real
        .parent()
        .and_then(|directory| std::fs::read_dir(directory).ok());
    let mut alike: Vec<String> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| stem(&entry.path()) == stem(&target.real))
        .map(|entry| entry.path().display().to_string())
        .collect();
    alike.sort();
    match alike.first() {
        Some(path) => format!(" Did you mean {path}?"),
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
            "The file has only {has}: there is no line {}.",
            window.first
        ));
    }
    let last = window.first + shown.lines - 1;
    let more = if shown.complete && last < shown.total {
        format!(
            "\n[lines {} to {last} of {}; continue with offset {}]",
            window.first,
            shown.total,
            last + 1
        )
    } else if shown.complete {
        String::new()
    } else {
        format!(
            "\n[lines {} to {last}; the file is longer, continue with offset {}]",
            window.first,
            last + 1
        )
    };
    ToolOutput::ok(
        format!("{}{more}", shown.text),
        counted(shown.lines, "line"),
    )
}
