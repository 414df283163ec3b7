//! [`Cluster`]: a temporary Postgres.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::keeper::Keeper;

/// The superuser, who needs no password.
pub const OWNER: &str = "owner";
/// A user without rights, who needs [`PASSWORD`].
pub const WORKER: &str = "worker";
/// The password of [`WORKER`].
pub const PASSWORD: &str = "correct horse battery";

/// Other processes may take a free port before the server does.
const PORTS_TRIED_MAX: u32 = 5;

static SHARED: OnceLock<Cluster> = OnceLock::new();

/// A Postgres in a temporary folder. It ends with this process, whatever happens.
#[derive(Debug)]
pub struct Cluster {
    port: u16,
    programs: PathBuf,
    keeper: Mutex<Keeper>,
    pooler: OnceLock<u16>,
    databases: AtomicU32,
}

impl Cluster {
    /// The cluster of all tests of this process that don't stop it. The first call starts it.
    pub fn shared() -> &'static Self {
        SHARED.get_or_init(Self::start)
    }

    /// Starts a cluster.
    #[must_use]
    pub fn start() -> Self {
        let programs = programs();
        let keeper = Keeper::start(&programs);
        Self::kept_by(keeper, programs)
    }

    /// Starts a cluster whose server has a clock of its own: see [`Self::set_clock`].
    #[must_use]
    pub fn with_own_clock() -> Self {
        let asked = Command::new("faketime").args(["-f", "+0", "printenv", "LD_PRELOAD"]).output();
        let asked = asked.expect("tests need the package `faketime`");
        let library = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
        let programs = programs();
        let mut keeper = Keeper::start(&programs);
        assert!(keeper.tell(&format!("own_clock {library}")), "{}", keeper.log());
        Self::kept_by(keeper, programs)
    }

    /// Starts a cluster with a tablespace `small` on a disk of 32 MiB: see [`Self::fill_disk`].
    /// `None` if this process is not root, who alone may mount one.
    #[must_use]
    pub fn with_small_disk() -> Option<Self> {
        let programs = programs();
        let keeper = Keeper::start_with_small_disk(&programs)?;
        let cluster = Self::kept_by(keeper, programs);
        assert!(cluster.keeper().tell("make_space"), "{}", cluster.keeper().log());
        cluster.sql("postgres", "CREATE TABLESPACE small LOCATION '/mnt/small'");
        Some(cluster)
    }

    /// Takes all space that is left on the small disk.
    pub fn fill_disk(&self) {
        assert!(self.keeper().tell("fill"), "{}", self.keeper().log());
    }

    /// Gives the space of [`Self::fill_disk`] back.
    pub fn free_disk(&self) {
        assert!(self.keeper().tell("free"), "{}", self.keeper().log());
    }

    /// Moves the clock of a server that has its own: `+1h` is an hour more than the machine's.
    pub fn set_clock(&self, offset: &str) {
        let keeper = self.keeper();
        let (new, clock) = (keeper.folder.join("clock.new"), keeper.folder.join("clock"));
        let written = std::fs::write(&new, format!("{offset}\n"));
        written.and_then(|()| std::fs::rename(&new, &clock)).expect("the folder is ours");
    }

    fn kept_by(mut keeper: Keeper, programs: PathBuf) -> Self {
        assert!(keeper.tell("create"), "the cluster cannot be created: {}", keeper.log());
        let port = (0..PORTS_TRIED_MAX)
            .map(|_| free_port())
            .find(|port| keeper.tell(&format!("start {port}")));
        let port = port.unwrap_or_else(|| panic!("the cluster does not start: {}", keeper.log()));
        let keeper = Mutex::new(keeper);
        let (pooler, databases) = (OnceLock::new(), AtomicU32::new(0));
        let cluster = Self { port, programs, keeper, pooler, databases };
        cluster.sql("postgres", &format!("CREATE ROLE {WORKER} LOGIN PASSWORD '{PASSWORD}'"));
        cluster
    }

    /// The server's port at 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The port of a pooler in transaction mode. The first call starts it.
    pub fn pooler_port(&self) -> u16 {
        *self.pooler.get_or_init(|| {
            let port = free_port();
            self.start_pooler(port);
            port
        })
    }

    /// Kills the pooler and starts it again.
    pub fn restart_pooler(&self) {
        self.start_pooler(self.pooler_port());
    }

    fn start_pooler(&self, port: u16) {
        let is_started = self.keeper().tell(&format!("pooler {} {port}", self.port));
        assert!(is_started && is_installed("pgbouncer"), "tests need the package `pgbouncer`");
        wait_for(port);
    }

    /// The server's certificate, which is valid for `localhost`, as PEM.
    #[must_use]
    pub fn certificate(&self) -> PathBuf {
        let copy = self.keeper().folder.join("data/server.crt");
        assert!(copy.is_file(), "the cluster has a certificate");
        copy
    }

    /// Creates a database and returns its name. With a template, it is a copy of that database.
    pub fn create_database(&self, template: &str) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name} TEMPLATE {template}"));
        name
    }

    /// Creates a database on the small disk and returns its name.
    pub fn create_small_database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name} TABLESPACE small"));
        name
    }

    /// Creates a database with this name.
    pub fn create_named(&self, name: &str) {
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
    }

    /// The address of a database for the superuser.
    #[must_use]
    pub fn address(&self, database: &str) -> String {
        address(self.port, OWNER, database)
    }

    /// Runs statements as the superuser and returns what they print, without headings.
    pub fn sql(&self, database: &str, statements: &str) -> String {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args([
            "--no-psqlrc",
            "--quiet",
            "--tuples-only",
            "--no-align",
            "-v",
            "ON_ERROR_STOP=1",
        ])
        .args(["--host=127.0.0.1", "--username", OWNER, "--dbname", database])
        .arg(format!("--port={}", self.port))
        .args(["--command", statements])
        .env("PGSSLMODE", "disable");
        let output = psql.output().expect("psql is beside the server");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        assert!(output.status.success(), "{statements}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Stops the server; clients lose their connections.
    pub fn stop(&self) {
        assert!(self.keeper().tell("stop fast"), "{}", self.keeper().log());
    }

    /// Kills all processes of the server.
    pub fn crash(&self) {
        assert!(self.keeper().tell("crash"), "{}", self.keeper().log());
    }

    /// Stops all processes of the server where they are; connections stay open.
    pub fn pause(&self) {
        assert!(self.keeper().tell("pause"), "{}", self.keeper().log());
    }

    /// Continues all processes of the server.
    pub fn resume(&self) {
        assert!(self.keeper().tell("continue"), "{}", self.keeper().log());
    }

    /// Starts the server again.
    pub fn start_again(&self) {
        let is_started = self.keeper().tell(&format!("start {}", self.port));
        assert!(is_started, "{}", self.keeper().log());
    }

    fn keeper(&self) -> MutexGuard<'_, Keeper> {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The address of a database at this port of this machine.
pub(crate) fn address(port: u16, user: &str, database: &str) -> String {
    format!("postgres://{user}@127.0.0.1:{port}/{database}")
}

/// The folder of Postgres' programs, of the newest version.
fn programs() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .max()
        .map(|version| Path::new("/usr/lib/postgresql").join(version.to_string()).join("bin"));
    let in_path = || folders().into_iter().find(|folder| folder.join("initdb").is_file());
    newest
        .or_else(in_path)
        .expect("tests need the package `postgresql`; `cargo xtask test` installs it")
}

fn is_installed(program: &str) -> bool {
    folders().iter().any(|folder| folder.join(program).is_file())
}

#[expect(clippy::disallowed_methods, reason = "a test is its own host")]
fn folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).chain(["/usr/sbin".into()]).collect()
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it is bound").port()
}

/// Waits until something listens there.
fn wait_for(port: u16) {
    let began = std::time::Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(began.elapsed().as_secs() < 60, "nothing listens at port {port}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}
