//! Displays a notebook for the model: each cell with its outputs, in Claude Code's format.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use super::file::{NotebookFile, joined};
use crate::one_line::counted;
use crate::{Picture, ToolOutput};

/// Maximum characters of the outputs of one cell, as in Claude Code.
const OUTPUT_CHARS: usize = 10_000;

/// Maximum number of images shown per notebook.
const MAX_IMAGES: usize = 20;

/// Displays a notebook in at most `chars` characters. The error is a clause for use in a sentence.
pub(crate) fn show(text: &str, path: &Path, chars: usize) -> Result<ToolOutput, String> {
    let notebook = NotebookFile::of(text)?;
    let line = counted(notebook.cells.len(), "cell");
    if notebook.cells.is_empty() {
        return Ok(ToolOutput::ok("The notebook has no cells.", line));
    }
    let mut pictures = Vec::new();
    // Writing to a String cannot fail.
    let mut shown = String::new();
    for index in 0..notebook.cells.len() {
        let before = pictures.len();
        let cell = cell(&notebook, index, path, &mut pictures);
        if shown.chars().count() + cell.chars().count() > chars && index > 0 {
            pictures.truncate(before);
            let _ok = write!(
                shown,
                "[cells {index} to {} of {line} are not shown; read their lines with `offset` and `limit`]",
                notebook.cells.len() - 1
            );
            break;
        }
        shown.push_str(&cell);
    }
    Ok(ToolOutput::ok(shown, line).with_pictures(pictures))
}

fn cell(
    notebook: &NotebookFile<'_>,
    index: usize,
    path: &Path,
    pictures: &mut Vec<Picture>,
) -> String {
    let cell = notebook.cell(index);
    let kind = cell["cell_type"].as_str().unwrap_or("code");
    let mut about = String::new();
    if kind != "code" {
        about = format!("<cell_type>{kind}</cell_type>");
    } else if notebook.language != "python" {
        about = format!("<language>{}</language>", notebook.language);
    }
    let (id, source) = (notebook.id(index), joined(&cell["source"]));
    let mut shown = format!("<cell id=\"{id}\">{about}{source}</cell id=\"{id}\">\n");
    let outputs = cell["outputs"].as_array().map_or(&[][..], Vec::as_slice);
    let parts: Vec<String> = outputs.iter().map(|one| output(one, pictures)).collect();
    let text = parts.join("\n");
    if text.chars().count() > OUTPUT_CHARS {
        let _ok = writeln!(
            shown,
            "[the outputs are too long to show; view them with `jq '.cells[{index}].outputs' {}`]",
            path.display()
        );
    } else if !text.is_empty() {
        shown.push_str(text.trim_end());
        shown.push('\n');
    }
    shown
}

/// Formats an output as text. Images are appended to `pictures`.
fn output(output: &Value, pictures: &mut Vec<Picture>) -> String {
    match output["output_type"].as_str() {
        Some("stream") => joined(&output["text"]),
        Some("error") => {
            let text = |field: &str| output[field].as_str().unwrap_or_default();
            let trace = output["traceback"].as_array();
            let trace = trace.map_or(&[][..], Vec::as_slice);
            let trace: Vec<_> = trace.iter().filter_map(Value::as_str).collect();
            let trace = without_colors(&trace.join("\n"));
            format!("{}: {}\n{trace}", text("ename"), text("evalue"))
        }
        _ => data(&output["data"], pictures),
    }
}

/// Formats displayed data: its text and its images.
fn data(data: &Value, pictures: &mut Vec<Picture>) -> String {
    let mut parts = Vec::new();
    let text = joined(&data["text/plain"]);
    if !text.is_empty() {
        parts.push(text);
    }
    for kind in ["image/png", "image/jpeg"] {
        let base64 = joined(&data[kind]);
        if base64.is_empty() {
            continue;
        }
        let base64: String = base64.split_whitespace().collect();
        parts.push(match Picture::of_base64(&base64) {
            _ if pictures.len() >= MAX_IMAGES => {
                format!("[{kind}, not shown: limit of {MAX_IMAGES} images reached]")
            }
            Ok(picture) => {
                pictures.push(picture);
                format!("[image {}]", pictures.len())
            }
            Err(why) => format!("[{kind}, not shown: {why}]"),
        });
    }
    parts.join("\n")
}

/// Removes terminal colour sequences from a text.
fn without_colors(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c.is_ascii_alphabetic());
        plain.push_str(end.map_or("", |end| &part[end + 1..]));
    }
    plain
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// An image of one pixel.
    const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

    fn shown(notebook: &Value, chars: usize) -> ToolOutput {
        show(&notebook.to_string(), Path::new("/n.ipynb"), chars).unwrap()
    }

    #[test]
    fn cells_are_shown_with_their_outputs_in_order() {
        let output = shown(
            &json!({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
                {"id": "intro", "cell_type": "markdown", "source": ["# Plan\n", "text"]},
                {"id": "a1", "cell_type": "code", "source": "plot()", "outputs": [
                    {"output_type": "stream", "name": "stdout", "text": ["one\n", "two\n"]},
                    {"output_type": "display_data", "data": {
                        "text/plain": ["<Figure>"], "image/png": format!("{PIXEL}\n")}},
                    {"output_type": "error", "ename": "E", "evalue": "no", "traceback": ["\u{1b}[31mline\u{1b}[0m 1"]}
                ]},
                {"cell_type": "code", "source": "", "outputs": [
                    {"output_type": "execute_result", "data": {"image/jpeg": "AAAA"}}]}
            ]}),
            100_000,
        );
        assert_eq!(
            output.content,
            "<cell id=\"intro\"><cell_type>markdown</cell_type># Plan\ntext</cell id=\"intro\">\n\
             <cell id=\"a1\">plot()</cell id=\"a1\">\none\ntwo\n\n<Figure>\n[image 1]\nE: no\nline 1\n\
             <cell id=\"cell-2\"></cell id=\"cell-2\">\n\
             [image/jpeg, not shown: it is not a PNG, JPEG, GIF or WebP image]\n"
        );
        assert_eq!(output.attachments.len(), 1);
        assert_eq!(output.one_line, "3 cells");
    }

    #[test]
    fn long_outputs_and_long_notebooks_are_truncated_with_a_note() {
        let long = "x".repeat(OUTPUT_CHARS + 1);
        let cell = json!({"cell_type": "code", "source": "y".repeat(100), "outputs": [
            {"output_type": "stream", "text": long}]});
        let notebook =
            json!({"metadata": {"kernelspec": {"language": "R"}}, "cells": [cell, cell, cell]});
        let output = shown(&notebook, 500);
        assert!(
            output
                .content
                .contains("too long to show; view them with `jq '.cells[0].outputs' /n.ipynb`]"),
            "{}",
            output.content
        );
        assert!(output.content.contains("<language>R</language>"));
        assert!(
            output.content.ends_with(
                "[cells 2 to 2 of 3 cells are not shown; read their lines with `offset` and `limit`]"
            ),
            "{}",
            output.content
        );
    }
}
