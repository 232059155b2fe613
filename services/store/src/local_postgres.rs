//! A private PostgreSQL server for tests, in a temporary folder and on a loopback port.
//!
//! Uses the PostgreSQL installed by the system's packages. The server ends with its handle, and with this process however
//! that ends. By default it does not wait for the disk: tests kill only the process, and what a killed process has written
//! survives.

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

/// Folder of the server's programs in Debian's packages.
const PROGRAMS: &str = "/usr/lib/postgresql";
/// Folder of a server's data in its temporary folder.
const DATA: &str = "data";
/// User created by the package. The server refuses to run as root.
const USER: &str = "postgres";
/// Timeout for the start of the server.
// Generous, because the tests run on loaded machines; reached only if the server is broken.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(60);
/// Interval at which the start of the server is checked. Short against the second that a start takes.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

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
    /// Creates a cluster and starts a server on it.
    ///
    /// # Panics
    /// If PostgreSQL is not installed or does not start; the message has the reason.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(Durability::Normal)
    }

    /// Creates a cluster and starts a server like [`LocalPostgres::start`]. With [`Durability::Full`], commits wait for the
    /// disk, as in production.
    ///
    /// # Panics
    /// Like [`LocalPostgres::start`].
    #[must_use]
    pub fn start_with(durability: Durability) -> Self {
        let folder = data_folder();
        let made = program("initdb")
            .args([
                "--auth=trust",
                "--username=motorium",
                "--encoding=UTF8",
                "--no-sync",
            ])
            .arg("--pgdata")
            .arg(folder.path().join(DATA))
            .stdin(Stdio::null())
            .output()
            .expect("initdb runs");
        let words = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "initdb failed: {words}");
        Self::serve(folder, durability)
    }

    /// Starts a standby of this server. From then on, a commit of this server waits until the standby has it.
    ///
    /// # Panics
    /// If the standby does not start, or does not follow.
    pub async fn standby(&self) -> Self {
        let folder = data_folder();
        let copied = program("pg_basebackup")
            .args(["--host=127.0.0.1", "--username=motorium", "--no-sync"])
            // With the settings of a standby that follows this server.
            .args(["--write-recovery-conf", "--checkpoint=fast"])
            .arg(format!("--port={}", self.port))
            .arg("--pgdata")
            .arg(folder.path().join(DATA))
            .stdin(Stdio::null())
            .output()
            .expect("pg_basebackup runs");
        let words = String::from_utf8_lossy(&copied.stderr);
        assert!(copied.status.success(), "pg_basebackup failed: {words}");
        let standby = Self::serve(folder, self.durability);
        let mut connection = self.connect().await;
        // Only now: the copy would wait for a standby of its own once it is promoted.
        for setting in [
            "ALTER SYSTEM SET synchronous_standby_names = '*'",
            "SELECT pg_reload_conf()",
        ] {
            let set = sqlx::query(setting).execute(&mut connection).await;
            set.expect("the user is the owner");
        }
        let follows = "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')";
        for _ in 0..200 {
            let follows = sqlx::query_scalar::<_, bool>(follows).fetch_one(&mut connection);
            if follows.await.expect("the server is there") {
                return standby;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        panic!("the standby does not follow");
    }

    /// Waits until the server has recovered and accepts statements.
    ///
    /// # Panics
    /// If it does not within the timeout.
    pub async fn recovered(&self) {
        drop(self.connect().await);
    }

    /// Adds this server to the address of a database, behind the servers that it names.
    ///
    /// # Panics
    /// If the address is none that [`LocalPostgres::database`] has returned.
    #[must_use]
    pub fn added_to(&self, address: &str) -> String {
        let (hosts, database) = address.rsplit_once('/').expect("it names a database");
        format!("{hosts},127.0.0.1:{}/{database}", self.port)
    }

    /// Makes a standby the primary.
    ///
    /// # Panics
    /// If it is no standby.
    pub async fn promote(&self) {
        let mut connection = self.connect().await;
        let promoted =
            sqlx::query_scalar::<_, bool>("SELECT pg_promote()").fetch_one(&mut connection);
        assert!(promoted.await.expect("it is a standby"), "not in time");
    }

    fn serve(folder: TempDir, durability: Durability) -> Self {
        let mut server = Self {
            folder,
            port: free_port(),
            process: None,
            durability,
            databases: AtomicU32::new(0),
        };
        server.restart();
        server
    }

    /// Kills the server.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // Its child processes end by themselves; a new server waits for them.
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Starts the server on the existing data, and waits until it accepts connections.
    ///
    /// # Panics
    /// If it does not start within the timeout.
    pub fn restart(&mut self) {
        let mut end = STARTUP_TIMEOUT;
        loop {
            let process = self.process.get_or_insert_with(|| {
                let data = self.folder.path().join(DATA);
                serve(&data, self.port, self.durability)
            });
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return;
            }
            // After a kill, child processes of the old server may hold its shared memory for a moment; then the start is
            // retried.
            if process.try_wait().expect("ours").is_some() {
                self.process = None;
            }
            assert!(!end.is_zero(), "PostgreSQL does not start");
            pause(POLL_INTERVAL);
            end = end.saturating_sub(POLL_INTERVAL);
        }
    }

    /// Returns the port of the server.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Creates an empty database and returns its address.
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
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        panic!("PostgreSQL at {address} accepts no connections");
    }
}

impl Drop for LocalPostgres {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Creates a temporary folder with a folder for the data of a server.
fn data_folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().join(DATA);
    fs::create_dir(&data).expect("the folder is empty");
    // The server refuses to start if others may read its data.
    fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).expect("ours");
    if is_root() {
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("ours");
        let (user, group) = ids_of(USER);
        chown(&data, Some(user), Some(group)).expect("root may");
    }
    folder
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
    // The parent-death signal is sent when the thread that started the process ends, and a test's thread ends with its
    // test. So a thread that never ends starts it.
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

/// Returns a command for a program of the server, run as an unprivileged user.
fn program(name: &str) -> Command {
    let path = newest_version_folder().join("bin").join(name);
    let mut command = Command::new("setpriv");
    // SIGQUIT ends the server at once, with all its child processes.
    command.args(["--pdeathsig", "QUIT"]);
    if is_root() {
        command.args(["--reuid", USER, "--regid", USER, "--clear-groups"]);
    }
    command.arg("--").arg(path).current_dir("/");
    command
}

fn newest_version_folder() -> PathBuf {
    let versions = fs::read_dir(PROGRAMS).into_iter().flatten().flatten();
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    versions
        .map(|version| version.path())
        .filter(|path| path.join("bin/postgres").exists())
        .max_by_key(number)
        .unwrap_or_else(|| panic!("no PostgreSQL below {PROGRAMS}; tools/setup installs it"))
}

fn is_root() -> bool {
    // The owner of /proc/self is the effective user.
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

#[expect(
    clippy::disallowed_methods,
    reason = "no other work runs on this thread"
)]
fn pause(time: Duration) {
    std::thread::sleep(time);
}
