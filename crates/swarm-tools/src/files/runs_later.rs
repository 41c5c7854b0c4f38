//! Files that other programs execute or obey later: at the next commit, `cd`, login or editor
//! start.

use std::path::Path;

use swarm_protocol::word_list;

/// Names of files and directories that match in any directory.
const ANYWHERE: [&str; 25] = word_list(
    ".bash_aliases .bash_login .bash_logout .bash_profile .bashrc .envrc .gitconfig .gitmodules
    .husky .idea .npmrc .pre-commit-config.yaml .profile .ripgreprc .ssh .tmux.conf .vimrc .vscode
    .yarnrc .yarnrc.yml .zlogin .zlogout .zprofile .zshenv .zshrc",
);

/// Directory names and the names that match only within them.
const BELOW: [(&str, &str); 7] = [
    (".cargo", "config"),
    (".cargo", "config.toml"),
    (".claude", "commands"),
    (".claude", "skills"),
    (".config", "fish"),
    (".config", "git"),
    (".config", "tmux"),
];

/// Returns the matching name in this path. Case is ignored, since some file systems are
/// case-insensitive.
pub(crate) fn executed_later(path: &Path) -> Option<&'static str> {
    let names: Vec<&str> = path
        .iter()
        .map(|name| name.to_str().unwrap_or_default())
        .collect();
    let is = |name: &str, known: &str| name.eq_ignore_ascii_case(known);
    let anywhere = ANYWHERE
        .into_iter()
        .find(|known| names.iter().any(|name| is(name, known)));
    anywhere.or_else(|| {
        BELOW.into_iter().find_map(|(directory, known)| {
            names
                .windows(2)
                .any(|pair| is(pair[0], directory) && is(pair[1], known))
                .then_some(known)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_at_any_depth_and_in_any_case() {
        for (path, name) in [
            ("/repo/.husky/pre-commit", Some(".husky")),
            ("/repo/pkg/.vscode/tasks.json", Some(".vscode")),
            ("/repo/.envrc", Some(".envrc")),
            ("/home/dev/.SSH/authorized_keys", Some(".ssh")),
            ("/home/dev/.BashRC", Some(".bashrc")),
            ("/repo/.cargo/config.toml", Some("config.toml")),
            ("/repo/.claude/skills/a/SKILL.md", Some("skills")),
            ("/repo/.claude/commands/a.md", Some("commands")),
            ("/home/dev/.config/git/config", Some("git")),
            ("/repo/CLAUDE.md", None),
            ("/repo/.gitignore", None),
            ("/repo/.gitattributes", None),
            ("/repo/.github/workflows/ci.yml", None),
            ("/repo/config.toml", None),
            ("/repo/skills/a.md", None),
            ("/repo/.claude/worktrees/a/src/lib.rs", None),
        ] {
            assert_eq!(executed_later(Path::new(path)), name, "{path}");
        }
    }
}
