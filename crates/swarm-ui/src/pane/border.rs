//! The few words that a pane's border shows.

use swarm_protocol::MemberState;

use crate::pane::request::RequestLine;
use crate::sanitize::clean_line;
use crate::width::fit;

/// Columns that the words may take: a border also holds the title, and panes are narrow.
const LIMIT: usize = 48;

/// A state in a few words, such as `working · Bash`; a state that needs a person says so in capitals.
pub fn border_state(state: MemberState, detail: Option<&str>) -> String {
    let detail = clean_line(detail.unwrap_or_default());
    let (word, detail) = match state {
        MemberState::WaitingPermission | MemberState::WaitingPlan => (
            "NEEDS AN ANSWER",
            RequestLine::parse(&detail).what.to_owned(),
        ),
        state => (state.name(), detail),
    };
    let words = if detail.is_empty() {
        word.to_owned()
    } else {
        format!("{word} · {detail}")
    };
    fit(&words, LIMIT, "…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_border_says_what_a_member_does_in_a_few_safe_words() {
        assert_eq!(border_state(MemberState::Idle, None), "idle");
        assert_eq!(
            border_state(MemberState::Working, Some("Bash\u{1b}]0;x\u{7}")),
            "working · Bash␛]0;x␇"
        );
        assert_eq!(
            border_state(
                MemberState::WaitingPermission,
                Some("perm-1795195848228-r6huwgp: Bash cargo publish")
            ),
            "NEEDS AN ANSWER · Bash cargo publish"
        );
        let long = border_state(MemberState::Parked, Some(&"because ".repeat(20)));
        assert!(crate::width::columns(&long) <= LIMIT && long.ends_with('…'));
    }
}
