//! The helper's arguments.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use swarm_os::namespaces::{FixedEntry, FixedKind, MountView, NamespaceMember, Replacement};
use swarm_protocol::SandboxNetwork;

use super::error::SandboxError;
use super::words::{
    COMMAND, HIDE, HOST, INIT, JOIN, LANDLOCK, NO_NETWORK, PIN, PROXY, PROXY_PORT, READ_ONLY,
    REPLACE, REPLACE_WRITABLE, RESERVE, RESERVE_COMMON, SERVE, SHOW, UNIX_SOCKETS, WRITE,
};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum HelperTask {
    /// Starts a session and executes the command.
    #[default]
    Session,
    /// Restricts itself with Landlock before that.
    Landlock,
    /// Joins namespaces before that.
    Join(NamespaceMember),
    /// Creates namespaces and waits for their end.
    Host,
    /// Is their first process.
    Init,
}

/// The arguments, before the command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HelperArguments {
    pub(super) task: HelperTask,
    /// Instead of one command, it starts those that are requested on standard input.
    pub(super) serves: bool,
    pub(super) view: MountView,
    pub(super) unix_sockets: bool,
    pub(super) network: SandboxNetwork,
    /// With Landlock, the port of the proxy.
    pub(super) proxy_port: Option<u16>,
}

impl HelperArguments {
    /// Formats the arguments, including the separator.
    pub(super) fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = match &self.task {
            HelperTask::Session => Vec::new(),
            HelperTask::Landlock => vec![LANDLOCK.into()],
            HelperTask::Join(NamespaceMember { pid, mounts }) => {
                vec![JOIN.into(), pid.to_string().into(), mounts.into()]
            }
            HelperTask::Host => vec![HOST.into()],
            HelperTask::Init => vec![INIT.into()],
        };
        if self.serves {
            words.push(SERVE.into());
        }
        if self.unix_sockets {
            words.push(UNIX_SOCKETS.into());
        }
        match self.network {
            SandboxNetwork::Open => {}
            SandboxNetwork::Proxy => words.push(PROXY.into()),
            SandboxNetwork::None => words.push(NO_NETWORK.into()),
        }
        if let Some(port) = self.proxy_port {
            words.extend([PROXY_PORT.into(), port.to_string().into()]);
        }
        let MountView {
            writable,
            hidden,
            shown,
            replaced,
            fixed,
        } = &self.view;
        for (word, paths) in [(WRITE, writable), (HIDE, hidden), (SHOW, shown)] {
            for path in paths {
                words.extend([word.into(), path.into()]);
            }
        }
        for Replacement {
            path,
            source,
            writable,
        } in replaced
        {
            let word = if *writable { REPLACE_WRITABLE } else { REPLACE };
            words.extend([word.into(), path.into(), source.into()]);
        }
        for entry in fixed {
            words.extend([fixed_word(entry.kind).into(), entry.path.clone().into()]);
        }
        words.push(COMMAND.into());
        words
    }

    /// Parses arguments up to the separator, and leaves the command.
    pub(super) fn parse(
        arguments: &mut impl Iterator<Item = OsString>,
    ) -> Result<Self, SandboxError> {
        let mut parsed = Self::default();
        loop {
            let word = arguments
                .next()
                .ok_or_else(|| SandboxError::Arguments(OsString::new()))?;
            let view = &mut parsed.view;
            match word.to_str() {
                Some(COMMAND) => return Ok(parsed),
                Some(LANDLOCK) => parsed.task = HelperTask::Landlock,
                Some(HOST) => parsed.task = HelperTask::Host,
                Some(INIT) => parsed.task = HelperTask::Init,
                Some(JOIN) => {
                    let member = member(arguments);
                    let member = member.ok_or(SandboxError::Arguments(word))?;
                    parsed.task = HelperTask::Join(member);
                }
                Some(SERVE) => parsed.serves = true,
                Some(UNIX_SOCKETS) => parsed.unix_sockets = true,
                Some(NO_NETWORK) => parsed.network = SandboxNetwork::None,
                Some(PROXY) => parsed.network = SandboxNetwork::Proxy,
                Some(PROXY_PORT) => {
                    let port = arguments
                        .next()
                        .and_then(|port| port.to_str()?.parse().ok());
                    parsed.proxy_port = Some(port.ok_or(SandboxError::Arguments(word))?);
                }
                Some(WRITE) => view.writable.push(next_path(arguments, word)?),
                Some(HIDE) => view.hidden.push(next_path(arguments, word)?),
                Some(SHOW) => view.shown.push(next_path(arguments, word)?),
                Some(replace @ (REPLACE | REPLACE_WRITABLE)) => {
                    let writable = replace == REPLACE_WRITABLE;
                    view.replaced.push(Replacement {
                        path: next_path(arguments, word.clone())?,
                        source: next_path(arguments, word)?,
                        writable,
                    });
                }
                other => {
                    let kind = other.and_then(fixed_kind);
                    let kind = kind.ok_or_else(|| SandboxError::Arguments(word.clone()))?;
                    let path = next_path(arguments, word)?;
                    view.fixed.push(FixedEntry { path, kind });
                }
            }
        }
    }
}

fn next_path(
    arguments: &mut impl Iterator<Item = OsString>,
    word: OsString,
) -> Result<PathBuf, SandboxError> {
    let path = arguments.next().map(PathBuf::from);
    path.ok_or(SandboxError::Arguments(word))
}

/// The words for entries that cannot be changed.
const FIXED: [(FixedKind, &str); 4] = [
    (FixedKind::Pinned, PIN),
    (FixedKind::ReadOnly, READ_ONLY),
    (FixedKind::ReservedDirectory, RESERVE),
    (FixedKind::ReservedCommonDirectory, RESERVE_COMMON),
];

fn fixed_word(kind: FixedKind) -> &'static str {
    let found = FIXED.iter().find(|(known, _)| *known == kind);
    found.map_or(READ_ONLY, |(_, word)| word)
}

fn fixed_kind(word: &str) -> Option<FixedKind> {
    let found = FIXED.iter().find(|(_, known)| *known == word);
    found.map(|(kind, _)| *kind)
}

fn member(arguments: &mut impl Iterator<Item = OsString>) -> Option<NamespaceMember> {
    let pid = arguments.next()?.to_str()?.parse().ok()?;
    let mounts = arguments.next()?;
    let mounts = OsStr::to_str(&mounts)?.to_owned();
    Some(NamespaceMember { pid, mounts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_survive_the_command_line() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect();
        let member = NamespaceMember {
            pid: 7,
            mounts: "mnt:[1]".into(),
        };
        for task in [
            HelperTask::Session,
            HelperTask::Landlock,
            HelperTask::Join(member),
            HelperTask::Host,
            HelperTask::Init,
        ] {
            let given = HelperArguments {
                task,
                serves: true,
                view: MountView {
                    writable: paths(&["/a", "--"]),
                    hidden: paths(&["/b"]),
                    shown: paths(&["/b/c"]),
                    replaced: [true, false]
                        .map(|writable| Replacement {
                            path: "/d".into(),
                            source: "/e".into(),
                            writable,
                        })
                        .into(),
                    fixed: FIXED
                        .map(|(kind, word)| FixedEntry {
                            path: word.into(),
                            kind,
                        })
                        .into(),
                },
                unix_sockets: true,
                network: SandboxNetwork::Proxy,
                proxy_port: Some(7),
            };
            let mut words = given.words().into_iter().chain(["program".into()]);
            assert_eq!(HelperArguments::parse(&mut words).unwrap(), given);
            assert_eq!(words.next(), Some("program".into()));
        }
    }

    #[test]
    fn invalid_arguments_are_refused() {
        for words in [
            &[][..],
            &["--wrong", "--"],
            &["--write", "/x"],
            &["--join", "x", "y", "--"],
            &["--proxy-port", "x", "--"],
        ] {
            let mut words = words.iter().map(OsString::from);
            let parsed = HelperArguments::parse(&mut words);
            assert!(matches!(parsed, Err(SandboxError::Arguments(_))));
        }
    }
}
