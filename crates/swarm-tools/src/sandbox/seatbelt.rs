//! Profile for Seatbelt, the sandbox of macOS (`sandbox-exec -p PROFILE`), from the same view as the
//! other backends. The language is not documented by Apple; the rules are those that Chromium and
//! Bazel use. In a profile, the last rule that matches applies.

use std::fmt::Write as _;
use std::path::Path;

use swarm_os::namespaces::{FixedKind, MountView};
use swarm_protocol::SandboxNetwork;

/// Socket by which programs resolve names.
const RESOLVER: &str = "/private/var/run/mDNSResponder";

/// Returns the profile for a command. There is no proxy, so that it has the network either completely or not
/// at all.
pub(super) fn seatbelt_profile(
    view: &MountView,
    unix_sockets: bool,
    network: SandboxNetwork,
) -> String {
    let mut profile = Profile::default();
    profile.line("(version 1)\n(allow default)\n(deny file-write*)");
    for path in &view.writable {
        profile.rule("allow", "file-write*", "subpath", path);
    }
    let mut fixed: Vec<_> = view.fixed.iter().collect();
    // The inner ones last.
    fixed.sort_by(|one, other| one.path.cmp(&other.path));
    for entry in fixed {
        let path = entry.path.as_path();
        if entry.kind == FixedKind::Pinned {
            profile.rule("allow", "file-write*", "subpath", path);
            profile.rule("deny", "file-write-unlink", "literal", path);
        } else {
            profile.rule("deny", "file-write*", "subpath", path);
        }
    }
    for path in &view.hidden {
        profile.rule("deny", "file-read*", "subpath", path);
        profile.rule("deny", "file-write*", "subpath", path);
    }
    let is_hidden = |path: &Path| view.hidden.iter().any(|hidden| path.starts_with(hidden));
    for path in view.shown.iter().filter(|path| is_hidden(path)) {
        profile.rule("allow", "file-read*", "subpath", path);
    }
    for path in view.writable.iter().filter(|path| is_hidden(path)) {
        profile.rule("allow", "file-read* file-write*", "subpath", path);
    }
    for action in ["signal", "process-info*"] {
        profile.line(&format!(
            "(deny {action})\n(allow {action} (target same-sandbox))"
        ));
    }
    if network != SandboxNetwork::Open {
        profile.line("(deny network*)");
    }
    if unix_sockets {
        profile.line("(allow network* (local unix-socket) (remote unix-socket))");
    } else {
        profile.line("(deny network* (local unix-socket) (remote unix-socket))");
        if network == SandboxNetwork::Open {
            let resolver = Path::new(RESOLVER);
            profile.rule("allow", "network-outbound", "literal", resolver);
        }
    }
    profile.0
}

#[derive(Default)]
struct Profile(String);

impl Profile {
    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    fn rule(&mut self, effect: &str, action: &str, filter: &str, path: &Path) {
        let path = quoted(&path.to_string_lossy());
        // Writing to a `String` cannot fail.
        writeln!(self.0, "({effect} {action} ({filter} {path}))").unwrap_or_default();
    }
}

/// Returns a string literal of the profile language.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use swarm_os::namespaces::FixedEntry;

    use super::*;

    fn view() -> MountView {
        let fixed = |path: &str, kind| FixedEntry {
            path: path.into(),
            kind,
        };
        MountView {
            writable: vec!["/w".into(), "/h/.claude/own".into()],
            hidden: vec!["/h/.ssh".into(), "/h/.claude".into()],
            shown: vec!["/h/.claude/skills".into(), "/other".into()],
            replaced: Vec::new(),
            fixed: vec![
                fixed("/w/.claude/worktrees", FixedKind::Pinned),
                fixed("/w/.claude/worktrees/a/.git", FixedKind::ReadOnly),
                fixed("/w/.claude", FixedKind::ReadOnly),
                fixed("/w/.mcp.json", FixedKind::ReservedDirectory),
            ],
        }
    }

    #[test]
    fn the_profile_has_the_rules_of_a_view() {
        let profile = seatbelt_profile(&view(), false, SandboxNetwork::Proxy);
        let expected = r#"(version 1)
(allow default)
(deny file-write*)
(allow file-write* (subpath "/w"))
(allow file-write* (subpath "/h/.claude/own"))
(deny file-write* (subpath "/w/.claude"))
(allow file-write* (subpath "/w/.claude/worktrees"))
(deny file-write-unlink (literal "/w/.claude/worktrees"))
(deny file-write* (subpath "/w/.claude/worktrees/a/.git"))
(deny file-write* (subpath "/w/.mcp.json"))
(deny file-read* (subpath "/h/.ssh"))
(deny file-write* (subpath "/h/.ssh"))
(deny file-read* (subpath "/h/.claude"))
(deny file-write* (subpath "/h/.claude"))
(allow file-read* (subpath "/h/.claude/skills"))
(allow file-read* file-write* (subpath "/h/.claude/own"))
(deny signal)
(allow signal (target same-sandbox))
(deny process-info*)
(allow process-info* (target same-sandbox))
(deny network*)
(deny network* (local unix-socket) (remote unix-socket))
"#;
        assert_eq!(profile, expected);
    }

    #[test]
    fn the_network_and_unix_sockets_are_permitted_separately() {
        let ends = |sockets, network| {
            let profile = seatbelt_profile(&MountView::default(), sockets, network);
            let lines: Vec<String> = profile.lines().skip(7).map(str::to_owned).collect();
            lines
        };
        let sockets = "network* (local unix-socket) (remote unix-socket))";
        let (allowed, denied) = (format!("(allow {sockets}"), format!("(deny {sockets}"));
        let none = "(deny network*)".to_owned();
        let resolver = format!("(allow network-outbound (literal \"{RESOLVER}\"))");
        assert_eq!(ends(false, SandboxNetwork::Open), [denied, resolver]);
        let only_sockets = ends(true, SandboxNetwork::Open);
        assert_eq!(only_sockets.join(""), allowed);
        assert_eq!(ends(true, SandboxNetwork::None), [none, allowed]);
    }

    #[test]
    fn a_path_cannot_add_rules() {
        assert_eq!(quoted("/a\"))(allow x\\"), "\"/a\\\"))(allow x\\\\\"");
    }
}
