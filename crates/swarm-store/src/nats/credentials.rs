//! Credentials of a hub and the certificates of its authority, from files.

use std::path::Path;

use async_nats::ConnectOptions;

/// Adds the credentials in a file. Its content tells its kind.
///
/// # Errors
/// What is wrong with the file.
pub(super) fn with_credentials(
    options: ConnectOptions,
    path: &Path,
) -> Result<ConnectOptions, String> {
    let bad = |why: String| format!("cannot use the credentials in {}: {why}", path.display());
    let read = swarm_os::read_optional(path).map_err(|error| bad(error.to_string()))?;
    let bytes = read.ok_or_else(|| bad("the file does not exist".to_owned()))?;
    let text = String::from_utf8(bytes).map_err(|_| bad("it is not text".to_owned()))?;
    let text = text.trim();
    if text.contains("BEGIN NATS USER JWT") {
        // The client expects the end of the last line.
        let options = options.credentials(&format!("{text}\n"));
        return options.map_err(|error| bad(error.to_string()));
    }
    if text.starts_with("SU") && text.len() == 58 && !text.contains(':') {
        return Ok(options.nkey(text.to_owned()));
    }
    match text.split_once(':') {
        Some((user, password)) if !text.contains('\n') => {
            Ok(options.user_and_password(user.to_owned(), password.to_owned()))
        }
        _ => Err(bad(
            "it is neither `USER:PASSWORD` nor an NKey seed nor a NATS credentials file".to_owned(),
        )),
    }
}

/// Checks that a file contains certificates. The client does not name the file in its errors, and
/// ignores one without any.
///
/// # Errors
/// What is wrong with the file.
pub(super) fn check_certificates(path: &Path) -> Result<(), String> {
    let bad = |why: &str| format!("cannot use the certificates in {}: {why}", path.display());
    let read = swarm_os::read_optional(path).map_err(|error| bad(&error.to_string()))?;
    let bytes = read.ok_or_else(|| bad("the file does not exist"))?;
    let text = String::from_utf8_lossy(&bytes);
    if text.contains("-----BEGIN CERTIFICATE-----") {
        Ok(())
    } else {
        Err(bad("it contains none in PEM format"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key of NATS's documentation; the server checks the token.
    const USER_FILE: &str = "\
-----BEGIN NATS USER JWT-----
eyJ0eXAiOiJqd3QiLCJhbGciOiJlZDI1NTE5In0.e30.c2lnbmF0dXJl
------END NATS USER JWT------

-----BEGIN USER NKEY SEED-----
SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY
------END USER NKEY SEED------
";

    #[test]
    fn a_credentials_file_of_nats_has_a_token_and_its_seed() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("user.creds");
        let used = |text: &str| {
            swarm_os::replace_alone(&path, text.as_bytes()).unwrap();
            with_credentials(ConnectOptions::new(), &path).map(drop)
        };
        assert_eq!(used(USER_FILE), Ok(()));
        let (token, _seed) = USER_FILE.split_once("-----BEGIN USER").unwrap();
        let why = used(token).unwrap_err();
        assert!(why.contains("user.creds: cannot parse nkey"), "{why}");
    }

    #[test]
    fn a_file_without_certificates_is_named() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("hub.pem");
        let file = path.display();
        let why = || check_certificates(&path).unwrap_err();
        assert_eq!(
            why(),
            format!("cannot use the certificates in {file}: the file does not exist")
        );
        swarm_os::replace_alone(&path, b"text").unwrap();
        assert_eq!(
            why(),
            format!("cannot use the certificates in {file}: it contains none in PEM format")
        );
        swarm_os::replace_alone(&path, b"-----BEGIN CERTIFICATE-----\n").unwrap();
        assert_eq!(check_certificates(&path), Ok(()));
    }
}
