//! At-most-once stress test: repeated ids, old epochs, dropped calls, and a program that is killed at any time. The
//! events that the display received are compared with the answers.
//!
//! `MOTORIUM_REQUESTS=10000` sets the number of requests (default: a few hundred), and `--nocapture` shows the counts.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use motorium_executor::error::reason;
use motorium_proto::domain::effect::ActionResult;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::{ActionId, DesktopEpoch};
use motorium_proto::service::{ActionProgress, Executor as _, LookUpRequest, PerformRequest};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use tokio::time::timeout;

use crate::click_at;
use crate::support::served::{ExecutorProcess, TTL};
use crate::support::server::{OtherClient, Presses};
use crate::support::{Desktop, wait_for};

/// Width of the display in pixels. Each action clicks at its own pixel.
const WIDTH: u32 = 1280;
/// Distance between consecutive clicks, in pixels.
// Closer ones could be taken for a double click, and the Executor waits half a second before it sends them.
const STRIDE: u32 = 16;
/// Default number of requests.
const DEFAULT_REQUESTS: u32 = 400;
/// Requests per kill of the program.
const KILL_EVERY: u32 = 80;
/// Upper bound of a click's duration: calls are dropped and programs are killed before, during and after it.
const MAX_CLICK_DURATION: Duration = Duration::from_millis(25);

struct RequestGenerator {
    desktop: Desktop,
    served: ExecutorProcess,
    epoch: DesktopEpoch,
    random: StdRng,
    /// Number of actions so far. An action's number determines its id and its point.
    actions: u32,
    counts: BTreeMap<&'static str, u32>,
}

fn place(number: u32) -> CapturePoint {
    let coordinate = |value: u32| i32::try_from(value).unwrap();
    let (row, column) = (number / WIDTH, number % WIDTH);
    let per_pass = WIDTH / STRIDE;
    let x = column % per_pass * STRIDE + column / per_pass;
    CapturePoint::new(coordinate(x), coordinate(row))
}

fn id(number: u32) -> String {
    format!("action {number}")
}

impl RequestGenerator {
    async fn start() -> Self {
        let desktop = Desktop::start("us").await;
        let served = ExecutorProcess::start(&desktop).await;
        let epoch = served.acquire(TTL).await;
        Self {
            desktop,
            served,
            epoch,
            random: StdRng::seed_from_u64(1),
            actions: 0,
            counts: BTreeMap::new(),
        }
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn request(&self, number: u32) -> PerformRequest {
        let click = click_at(place(number));
        self.served.request(self.epoch, &id(number), click)
    }

    fn next(&mut self) -> PerformRequest {
        self.actions += 1;
        self.request(self.actions)
    }

    fn a_moment(&mut self) -> Duration {
        self.random.random_range(Duration::ZERO..MAX_CLICK_DURATION)
    }

    async fn one(&mut self, nth: u32) {
        if nth.is_multiple_of(KILL_EVERY) {
            return self.killed().await;
        }
        match self.random.random_range(0..100) {
            0..60 => self.plain().await,
            60..72 => self.repeated().await,
            72..77 => self.with_another_body().await,
            77..87 => self.of_an_old_epoch().await,
            87..96 => self.dropped().await,
            _ => {
                self.epoch = self.served.acquire(TTL).await;
                self.count("leases taken anew");
            }
        }
    }

    async fn plain(&mut self) {
        let request = self.next();
        let outcome = self.served.executor.perform(request).await.unwrap();
        assert_eq!(
            (outcome.result, outcome.already_performed),
            (ActionResult::Performed, false)
        );
        self.count("performed");
    }

    /// A used id performs nothing. An id that never started may still be used.
    async fn repeated(&mut self) {
        let number = self.random.random_range(1..=self.actions.max(1));
        if self.actions < number {
            return;
        }
        let known = self.progress(number).await;
        let request = self.request(number);
        let outcome = self.served.executor.perform(request).await.unwrap();
        assert_eq!(
            outcome.already_performed,
            known != ActionProgress::NotStarted,
            "{number}"
        );
        self.count("repeated");
    }

    async fn with_another_body(&mut self) {
        let number = self.random.random_range(1..=self.actions.max(1));
        if self.actions < number || self.progress(number).await == ActionProgress::NotStarted {
            return;
        }
        let other = click_at(CapturePoint::new(place(number).x + 1, place(number).y));
        let request = self.served.request(self.epoch, &id(number), other);
        let error = self.served.executor.perform(request).await.unwrap_err();
        assert_eq!(error.reason, reason::ACTION_ID_REUSED);
        self.count("of another body");
    }

    async fn of_an_old_epoch(&mut self) {
        let old = self.random.random_range(0..=self.epoch.0 - 1);
        if old == 0 {
            return;
        }
        let request = PerformRequest {
            epoch: DesktopEpoch(old),
            ..self.next()
        };
        let error = self.served.executor.perform(request).await.unwrap_err();
        assert_eq!(error.reason, reason::LEASE_SUPERSEDED);
        self.count("of an old epoch");
    }

    async fn dropped(&mut self) {
        let (request, moment) = (self.next(), self.a_moment());
        match timeout(moment, self.served.executor.perform(request)).await {
            Ok(outcome) => assert_eq!(outcome.unwrap().result, ActionResult::Performed),
            Err(_) => self.count("dropped by their callers"),
        }
    }

    async fn killed(&mut self) {
        let (request, moment) = (self.next(), self.a_moment());
        let executor = self.served.executor.clone();
        let call = tokio::spawn(async move { executor.perform(request).await });
        tokio::time::sleep(moment).await;
        self.served.process.signal("KILL");
        let answered = call.await.unwrap().is_ok();
        self.count(if answered {
            "answered just before a kill"
        } else {
            "in flight at a kill"
        });
        self.served.process.wait_gone();
        self.served = ExecutorProcess::start(&self.desktop).await;
        self.epoch = self.served.acquire(TTL).await;
    }

    /// Returns the progress of an action that is no longer running.
    async fn progress(&self, number: u32) -> ActionProgress {
        let asked = || {
            self.served.executor.look_up_action(LookUpRequest {
                display: None,
                action_id: ActionId::new(id(number)),
            })
        };
        loop {
            match asked().await.unwrap() {
                ActionProgress::Running => tokio::time::sleep(Duration::from_millis(1)).await,
                over => return over,
            }
        }
    }

    /// Compares the display's events with the reported outcome of each action.
    #[expect(clippy::print_stdout, reason = "the counts are what the run is for")]
    async fn judge(&mut self, presses: &HashMap<(i32, i32), u32>) {
        let mut ends: BTreeMap<&str, u32> = BTreeMap::new();
        for number in 1..=self.actions {
            let at = place(number);
            let clicks = presses.get(&(at.x, at.y)).copied().unwrap_or_default();
            let (end, expected) = match self.progress(number).await {
                ActionProgress::NotStarted => ("never begun", 0..=0),
                ActionProgress::Unknown => ("unknown", 0..=1),
                ActionProgress::Finished(outcome) => match outcome.result {
                    ActionResult::Performed => ("performed", 1..=1),
                    _ if outcome.sent_nothing => ("stopped before", 0..=0),
                    _ => ("stopped within", 0..=1),
                },
                ActionProgress::Running => unreachable!("waited for"),
            };
            assert!(
                expected.contains(&clicks),
                "{number}, {end}: {clicks} clicks"
            );
            *ends.entry(end).or_default() += 1;
        }
        let total: u32 = presses.values().sum();
        assert!(
            presses.values().all(|&clicks| clicks == 1),
            "a click was sent twice"
        );
        println!("requests {:?}", self.counts);
        println!("{} actions {ends:?}, {total} clicks received", self.actions);
    }
}

#[tokio::test]
async fn an_action_reaches_the_display_at_most_once_whatever_happens() {
    let mut storm = RequestGenerator::start().await;
    let presses = Presses::watch(&storm.desktop.display);
    let requests = std::env::var("MOTORIUM_REQUESTS");
    let requests = requests.map_or(DEFAULT_REQUESTS, |number| number.parse().unwrap());
    for nth in 1..=requests {
        storm.one(nth).await;
    }
    let foreigner = OtherClient::connect(&storm.desktop.display);
    wait_for("everything to be released", || {
        foreigner.pressed().is_empty().then_some(())
    })
    .await;
    storm.judge(&presses.so_far()).await;
}
