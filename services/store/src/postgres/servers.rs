//! Choice of the server that is written to, for a database with a primary and standbys.
//!
//! An address may name several servers, in the form of libpq. Of those that are not in recovery, the one with the highest
//! timeline is used. A promotion begins a new timeline, so that a former primary that comes back has a lower one: it gets no
//! connection from a process that has seen the new one, or that can reach both. Nothing here promotes or fences a server.
//!
//! With one server, nothing is asked: the address may be that of a proxy.

use std::str::FromStr as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{ConnectOptions as _, Connection as _, PgConnection};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

/// Idle time after which a connection is checked before it is used.
// A check is a round trip and costs as much as most statements, so a recently used connection is assumed to be alive.
const CHECK_AFTER_IDLE: Duration = Duration::from_secs(1);
/// Interval at which the servers are asked which of them is the primary.
// One small statement for each server; a promotion takes about as long.
const FOLLOW_INTERVAL: Duration = Duration::from_secs(1);
/// Timeout for the answer of one server. A machine that is gone does not answer at all.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// Values of a parameter of libpq that ask for what is done anyway. The library does not know the parameter.
const IMPLIED_PARAMETERS: [&str; 2] = [
    "target_session_attrs=read-write",
    "target_session_attrs=primary",
];

/// Timeline of a primary: one more than the number of promotions in its history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Timeline(u32);

/// The servers of a database, in the order of its address.
#[derive(Debug, Clone)]
pub(super) struct Servers(Vec<PgConnectOptions>);

impl Servers {
    /// Parses an address such as `postgres://user:password@host:port,host:port/database`. Returns `None` if it is malformed.
    pub(super) fn parse(uri: &str) -> Option<Self> {
        let options = |address: String| {
            let options = PgConnectOptions::from_str(&address).ok()?;
            Some(
                options
                    .application_name("motorium")
                    .disable_statement_logging(),
            )
        };
        let servers: Option<Vec<_>> = addresses(uri)?.into_iter().map(options).collect();
        servers.map(Self)
    }

    /// Returns the address without user, password and parameters.
    pub(super) fn place(&self) -> String {
        let hosts = self.0.iter().map(host).collect::<Vec<_>>().join(",");
        let database = self.0.iter().find_map(PgConnectOptions::get_database);
        format!("postgres://{hosts}/{}", database.unwrap_or_default())
    }

    /// Opens a pool of connections to the primary, which follows it to another server as long as the returned task lives.
    pub(super) async fn connect(
        self,
        pool: PgPoolOptions,
    ) -> sqlx::Result<(PgPool, Option<AbortOnDropHandle<()>>)> {
        match <[PgConnectOptions; 1]>::try_from(self.0) {
            Ok([server]) => Ok((connect_to_one(server, pool).await?, None)),
            Err(servers) => {
                let (pool, follower) = connect_to_primary(servers, pool).await?;
                Ok((pool, Some(follower)))
            }
        }
    }
}

/// Returns the address of each server.
fn addresses(uri: &str) -> Option<Vec<String>> {
    let (scheme, rest) = uri.split_once("://")?;
    let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    // The user and the password are before the last `@`, and apply to each host.
    let (user, hosts) = authority.split_at(authority.rfind('@').map_or(0, |at| at + 1));
    let hosts: Vec<&str> = hosts.split(',').collect();
    if hosts.len() > 1 && hosts.iter().any(|host| host.is_empty()) {
        return None;
    }
    let rest = without_implied_parameters(rest);
    let address = |host| format!("{scheme}://{user}{host}{rest}");
    Some(hosts.into_iter().map(address).collect())
}

fn without_implied_parameters(rest: &str) -> String {
    let Some((path, parameters)) = rest.split_once('?') else {
        return rest.to_owned();
    };
    let parameters = parameters.split('&');
    let kept: Vec<&str> = parameters
        .filter(|parameter| !IMPLIED_PARAMETERS.contains(parameter))
        .collect();
    format!("{path}?{}", kept.join("&"))
}

fn host(server: &PgConnectOptions) -> String {
    format!("{}:{}", server.get_host(), server.get_port())
}

async fn connect_to_one(server: PgConnectOptions, pool: PgPoolOptions) -> sqlx::Result<PgPool> {
    // A pool retries until its timeout; a first connection fails at once with the actual error.
    PgConnection::connect_with(&server).await?.close().await?;
    let pool = pool.before_acquire(|connection, meta| {
        Box::pin(async move {
            let is_fresh = meta.idle_for < CHECK_AFTER_IDLE;
            Ok(is_fresh || connection.ping().await.is_ok())
        })
    });
    pool.connect_with(server).await
}

async fn connect_to_primary(
    servers: Vec<PgConnectOptions>,
    pool: PgPoolOptions,
) -> sqlx::Result<(PgPool, AbortOnDropHandle<()>)> {
    let mut probes: Vec<Probe> = servers.iter().cloned().map(Probe::of).collect();
    let (server, timeline) = primary_of(&mut probes).await?;
    let current = CurrentPrimary::new(timeline);
    let (for_new, for_idle) = (current.clone(), current.clone());
    let pool = pool
        .after_connect(move |connection, _| {
            let current = for_new.clone();
            Box::pin(async move { current.check(connection).await })
        })
        .before_acquire(move |connection, meta| {
            let current = for_idle.clone();
            Box::pin(async move {
                let is_fresh = meta.idle_for < CHECK_AFTER_IDLE;
                let is_its = !current.is_newer_than(meta.age);
                Ok(is_its && (is_fresh || current.check(connection).await.is_ok()))
            })
        })
        .connect_with(servers[server].clone())
        .await?;
    let follower = tokio::spawn(follow(pool.clone(), probes, current));
    Ok((pool, AbortOnDropHandle::new(follower)))
}

/// Points a pool to another server when that one was promoted.
async fn follow(pool: PgPool, mut probes: Vec<Probe>, current: CurrentPrimary) {
    while !pool.is_closed() {
        sleep(FOLLOW_INTERVAL).await;
        // Without a primary, or without an answer, everything stays: users get the error of their own statement.
        if let Ok((number, timeline)) = primary_of(&mut probes).await
            && timeline > current.timeline()
        {
            let server = &probes[number].server;
            tracing::warn!(
                server = host(server),
                timeline = timeline.0,
                "the database has a new primary"
            );
            pool.set_connect_options(server.clone());
            current.set(timeline);
        }
    }
}

/// The primary that a process has last seen. Clones share it.
#[derive(Debug, Clone)]
struct CurrentPrimary(Arc<Mutex<(Timeline, Instant)>>);

impl CurrentPrimary {
    fn new(timeline: Timeline) -> Self {
        Self(Arc::new(Mutex::new((timeline, Instant::now()))))
    }

    fn set(&self, timeline: Timeline) {
        *self.lock() = (timeline, Instant::now());
    }

    fn timeline(&self) -> Timeline {
        self.lock().0
    }

    /// Returns whether it was found after a connection of this age was opened, which may be one to its predecessor.
    fn is_newer_than(&self, age: Duration) -> bool {
        self.lock().1.elapsed() < age
    }

    /// Checks that a connection is not one to a standby, or to a predecessor.
    async fn check(&self, connection: &mut PgConnection) -> sqlx::Result<()> {
        let known = self.timeline();
        match timeline(connection).await? {
            Some(timeline) if timeline >= known => Ok(()),
            Some(_) => Err(unusable(
                "the server was the primary before another was promoted",
            )),
            None => Err(unusable("the server is a standby")),
        }
    }

    fn lock(&self) -> MutexGuard<'_, (Timeline, Instant)> {
        // Poisoning is ignored: both values are written together.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unusable(reason: &str) -> sqlx::Error {
    sqlx::Error::Protocol(reason.to_owned())
}

/// A server with a connection to ask it.
#[derive(Debug)]
struct Probe {
    server: PgConnectOptions,
    connection: Option<PgConnection>,
}

impl Probe {
    fn of(server: PgConnectOptions) -> Self {
        Self {
            server,
            connection: None,
        }
    }

    async fn timeline(&mut self) -> sqlx::Result<Option<Timeline>> {
        // The connection is kept only if it has answered.
        let asked = async {
            let mut connection = match self.connection.take() {
                Some(connection) => connection,
                None => PgConnection::connect_with(&self.server).await?,
            };
            let timeline = timeline(&mut connection).await?;
            self.connection = Some(connection);
            Ok(timeline)
        };
        let answered = timeout(ANSWER_TIMEOUT, asked).await;
        answered.unwrap_or_else(|_| Err(sqlx::Error::PoolTimedOut))
    }
}

/// Returns the number of the primary and its timeline, or the error of the first server that does not answer.
async fn primary_of(probes: &mut [Probe]) -> sqlx::Result<(usize, Timeline)> {
    let answers = join_all(probes.iter_mut().map(Probe::timeline)).await;
    let mut primary: Option<(usize, Timeline)> = None;
    let mut problem = None;
    for (number, answer) in answers.into_iter().enumerate() {
        match answer {
            Ok(Some(timeline)) if primary.is_none_or(|(_, best)| timeline > best) => {
                primary = Some((number, timeline));
            }
            Ok(_) => {}
            Err(error) => problem = problem.or(Some(error)),
        }
    }
    primary.ok_or_else(|| problem.unwrap_or_else(|| unusable("each of the servers is a standby")))
}

/// Returns the timeline that a server writes; `None` if it is a standby.
async fn timeline(connection: &mut PgConnection) -> sqlx::Result<Option<Timeline>> {
    // The name of the file that is written begins with the timeline. The control file has it only after the next checkpoint.
    let file: Option<String> = sqlx::query_scalar(
        "SELECT CASE WHEN NOT pg_is_in_recovery() THEN pg_walfile_name(pg_current_wal_insert_lsn()) END",
    )
    .fetch_one(connection)
    .await?;
    let parse = |file: String| {
        let digits = file.get(..8).unwrap_or_default();
        let timeline = u32::from_str_radix(digits, 16);
        timeline.map_err(|_| unusable("the name of the server's log has no timeline"))
    };
    Ok(file.map(parse).transpose()?.map(Timeline))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_one_server_or_several() {
        let check = |uri: &str, expected: &[&str]| {
            assert_eq!(addresses(uri).unwrap_or_default(), expected, "{uri}");
        };
        check("postgres://host/m", &["postgres://host/m"]);
        check("postgres:///m?host=/run", &["postgres:///m?host=/run"]);
        check(
            "postgres://me:p,w@one:5432,[::1]:5433/m?sslmode=require",
            &[
                "postgres://me:p,w@one:5432/m?sslmode=require",
                "postgres://me:p,w@[::1]:5433/m?sslmode=require",
            ],
        );
        check(
            "postgres://one,other/m?target_session_attrs=read-write&sslmode=require",
            &[
                "postgres://one/m?sslmode=require",
                "postgres://other/m?sslmode=require",
            ],
        );
        check("postgres://one,,other/m", &[]);
        check("postgres://one,/m", &[]);
    }

    #[test]
    fn place_has_all_servers_and_no_credentials() {
        let servers = Servers::parse("postgres://me:hunter2@one:1,other/m?sslmode=disable");
        assert_eq!(servers.unwrap().place(), "postgres://one:1,other:5432/m");
        assert!(Servers::parse("postgres://one:port,other/m").is_none());
    }
}
