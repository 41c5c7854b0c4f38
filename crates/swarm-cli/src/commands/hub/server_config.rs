//! The configuration of a server that `swarm hub start` runs.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// First version that can flush every message to disk before it acknowledges it.
const SYNCS: (u64, u64) = (2, 10);

/// Name of its log in the directory.
pub(in crate::commands) const LOG: &str = "nats.log";

/// Returns the major and minor version in the output of `nats-server --version`.
pub(super) fn version(said: &str) -> Option<(u64, u64)> {
    let number = said
        .trim()
        .rsplit(|end: char| end == 'v' || end.is_whitespace())
        .next()?;
    let mut parts = number.trim().split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

/// Returns the configuration file.
pub(super) fn text(
    address: IpAddr,
    port: u16,
    directory: &Path,
    password: &str,
    version: Option<(u64, u64)>,
) -> String {
    let inside = |name: &str| quoted(&directory.join(name).to_string_lossy());
    let (store, log) = (inside("data"), inside(LOG));
    let sync = if version.is_some_and(|version| version >= SYNCS) {
        ", sync_interval: always"
    } else {
        ""
    };
    format!(
        "# Written by `swarm hub start`, which replaces it.\n\
         listen: \"{}\"\n\
         server_name: swarm\n\
         log_file: {log}\n\
         jetstream {{ store_dir: {store}{sync} }}\n\
         authorization {{ user: swarm, password: \"{password}\" }}\n",
        SocketAddr::new(address, port),
    )
}

/// Returns the address of the server in a configuration file.
pub(super) fn address(text: &str) -> Option<SocketAddr> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("listen: "))?;
    line.trim_matches('"').parse().ok()
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_decides_whether_every_message_is_flushed() {
        assert_eq!(version("nats-server: v2.9.10\n"), Some((2, 9)));
        assert_eq!(version("nats-server: v2.12.1"), Some((2, 12)));
        assert_eq!(version("something else"), None);
        let config = |version| {
            let here = IpAddr::from([127, 0, 0, 1]);
            text(here, 4222, Path::new("/a \"b\""), "secret", version)
        };
        assert!(!config(Some((2, 9))).contains("sync_interval"));
        assert!(!config(None).contains("sync_interval"));
        let newer = config(Some((2, 10)));
        assert!(
            newer.contains(r#"store_dir: "/a \"b\"/data", sync_interval: always"#),
            "{newer}"
        );
        assert!(newer.contains("listen: \"127.0.0.1:4222\""), "{newer}");
        assert!(
            newer.contains(r#"log_file: "/a \"b\"/nats.log""#),
            "{newer}"
        );
    }
}
