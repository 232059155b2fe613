//! One desktop: a driver, and the guard that stands before it.
//!
//! An action goes this way: its turn, its lease, its rules, its secret, its intent in the journal, the driver, its
//! outcome in the journal. It runs in a task of its own, so that a caller who goes away stops it but does not tear it:
//! what was begun is let go of and written down.
//!
//! Invariant: whenever a lease begins, ends or is superseded, and whenever everything is to be released, what is being
//! performed is stopped and the display's keys and buttons are released before anybody else acts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use motorium_kit::clock::{Clock as _, SteadyClock};
use motorium_proto::domain::action::{Action, ActionKind};
use motorium_proto::domain::desktop::Lease;
use motorium_proto::domain::effect::{ActionOutcome, ActionResult, NOTHING_SENT};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::{ActionId, DesktopEpoch, DisplayId};
use motorium_proto::service::{
    AcquireRequest, ActionProgress, Capabilities, FileInfo, PageText, PerformRequest, PutFile,
};
use motorium_proto::v1::executor as wire;
use prost::Message as _;
use secrecy::SecretString;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::drivers::{self, Driver, Failure, HumanWatch, Performed, Work};
use crate::error::Error;
use crate::files::Files;
use crate::guard::Folder;
use crate::guard::journal::{Begun, Digest, Journal, Progress, Retention};
use crate::guard::lease::{self, Book};
use crate::guard::rules::Refusal;
use crate::terms::{InForce, SECRET_TARGETS, Terms};

/// What a desktop is made of.
#[derive(Debug)]
pub struct Parts {
    pub display: DisplayId,
    pub driver: Arc<dyn Driver>,
    pub terms: Terms,
    pub files: Files,
    /// Where lease and journal are kept.
    pub folder: Folder,
    pub retention: Retention,
}

/// One desktop.
#[derive(Debug)]
pub struct Desktop {
    display: DisplayId,
    driver: Arc<dyn Driver>,
    in_force: Mutex<Arc<InForce>>,
    files: Files,
    folder: Arc<Folder>,
    journal: Mutex<Journal>,
    book: tokio::sync::Mutex<Book>,
    /// When the present lease ends, for the task that watches over it.
    lease_ends: watch::Sender<Option<SystemTime>>,
    /// Of leases and of the journal's ages, which nobody ends by setting the machine's clock.
    clock: SteadyClock,
    /// One action at a time.
    turn: tokio::sync::Mutex<()>,
    /// Cancelled and replaced when everything is to stop.
    stop: Mutex<CancellationToken>,
}

impl Desktop {
    /// Opens lease and journal, releases what a predecessor may have left pressed, and begins to watch over the lease.
    ///
    /// A display that is not there yet is no error: it is asked for again with every call.
    ///
    /// # Errors
    /// If lease or journal cannot be read, or are damaged.
    pub async fn start(parts: Parts) -> Result<Arc<Self>, Error> {
        let folder = Arc::new(parts.folder);
        let clock = SteadyClock::start();
        let book = lease::load(&folder, clock.now())?;
        let journal = Journal::open(folder.clone(), parts.retention, clock.now())?;
        let (lease_ends, ends) = watch::channel(book.ends_at());
        let desktop = Arc::new(Self {
            display: parts.display,
            driver: parts.driver,
            in_force: Mutex::new(InForce::new(parts.terms)),
            files: parts.files,
            folder,
            journal: Mutex::new(journal),
            book: tokio::sync::Mutex::new(book),
            lease_ends,
            clock,
            turn: tokio::sync::Mutex::new(()),
            stop: Mutex::default(),
        });
        tokio::spawn(watch_lease(Arc::downgrade(&desktop), clock, ends));
        if let Err(error) = desktop.driver.release_all().await {
            tracing::warn!(display = %desktop.display, %error, "not there yet");
        }
        Ok(desktop)
    }

    /// The display that this desktop acts on.
    #[must_use]
    pub fn display(&self) -> &DisplayId {
        &self.display
    }

    /// Puts other terms in force, for every action that begins from now on.
    pub fn put_in_force(&self, terms: Terms) {
        let mut in_force = lock(&self.in_force);
        *in_force = in_force.followed_by(terms);
    }

    fn in_force(&self) -> Arc<InForce> {
        Arc::clone(&lock(&self.in_force))
    }

    // === Leases ===

    /// Leases the desktop. A lease begins with nothing pressed.
    ///
    /// # Errors
    /// If somebody else has it, the display cannot be reached, or the new epoch cannot be written down.
    pub async fn acquire(self: &Arc<Self>, request: AcquireRequest) -> Result<Lease, Error> {
        let mut book = self.book.lock().await;
        let mut next = book.clone();
        let epoch = next.acquire(
            &request.holder,
            request.ttl,
            request.take_over,
            self.clock.now(),
        )?;
        self.stop_everything();
        self.driver.release_all().await?;
        self.keep(&mut book, next).await?;
        tracing::info!(display = %self.display, epoch = epoch.0, holder = request.holder, "leased");
        Ok(self.lease(&book, epoch))
    }

    /// Renews a lease.
    ///
    /// # Errors
    /// If it is lost, or its new end cannot be written down.
    pub async fn renew(
        self: &Arc<Self>,
        epoch: DesktopEpoch,
        ttl: Duration,
    ) -> Result<Lease, Error> {
        let mut book = self.book.lock().await;
        let mut next = book.clone();
        next.renew(epoch, ttl, self.clock.now())?;
        self.keep(&mut book, next).await?;
        Ok(self.lease(&book, epoch))
    }

    /// Gives a lease back. Nothing stays pressed.
    ///
    /// # Errors
    /// If the epoch is none of ours, or the end cannot be written down.
    pub async fn release(self: &Arc<Self>, epoch: DesktopEpoch) -> Result<(), Error> {
        let mut book = self.book.lock().await;
        let mut next = book.clone();
        if !next.release(epoch)? {
            return Ok(());
        }
        self.keep(&mut book, next).await?;
        self.let_go("given back").await;
        Ok(())
    }

    /// Ends the lease if its time is over.
    async fn expire(self: &Arc<Self>) {
        let book = self.book.lock().await;
        let ended = book.ends_at().is_some_and(|end| end <= self.clock.now());
        if ended {
            self.let_go("expired").await;
        }
    }

    /// Stops and releases after a lease has ended. There is nobody to tell if the display is gone as well.
    async fn let_go(&self, why: &str) {
        self.stop_everything();
        let released = self.driver.release_all().await;
        tracing::info!(display = %self.display, why, ?released, "the lease has ended");
    }

    async fn keep(self: &Arc<Self>, book: &mut Book, next: Book) -> Result<(), Error> {
        let (folder, written) = (self.folder.clone(), next.clone());
        blocking(move || lease::save(&folder, &written)).await??;
        self.lease_ends.send_replace(next.ends_at());
        *book = next;
        Ok(())
    }

    fn lease(&self, book: &Book, epoch: DesktopEpoch) -> Lease {
        let expires_at = book.ends_at().unwrap_or_else(|| self.clock.now());
        Lease {
            display: self.display.clone(),
            epoch,
            expires_at,
        }
    }

    async fn check_lease(&self, epoch: DesktopEpoch) -> Result<(), Error> {
        Ok(self.book.lock().await.check(epoch, self.clock.now())?)
    }

    // === Actions ===

    /// Performs an action at most once. Dropping the future stops it.
    ///
    /// # Errors
    /// If the lease is not good, the id was used for something else, a secret is missing, or the display cannot be
    /// reached and nothing was sent.
    pub async fn perform(
        self: &Arc<Self>,
        request: PerformRequest,
    ) -> Result<ActionOutcome, Error> {
        let stop = lock(&self.stop).child_token();
        let _stop_when_dropped = stop.clone().drop_guard();
        let desktop = self.clone();
        let carried_out =
            tokio::spawn(async move { desktop.perform_in_turn(request, &stop).await });
        carried_out.await.map_err(|panic| defect(&panic))?
    }

    async fn perform_in_turn(
        self: &Arc<Self>,
        request: PerformRequest,
        stop: &CancellationToken,
    ) -> Result<ActionOutcome, Error> {
        let _turn = tokio::select! {
            turn = self.turn.lock() => turn,
            () = stop.cancelled() => return Err(Error::Stopped),
        };
        // After the turn has come: the lease may have been lost while others were at it.
        self.check_lease(request.epoch).await?;
        let id = request.action_id.clone();
        let digest = self.digest(&request);
        if let Some(answer) = self.known(&id, digest)? {
            return Ok(answer);
        }
        // One and the same terms for all of the action.
        let in_force = self.in_force();
        let action = match self.judge(&in_force, request.action).await? {
            Ok(action) => action,
            Err(refusal) => return Ok(refused(refusal)),
        };
        let only_into = match in_force.terms.windows_for(&action) {
            Ok(windows) => windows,
            Err(refusal) => return Ok(refused(refusal)),
        };
        let secret = resolve_secret(in_force, &action).await?;
        if stop.is_cancelled() {
            return Err(Error::Stopped);
        }
        self.begin(&id, digest).await?;
        let started = Instant::now();
        let work = Work {
            id: Some(id.clone()),
            action,
            secret,
            only_into,
            page: None,
        };
        let done = self.driver.perform(work, stop).await;
        self.settle(&id, done, started.elapsed()).await
    }

    /// What is recorded of an action that was begun before.
    fn known(&self, id: &ActionId, digest: Digest) -> Result<Option<ActionOutcome>, Error> {
        Ok(match lock(&self.journal).known(id, digest) {
            None | Some(Begun::Now) => None,
            Some(Begun::Before(outcome)) => Some(ActionOutcome {
                recorded: true,
                ..outcome
            }),
            Some(Begun::Unknown) => {
                let detail =
                    "it was begun before, and how it ended is not recorded; look at the screen";
                Some(ActionOutcome {
                    recorded: true,
                    ..ActionOutcome::new(ActionResult::Unknown, detail)
                })
            }
            Some(Begun::Reused) => return Err(Error::ActionIdReused { id: id.clone() }),
        })
    }

    async fn judge(
        &self,
        in_force: &InForce,
        action: Action<CapturePoint>,
    ) -> Result<Result<Action<CapturePoint>, Refusal>, Error> {
        let rules = &in_force.terms.rules;
        let pointer = if rules.need_pointer() {
            Some(self.driver.pointer().await?)
        } else {
            None
        };
        let judged = rules.judge(action, pointer);
        Ok(judged.and_then(|action| in_force.check_rate().map(|()| action)))
    }

    async fn begin(self: &Arc<Self>, id: &ActionId, digest: Digest) -> Result<(), Error> {
        let (desktop, id) = (self.clone(), id.clone());
        let now = self.clock.now();
        blocking(move || lock(&desktop.journal).begin(&id, digest, now)).await??;
        Ok(())
    }

    /// Writes down how an action went and answers for it.
    async fn settle(
        self: &Arc<Self>,
        id: &ActionId,
        done: Result<Performed, Failure>,
        elapsed: Duration,
    ) -> Result<ActionOutcome, Error> {
        let outcome = match done {
            Ok(performed) => performed_outcome(performed),
            Err(failure) if failure.error.is_display() && !failure.input_sent => {
                self.write(id, |journal, id| journal.withdraw(id)).await;
                return Err(failure.error.into());
            }
            Err(failure)
                if matches!(failure.error, drivers::Error::WrongWindow { .. })
                    && !failure.input_sent =>
            {
                self.write(id, |journal, id| journal.withdraw(id)).await;
                return Ok(refused(Refusal {
                    rule: SECRET_TARGETS,
                    reason: failure.error.to_string(),
                }));
            }
            Err(failure) => failed_outcome(failure),
        };
        let outcome = ActionOutcome { elapsed, ..outcome };
        let (written, now) = (outcome.clone(), self.clock.now());
        self.write(id, move |journal, id| journal.finish(id, &written, now))
            .await;
        Ok(outcome)
    }

    /// Writes to the journal after the fact. What was done has been done: a failure here is logged, and the entry is
    /// unknown after a restart.
    async fn write(
        self: &Arc<Self>,
        id: &ActionId,
        write: impl FnOnce(&mut Journal, &ActionId) -> Result<(), crate::guard::StorageError>
        + Send
        + 'static,
    ) {
        let (desktop, task_id) = (self.clone(), id.clone());
        let written = blocking(move || write(&mut lock(&desktop.journal), &task_id)).await;
        if let Err(error) = written.and_then(|written| Ok(written?)) {
            tracing::error!(action = %id, %error, "the outcome of an action is not written down");
        }
    }

    fn digest(&self, request: &PerformRequest) -> Digest {
        // The encoding of the contract is the one canonical form there is. The epoch is left out: after a take-over
        // the same attempt is asked about under another one.
        let request = PerformRequest {
            epoch: DesktopEpoch(0),
            ..request.clone()
        };
        lock(&self.journal).digest(&wire::PerformRequest::from(request).encode_to_vec())
    }

    /// How far an action came.
    #[must_use]
    pub fn look_up(&self, id: &ActionId) -> ActionProgress {
        match lock(&self.journal).look_up(id) {
            Progress::NotStarted => ActionProgress::NotStarted,
            Progress::Running => ActionProgress::Running,
            Progress::Unknown => ActionProgress::Unknown,
            Progress::Finished(outcome) => ActionProgress::Finished(ActionOutcome {
                recorded: true,
                ..outcome
            }),
        }
    }

    /// Stops whatever is being performed or waits for its turn, and releases everything.
    ///
    /// # Errors
    /// If the display cannot be reached.
    pub async fn release_all(&self) -> Result<Vec<String>, Error> {
        self.stop_everything();
        Ok(self.driver.release_all().await?)
    }

    /// Stops everything and leaves the display as it was found, at the end of the process. Leases go on.
    pub async fn close(&self) {
        self.stop_everything();
        self.driver.close().await;
    }

    fn stop_everything(&self) {
        std::mem::take(&mut *lock(&self.stop)).cancel();
    }

    /// Where the pointer is.
    ///
    /// # Errors
    /// If the display cannot be reached.
    pub async fn pointer(&self) -> Result<CapturePoint, Error> {
        Ok(self.driver.pointer().await?)
    }

    /// Begins to tell what a person does.
    ///
    /// # Errors
    /// If the driver does not tell, or the display cannot be reached.
    pub async fn watch_human(&self) -> Result<HumanWatch, Error> {
        let watch = self.driver.watch_human().await?;
        watch.ok_or_else(|| Error::NotServed {
            driver: self.driver_name(),
            call: "WatchHumanInput",
        })
    }

    /// The page in front of the browser.
    ///
    /// # Errors
    /// If no browser is listened to, or it cannot be reached.
    pub async fn read_page(&self, max_characters: usize) -> Result<PageText, Error> {
        let page = self.driver.read_page(max_characters).await?;
        page.ok_or_else(|| Error::NotServed {
            driver: self.driver_name(),
            call: "ReadPage",
        })
    }

    // === Files ===

    /// Puts a file into the desktop's folder.
    ///
    /// # Errors
    /// If the lease is not good, or as [`Files::put`].
    pub async fn put_file(self: &Arc<Self>, file: PutFile) -> Result<FileInfo, Error> {
        self.check_lease(file.epoch).await?;
        let desktop = self.clone();
        Ok(
            blocking(move || desktop.files.put(&file.name, &file.content, file.overwrite))
                .await??,
        )
    }

    /// Fetches a file of the desktop's folder.
    ///
    /// # Errors
    /// As [`Files::get`].
    pub async fn get_file(self: &Arc<Self>, name: String) -> Result<(FileInfo, Vec<u8>), Error> {
        let desktop = self.clone();
        Ok(blocking(move || desktop.files.get(&name)).await??)
    }

    /// Describes a file of the desktop's folder.
    ///
    /// # Errors
    /// As [`Files::stat`].
    pub async fn stat_file(self: &Arc<Self>, name: String) -> Result<Option<FileInfo>, Error> {
        let desktop = self.clone();
        Ok(blocking(move || desktop.files.stat(&name)).await??)
    }

    // === Facts ===

    /// The driver's name.
    #[must_use]
    pub fn driver_name(&self) -> &'static str {
        self.driver.capabilities().driver
    }

    /// What can be done and what is allowed.
    ///
    /// # Errors
    /// If the secrets' names cannot be listed by a defect.
    pub async fn capabilities(self: &Arc<Self>) -> Result<Capabilities, Error> {
        let in_force = self.in_force();
        let secrets = in_force.terms.secrets.clone();
        let secrets = blocking(move || secrets.names()).await?;
        let Terms {
            rules,
            max_actions_per_second,
            ..
        } = &in_force.terms;
        let driver = self.driver.capabilities();
        let can_be_done = |kind: &ActionKind| {
            rules.kinds.contains(kind)
                && (*kind != ActionKind::OpenApplication || !rules.applications.is_empty())
        };
        Ok(Capabilities {
            driver: driver.driver.to_owned(),
            action_kinds: driver.kinds.into_iter().filter(can_be_done).collect(),
            applications: rules.applications.iter().cloned().collect(),
            url_patterns: rules.addresses.patterns(),
            forbidden_chords: rules
                .forbidden_chords
                .iter()
                .map(|chord| chord.name.clone())
                .collect(),
            max_actions_per_second: *max_actions_per_second,
            secrets: secrets.into_iter().collect(),
            limitations: driver.limitations,
        })
    }
}

/// Ends leases whose time is over, for as long as there is a desktop.
async fn watch_lease(
    desktop: std::sync::Weak<Desktop>,
    clock: SteadyClock,
    mut ends: watch::Receiver<Option<SystemTime>>,
) {
    loop {
        let end = *ends.borrow_and_update();
        let left = end.map(|end| end.duration_since(clock.now()).unwrap_or_default());
        tokio::select! {
            changed = ends.changed() => {
                if changed.is_err() {
                    return;
                }
            }
            () = sleep_or_for_ever(left) => {
                let Some(desktop) = desktop.upgrade() else { return };
                desktop.expire().await;
                // Once is enough: the next thing to wait for is another lease.
                if ends.changed().await.is_err() {
                    return;
                }
            }
        }
    }
}

async fn sleep_or_for_ever(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}

async fn resolve_secret(
    in_force: Arc<InForce>,
    action: &Action<CapturePoint>,
) -> Result<Option<SecretString>, Error> {
    let Some(name) = action.entered_secret().map(str::to_owned) else {
        return Ok(None);
    };
    let resolve = move || in_force.terms.secrets.resolve(&name);
    Ok(Some(blocking(resolve).await??))
}

fn refused(refusal: Refusal) -> ActionOutcome {
    let rule = Some(refusal.rule.to_owned());
    ActionOutcome {
        rule,
        ..ActionOutcome::new(ActionResult::Refused, refusal.reason)
    }
}

fn performed_outcome(performed: Performed) -> ActionOutcome {
    let outcome = ActionOutcome::new(ActionResult::Performed, performed.note.unwrap_or_default());
    ActionOutcome {
        pointer: performed.pointer,
        ..outcome
    }
}

fn failed_outcome(failure: Failure) -> ActionOutcome {
    let sent = if failure.input_sent {
        "a part of its input had been sent"
    } else {
        NOTHING_SENT
    };
    let result = match &failure.error {
        drivers::Error::Stopped => ActionResult::Cancelled,
        error if error.is_display() => ActionResult::Unknown,
        _ => ActionResult::Failed,
    };
    ActionOutcome::new(result, format!("{}; {sent}", failure.error))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does on a thread for such what waits for the disk.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|panic| defect(&panic))
}

fn defect(panic: &tokio::task::JoinError) -> Error {
    tracing::error!(%panic, "a task of the executor has failed");
    Error::Internal
}
