//! PDF files: as documents for models that accept them, as text for others.

use std::ops::RangeInclusive;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lopdf::{Document, LoadOptions};

use crate::one_line::counted;
use crate::{Attachment, ToolOutput};

/// Maximum size in bytes of a file that is read.
pub(super) const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Maximum size in bytes of a document that is sent: a request to the Messages API is limited to 32
/// MB, and base64 adds a third (<https://docs.claude.com/en/docs/build-with-claude/pdf-support>).
const MAX_DOCUMENT_BYTES: usize = 20 * 1024 * 1024;

/// Maximum number of pages of a file that is shown without `pages`, as in Claude Code.
const MAX_DEFAULT_PAGES: u32 = 10;
/// Maximum number of pages per call, as in Claude Code.
const MAX_PAGES: u32 = 20;

/// Maximum decompressed size in bytes of one stream. A small file can contain a huge stream.
const MAX_DECOMPRESSED: usize = 64 * 1024 * 1024;

pub(super) fn is_pdf(beginning: &[u8]) -> bool {
    beginning.starts_with(b"%PDF-")
}

/// Capabilities of the model that reads a PDF file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader {
    pub(super) documents: bool,
    /// Maximum characters of text.
    pub(super) chars: usize,
}

/// Shows the pages of a file. The error is a clause for use in a sentence.
pub(super) fn show(bytes: &[u8], pages: Option<&str>, to: Reader) -> Result<ToolOutput, String> {
    let options = LoadOptions {
        max_decompressed_size: Some(MAX_DECOMPRESSED),
        ..LoadOptions::default()
    };
    let mut document = Document::load_mem_with_options(bytes, options)
        .map_err(|error| format!("it is damaged or password-protected ({error})"))?;
    let all = u32::try_from(document.get_pages().len()).unwrap_or(u32::MAX);
    let range = page_range(pages, all)?;
    let of = counted(all as usize, "page");
    let which = if range == (1..=all) {
        of
    } else {
        format!("pages {} to {} of {of}", range.start(), range.end())
    };
    let line = format!("pdf, {which}");
    if to.documents {
        let pdf = if range == (1..=all) {
            STANDARD.encode(check_size(bytes)?)
        } else {
            STANDARD.encode(check_size(&extract_pages(&mut document, &range, all)?)?)
        };
        let output = ToolOutput::ok(format!("[PDF file, {which}]"), line);
        return Ok(output.with_attachments(vec![Attachment::Pdf(pdf)]));
    }
    let text = text_of(&document, range, to.chars);
    Ok(ToolOutput::ok(
        format!(
            "[PDF file, {which}. PDF files cannot be shown to you, so this is the text, without images and layout.]\n{text}"
        ),
        format!("{line}, as text"),
    ))
}

/// Parses the requested pages, from 1.
fn page_range(pages: Option<&str>, all: u32) -> Result<RangeInclusive<u32>, String> {
    if all == 0 {
        return Err("it has no pages".to_owned());
    }
    let Some(pages) = pages else {
        if all > MAX_DEFAULT_PAGES {
            return Err(format!(
                "it has {all} pages; choose at most {MAX_PAGES} of them with `pages`, for example \"1-5\""
            ));
        }
        return Ok(1..=all);
    };
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|page| *page > 0);
    let range = match pages.split_once('-') {
        None => number(pages).map(|page| page..=page),
        Some((first, "")) => number(first).map(|first| first..=all),
        Some((first, last)) => number(first)
            .zip(number(last))
            .map(|(first, last)| first..=last),
    };
    let range = range.filter(|range| range.start() <= range.end());
    let Some(range) = range else {
        return Err(format!(
            "invalid `pages` \"{pages}\"; give one page or a range, for example \"3\" or \"1-5\""
        ));
    };
    if *range.start() > all {
        return Err(format!(
            "`pages` is \"{pages}\", but the file has {}",
            counted(all as usize, "page")
        ));
    }
    let range = *range.start()..=all.min(*range.end());
    if range.end() - range.start() >= MAX_PAGES {
        return Err(format!(
            "`pages` is \"{pages}\"; choose at most {MAX_PAGES} pages per call"
        ));
    }
    Ok(range)
}

fn check_size(bytes: &[u8]) -> Result<&[u8], String> {
    if bytes.len() <= MAX_DOCUMENT_BYTES {
        return Ok(bytes);
    }
    let megabytes = MAX_DOCUMENT_BYTES / 1024 / 1024;
    Err(format!(
        "these pages have {} bytes, and at most {megabytes} MiB can be shown; choose fewer with `pages`",
        bytes.len()
    ))
}

/// Extracts some of the pages to a new PDF file.
fn extract_pages(
    document: &mut Document,
    range: &RangeInclusive<u32>,
    all: u32,
) -> Result<Vec<u8>, String> {
    let others: Vec<u32> = (1..=all).filter(|page| !range.contains(page)).collect();
    document.delete_pages(&others);
    document.prune_objects();
    let mut bytes = Vec::new();
    document
        .save_to(&mut bytes)
        .map_err(|error| format!("its pages cannot be extracted ({error})"))?;
    Ok(bytes)
}

/// Extracts the text of pages with page headings.
fn text_of(document: &Document, range: RangeInclusive<u32>, chars: usize) -> String {
    let pages = range.map(|page| {
        let text = match document.extract_text_with_limit(&[page], MAX_DECOMPRESSED) {
            Ok(text) if text.trim().is_empty() => "[no text on this page]".to_owned(),
            Ok(text) => text.trim().to_owned(),
            Err(error) => format!("[cannot extract the text of this page: {error}]"),
        };
        format!("--- page {page} ---\n{text}\n")
    });
    let all = pages.collect::<Vec<_>>().concat();
    match all.char_indices().nth(chars) {
        None => all,
        Some((at, _)) => format!(
            "{}\n[truncated after {chars} characters; choose fewer pages with `pages`]",
            &all[..at]
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_one_page_or_a_range_of_at_most_twenty() {
        for (pages, all, range) in [
            (None, 10, Ok(1..=10)),
            (Some("3"), 40, Ok(3..=3)),
            (Some("1-20"), 40, Ok(1..=20)),
            (Some(" 2 - 4 "), 40, Ok(2..=4)),
            (Some("30-"), 40, Ok(30..=40)),
            (Some("4-9"), 5, Ok(4..=5)),
            (None, 11, Err("it has 11 pages; choose at most 20")),
            (None, 0, Err("it has no pages")),
            (
                Some("1-21"),
                40,
                Err("`pages` is \"1-21\"; choose at most 20"),
            ),
            (
                Some("6"),
                5,
                Err("`pages` is \"6\", but the file has 5 pages"),
            ),
            (
                Some("5-2"),
                9,
                Err("invalid `pages` \"5-2\"; give one page"),
            ),
            (Some("0"), 9, Err("invalid `pages` \"0\"; give one page")),
            (
                Some("all"),
                9,
                Err("invalid `pages` \"all\"; give one page"),
            ),
        ] {
            match (page_range(pages, all), range) {
                (Ok(got), Ok(range)) => assert_eq!(got, range, "{pages:?}"),
                (Err(why), Err(start)) => assert!(why.starts_with(start), "{why}"),
                other => panic!("{pages:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn long_text_is_truncated_with_a_note() {
        let text = text_of(&Document::new(), 1..=2, 20);
        assert!(text.starts_with("--- page 1 ---\n"), "{text}");
        assert!(text.ends_with("choose fewer pages with `pages`]"), "{text}");
    }
}
