//! Changes one cell of a notebook and leaves all other bytes unchanged.

use serde::Serialize as _;
use serde_json::ser::PrettyFormatter;
use serde_json::value::RawValue;
use serde_json::{Serializer, Value, json};
use uuid::Uuid;

use super::file::NotebookFile;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Change<'a> {
    /// Replaces the source of a cell and optionally its type.
    Replace {
        cell: &'a str,
        source: &'a str,
        kind: Option<&'a str>,
    },
    /// Inserts a cell after another one, or at the beginning.
    Insert {
        after: Option<&'a str>,
        source: &'a str,
        kind: &'a str,
    },
    Delete {
        cell: &'a str,
    },
}

/// A notebook after a change.
#[derive(Debug)]
pub(crate) struct Changed {
    pub(crate) text: String,
    /// The id of the cell that was changed, added or removed.
    pub(crate) id: String,
}

/// Applies a change to the text of a notebook. The error is a clause for use in a sentence.
pub(crate) fn changed(text: &str, change: Change<'_>) -> Result<Changed, String> {
    let notebook = NotebookFile::of(text)?;
    let find = |id: &str| {
        notebook
            .find(id)
            .ok_or_else(|| format!("it has no cell with the id \"{id}\""))
    };
    match change {
        Change::Replace { cell, source, kind } => {
            let index = find(cell)?;
            let fresh = with_source(notebook.cell(index), source, kind);
            let span = span(text, notebook.cells[index]);
            let fresh = serialized(&fresh, Indent::at(text, span.0));
            let text = [&text[..span.0], &fresh, &text[span.1..]].concat();
            let id = notebook.id(index);
            Ok(Changed { text, id })
        }
        Change::Insert {
            after,
            source,
            kind,
        } => {
            let at = match after {
                Some(id) => find(id)? + 1,
                None => 0,
            };
            Ok(inserted(text, &notebook, at, source, kind))
        }
        Change::Delete { cell } => {
            let index = find(cell)?;
            let text = without_cell(text, &notebook, index);
            let id = notebook.id(index);
            Ok(Changed { text, id })
        }
    }
}

/// Replaces the source of a cell. The outputs of a code cell are removed, because they belong to
/// the old source.
fn with_source(mut cell: Value, source: &str, kind: Option<&str>) -> Value {
    cell["source"] = if cell["source"].is_string() {
        source.into()
    } else {
        lines(source)
    };
    if let Some(kind) = kind {
        cell["cell_type"] = kind.into();
    }
    let is_code = cell["cell_type"] == "code";
    if let Some(fields) = cell.as_object_mut() {
        if is_code {
            fields.insert("execution_count".to_owned(), Value::Null);
            fields.insert("outputs".to_owned(), json!([]));
        } else {
            fields.shift_remove("execution_count");
            fields.shift_remove("outputs");
        }
    }
    cell
}

/// Converts a source to nbformat's array of lines with line ends.
fn lines(source: &str) -> Value {
    source.split_inclusive('\n').map(Value::from).collect()
}

fn inserted(
    text: &str,
    notebook: &NotebookFile<'_>,
    at: usize,
    source: &str,
    kind: &str,
) -> Changed {
    // nbformat's field order.
    let mut cell = json!({"cell_type": kind});
    if kind == "code" {
        cell["execution_count"] = Value::Null;
    }
    let own_id = Uuid::new_v4().simple().to_string()[..8].to_owned();
    if notebook.has_ids {
        cell["id"] = own_id.as_str().into();
    }
    cell["metadata"] = json!({});
    if kind == "code" {
        cell["outputs"] = json!([]);
    }
    cell["source"] = lines(source);
    let id = if notebook.has_ids {
        own_id
    } else {
        format!("cell-{at}")
    };
    let spans = |index: usize| notebook.cells.get(index).map(|cell| span(text, cell));
    let text = if let Some((start, _)) = spans(at) {
        let indent = Indent::at(text, start);
        let fresh = serialized(&cell, indent);
        let between = indent.line_start();
        [&text[..start], &fresh, ",", &between, &text[start..]].concat()
    } else if let Some((start, end)) = at.checked_sub(1).and_then(spans) {
        let indent = Indent::at(text, start);
        let fresh = serialized(&cell, indent);
        let between = indent.line_start();
        [&text[..end], ",", &between, &fresh, &text[end..]].concat()
    } else {
        let (start, end) = span(text, notebook.array);
        let fresh = serialized(&cell, Indent::Lines { base: 2 });
        [&text[..start], "[\n  ", &fresh, "\n ]", &text[end..]].concat()
    };
    Changed { text, id }
}

/// Removes a cell and the adjacent comma from the text.
fn without_cell(text: &str, notebook: &NotebookFile<'_>, index: usize) -> String {
    let of = |index: usize| span(text, notebook.cells[index]);
    let (from, to) = if index + 1 < notebook.cells.len() {
        (of(index).0, of(index + 1).0)
    } else if index > 0 {
        (of(index - 1).1, of(index).1)
    } else {
        let (start, end) = span(text, notebook.array);
        return [&text[..start], "[]", &text[end..]].concat();
    };
    [&text[..from], &text[to..]].concat()
}

#[derive(Debug, Clone, Copy)]
enum Indent {
    /// The cell is indented by `base` spaces, which are two levels.
    Lines { base: usize },
    /// All cells are on one line.
    None,
}

impl Indent {
    /// Detects the indentation of the cell that starts here.
    fn at(text: &str, start: usize) -> Self {
        let before = &text[..start];
        let line = before.rfind('\n').map(|end| &before[end + 1..]);
        match line {
            Some(line) if line.bytes().all(|byte| byte == b' ') => Self::Lines { base: line.len() },
            _ => Self::None,
        }
    }

    /// Returns the white space between a comma and the next cell.
    fn line_start(self) -> String {
        match self {
            Self::Lines { base } => format!("\n{}", " ".repeat(base)),
            Self::None => " ".to_owned(),
        }
    }
}

fn serialized(cell: &Value, indent: Indent) -> String {
    let Indent::Lines { base } = indent else {
        return cell.to_string();
    };
    let unit = " ".repeat((base / 2).max(1));
    let mut bytes = Vec::new();
    let formatter = PrettyFormatter::with_indent(unit.as_bytes());
    let mut serializer = Serializer::with_formatter(&mut bytes, formatter);
    let done = cell.serialize(&mut serializer);
    match (done, String::from_utf8(bytes)) {
        // Line ends in strings are escaped, so each unescaped one starts a line.
        (Ok(()), Ok(text)) => text.replace('\n', &indent.line_start()),
        _ => cell.to_string(),
    }
}

/// Returns the byte range of a value in the text that it was parsed from.
fn span(text: &str, value: &RawValue) -> (usize, usize) {
    let start = value.get().as_ptr().addr() - text.as_ptr().addr();
    (start, start + value.get().len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A notebook in nbformat's layout, with an unknown field and an unusual number format.
    const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "m",
   "metadata": {},
   "source": [
    "# Title"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 7,
   "id": "c",
   "metadata": {
    "tags": ["x"],
    "speed": 1.50e-05
   },
   "outputs": [
    {"output_type": "stream", "text": "é"}
   ],
   "source": []
  }
 ],
 "metadata": {"ours": 1.0E2},
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

    fn parsed(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn replacing_a_cell_removes_its_outputs_and_keeps_all_other_bytes() {
        let change = Change::Replace {
            cell: "m",
            source: "# Other\ntext",
            kind: None,
        };
        let done = changed(NOTEBOOK, change).unwrap();
        assert_eq!(
            done.text,
            NOTEBOOK.replace("    \"# Title\"\n", "    \"# Other\\n\",\n    \"text\"\n")
        );
        let change = Change::Replace {
            cell: "cell-1",
            source: "x = 1",
            kind: Some("code"),
        };
        let done = changed(NOTEBOOK, change).unwrap();
        assert_eq!(done.id, "c");
        let cell = &parsed(&done.text)["cells"][1];
        assert_eq!(cell["outputs"], json!([]));
        assert_eq!(cell["execution_count"], Value::Null);
        assert_eq!(cell["source"], json!(["x = 1"]));
        assert_eq!(cell["metadata"]["tags"], json!(["x"]));
        let change = Change::Replace {
            cell: "c",
            source: "text",
            kind: Some("markdown"),
        };
        let cell = parsed(&changed(NOTEBOOK, change).unwrap().text)["cells"][1].clone();
        assert!(cell.get("outputs").is_none() && cell.get("execution_count").is_none());
    }

    #[test]
    fn cells_are_inserted_and_deleted_as_nbformat_writes_them() {
        let insert = |text: &str, after| {
            let source = "y";
            let kind = "code";
            changed(
                text,
                Change::Insert {
                    after,
                    source,
                    kind,
                },
            )
            .unwrap()
        };
        for (after, at) in [(None, 0), (Some("m"), 1), (Some("c"), 2)] {
            let done = insert(NOTEBOOK, after);
            let cells = parsed(&done.text)["cells"].clone();
            assert_eq!(cells[at]["source"], json!(["y"]));
            assert_eq!(cells[at]["id"], done.id.as_str());
            assert!(
                done.text.contains(
                    "\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": "
                ),
                "{}",
                done.text
            );
            let again = changed(&done.text, Change::Delete { cell: &done.id }).unwrap();
            assert_eq!(
                again.text, NOTEBOOK,
                "deleting the cell restores the original bytes"
            );
        }
        let one = changed(NOTEBOOK, Change::Delete { cell: "m" }).unwrap();
        let none = changed(&one.text, Change::Delete { cell: "c" }).unwrap();
        assert_eq!(parsed(&none.text)["cells"], json!([]));
        let first = insert(&none.text, None);
        assert!(
            first.text.contains("\"cells\": [\n  {\n   \"cell_type\""),
            "{}",
            first.text
        );
        let why = changed(NOTEBOOK, Change::Delete { cell: "unknown" }).unwrap_err();
        assert_eq!(why, "it has no cell with the id \"unknown\"");
    }

    proptest! {
        #[test]
        fn a_single_line_notebook_stays_on_one_line_and_valid(
            cells in prop::collection::vec(("[a-z\"\\\\\n]{0,6}", any::<bool>()), 1..5),
            at in 0_usize..5,
            source in "\\PC{0,12}\n?[a-z]{0,3}",
        ) {
            let cells: Vec<Value> = cells.into_iter().map(|(source, is_code)| {
                let kind = if is_code { "code" } else { "markdown" };
                json!({"cell_type": kind, "source": source})
            }).collect();
            let at = at % cells.len();
            let text = json!({"cells": cells, "nbformat": 4}).to_string();
            let id = format!("cell-{at}");
            let replaced = changed(&text, Change::Replace { cell: &id, source: &source, kind: None }).unwrap();
            prop_assert_eq!(&parsed(&replaced.text)["cells"][at]["source"], &Value::from(source.as_str()));
            let inserted = changed(&text, Change::Insert { after: Some(&id), source: &source, kind: "markdown" }).unwrap();
            let shown: String = super::super::file::joined(&parsed(&inserted.text)["cells"][at + 1]["source"]);
            prop_assert_eq!(shown, source);
            let deleted = changed(&text, Change::Delete { cell: &id }).unwrap();
            prop_assert_eq!(parsed(&deleted.text)["cells"].as_array().unwrap().len(), cells.len() - 1);
        }
    }
}
