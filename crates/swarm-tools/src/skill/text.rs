//! Text of a skill.

use std::io;

use swarm_protocol::Skill;

/// Maximum number of bytes read of a `SKILL.md`.
const MAX_SKILL_BYTES: u64 = 1 << 20;

/// Returns the text of a skill for the model: its directory, and its content without the front
/// matter. `$ARGUMENTS` is replaced by `arguments`, `${CLAUDE_SKILL_DIR}` by the directory of the
/// skill.
pub fn skill_text(skill: &Skill, arguments: &str) -> io::Result<String> {
    use io::Read as _;
    let mut text = String::new();
    std::fs::File::open(&skill.path)?
        .take(MAX_SKILL_BYTES)
        .read_to_string(&mut text)?;
    let directory = skill.path.parent().unwrap_or(&skill.path).display();
    let body = without_front_matter(&text).trim();
    let body = body.replace("${CLAUDE_SKILL_DIR}", &directory.to_string());
    let filled = body.replace("$ARGUMENTS", arguments);
    let rest = match (arguments.trim(), filled == body) {
        ("", _) | (_, false) => String::new(),
        (arguments, true) => format!("\n\nArguments: {arguments}"),
    };
    Ok(format!(
        "Directory of this skill: {directory}\n\n{filled}{rest}"
    ))
}

/// Removes the front matter between `---` lines.
fn without_front_matter(text: &str) -> &str {
    let text = text.trim_start_matches('\u{feff}');
    let Some(inner) = text.strip_prefix("---") else {
        return text;
    };
    let mut at = text.len() - inner.len();
    for line in inner.split_inclusive('\n') {
        at += line.len();
        if line.trim_end() == "---" {
            return &text[at..];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_matter_of_a_file_is_removed() {
        for (text, rest) in [
            ("---\nname: a\n---\nbody\n", "body\n"),
            ("---\r\nname: a\r\n---\r\nbody", "body"),
            ("body", "body"),
            ("---\nnever closed", "---\nnever closed"),
            ("\u{feff}---\na: b\n---\n", ""),
        ] {
            assert_eq!(without_front_matter(text), rest, "{text:?}");
        }
    }
}
