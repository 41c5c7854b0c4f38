//! Efforts that each model supports.
//!
//! The API refuses the field `output_config.effort` for a model that does not support it
//! (<https://docs.claude.com/en/docs/build-with-claude/effort>), so it is sent only to models in
//! this table. Other vendors' models and models newer than the table get no effort.

use swarm_protocol::Effort;

/// Efforts of the first models with the field.
const FIRST: &[Effort] = &[Effort::Low, Effort::Medium, Effort::High];

/// Efforts of the following generation.
const SECOND: &[Effort] = &[Effort::Low, Effort::Medium, Effort::High, Effort::Max];

/// Returns the effort to send to `model`: the highest supported one up to `wanted`, or `None` if it
/// supports none.
pub(super) fn sendable(model: &str, wanted: Effort) -> Option<Effort> {
    let known = known(model)?;
    known.iter().rev().copied().find(|effort| *effort <= wanted)
}

fn known(model: &str) -> Option<&'static [Effort]> {
    match family_and_version(model)? {
        ("opus", (4, 5)) => Some(FIRST),
        ("opus" | "sonnet", (4, 6)) => Some(SECOND),
        ("opus" | "sonnet", version) if version >= (4, 7) => Some(&Effort::ALL),
        _ => None,
    }
}

/// Splits an id such as `claude-opus-4-6` into family and version. Returns `None` for older ids and
/// other vendors.
pub(super) fn family_and_version(model: &str) -> Option<(&str, (u32, u32))> {
    let (family, version) = model.strip_prefix("claude-")?.split_once('-')?;
    Some((family, version_of(version)?))
}

/// Parses `4-6`, `4-6-20260101` or `5`; a date directly after the first number is not a minor
/// version.
fn version_of(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split('-');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next().filter(|part| part.len() <= 2);
    Some((major, minor.and_then(|part| part.parse().ok()).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_supported_effort_up_to_the_requested_one_is_sent() {
        let sent = |model, wanted: Effort| sendable(model, wanted).map(Effort::name);
        let rows = [
            ("claude-opus-4-5-20251101", Effort::Max, Some("high")),
            ("claude-opus-4-6", Effort::Low, Some("low")),
            ("claude-sonnet-4-6", Effort::Xhigh, Some("high")),
            ("claude-sonnet-4-6", Effort::Max, Some("max")),
            ("claude-opus-4-7", Effort::Xhigh, Some("xhigh")),
            ("claude-sonnet-5", Effort::Xhigh, Some("xhigh")),
            ("claude-opus-4-20250514", Effort::High, None),
            ("claude-sonnet-4-5", Effort::High, None),
            ("claude-haiku-4-5", Effort::Low, None),
            ("claude-3-7-sonnet-latest", Effort::Low, None),
            ("gpt-oss:20b", Effort::Low, None),
            ("claude-", Effort::Low, None),
        ];
        for (model, wanted, expected) in rows {
            assert_eq!(sent(model, wanted), expected, "{model} {wanted}");
        }
    }
}
