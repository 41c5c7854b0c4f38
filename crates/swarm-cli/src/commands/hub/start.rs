//! `swarm hub start`.

use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde_json::json;
use swarm_protocol::ErrorKind;
use swarm_store::StoreError;
use uuid::Uuid;

use super::server_config;
use crate::app::App;
use crate::config_directory;
use crate::failure::Failure;

const SERVER: &str = "nats-server";

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Needs nats-server 2.9 or newer (Debian: `apt install nats-server`). Runs until Ctrl-C; teams are kept in the directory.

The server listens on this machine only unless `--listen` names another address. Connections are not encrypted then: \
use your own NATS server with TLS for networks that you do not trust.

Examples:
  swarm hub start
  swarm hub start --listen 192.0.2.7 --port 4300")]
pub(crate) struct HubStartArgs {
    /// Port.
    #[arg(long, default_value_t = 4222)]
    port: u16,
    /// Address to listen on.
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    listen: IpAddr,
    /// Directory of its data and credentials [default: `swarm/hub` in the config directory].
    #[arg(long, value_name = "DIRECTORY")]
    dir: Option<PathBuf>,
}

pub(super) fn run(app: &App, args: &HubStartArgs) -> Result<ExitCode, Failure> {
    let program = find_server(app)?;
    config_directory::make(&app.root)?;
    let directory = match &args.dir {
        Some(directory) => app.env.cwd.join(directory),
        None => app.root.join("swarm").join("hub"),
    };
    swarm_os::ensure_private_dir(&directory).map_err(StoreError::from)?;
    let credentials = directory.join("credentials");
    let password = password_in(&credentials)?;
    let said = Command::new(&program).arg("--version").output();
    let said = said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
    let version = server_config::version(&said.unwrap_or_default());
    let config = directory.join("nats.conf");
    let text = server_config::text(args.listen, args.port, &directory, &password, version);
    swarm_os::replace_alone(&config, text.as_bytes()).map_err(StoreError::from)?;
    let url = format!(
        "nats://{}",
        std::net::SocketAddr::new(args.listen, args.port)
    );
    if app.out.json {
        let started = json!({ "url": url, "credentials": credentials });
        app.out.json(&started)?;
    } else {
        app.out.data(&format!(
            "{url} with the credentials in {}",
            credentials.display()
        ))?;
        app.out.say(&format!(
            "create a team on it with `swarm team create NAME --hub {url} --credentials {}`",
            credentials.display()
        ));
    }
    // The server takes the place of this process, so that the terminal controls it.
    let error = Command::new(&program).arg("--config").arg(&config).exec();
    let message = format!("cannot run {}: {error}", program.display());
    Err(Failure::new(ErrorKind::Environment, message))
}

/// Debian installs servers in directories that are on the search path of root only.
fn find_server(app: &App) -> Result<PathBuf, Failure> {
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
fn password_in(credentials: &Path) -> Result<String, Failure> {
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
