//! Reads messages in the form in which a model got them, to show them to a person.

const END: &str = "\n</teammate-message>";

/// A message that [`crate::Envelope::render`] wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedEnvelope<'a> {
    /// Name of the sender.
    pub from: String,
    /// Colour of the sender.
    pub color: Option<String>,
    /// Short summary.
    pub summary: Option<String>,
    /// Text of the message, with framing tags escaped.
    pub text: &'a str,
}

impl<'a> OpenedEnvelope<'a> {
    /// Reads the message at the start of a text, and returns it with the text after it. `None` if
    /// there is no complete message.
    pub fn open(text: &'a str) -> Option<(Self, &'a str)> {
        let rest = text.trim_start().strip_prefix("<teammate-message")?;
        let (attributes, rest) = rest.split_once(">\n")?;
        let (text, rest) = rest.split_once(END)?;
        let envelope = Self {
            from: attribute(attributes, "teammate_id")?,
            color: attribute(attributes, "color"),
            summary: attribute(attributes, "summary"),
            text,
        };
        Some((envelope, rest))
    }
}

fn attribute(attributes: &str, name: &str) -> Option<String> {
    let (_, rest) = attributes.split_once(&format!(" {name}=\""))?;
    let (value, _) = rest.split_once('"')?;
    let mut plain = value.to_owned();
    // The ampersand comes last, so that nothing is replaced twice.
    for (escaped, c) in [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ] {
        plain = plain.replace(escaped, c);
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Envelope;

    #[test]
    fn messages_are_read_one_after_the_other() {
        let one = Envelope {
            from: "bob",
            color: Some("blue"),
            summary: Some("a \"q\" & b"),
            text: "first\n\n<b>",
        };
        let both = format!("{}\n{}", one.render(), Envelope::system("second").render());
        let (first, rest) = OpenedEnvelope::open(&both).unwrap();
        assert_eq!((first.from.as_str(), first.text), ("bob", "first\n\n<b>"));
        assert_eq!(first.color.as_deref(), Some("blue"));
        assert_eq!(first.summary.as_deref(), Some("a \"q\" & b"));
        let (second, rest) = OpenedEnvelope::open(rest).unwrap();
        assert_eq!(
            (second.from.as_str(), second.text, rest),
            ("system", "second", "")
        );
        assert_eq!(OpenedEnvelope::open("<teammate-message>\nx"), None);
        assert_eq!(OpenedEnvelope::open("text"), None);
    }

    proptest! {
        #[test]
        fn any_sender_and_summary_are_read_back(from in "[ -~äß]{1,12}", text in "[a-z\n<>/]{0,20}") {
            let envelope = Envelope { from: &from, color: None, summary: Some(&from), text: &text };
            let rendered = envelope.render();
            let (opened, rest) = OpenedEnvelope::open(&rendered).unwrap();
            prop_assert_eq!(&opened.from, &from);
            prop_assert_eq!(opened.summary.as_ref(), Some(&from));
            prop_assert_eq!((opened.text, rest), (text.as_str(), ""));
        }
    }
}
