//! One desktop: a driver behind its guard.
//!
//! The path of an action: action lock, lease check, rules, secret, intent in the journal, driver, outcome in the
//! journal. It runs in its own task: if the caller goes away the action is stopped, and what it started is still
//! released and recorded.
//!
//! Invariant: whenever a lease starts, ends or is superseded, and on every release-all, the running action is stopped
//! and the display's keys and buttons are released before another caller acts.
//!
//! It does not know how input reaches the display: each driver does.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use motorium_kit::clock::{Clock as _, MonotonicClock};
use motorium_proto::domain::action::{Action, ActionKind};
use motorium_proto::domain::desktop::Lease;
use motorium_proto::domain::effect::{ActionOutcome, ActionResult};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::{ActionId, DesktopEpoch, DisplayId};
use motorium_proto::service::{
    AcquireRequest, ActionProgress, Capabilities, ClipboardText, FenceRequest, FileInfo, PageText,
    PerformRequest, PutFile,
};
use motorium_proto::v1::executor as wire;
use prost::Message as _;
use secrecy::SecretString;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::drivers::clipboard_content::ClipboardContent;
use crate::drivers::{
    self, Driver, DriverFailure, DriverOutcome, HumanInputReceiver, PreparedAction,
};
use crate::error::Error;
use crate::files::Files;
use crate::guard::Refusal;
use crate::guard::StateFolder;
use crate::guard::journal::{
    BeginOutcome, Digest, EntryProgress, ExpectedEntries, Journal, Retention,
};
use crate::guard::lease::{self, LeaseState};
use crate::guard::named_hosts::NamedHosts;
use crate::guard::rules::FORBIDDEN_CHORDS;
use crate::guard::secret_grants::OnBehalfOf;
use crate::policy::{ActivePolicy, ExecutorPolicy, SECRET_ALLOWED_WINDOWS};
use crate::secrets::SecretMasks;

/// Interval at which old entries are removed from the journal.
// Short against the shortest useful age; a pass reads memory only if nothing is old.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(3600);
/// Maximum length of a text of the clipboard that is returned, in bytes: one message has room for it.
const MAX_CLIPBOARD_BYTES: usize = 1 << 20;

/// The components of a desktop.
#[derive(Debug)]
pub struct DesktopParts {
    pub display: DisplayId,
    pub driver: Arc<dyn Driver>,
    pub policy: ExecutorPolicy,
    /// Private hosts that the user names, shared with the filter of the browser.
    pub named_hosts: NamedHosts,
    pub files: Files,
    /// Directory of the lease and the journal.
    pub folder: StateFolder,
    pub retention: Retention,
}

/// A desktop that actions are performed on.
#[derive(Debug)]
pub struct Desktop {
    display: DisplayId,
    driver: Arc<dyn Driver>,
    active_policy: Mutex<Arc<ActivePolicy>>,
    named_hosts: NamedHosts,
    files: Files,
    folder: Arc<StateFolder>,
    journal: Mutex<Journal>,
    lease_state: tokio::sync::Mutex<LeaseState>,
    /// Expiry of the current lease, for the task that ends it.
    lease_expiry: watch::Sender<Option<SystemTime>>,
    /// Monotonic clock for leases and journal ages: changing the system time does not end them.
    clock: MonotonicClock,
    /// Held during an action: one action at a time.
    action_lock: tokio::sync::Mutex<()>,
    /// Cancelled and replaced to stop every running and queued action.
    stop: Mutex<CancellationToken>,
}

impl Desktop {
    /// Opens the lease and the journal, releases what a previous process may have left pressed, and starts the lease
    /// watcher.
    ///
    /// An unreachable display is not an error here: every call tries to connect again.
    ///
    /// # Errors
    /// If the lease or the journal cannot be read or is damaged.
    pub async fn start(parts: DesktopParts) -> Result<Arc<Self>, Error> {
        let folder = Arc::new(parts.folder);
        let clock = MonotonicClock::start();
        let lease_state = lease::load(&folder, clock.now())?;
        let journal = Journal::open(folder.clone(), parts.retention, clock.now())?;
        folder.confirm()?;
        let (lease_ends, ends) = watch::channel(lease_state.expires_at());
        let desktop = Arc::new(Self {
            display: parts.display,
            driver: parts.driver,
            active_policy: Mutex::new(ActivePolicy::new(parts.policy)),
            named_hosts: parts.named_hosts,
            files: parts.files,
            folder,
            journal: Mutex::new(journal),
            lease_state: tokio::sync::Mutex::new(lease_state),
            lease_expiry: lease_ends,
            clock,
            action_lock: tokio::sync::Mutex::new(()),
            stop: Mutex::default(),
        });
        tokio::spawn(watch_lease(Arc::downgrade(&desktop), clock, ends));
        tokio::spawn(expire_journal(Arc::downgrade(&desktop)));
        if let Err(error) = desktop.driver.release_all().await {
            tracing::warn!(display = %desktop.display, %error, "the display cannot be reached yet");
        }
        Ok(desktop)
    }

    /// Returns the display of this desktop.
    #[must_use]
    pub fn display(&self) -> &DisplayId {
        &self.display
    }

    /// Replaces the policy for every action that starts from now on.
    pub fn set_policy(&self, policy: ExecutorPolicy) {
        let mut active = lock(&self.active_policy);
        *active = active.replaced_by(policy);
    }

    fn active_policy(&self) -> Arc<ActivePolicy> {
        Arc::clone(&lock(&self.active_policy))
    }

    // === Leases ===

    /// Acquires a lease. Everything is released before the lease starts.
    ///
    /// # Errors
    /// If another holder has the lease, the display cannot be reached, the files of another tenant cannot be put aside, or the new
    /// epoch or the checkpoint of the journal cannot be stored.
    pub async fn acquire(self: &Arc<Self>, request: AcquireRequest) -> Result<Lease, Error> {
        let mut state = self.lease_state.lock().await;
        let mut next = state.clone();
        let epoch = next.acquire(
            &request.holder,
            request.ttl,
            request.take_over,
            self.clock.now(),
        )?;
        self.stop_everything();
        self.named_hosts.clear();
        self.driver.release_all().await?;
        // Before the lease: if the checkpoint cannot be stored, the call fails, and a stored lease would block the display until it
        // expires.
        let checkpoint = self.record_checkpoint().await?;
        let (desktop, holder, tenant) = (self.clone(), request.holder.clone(), request.tenant);
        blocking(move || desktop.files.begin_lease(&holder, tenant.as_deref())).await??;
        self.store_lease(&mut state, next).await?;
        tracing::info!(display = %self.display, epoch = epoch.0, holder = request.holder, "leased");
        Ok(Lease {
            journal_checkpoint: Some(checkpoint),
            ..self.lease(&state, epoch)
        })
    }

    /// Renews a lease.
    ///
    /// # Errors
    /// If the lease is lost, or its new expiry cannot be stored.
    pub async fn renew(
        self: &Arc<Self>,
        epoch: DesktopEpoch,
        ttl: Duration,
    ) -> Result<Lease, Error> {
        let mut state = self.lease_state.lock().await;
        let mut next = state.clone();
        next.renew(epoch, ttl, self.clock.now())?;
        self.store_lease(&mut state, next).await?;
        Ok(self.lease(&state, epoch))
    }

    /// Releases a lease and everything that is pressed.
    ///
    /// # Errors
    /// If the epoch is unknown, or the release cannot be stored.
    pub async fn release(self: &Arc<Self>, epoch: DesktopEpoch) -> Result<(), Error> {
        let mut state = self.lease_state.lock().await;
        let mut next = state.clone();
        if !next.release(epoch)? {
            return Ok(());
        }
        self.store_lease(&mut state, next).await?;
        self.stop_and_release("released").await;
        Ok(())
    }

    /// Ends the lease if it has expired.
    async fn expire(self: &Arc<Self>) {
        let state = self.lease_state.lock().await;
        let ended = state
            .expires_at()
            .is_some_and(|end| end <= self.clock.now());
        if ended {
            self.stop_and_release("expired").await;
        }
    }

    /// Stops and releases after a lease has ended. A display error is only logged: no caller waits for it.
    async fn stop_and_release(self: &Arc<Self>, why: &str) {
        self.stop_everything();
        self.named_hosts.clear();
        let released = self.driver.release_all().await;
        tracing::info!(display = %self.display, why, ?released, "the lease has ended");
        let desktop = self.clone();
        let ended = blocking(move || desktop.files.end_lease()).await;
        if let Err(error) = ended.and_then(|ended| Ok(ended?)) {
            tracing::warn!(display = %self.display, %error, "it is not recorded whose the files of the lease are");
        }
    }

    async fn store_lease(
        self: &Arc<Self>,
        state: &mut LeaseState,
        next: LeaseState,
    ) -> Result<(), Error> {
        let (folder, written) = (self.folder.clone(), next.clone());
        blocking(move || lease::save(&folder, &written)).await??;
        self.lease_expiry.send_replace(next.expires_at());
        *state = next;
        Ok(())
    }

    fn lease(&self, state: &LeaseState, epoch: DesktopEpoch) -> Lease {
        let expires_at = state.expires_at().unwrap_or_else(|| self.clock.now());
        Lease {
            display: self.display.clone(),
            epoch,
            expires_at,
            journal_checkpoint: None,
        }
    }

    async fn check_lease(&self, epoch: DesktopEpoch) -> Result<(), Error> {
        Ok(self
            .lease_state
            .lock()
            .await
            .check(epoch, self.clock.now())?)
    }

    // === Actions ===

    /// Performs an action at most once per action id, on behalf of a principal. Dropping the future stops it.
    ///
    /// # Errors
    /// If the lease is not valid, the id was used for another action, a secret is missing, or the display cannot be
    /// reached and nothing was sent.
    pub async fn perform(
        self: &Arc<Self>,
        request: PerformRequest,
        on_behalf_of: OnBehalfOf,
    ) -> Result<ActionOutcome, Error> {
        let stop = lock(&self.stop).child_token();
        let _stop_when_dropped = stop.clone().drop_guard();
        let desktop = self.clone();
        let carried_out = tokio::spawn(async move {
            desktop
                .perform_exclusively(request, &on_behalf_of, &stop)
                .await
        });
        carried_out.await.map_err(|panic| internal_error(&panic))?
    }

    async fn perform_exclusively(
        self: &Arc<Self>,
        request: PerformRequest,
        on_behalf_of: &OnBehalfOf,
        stop: &CancellationToken,
    ) -> Result<ActionOutcome, Error> {
        let _turn = tokio::select! {
            turn = self.action_lock.lock() => turn,
            () = stop.cancelled() => return Err(Error::Stopped),
        };
        // Checked after the lock is taken: the lease may have been lost while waiting for other actions.
        self.check_lease(request.epoch).await?;
        let id = request.action_id.clone();
        let digest = self.digest(&request);
        if let Some(answer) = self.recorded_outcome(&id, digest)? {
            return Ok(answer);
        }
        self.named_hosts.add(&request.named_hosts);
        // One policy snapshot for the whole action.
        let active = self.active_policy();
        let judged = self.check_rules(&active, request.action, &request.addresses);
        let action = match judged.await? {
            Ok(action) => action,
            Err(refusal) => return Ok(refused(refusal)),
        };
        if let Err(refusal) = active.policy.check_grant(&action, on_behalf_of) {
            return Ok(refused(refusal));
        }
        let allowed_windows = match active.policy.windows_for(&action) {
            Ok(windows) => windows,
            Err(refusal) => return Ok(refused(refusal)),
        };
        let forbidden_chords = Arc::clone(&active.policy.rules.forbidden_chords);
        let secret = resolve_secret(active, &action).await?;
        if stop.is_cancelled() {
            return Err(Error::Stopped);
        }
        // It may have been fenced while the rules were checked.
        if let Some(answer) = self.record_intent(&id, digest).await? {
            return Ok(answer);
        }
        let started = Instant::now();
        let work = PreparedAction {
            id: Some(id.clone()),
            action,
            secret,
            allowed_windows,
            forbidden_chords,
            focused_page: None,
        };
        let done = self.driver.perform(work, stop).await;
        self.record_outcome(&id, done, started.elapsed()).await
    }

    /// Returns the recorded outcome of an action that was started before.
    fn recorded_outcome(
        &self,
        id: &ActionId,
        digest: Digest,
    ) -> Result<Option<ActionOutcome>, Error> {
        match lock(&self.journal).existing(id, digest) {
            None => Ok(None),
            Some(existing) => answer_of(id, existing),
        }
    }

    async fn check_rules(
        &self,
        active: &ActivePolicy,
        action: Action<CapturePoint>,
        addresses: &[String],
    ) -> Result<Result<Action<CapturePoint>, Refusal>, Error> {
        let rules = &active.policy.rules;
        let pointer = if rules.needs_pointer() {
            Some(self.driver.pointer().await?)
        } else {
            None
        };
        let judged = rules.check(action, pointer, &self.named_hosts);
        Ok(judged.and_then(|action| {
            rules.urls.check_typed(addresses, &self.named_hosts)?;
            active.check_rate()?;
            Ok(action)
        }))
    }

    /// Records the intent of an action. Returns its answer instead if it must not be performed.
    async fn record_intent(
        self: &Arc<Self>,
        id: &ActionId,
        digest: Digest,
    ) -> Result<Option<ActionOutcome>, Error> {
        let (desktop, begun_id) = (self.clone(), id.clone());
        let now = self.clock.now();
        let begun =
            blocking(move || lock(&desktop.journal).begin(&begun_id, digest, now)).await??;
        answer_of(id, begun)
    }

    async fn record_checkpoint(self: &Arc<Self>) -> Result<String, Error> {
        let (desktop, now) = (self.clone(), self.clock.now());
        Ok(blocking(move || lock(&desktop.journal).checkpoint(now)).await??)
    }

    /// Records the outcome of an action and returns it.
    async fn record_outcome(
        self: &Arc<Self>,
        id: &ActionId,
        done: Result<DriverOutcome, DriverFailure>,
        elapsed: Duration,
    ) -> Result<ActionOutcome, Error> {
        let outcome = match done {
            Ok(performed) => performed_outcome(performed),
            Err(failure) if failure.error.is_display() && !failure.input_sent => {
                self.write_journal(id, |journal, id| journal.withdraw(id))
                    .await;
                return Err(failure.error.into());
            }
            Err(failure)
                if matches!(failure.error, drivers::Error::WindowNotAllowed { .. })
                    && !failure.input_sent =>
            {
                self.write_journal(id, |journal, id| journal.withdraw(id))
                    .await;
                return Ok(refused(Refusal {
                    rule: SECRET_ALLOWED_WINDOWS,
                    reason: failure.error.to_string(),
                }));
            }
            Err(failure)
                if matches!(failure.error, drivers::Error::ChordForbidden { .. })
                    && !failure.input_sent =>
            {
                self.write_journal(id, |journal, id| journal.withdraw(id))
                    .await;
                return Ok(refused(Refusal {
                    rule: FORBIDDEN_CHORDS,
                    reason: failure.error.to_string(),
                }));
            }
            Err(failure) => failed_outcome(failure),
        };
        let outcome = ActionOutcome { elapsed, ..outcome };
        let (written, now) = (outcome.clone(), self.clock.now());
        self.write_journal(id, move |journal, id| journal.finish(id, &written, now))
            .await;
        Ok(outcome)
    }

    /// Writes to the journal after the input was sent. A failure is only logged: the input cannot be undone, and the
    /// outcome is unknown after a restart.
    async fn write_journal(
        self: &Arc<Self>,
        id: &ActionId,
        write: impl FnOnce(&mut Journal, &ActionId) -> Result<(), crate::guard::StorageError>
        + Send
        + 'static,
    ) {
        let (desktop, task_id) = (self.clone(), id.clone());
        let written = blocking(move || write(&mut lock(&desktop.journal), &task_id)).await;
        if let Err(error) = written.and_then(|written| Ok(written?)) {
            tracing::error!(action = %id, %error, "the outcome of an action could not be recorded");
        }
    }

    fn digest(&self, request: &PerformRequest) -> Digest {
        // The protobuf encoding is the only canonical form. The epoch is excluded: after a take-over the same attempt
        // is asked about under another epoch.
        let request = PerformRequest {
            epoch: DesktopEpoch(0),
            ..request.clone()
        };
        lock(&self.journal).digest(&wire::PerformRequest::from(request).encode_to_vec())
    }

    /// Returns the progress of an action.
    #[must_use]
    pub fn look_up(&self, id: &ActionId) -> ActionProgress {
        match lock(&self.journal).look_up(id) {
            EntryProgress::NotStarted => ActionProgress::NotStarted,
            EntryProgress::Running => ActionProgress::Running,
            EntryProgress::Unknown => ActionProgress::Unknown,
            EntryProgress::Finished(outcome) => already_finished(outcome),
            EntryProgress::Fenced => ActionProgress::Finished(ActionOutcome::cancelled_unsent(
                "fenced before it started; nothing was sent",
            )),
        }
    }

    /// Fences an action that has not started, and returns its progress: [`ActionProgress::NotStarted`] if it never will.
    ///
    /// It does not wait for the action lock: a running action answers as running, and a queued one finds the fence.
    ///
    /// # Errors
    /// If the lease is not valid, or the fence cannot be stored.
    pub async fn fence(self: &Arc<Self>, request: FenceRequest) -> Result<ActionProgress, Error> {
        self.check_lease(request.epoch).await?;
        let (desktop, now) = (self.clone(), self.clock.now());
        let fenced = blocking(move || {
            let known = ExpectedEntries {
                checkpoint: request.journal_checkpoint.as_deref(),
                last_action: request.last_action_id.as_ref(),
            };
            lock(&desktop.journal).fence(&request.action_id, known, now)
        });
        Ok(match fenced.await?? {
            EntryProgress::NotStarted | EntryProgress::Fenced => ActionProgress::NotStarted,
            EntryProgress::Running => ActionProgress::Running,
            EntryProgress::Unknown => ActionProgress::Unknown,
            EntryProgress::Finished(outcome) => already_finished(outcome),
        })
    }

    /// Stops the running and all queued actions, and releases everything that is pressed.
    ///
    /// # Errors
    /// If the display cannot be reached.
    pub async fn release_all(&self) -> Result<Vec<String>, Error> {
        self.stop_everything();
        Ok(self.driver.release_all().await?)
    }

    /// Restores the clipboard, and returns the content that would be lost with this process.
    ///
    /// # Errors
    /// If the display cannot be reached.
    pub async fn remaining_clipboard(&self) -> Result<ClipboardContent, Error> {
        Ok(self.driver.remaining_clipboard().await?)
    }

    /// Stops everything and restores the display, at the end of the process. Leases stay valid.
    pub async fn close(&self) {
        self.stop_everything();
        self.driver.close().await;
    }

    fn stop_everything(&self) {
        std::mem::take(&mut *lock(&self.stop)).cancel();
    }

    /// Returns the position of the pointer.
    ///
    /// # Errors
    /// If the display cannot be reached.
    pub async fn pointer(&self) -> Result<CapturePoint, Error> {
        Ok(self.driver.pointer().await?)
    }

    /// Returns true while an action is performed.
    #[must_use]
    pub(crate) fn is_performing(&self) -> bool {
        self.action_lock.try_lock().is_err()
    }

    /// Starts to report user input.
    ///
    /// # Errors
    /// If the driver cannot observe user input, or the display cannot be reached.
    pub async fn watch_human(&self) -> Result<HumanInputReceiver, Error> {
        let watch = self.driver.watch_human().await?;
        watch.ok_or_else(|| Error::NotServed {
            driver: self.driver_name(),
            call: "WatchHumanInput",
        })
    }

    /// Reads the browser's current page, without the values of secrets.
    ///
    /// # Errors
    /// If DevTools are not configured, or the browser cannot be reached.
    pub async fn read_page(&self, max_characters: usize) -> Result<PageText, Error> {
        let active = self.active_policy();
        let masks = blocking(move || active.policy.secrets.masks()).await?;
        // A value that the limit would cut could not be recognised.
        let limit = max_characters + masks.longest();
        let page = self.driver.read_page(limit).await?;
        let page = page.ok_or_else(|| Error::NotServed {
            driver: self.driver_name(),
            call: "ReadPage",
        })?;
        let kept = match page.truncated {
            // The end of a cut text may be the beginning of a value.
            true => page.text.chars().count().saturating_sub(masks.longest()),
            false => usize::MAX,
        };
        let text = masks.mask(page.text.chars().take(kept).collect());
        let end = text.char_indices().nth(max_characters);
        Ok(PageText {
            url: without_secrets(&page.url, &masks),
            title: masks.mask(page.title),
            truncated: page.truncated || end.is_some(),
            text: end
                .map_or(text.as_str(), |(end, _)| &text[..end])
                .to_owned(),
        })
    }

    /// Reads the text of the clipboard for the holder of the lease. A text that may be a secret is withheld, as one that is too
    /// long. With `only_if_copied`, only what was copied since the last keys that may copy is read.
    ///
    /// # Errors
    /// If the lease is not valid, the driver cannot read it, or the display cannot be reached.
    pub async fn read_clipboard(
        &self,
        epoch: DesktopEpoch,
        only_if_copied: bool,
    ) -> Result<ClipboardText, Error> {
        self.check_lease(epoch).await?;
        // A driver that does not know reads what there is.
        if only_if_copied && self.driver.has_copied().await? == Some(false) {
            return Ok(ClipboardText {
                not_copied: true,
                ..ClipboardText::default()
            });
        }
        let active = self.active_policy();
        let masks = blocking(move || active.policy.secrets.masks()).await?;
        let read = self.driver.read_clipboard().await?;
        let read = read.ok_or_else(|| Error::NotServed {
            driver: self.driver_name(),
            call: "ReadClipboard",
        })?;
        let has_secret = || masks.mask(read.text.clone()) != read.text;
        if read.withheld || read.text.len() > MAX_CLIPBOARD_BYTES || has_secret() {
            return Ok(ClipboardText {
                withheld: true,
                ..ClipboardText::default()
            });
        }
        Ok(read)
    }

    // === Files ===

    /// Writes a file into the desktop's folder.
    ///
    /// # Errors
    /// If the lease is not valid, or as [`Files::put`].
    pub async fn put_file(self: &Arc<Self>, file: PutFile) -> Result<FileInfo, Error> {
        self.check_lease(file.epoch).await?;
        let desktop = self.clone();
        Ok(
            blocking(move || desktop.files.put(&file.name, &file.content, file.overwrite))
                .await??,
        )
    }

    /// Reads a file of the desktop's folder. `None` reads without a lease.
    ///
    /// # Errors
    /// If the lease is not valid, or as [`Files::get`].
    pub async fn get_file(
        self: &Arc<Self>,
        name: String,
        epoch: Option<DesktopEpoch>,
    ) -> Result<(FileInfo, Vec<u8>), Error> {
        self.check_reader(epoch).await?;
        let desktop = self.clone();
        Ok(blocking(move || desktop.files.get(&name)).await??)
    }

    /// Returns the metadata of a file in the desktop's folder. `None` reads without a lease.
    ///
    /// # Errors
    /// If the lease is not valid, or as [`Files::stat`].
    pub async fn stat_file(
        self: &Arc<Self>,
        name: String,
        epoch: Option<DesktopEpoch>,
    ) -> Result<Option<FileInfo>, Error> {
        self.check_reader(epoch).await?;
        let desktop = self.clone();
        Ok(blocking(move || desktop.files.stat(&name)).await??)
    }

    /// Deletes what a former holder of leases has left in the folder.
    ///
    /// # Errors
    /// Fails under the conditions of [`Files::delete_of`].
    pub async fn delete_files(
        self: &Arc<Self>,
        holder: String,
        tenant: String,
    ) -> Result<(), Error> {
        let desktop = self.clone();
        Ok(blocking(move || desktop.files.delete_of(&holder, &tenant)).await??)
    }

    async fn check_reader(&self, epoch: Option<DesktopEpoch>) -> Result<(), Error> {
        match epoch {
            None => Ok(()),
            Some(epoch) => self.check_lease(epoch).await,
        }
    }

    // === Facts ===

    /// Returns the driver's name.
    fn driver_name(&self) -> &'static str {
        self.driver.capabilities().driver
    }

    /// Returns what the driver can do and what the policy allows.
    ///
    /// # Errors
    /// If listing the names of the secrets panics.
    pub async fn capabilities(self: &Arc<Self>) -> Result<Capabilities, Error> {
        let active = self.active_policy();
        let secrets = active.policy.secrets.clone();
        let secrets = blocking(move || secrets.names()).await?;
        let ExecutorPolicy {
            rules,
            max_actions_per_second,
            ..
        } = &active.policy;
        let driver = self.driver.capabilities();
        let can_be_done = |kind: &ActionKind| {
            rules.kinds.contains(kind)
                && (*kind != ActionKind::OpenApplication || !rules.applications.is_empty())
        };
        Ok(Capabilities {
            driver: driver.driver.to_owned(),
            action_kinds: driver.kinds.into_iter().filter(can_be_done).collect(),
            applications: rules.applications.iter().cloned().collect(),
            url_patterns: rules.urls.patterns(),
            forbidden_chords: rules
                .forbidden_chords
                .iter()
                .map(|chord| chord.name.clone())
                .collect(),
            max_actions_per_second: *max_actions_per_second,
            secrets: secrets.into_iter().collect(),
            limitations: driver.limitations,
            files_folder: self.files.folder(),
        })
    }
}

/// Ends expired leases for as long as the desktop exists.
async fn watch_lease(
    desktop: std::sync::Weak<Desktop>,
    clock: MonotonicClock,
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
            () = sleep_or_pending(left) => {
                let Some(desktop) = desktop.upgrade() else { return };
                desktop.expire().await;
                // Expire once: the next event to wait for is another lease.
                if ends.changed().await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Removes old entries from the journal for as long as the desktop exists.
async fn expire_journal(desktop: std::sync::Weak<Desktop>) {
    loop {
        tokio::time::sleep(EXPIRY_INTERVAL).await;
        let Some(desktop) = desktop.upgrade() else {
            return;
        };
        let now = desktop.clock.now();
        let expiring = Arc::clone(&desktop);
        let expired = blocking(move || lock(&expiring.journal).expire(now)).await;
        if let Err(error) = expired.and_then(|expired| Ok(expired?)) {
            tracing::warn!(display = %desktop.display, %error, "old entries of the journal are kept; it is tried again in an hour");
        }
    }
}

async fn sleep_or_pending(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}

async fn resolve_secret(
    active: Arc<ActivePolicy>,
    action: &Action<CapturePoint>,
) -> Result<Option<SecretString>, Error> {
    let Some(name) = action.entered_secret().map(str::to_owned) else {
        return Ok(None);
    };
    let resolve = move || active.policy.secrets.resolve(&name);
    Ok(Some(blocking(resolve).await??))
}

/// Returns the answer to a request that the journal does not let start; `None` if it may be performed.
fn answer_of(id: &ActionId, begun: BeginOutcome) -> Result<Option<ActionOutcome>, Error> {
    let known = match begun {
        BeginOutcome::Started => return Ok(None),
        BeginOutcome::AlreadyFinished(outcome) => outcome,
        BeginOutcome::OutcomeUnknown => ActionOutcome::new(
            ActionResult::Unknown,
            "the action was started before and its outcome is unknown; check the screen",
        ),
        BeginOutcome::IdReused => return Err(Error::ActionIdReused { id: id.clone() }),
        BeginOutcome::Fenced => return Err(Error::ActionFenced { id: id.clone() }),
    };
    Ok(Some(ActionOutcome {
        already_performed: true,
        ..known
    }))
}

fn already_finished(outcome: ActionOutcome) -> ActionProgress {
    ActionProgress::Finished(ActionOutcome {
        already_performed: true,
        ..outcome
    })
}

fn refused(refusal: Refusal) -> ActionOutcome {
    let rule = Some(refusal.rule.to_owned());
    ActionOutcome {
        rule,
        ..ActionOutcome::new(ActionResult::Refused, refusal.reason)
    }
}

/// Masks secrets in the query and the fragment of a URL. Scheme, host and path stay as they are: rules are matched against them.
fn without_secrets(url: &str, masks: &SecretMasks) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let (place, rest) = url.split_at(end);
    format!("{place}{}", masks.mask(rest.to_owned()))
}

fn performed_outcome(performed: DriverOutcome) -> ActionOutcome {
    let outcome = ActionOutcome::new(ActionResult::Performed, performed.note.unwrap_or_default());
    ActionOutcome {
        pointer: performed.pointer,
        ..outcome
    }
}

fn failed_outcome(failure: DriverFailure) -> ActionOutcome {
    let sent = match failure.input_sent {
        true => "part of its input was sent",
        false => "nothing had been sent",
    };
    let detail = format!("{}; {sent}", failure.error);
    let result = match &failure.error {
        drivers::Error::Stopped if !failure.input_sent => {
            return ActionOutcome::cancelled_unsent(detail);
        }
        drivers::Error::Stopped => ActionResult::Cancelled,
        error if error.is_display() => ActionResult::Unknown,
        _ => ActionResult::Failed,
    };
    ActionOutcome::new(result, detail)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs blocking disk I/O on the blocking thread pool.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|panic| internal_error(&panic))
}

fn internal_error(panic: &tokio::task::JoinError) -> Error {
    tracing::error!(%panic, "a task of the executor panicked");
    Error::Internal
}
