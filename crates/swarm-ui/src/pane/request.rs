//! The detail of a waiting state: the id of the request and what is asked.

/// A detail of the form `ID: what is asked`, taken apart. Either half may be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestLine<'a> {
    pub(super) id: &'a str,
    pub(super) what: &'a str,
}

/// How the ids of requests begin (`docs/formats.md`).
const KINDS: [&str; 3] = ["perm-", "plan_approval-", "sandbox-"];

impl<'a> RequestLine<'a> {
    pub(super) fn parse(detail: &'a str) -> Self {
        let detail = detail.trim();
        let (first, rest) = detail.split_once(' ').unwrap_or((detail, ""));
        let id = first.trim_end_matches(':');
        if KINDS.iter().any(|kind| id.starts_with(kind)) {
            Self {
                id,
                what: rest.trim(),
            }
        } else {
            Self {
                id: "",
                what: detail,
            }
        }
    }
}
