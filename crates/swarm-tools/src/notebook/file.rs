//! The parts of a notebook's file (<https://nbformat.readthedocs.io/en/latest/format_description.html>).

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A notebook as its file has it. The cells are kept as they are written, so that a change of one leaves the others alone.
#[derive(Debug)]
pub(super) struct NotebookFile<'a> {
    /// The array of cells.
    pub(super) array: &'a RawValue,
    /// Each cell.
    pub(super) cells: Vec<&'a RawValue>,
    /// The language of the code, such as `python`.
    pub(super) language: String,
    /// Whether cells have ids: since version 4.5 of the format.
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

/// Whether a text is a notebook of a version that has its cells at the top, as all have since 2014.
pub(crate) fn is_notebook(text: &str) -> bool {
    NotebookFile::of(text).is_ok()
}

impl<'a> NotebookFile<'a> {
    /// Parses a file. The error is half a sentence.
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

    /// A cell as a value.
    pub(super) fn cell(&self, index: usize) -> Value {
        let parsed = self
            .cells
            .get(index)
            .map(|cell| serde_json::from_str(cell.get()));
        // It was parsed before.
        parsed.and_then(Result::ok).unwrap_or_default()
    }

    /// The id under which a model knows a cell: its own, or its place.
    pub(super) fn id(&self, index: usize) -> String {
        match self.cell(index)["id"].as_str() {
            Some(id) => id.to_owned(),
            None => format!("cell-{index}"),
        }
    }

    /// The cell that an id means.
    pub(super) fn find(&self, id: &str) -> Option<usize> {
        let indexes = || 0..self.cells.len();
        let own = indexes().find(|index| self.cell(*index)["id"] == id);
        own.or_else(|| {
            let index: usize = id.strip_prefix("cell-")?.parse().ok()?;
            indexes().contains(&index).then_some(index)
        })
    }
}

/// A text that is a string or an array of lines.
pub(super) fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}
