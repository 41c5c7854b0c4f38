//! `swarm hub start`.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use rustix::io::{FdFlags, fcntl_setfd};
use serde_json::json;
use swarm_os::{InheritableLock, OsError};
use swarm_protocol::ErrorKind;
use swarm_store::StoreError;
use uuid::Uuid;

use super::server_config;
use crate::app::App;
use crate::config_directory;
use crate::failure::{Failure, Result};
use crate::output::quoted;

const SERVER: &str = "nats-server";

/// Name of the file that a running server keeps locked.
const LOCK: &str = "lock";

/// Name of the server's configuration file.
const CONFIGURATION: &str = "nats.conf";

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Needs nats-server 2.9 or newer (Debian: `apt install nats-server`). Runs until Ctrl-C; teams and its log are kept in the \
directory.

The server listens on this machine only unless `--listen` names another address. Its connections are never encrypted: \
use your own NATS server with TLS for networks that you do not trust.

Examples:
  swarm hub start
  swarm hub start --listen 192.0.2.7 --port 4300")]
pub(crate) struct HubStartArgs {
    /// Port.
    #[arg(long, default_value_t = 4222, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,
    /// Address to listen on.
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST),
        value_parser = listen_address
    )]
    listen: IpAddr,
    /// Directory of its data and credentials [default: `swarm/hub` in the config directory].
    #[arg(long, value_name = "DIRECTORY")]
    dir: Option<PathBuf>,
}

pub(super) fn run(app: &App, args: &HubStartArgs) -> Result<ExitCode> {
    let program = find_server(app)?;
    config_directory::make(&app.root)?;
    let directory = match &args.dir {
        Some(directory) => app.env.cwd.join(directory),
        None => app.root.join("swarm").join("hub"),
    };
    swarm_os::ensure_private_dir(&directory).map_err(not_created)?;
    let lock = lock(&directory)?;
    require_free(args.listen, args.port)?;
    let credentials = directory.join("credentials");
    let password = password_in(&credentials)?;
    let said = Command::new(&program).arg("--version").output();
    let said = said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
    let version = server_config::version(&said.unwrap_or_default());
    let config = directory.join(CONFIGURATION);
    let text = server_config::text(args.listen, args.port, &directory, &password, version);
    swarm_os::replace_alone(&config, text.as_bytes()).map_err(StoreError::from)?;
    let host = rustix::system::uname();
    let url = url(args.listen, args.port, &host.nodename().to_string_lossy());
    let kept = lock.descriptor_for_child().map_err(StoreError::from)?;
    let log = directory.join(server_config::LOG);
    if app.out.json {
        let started = json!({ "url": url, "credentials": credentials, "log": log });
        app.out.json(&started)?;
    } else {
        app.out.data(&format!(
            "{url} with the credentials in {}",
            credentials.display()
        ))?;
        app.out.say(&format!(
            "create a team on it with `swarm team create NAME --hub {url} --credentials {}`",
            quoted(&credentials.to_string_lossy())
        ));
        app.out.say(&format!("its log is {}", log.display()));
    }
    // The server inherits the lock.
    fcntl_setfd(&kept, FdFlags::empty()).map_err(io::Error::from)?;
    // The server takes the place of this process, so that the terminal controls it.
    let error = Command::new(&program).arg("--config").arg(&config).exec();
    let message = format!("cannot run {}: {error}", program.display());
    Err(Failure::new(ErrorKind::Environment, message))
}

/// Some file systems report a directory that cannot be created as one that does not exist.
fn not_created(error: OsError) -> Failure {
    match error {
        OsError::Gone(path) => {
            let message = format!("cannot create the directory {}", path.display());
            Failure::environment(message).with_hint("choose another one with `--dir`")
        }
        error => StoreError::from(error).into(),
    }
}

/// Parses the value of `--listen`.
fn listen_address(text: &str) -> Result<IpAddr, String> {
    match text.parse() {
        Ok(address) => Ok(address),
        Err(_) if text == "localhost" => Ok(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        Err(_) => Err(
            "use an IP address of this machine, such as 127.0.0.1; `--port` sets the port"
                .to_owned(),
        ),
    }
}

/// Returns the URL that other machines use: with the host's name if the server listens on all
/// addresses.
fn url(address: IpAddr, port: u16, host: &str) -> String {
    if address.is_unspecified() {
        format!("nats://{host}:{port}")
    } else {
        format!("nats://{}", SocketAddr::new(address, port))
    }
}

/// Locks a directory for the server: two servers on the same data lose what one of them has stored.
fn lock(directory: &Path) -> Result<InheritableLock> {
    match InheritableLock::take(&directory.join(LOCK), Duration::ZERO) {
        Ok(lock) => Ok(lock),
        Err(OsError::LockTimeout { holder, .. }) => {
            let place = directory.display();
            let message = match url_of_running(directory) {
                Some(url) => format!("the hub of {place} is already running at {url}: {holder}"),
                None => format!("the hub of {place} is already running: {holder}"),
            };
            let hint = "use it, or stop it first; a second hub needs another `--dir`";
            Err(Failure::conflict(message).with_hint(hint))
        }
        Err(error) => Err(StoreError::from(error).into()),
    }
}

/// Returns the URL in the configuration of the last server of a directory.
fn url_of_running(directory: &Path) -> Option<String> {
    let bytes = swarm_os::read_optional(&directory.join(CONFIGURATION)).ok()??;
    let address = server_config::address(&String::from_utf8_lossy(&bytes))?;
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    Some(url(address.ip(), address.port(), &host))
}

/// Checked before anything is printed, because the server's own message is only in its log.
fn require_free(address: IpAddr, port: u16) -> Result<()> {
    match TcpListener::bind((address, port)) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            let message = format!("port {port} of {address} is in use");
            let hint = "stop the program that uses it, or use another `--port`";
            Err(Failure::new(ErrorKind::Environment, message).with_hint(hint))
        }
        Err(error) => {
            let message = format!("cannot listen on port {port} of {address}: {error}");
            let hint = "use an address of this machine, and a port above 1023";
            Err(Failure::new(ErrorKind::Environment, message).with_hint(hint))
        }
    }
}

/// Debian installs servers in directories that are on the search path of root only.
pub(in crate::commands) fn find_server(app: &App) -> Result<PathBuf> {
    let elsewhere = ["/usr/sbin", "/usr/local/sbin"].map(|place| Path::new(place).join(SERVER));
    let found = app.env.find_program(SERVER);
    let found = found.or_else(|| elsewhere.into_iter().find(|path| path.is_file()));
    found.ok_or_else(|| {
        let hint = "install it, on Debian with `sudo apt install nats-server`, or use the URL of a hub that runs \
                    elsewhere";
        Failure::new(ErrorKind::Environment, format!("`{SERVER}` is not installed")).with_hint(hint)
    })
}

/// Returns the password in a credentials file, which is created if it is missing.
fn password_in(credentials: &Path) -> Result<String> {
    let read = swarm_os::read_optional(credentials).map_err(StoreError::from)?;
    if let Some(bytes) = read {
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        return match text.strip_prefix("swarm:") {
            Some(password) if is_plain(password) && !password.is_empty() => Ok(password.to_owned()),
            _ => {
                let message = format!("{} is not from `swarm hub start`", credentials.display());
                let hint = "move it away, and a new one is created";
                Err(Failure::new(ErrorKind::Damaged, message).with_hint(hint))
            }
        };
    }
    let password = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
    let line = format!("swarm:{password}\n");
    swarm_os::replace_alone(credentials, line.as_bytes()).map_err(StoreError::from)?;
    Ok(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_names_the_host_if_the_server_listens_on_all_addresses() {
        let of = |address: &str| url(address.parse().unwrap(), 4222, "build");
        assert_eq!(of("0.0.0.0"), "nats://build:4222");
        assert_eq!(of("::"), "nats://build:4222");
        assert_eq!(of("192.0.2.7"), "nats://192.0.2.7:4222");
        assert_eq!(of("::1"), "nats://[::1]:4222");
    }

    #[test]
    fn the_server_listens_on_an_address_without_a_port() {
        assert_eq!(listen_address("localhost"), listen_address("127.0.0.1"));
        assert!(listen_address("::1").is_ok());
        let refused = listen_address("localhost:4222").unwrap_err();
        assert!(
            refused.contains("127.0.0.1") && refused.contains("--port"),
            "{refused}"
        );
    }

    #[test]
    fn a_directory_that_cannot_be_created_is_reported_as_such() {
        let made = swarm_os::ensure_private_dir(Path::new("/proc/foo"));
        let failure = made.map_err(not_created).unwrap_err();
        assert_eq!(failure.message, "cannot create the directory /proc/foo");
        assert_eq!(failure.kind, ErrorKind::Environment);
    }

    #[test]
    fn a_directory_has_one_hub_which_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let held = lock(directory.path()).unwrap();
        let refused = lock(directory.path()).unwrap_err();
        assert_eq!(refused.kind, ErrorKind::Conflict);
        let pid = std::process::id().to_string();
        assert!(refused.message.contains(&pid), "{}", refused.message);
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let text = server_config::text(here, 4300, directory.path(), "secret", None);
        swarm_os::replace_alone(&directory.path().join(CONFIGURATION), text.as_bytes()).unwrap();
        let refused = lock(directory.path()).unwrap_err().message;
        assert!(refused.contains("at nats://127.0.0.1:4300"), "{refused}");
        drop(held);
        assert!(lock(directory.path()).is_ok());
    }

    #[test]
    fn a_port_in_use_is_named() {
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let other = TcpListener::bind((here, 0)).unwrap();
        let port = other.local_addr().unwrap().port();
        let refused = require_free(here, port).unwrap_err();
        assert_eq!(refused.kind, ErrorKind::Environment);
        assert_eq!(
            refused.message,
            format!("port {port} of 127.0.0.1 is in use")
        );
        drop(other);
        assert!(require_free(here, port).is_ok());
    }
}
