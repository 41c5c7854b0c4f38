//! PDF files: whole or in part as documents for models that take them, as text for others.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lopdf::{Document, LoadOptions};

use crate::one_line::counted;
use crate::{Attachment, ToolOutput};

/// Bytes of a file that is looked at at all.
pub(super) const LARGEST_FILE: u64 = 64 * 1024 * 1024;

/// Bytes of a document that is sent: a request to the Messages API has 32 MB at most, in which base64 takes a third more
/// (<https://docs.claude.com/en/docs/build-with-claude/pdf-support>).
const LARGEST: usize = 20 * 1024 * 1024;

/// The most pages of a file that is shown without a choice of pages, and the most pages of one call; both as in Claude Code.
const MOST_UNASKED: u32 = 10;
const MOST_PAGES: u32 = 20;

/// Bytes that one stream of a file may unpack to. A small file can hold a huge one.
const UNPACKED: usize = 64 * 1024 * 1024;

/// Whether content that begins like this is a PDF file.
pub(super) fn is_pdf(beginning: &[u8]) -> bool {
    beginning.starts_with(b"%PDF-")
}

/// Who a PDF file is shown to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader {
    /// Whether it takes documents.
    pub(super) documents: bool,
    /// Characters of text that it is given.
    pub(super) chars: usize,
}

/// Shows the pages of a file; the error is half a sentence.
pub(super) fn show(bytes: &[u8], pages: Option<&str>, to: Reader) -> Result<ToolOutput, String> {
    let options = LoadOptions {
        max_decompressed_size: Some(UNPACKED),
        ..LoadOptions::default()
    };
    let mut document = Document::load_mem_with_options(bytes, options)
        .map_err(|error| format!("it is damaged or needs a password ({error})"))?;
    let all = u32::try_from(document.get_pages().len()).unwrap_or(u32::MAX);
    let wanted = wanted(pages, all)?;
    let of = counted(all as usize, "page");
    let which = if wanted == (1..=all) {
        of
    } else {
        format!("pages {} to {} of {of}", wanted.start(), wanted.end())
    };
    let line = format!("pdf, {which}");
    if to.documents {
        let pdf = if wanted == (1..=all) {
            STANDARD.encode(within_bound(bytes)?)
        } else {
            STANDARD.encode(within_bound(&cut(&mut document, &wanted, all)?)?)
        };
        let output = ToolOutput::ok(format!("[PDF file, {which}]"), line);
        return Ok(output.with_attachments(vec![Attachment::Pdf(pdf)]));
    }
    let text = text_of(&document, wanted, to.chars);
    Ok(ToolOutput::ok(
        format!(
            "[PDF file, {which}. You cannot be shown PDF files, so this is its text, without pictures and layout.]\n{text}"
        ),
        format!("{line}, as text"),
    ))
}

/// The pages that are meant, counted from 1.
fn wanted(pages: Option<&str>, all: u32) -> Result<RangeInclusive<u32>, String> {
    if all == 0 {
        return Err("it has no pages".to_owned());
    }
    let Some(pages) = pages else {
        if all > MOST_UNASKED {
            return Err(format!(
                "it has {all} pages; choose at most {MOST_PAGES} of them with `pages`, such as \"1-5\""
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
            "`pages` is \"{pages}\"; give one page or a range, such as \"3\" or \"1-5\""
        ));
    };
    if *range.start() > all {
        return Err(format!(
            "`pages` is \"{pages}\" and the file has {}",
            counted(all as usize, "page")
        ));
    }
    let range = *range.start()..=all.min(*range.end());
    if range.end() - range.start() >= MOST_PAGES {
        return Err(format!(
            "`pages` is \"{pages}\"; choose at most {MOST_PAGES} pages a call"
        ));
    }
    Ok(range)
}

fn within_bound(bytes: &[u8]) -> Result<&[u8], String> {
    if bytes.len() <= LARGEST {
        return Ok(bytes);
    }
    let megabytes = LARGEST / 1024 / 1024;
    Err(format!(
        "these pages take {} bytes, and at most {megabytes} MiB can be shown; choose fewer with `pages`",
        bytes.len()
    ))
}

/// A file of some of the pages.
fn cut(document: &mut Document, wanted: &RangeInclusive<u32>, all: u32) -> Result<Vec<u8>, String> {
    let others: Vec<u32> = (1..=all).filter(|page| !wanted.contains(page)).collect();
    document.delete_pages(&others);
    document.prune_objects();
    let mut bytes = Vec::new();
    document
        .save_to(&mut bytes)
        .map_err(|error| format!("its pages cannot be separated ({error})"))?;
    Ok(bytes)
}

/// The text of pages, each under its number.
fn text_of(document: &Document, wanted: RangeInclusive<u32>, chars: usize) -> String {
    let mut all = String::new();
    for page in wanted {
        let text = match document.extract_text_with_limit(&[page], UNPACKED) {
            Ok(text) if text.trim().is_empty() => "[no text on this page]".to_owned(),
            Ok(text) => text.trim().to_owned(),
            Err(error) => format!("[the text of this page cannot be read: {error}]"),
        };
        // Writing to a String does not fail.
        let _ok = writeln!(all, "--- page {page} ---\n{text}");
    }
    match all.char_indices().nth(chars) {
        None => all,
        Some((at, _)) => format!(
            "{}\n[the text was cut after {chars} characters; choose fewer pages with `pages`]",
            &all[..at]
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_one_or_a_range_of_at_most_twenty() {
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
                Err("`pages` is \"6\" and the file has 5 pages"),
            ),
            (Some("5-2"), 9, Err("`pages` is \"5-2\"; give one page")),
            (Some("0"), 9, Err("`pages` is \"0\"; give one page")),
            (Some("all"), 9, Err("`pages` is \"all\"; give one page")),
        ] {
            match (wanted(pages, all), range) {
                (Ok(got), Ok(range)) => assert_eq!(got, range, "{pages:?}"),
                (Err(why), Err(start)) => assert!(why.starts_with(start), "{why}"),
                other => panic!("{pages:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn long_text_is_cut_and_says_so() {
        let text = text_of(&Document::new(), 1..=2, 20);
        assert!(text.starts_with("--- page 1 ---\n"), "{text}");
        assert!(text.ends_with("choose fewer pages with `pages`]"), "{text}");
    }
}
