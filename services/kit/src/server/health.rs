//! Health of a server: whether its services are ready, and whether what they need is there.
//!
//! Health reports a service as serving once it is ready and while its checks pass, and the whole server (the empty name) while
//! all of its services do. [`LIVENESS`] is serving as long as the process answers: a restart does not bring a database or a
//! display back.
//!
//! One task reports all of it, also the end of the server, so that reports do not overtake each other. Calls are served in any
//! case.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::{BoxFuture, join_all};
use futures::stream::FuturesUnordered;
use tokio::task::JoinHandle;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;
use tracing::{info, warn};

use crate::shutdown::Shutdown;

/// Name under which health reports that the process is alive.
pub const LIVENESS: &str = "liveness";
/// Interval between checks.
// Bounds how long a load balancer sends calls to a server that cannot answer them; a check is a small query.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// Time after which a check that has not ended counts as failed.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// Checks whether what a service needs is there, such as a database or a display.
pub trait HealthCheck: Send + Sync + 'static {
    /// Returns the problem in words if something is missing. Called every few seconds, so it should be cheap.
    fn check(&self) -> BoxFuture<'_, Result<(), String>>;
}

/// Conditions for reporting services as serving.
#[derive(Default)]
pub(super) struct Conditions {
    warming: Vec<(&'static str, Warming)>,
    checks: Vec<(&'static str, Arc<dyn HealthCheck>)>,
}

/// Resolves to true once a service is ready, to false if it never will be. The mutex is never locked; it only makes the
/// builder `Sync`, as futures that hold it require.
type Warming = Mutex<Pin<Box<dyn Future<Output = bool> + Send>>>;

impl fmt::Debug for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conditions").finish_non_exhaustive()
    }
}

impl Conditions {
    pub(super) fn add_readiness(
        &mut self,
        service: &'static str,
        ready: impl Future<Output = bool> + Send + 'static,
    ) {
        self.warming.push((service, Mutex::new(Box::pin(ready))));
    }

    pub(super) fn add_check(&mut self, service: &'static str, check: Arc<dyn HealthCheck>) {
        self.checks.push((service, check));
    }

    /// Sets the first status of all services and keeps them up to date in the background until `shutdown`. The handle completes
    /// when all of them are reported as not serving.
    pub(super) async fn report(
        self,
        services: &[String],
        health: &HealthReporter,
        shutdown: &Shutdown,
    ) -> JoinHandle<()> {
        let mut report = Report {
            health: health.clone(),
            services: services
                .iter()
                .map(|name| (name.clone(), ServiceHealth::default()))
                .collect(),
        };
        for (service, _) in &self.warming {
            report.service(service).is_warming = true;
        }
        for (service, _) in &self.checks {
            // Unknown until the first check has ended.
            report.service(service).problem = Some("not checked yet".to_owned());
        }
        health
            .set_service_status(LIVENESS, ServingStatus::Serving)
            .await;
        report.publish().await;
        let shutdown = shutdown.clone();
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = shutdown.draining() => {}
                () = report.update(self) => shutdown.draining().await,
            }
            report.end().await;
        })
    }
}

/// Health of a service, as far as it is known.
#[derive(Debug, Default)]
struct ServiceHealth {
    /// It is not ready yet, or never will be.
    is_warming: bool,
    /// The last check has failed.
    problem: Option<String>,
}

/// Reports the health of all services.
struct Report {
    health: HealthReporter,
    services: BTreeMap<String, ServiceHealth>,
}

impl Report {
    fn service(&mut self, name: &str) -> &mut ServiceHealth {
        self.services.entry(name.to_owned()).or_default()
    }

    /// Keeps the status of all services up to date. Ends when nothing can change any more.
    async fn update(&mut self, conditions: Conditions) {
        let warming = conditions
            .warming
            .into_iter()
            .map(|(service, ready)| async move {
                let ready = ready.into_inner();
                let is_ready = ready.unwrap_or_else(PoisonError::into_inner).await;
                (service, is_ready)
            });
        let mut warming: FuturesUnordered<_> = warming.collect();
        let mut ticks = tokio::time::interval(CHECK_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                Some((service, is_ready)) = warming.next() => {
                    self.service(service).is_warming = !is_ready;
                }
                _ = ticks.tick(), if !conditions.checks.is_empty() => {
                    self.check(&conditions.checks).await;
                }
                else => return,
            }
            self.publish().await;
        }
    }

    async fn check(&mut self, checks: &[(&'static str, Arc<dyn HealthCheck>)]) {
        let checked = checks.iter().map(|(service, check)| async move {
            let outcome = tokio::time::timeout(CHECK_TIMEOUT, check.check()).await;
            let late = || Err(format!("no answer within {} s", CHECK_TIMEOUT.as_secs()));
            (*service, outcome.unwrap_or_else(|_| late()).err())
        });
        for (service, problem) in join_all(checked).await {
            let known = &mut self.service(service).problem;
            match (&known, &problem) {
                (None, Some(problem)) => warn!(service, problem, "not serving"),
                (Some(_), None) => info!(service, "serving"),
                _ => {}
            }
            *known = problem;
        }
    }

    async fn publish(&self) {
        let mut all_serve = true;
        for (name, service) in &self.services {
            let serves = !service.is_warming && service.problem.is_none();
            all_serve &= serves;
            self.set(name, serves).await;
        }
        self.set("", all_serve).await;
    }

    /// Reports the end of the server.
    async fn end(&self) {
        for name in self.services.keys().map(String::as_str).chain([""]) {
            self.set(name, false).await;
        }
    }

    async fn set(&self, service: &str, serves: bool) {
        let status = match serves {
            true => ServingStatus::Serving,
            false => ServingStatus::NotServing,
        };
        self.health.set_service_status(service, status).await;
    }
}
