//! Hosts that commands may reach.

/// Ports that a pattern without a port permits: HTTP and HTTPS.
const USUAL_PORTS: [u16; 2] = [80, 443];

/// Returns the pattern that permits exactly this host, and this port unless it is a usual one.
pub(super) fn host_name(host: &str, port: u16) -> String {
    if USUAL_PORTS.contains(&port) {
        host.to_owned()
    } else if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

/// `example.com`, `*.example.com` or `example.com:22`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostPattern {
    name: String,
    port: Option<u16>,
}

impl HostPattern {
    /// Parses a pattern.
    pub(super) fn new(text: &str) -> Self {
        let lower = text.trim().to_ascii_lowercase();
        // An IPv6 address contains colons and needs brackets in front of a port.
        let split = lower.rsplit_once(':');
        let split = split.filter(|(name, _)| !name.contains(':') || name.ends_with(']'));
        let (name, port) = match split.and_then(|(name, port)| Some((name, port.parse().ok()?))) {
            Some((name, port)) => (name.to_owned(), Some(port)),
            None => (lower, None),
        };
        let name = name
            .trim_matches(['[', ']'])
            .trim_end_matches('.')
            .to_owned();
        Self { name, port }
    }

    /// Whether it permits a host and port. `*.example.com` does not include `example.com`.
    pub(super) fn permits(&self, host: &str, port: u16) -> bool {
        let port_fits = match self.port {
            Some(wanted) => wanted == port,
            None => USUAL_PORTS.contains(&port),
        };
        let host_fits = match self.name.strip_prefix('*') {
            Some(suffix) => host.len() > suffix.len() && host.ends_with(suffix),
            None => host == self.name,
        };
        port_fits && host_fits
    }

    /// Whether it names exactly this host and port, so that even a local address is meant.
    pub(super) fn names(&self, host: &str, port: u16) -> bool {
        self.name == host && self.port == Some(port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_host_is_a_pattern_for_it() {
        for (host, port, name) in [
            ("a.example", 443, "a.example"),
            ("a.example", 22, "a.example:22"),
            ("2001:db8::1", 80, "2001:db8::1"),
            ("2001:db8::1", 22, "[2001:db8::1]:22"),
        ] {
            assert_eq!(host_name(host, port), name);
            assert!(HostPattern::new(name).permits(host, port), "{name}");
        }
    }

    #[test]
    fn patterns_permit_hosts_subdomains_and_ports() {
        for (pattern, host, port, expected) in [
            ("crates.io", "crates.io", 443, true),
            ("Crates.IO.", "crates.io", 80, true),
            ("crates.io", "crates.io", 22, false),
            ("crates.io", "evil-crates.io", 443, false),
            ("crates.io", "crates.io.evil", 443, false),
            ("*.crates.io", "static.crates.io", 443, true),
            ("*.crates.io", "crates.io", 443, false),
            ("*.crates.io", ".crates.io", 443, false),
            ("github.com:22", "github.com", 22, true),
            ("github.com:22", "github.com", 443, false),
            ("[::1]:8080", "::1", 8080, true),
            ("::1", "::1", 80, true),
        ] {
            let pattern = HostPattern::new(pattern);
            assert_eq!(
                pattern.permits(host, port),
                expected,
                "{pattern:?} {host}:{port}"
            );
        }
    }
}
