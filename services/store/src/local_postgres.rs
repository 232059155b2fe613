//! A PostgreSQL server of one's own, for tests: in a temporary folder, on a port of the loopback interface.
//!
//! It is the server that the system's packages installed. It is ended with its handle, and with this process, whatever
//! ends that. Unless it is told to, it does not wait for the disk: what a test kills is the process, and what the process
//! has written stays.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sqlx::{Connection as _, PgConnection};
use tempfile::TempDir;

use crate::Durability;

/// Where Debian's packages put the server's programs.
const PROGRAMS: &str = "/usr/lib/postgresql";
/// The user whom the package adds; the server refuses to run as root.
const USER: &str = "postgres";
/// A server that has not answered by then does not start.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A running server.
#[derive(Debug)]
pub struct LocalPostgres {
    folder: TempDir,
    port: u16,
    process: Option<Child>,
    durability: Durability,
    databases: AtomicU32,
}

impl LocalPostgres {
    /// Makes a cluster and starts a server on it.
    ///
    /// # Panics
    /// If there is no PostgreSQL on this machine, or it does not start; the words say why.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(Durability::Normal)
    }

    /// The same; with [`Durability::Full`] commits wait for the disk, as they do where it matters.
    ///
    /// # Panics
    /// As for [`LocalPostgres::start`].
    #[must_use]
    pub fn start_with(durability: Durability) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        if is_root() {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("ours");
        }
        let data = folder.path().join("data");
        fs::create_dir(&data).expect("the folder is empty");
        if is_root() {
            let (user, group) = ids_of(USER);
            chown(&data, Some(user), Some(group)).expect("root may");
        }
        let made = program("initdb")
            .args([
                "--auth=trust",
                "--username=motorium",
                "--encoding=UTF8",
                "--no-sync",
            ])
            .arg("--pgdata")
            .arg(&data)
            .stdin(Stdio::null())
            .output()
            .expect("initdb runs");
        let words = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "initdb failed: {words}");
        let mut server = Self {
            folder,
            port: free_port(),
            process: None,
            durability,
            databases: AtomicU32::new(0),
        };
        server.go_on();
        server
    }

    /// Kills the server in the middle of whatever it does.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // Its children end when they find it gone; a new server waits for them.
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Starts it again on the same data, and waits until it lets clients in.
    ///
    /// # Panics
    /// If it does not.
    pub fn go_on(&mut self) {
        let mut end = PATIENCE;
        loop {
            let process = self.process.get_or_insert_with(|| {
                let data = self.folder.path().join("data");
                serve(&data, self.port, self.durability)
            });
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return;
            }
            // After a kill the old one's children may hold its memory for a moment: then it is tried again.
            if process.try_wait().expect("ours").is_some() {
                self.process = None;
            }
            assert!(!end.is_zero(), "PostgreSQL does not start");
            pause(LOOK_AGAIN);
            end = end.saturating_sub(LOOK_AGAIN);
        }
    }

    /// The port that it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A new, empty database, by its address.
    ///
    /// # Panics
    /// If the server cannot be reached.
    pub async fn database(&self) -> String {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let mut connection = self.connect().await;
        let create = format!("CREATE DATABASE {name}");
        sqlx::query(sqlx::AssertSqlSafe(create))
            .execute(&mut connection)
            .await
            .expect("a new name");
        connection.close().await.expect("it was open");
        self.address(&name)
    }

    fn address(&self, database: &str) -> String {
        format!("postgres://motorium@127.0.0.1:{}/{database}", self.port)
    }

    async fn connect(&self) -> PgConnection {
        let address = self.address("postgres");
        for _ in 0..200 {
            if let Ok(connection) = PgConnection::connect(&address).await {
                return connection;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        panic!("PostgreSQL at {address} lets nobody in");
    }
}

impl Drop for LocalPostgres {
    fn drop(&mut self) {
        self.kill();
    }
}

fn serve(data: &Path, port: u16, durability: Durability) -> Child {
    let fsync = match durability {
        Durability::Normal => "off",
        Durability::Full => "on",
    };
    let settings = [
        format!("port={port}"),
        "listen_addresses=127.0.0.1".to_owned(),
        "unix_socket_directories=".to_owned(),
        "max_connections=200".to_owned(),
        format!("fsync={fsync}"),
    ];
    let mut command = program("postgres");
    command.arg("-D").arg(data);
    for setting in settings {
        command.arg("-c").arg(setting);
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // The death signal comes with the end of the thread that started it, and a test's thread ends with its test.
    let (started, starts) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let _ = started.send(command.spawn());
        loop {
            std::thread::park();
        }
    });
    let process = starts.recv().expect("the thread answers");
    process.expect("the server's program runs")
}

/// One of the server's programs, as a user who may run it.
fn program(name: &str) -> Command {
    let path = newest().join("bin").join(name);
    let mut command = Command::new("setpriv");
    // SIGQUIT ends it at once, with all its children.
    command.args(["--pdeathsig", "QUIT"]);
    if is_root() {
        command.args(["--reuid", USER, "--regid", USER, "--clear-groups"]);
    }
    command.arg("--").arg(path).current_dir("/");
    command
}

fn newest() -> PathBuf {
    let versions = fs::read_dir(PROGRAMS).into_iter().flatten().flatten();
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    versions
        .map(|version| version.path())
        .filter(|path| path.join("bin/postgres").exists())
        .max_by_key(number)
        .unwrap_or_else(|| panic!("no PostgreSQL below {PROGRAMS}; tools/setup installs it"))
}

fn is_root() -> bool {
    // The owner of what this process makes.
    let own = fs::metadata("/proc/self").map(|entry| std::os::unix::fs::MetadataExt::uid(&entry));
    own.is_ok_and(|uid| uid == 0)
}

fn ids_of(user: &str) -> (u32, u32) {
    let users = fs::read_to_string("/etc/passwd").expect("users are listed there");
    let entry = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(user))
            .then(|| fields.nth(1)?.parse().ok().zip(fields.next()?.parse().ok()))?
    });
    entry.unwrap_or_else(|| panic!("there is no user {user}; the package adds it"))
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it is bound").port()
}

#[expect(clippy::disallowed_methods, reason = "nobody else runs on this thread")]
fn pause(time: Duration) {
    std::thread::sleep(time);
}
