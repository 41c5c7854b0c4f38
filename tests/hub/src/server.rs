//! A server of a test.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::disk::SmallDisk;

/// Longest wait.
const DEADLINE: Duration = Duration::from_mins(1);

/// A server with `JetStream` on a free port, with its files in a directory. Killed when dropped.
#[derive(Debug)]
pub struct NatsServer {
    child: Child,
    port: u16,
    start: Start,
}

/// How a server is started.
#[derive(Debug)]
struct Start {
    directory: PathBuf,
    more: Vec<String>,
    /// Words before the name of the program.
    prefix: Vec<String>,
}

impl NatsServer {
    /// Starts a server on a free port with further arguments.
    ///
    /// # Panics
    /// If it does not start; ask [`has_server`] first.
    pub fn start(directory: &Path, more: &[&str]) -> Self {
        Self::start_under(Vec::new(), directory, more)
    }

    fn start_under(prefix: Vec<String>, directory: &Path, more: &[&str]) -> Self {
        let start = Start {
            directory: directory.to_owned(),
            more: more.iter().map(|word| (*word).to_owned()).collect(),
            prefix,
        };
        let (child, port) = start.launch("-1");
        Self { child, port, start }
    }

    /// Starts a server with its storage on a small disk, which may fill up.
    ///
    /// # Panics
    /// As [`Self::start`].
    pub fn on_disk(disk: &SmallDisk, directory: &Path) -> Self {
        // By default, a server stays below the size of the disk.
        let config = configured(directory, "jetstream { max_file_store: 1GB }\n");
        let store = disk.mount_point().display().to_string();
        let more = ["--config", &config, "--store_dir", &store];
        Self::start_under(disk.prefix(), directory, &more)
    }

    /// Starts a server with a configuration file of this text.
    ///
    /// # Panics
    /// As [`Self::start`].
    pub fn with_config(directory: &Path, text: &str) -> Self {
        Self::start(directory, &["--config", &configured(directory, text)])
    }

    /// Replaces the configuration file of [`Self::with_config`] for the next start.
    pub fn configure(&self, text: &str) {
        configured(&self.start.directory, text);
    }

    /// Kills it and starts it again with the same port and files.
    pub fn restart(&mut self) {
        self.stop();
        self.resume();
    }

    /// Starts it again after [`Self::stop`].
    pub fn resume(&mut self) {
        (self.child, self.port) = self.start.launch(&self.port.to_string());
    }

    /// Kills it.
    pub fn stop(&mut self) {
        // It may have exited already.
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// Sends it a signal. With SIGSTOP it answers no more once this returns.
    ///
    /// # Panics
    /// If it is not running.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        let sent = kill_process(pid, signal);
        // Its threads stop one after the other, on other processors.
        let stopped = (signal == Signal::STOP).then(|| waitpid(Some(pid), WaitOptions::UNTRACED));
        let done = sent.and(stopped.transpose());
        done.unwrap_or_else(|error| panic!("nats-server: {error}"));
    }

    /// Returns its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns its port on the loopback interface.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns its URL.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns whether `nats-server` is installed.
pub fn has_server() -> bool {
    let path = search_path();
    let mut directories = path.split(':').map(Path::new);
    directories.any(|directory| directory.join("nats-server").is_file())
}

/// Writes a configuration file and returns its path.
#[expect(
    clippy::disallowed_methods,
    reason = "nobody reads the file while it is written"
)]
fn configured(directory: &Path, text: &str) -> String {
    let path = directory.join("nats.conf");
    let written = fs::create_dir_all(directory).and_then(|()| fs::write(&path, text));
    written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    path.display().to_string()
}

impl Start {
    fn launch(&self, port: &str) -> (Child, u16) {
        let ports = self.directory.join("ports");
        // There is none at the first start.
        drop(fs::remove_dir_all(&ports));
        fs::create_dir_all(&ports).unwrap_or_else(|error| panic!("{}: {error}", ports.display()));
        let program = "nats-server".to_owned();
        let mut words = self.prefix.iter().chain([&program]);
        let child = Command::new(words.next().unwrap_or(&program))
            .args(words)
            .args(["--addr", "127.0.0.1", "--port", port, "--jetstream"])
            .arg("--store_dir")
            .arg(&self.directory)
            .arg("--ports_file_dir")
            .arg(&ports)
            .args(&self.more)
            .env("PATH", search_path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("nats-server: {error}"));
        let port = wait_for(|| port_in(&ports));
        wait_for(|| TcpStream::connect(("127.0.0.1", port)).ok());
        (child, port)
    }
}

fn port_in(directory: &Path) -> Option<u16> {
    let file = fs::read_dir(directory).ok()?.next()?.ok()?;
    let text = fs::read_to_string(file.path()).ok()?;
    let ports: serde_json::Value = serde_json::from_str(&text).ok()?;
    let url = ports.get("nats")?.get(0)?.as_str()?;
    url.rsplit(':').next()?.parse().ok()
}

/// Waits until `look` finds something.
///
/// # Panics
/// If it finds nothing in time.
pub fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "it never happens");
        thread::park_timeout(Duration::from_millis(2));
    }
}

/// Debian installs servers where only the administrator's search path leads.
#[expect(
    clippy::disallowed_methods,
    reason = "tests find programs as a shell does"
)]
fn search_path() -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{path}:/usr/sbin:/usr/local/sbin")
}
