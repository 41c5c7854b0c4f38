//! The parts of a notebook's file
//! (<https://nbformat.readthedocs.io/en/latest/format_description.html>).

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A parsed notebook file. Cells are kept as raw JSON, so that a change of one cell leaves the
/// others unchanged.
#[derive(Debug)]
pub(super) struct NotebookFile<'a> {
    /// The JSON array of cells.
    pub(super) array: &'a RawValue,
    pub(super) cells: Vec<&'a RawValue>,
    /// Programming language of the code cells, such as `python`.
    pub(super) language: String,
    /// Whether cells have ids, which is the case since format version 4.5.
    pub(super) has_ids: bool,
}

#[derive(Deserialize)]
struct Top<'a> {
    #[serde(borrow)]
    cells: &'a RawValue,
    #[serde(default)]
    metadata: Value,
    #[serde(default)]
    nbformat: u64,
    #[serde(default)]
    nbformat_minor: u64,
}

/// Whether a text is a notebook with a top-level `cells` array, as in all format versions since
/// 2014.
pub(crate) fn is_notebook(text: &str) -> bool {
    NotebookFile::of(text).is_ok()
}

impl<'a> NotebookFile<'a> {
    /// Parses a file. The error is a clause for use in a sentence.
    pub(super) fn of(text: &'a str) -> Result<Self, String> {
        let failed = |error: serde_json::Error| format!("it is not a notebook ({error})");
        let top: Top = serde_json::from_str(text).map_err(failed)?;
        let cells = serde_json::from_str(top.cells.get()).map_err(failed)?;
        let named = |value: &Value| value.as_str().map(str::to_owned);
        let language = named(&top.metadata["language_info"]["name"])
            .or_else(|| named(&top.metadata["kernelspec"]["language"]));
        Ok(Self {
            array: top.cells,
            cells,
            language: language.unwrap_or_else(|| "python".to_owned()),
            has_ids: (top.nbformat, top.nbformat_minor) >= (4, 5),
        })
    }

    pub(super) fn cell(&self, index: usize) -> Value {
        let parsed = self
            .cells
            .get(index)
            .map(|cell| serde_json::from_str(cell.get()));
        // The JSON was validated when the file was parsed.
        parsed.and_then(Result::ok).unwrap_or_default()
    }

    /// Returns the id of a cell: its own, or `cell-N` with its index.
    pub(super) fn id(&self, index: usize) -> String {
        match self.cell(index)["id"].as_str() {
            Some(id) => id.to_owned(),
            None => format!("cell-{index}"),
        }
    }

    /// Returns the index of the cell with an id.
    pub(super) fn find(&self, id: &str) -> Option<usize> {
        let indexes = || 0..self.cells.len();
        let own = indexes().find(|index| self.cell(*index)["id"] == id);
        own.or_else(|| {
            let index: usize = id.strip_prefix("cell-")?.parse().ok()?;
            indexes().contains(&index).then_some(index)
        })
    }
}

/// Joins a text that is a string or an array of lines.
pub(super) fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}
