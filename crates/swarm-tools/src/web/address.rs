//! Addresses as the web tools take them: written so that a permission rule and a client read the same host in them.

/// The host of an address, in lower case. The error is for the model.
pub(super) fn host(url: &str) -> Result<String, String> {
    let shown: String = url.chars().take(200).collect();
    let bad = |why: &str| Err(format!("`{}` {why}.", shown.escape_debug()));
    let lower = url.to_ascii_lowercase();
    let Some(rest) = lower
        .strip_prefix("https://")
        .or_else(|| lower.strip_prefix("http://"))
    else {
        return bad("is no address: begin it with https:// or http://");
    };
    let odd = |c: char| c.is_whitespace() || c.is_control() || c == '\\';
    if url.chars().any(odd) {
        return bad("holds blanks or backslashes: write them as %20 and %5C");
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return bad("holds a user or password, which is not sent");
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    if authority.is_empty() || !authority.chars().all(plain) {
        return bad("has no host that is written in plain letters (`xn--…` for others)");
    }
    let host = if authority.starts_with('[') {
        authority.split_inclusive(']').next().unwrap_or_default()
    } else {
        authority.split(':').next().unwrap_or_default()
    };
    Ok(host.trim_end_matches('.').to_owned())
}

/// Whether two hosts are one site: the same, but for a `www.` in front.
pub(super) fn same_site(one: &str, other: &str) -> bool {
    let bare = |host: &str| host.strip_prefix("www.").unwrap_or(host).to_owned();
    bare(one) == bare(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_readers_could_read_as_two_hosts_is_refused() {
        for (url, expected) in [
            ("https://Docs.RS/a?b#c", Some("docs.rs")),
            ("http://a.example.:8080", Some("a.example")),
            ("http://[::1]:80/x", Some("[::1]")),
            ("ftp://a", None),
            ("https:a.example", None),
            ("https:///a.example", None),
            ("https://good@evil.example", None),
            ("https://good\\@evil.example", None),
            ("https://go\tod.example", None),
            ("https://%65vil.example", None),
            ("https://bücher.example", None),
            ("file:///etc/passwd", None),
            ("", None),
        ] {
            assert_eq!(host(url).ok().as_deref(), expected, "{url}");
        }
        assert!(same_site("www.a.example", "a.example") && !same_site("b.a.example", "a.example"));
    }
}
