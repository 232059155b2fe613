//! After an action: wait until the screen is quiet, then judge what the action did to it.

use std::time::Duration;

use motorium_proto::domain::action::{Action, ActionKind};
use motorium_proto::domain::effect::{ChangeMap, Effect, Verdict};
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::ActionId;
use motorium_proto::error::ErrorReport;
use motorium_proto::service::{
    AwaitQuiet, CaptureArea, CaptureRequest, CompareRequest, Comparison, ParseOptions, Quiet,
    Result,
};
use tokio::time::Instant;
use tonic::Code;

use super::lookout::Sighting;
use super::{Flow, Runner, View, halt};
use crate::effect::{self, Evidence, Rule};
use crate::task::ActionRecord;
use crate::task::event::Event;
use crate::task::retry::{self, Way};

/// Why an action is not judged that acted where nobody looks.
const HIDDEN: &str = "it acted where a secret was entered, which is hidden";
/// Why an action is not judged that was performed by a run which has gone away.
const UNWATCHED: &str = "nobody watched what it did";
/// So much longer is waited when the effect of an action is looked for once more.
const ONCE_MORE: u32 = 2;

/// How long to wait for the first change, and altogether.
struct Patience {
    first_change: Duration,
    altogether: Duration,
}

/// Applications that start and pages that load take longer than a button that answers. The first-change times are
/// also the no-effect windows: nothing is repeated before they are over.
fn patience(kind: ActionKind) -> Patience {
    let (first_change, altogether) = match kind {
        ActionKind::OpenApplication | ActionKind::OpenUrl => (5000, 10_000),
        ActionKind::GoToUrl | ActionKind::GoBack | ActionKind::GoForward | ActionKind::Refresh => {
            (2000, 5000)
        }
        ActionKind::Click | ActionKind::FocusWindow | ActionKind::MouseUp | ActionKind::Drag => {
            (1000, 2500)
        }
        ActionKind::KeyChord | ActionKind::HoldKey | ActionKind::TypeText | ActionKind::Paste => {
            (600, 2500)
        }
        _ => (300, 2000),
    };
    Patience {
        first_change: Duration::from_millis(first_change),
        altogether: Duration::from_millis(altogether),
    }
}

/// What was done, and what the screen was before it.
pub(super) struct Deed<'a> {
    pub(super) id: &'a ActionId,
    pub(super) action: &'a Action<CapturePoint>,
    pub(super) target: Option<CaptureRect>,
    /// The step ends with it, unless it is tried again.
    pub(super) is_last: bool,
}

impl Runner {
    /// Judges an action, notes its effect, and says whether and how it is tried again.
    pub(super) async fn settle(&mut self, deed: Deed<'_>) -> Flow {
        let began = Instant::now();
        let before = self
            .view
            .as_ref()
            .map(|view| view.latest.clone())
            .expect("an action follows an observation");
        let effect = self.judge(&deed, &before, 1).await?;
        let mut way = self.note_effect(deed.id, effect);
        if way == Some(Way::LookedAgain) {
            self.note_way(deed.id, Way::LookedAgain);
            let effect = self.judge(&deed, &before, ONCE_MORE).await?;
            way = self.note_effect(deed.id, effect);
        }
        if let Some(way) = way {
            self.upcoming = None;
            self.note_way(deed.id, way);
        }
        self.timed("settle", began);
        Ok(())
    }

    /// Judges the last action of the open step, which was performed by a run that did not come to judging it. With the
    /// frame from before it, that is said as well as ever; nobody may have that frame any more.
    pub(super) async fn judge_what_was_left(&mut self) -> Flow {
        let Some(step) = self.task.open_step() else {
            return Ok(());
        };
        let Some(record) = step.actions.last().cloned() else {
            return Ok(());
        };
        // What earlier actions of the step did shows as well.
        let before = step
            .frame
            .clone()
            .filter(|_| step.actions.len() == 1 && record.retries == 0);
        if self.view.is_none() {
            let observation = self.look(false).await?;
            self.view = Some(View::of(observation));
        }
        let (Some(before), Some(view)) = (before, &mut self.view) else {
            let effect = effect::unknown(UNWATCHED.to_owned());
            self.note_effect(&record.action_id, effect);
            return Ok(());
        };
        view.latest = *before;
        self.settle(Deed {
            id: &record.action_id,
            action: &record.action,
            target: record.target,
            is_last: false,
        })
        .await
    }

    /// Takes the effect into the task, and gives the rung of the ladder that follows.
    fn note_effect(&mut self, id: &ActionId, effect: Effect) -> Option<Way> {
        let changed = !matches!(effect.verdict, Verdict::NoEffect | Verdict::EndReached);
        if let Some(view) = &mut self.view {
            view.stale |= changed;
        }
        let record = self.task.open_step().and_then(|step| step.actions.last());
        let way = record.and_then(|record| retry::next(record, &effect, self.conduct.scroll_back));
        let judged = Event::EffectJudged {
            action_id: id.clone(),
            effect: Box::new(effect),
        };
        self.journal.defer(&mut self.task, judged);
        way
    }

    fn note_way(&mut self, id: &ActionId, way: Way) {
        let record = self.task.open_step().and_then(|step| step.actions.last());
        let attempts = record.map_or(0, |record| record.retries) + 1;
        let retried = Event::ActionRetried {
            action_id: id.clone(),
            attempts,
            reason: retry::reason(way, attempts),
            way,
        };
        self.journal.defer(&mut self.task, retried);
    }

    async fn judge(&mut self, deed: &Deed<'_>, before: &Frame, times: u32) -> Flow<Effect> {
        let Deed { action, target, .. } = *deed;
        // What is hidden is not judged, and what moves anyway is no effect.
        let hidden = self.task.secret_fields.boxes_beside(action);
        let stirring = self.stirring_places();
        let ignore = [hidden.as_slice(), stirring.as_slice()].concat();
        let quiet = match self.await_quiet(deed, before, times, &ignore).await? {
            Ok(quiet) => quiet,
            Err(report) => return self.cannot_judge(report),
        };
        let near = target.map(effect::near);
        let noise = [quiet.noise.as_slice(), &ignore].concat();
        let (after, comparison) = match self.compare_after(deed, before, near, noise).await? {
            Ok(compared) => compared,
            Err(report) => return self.cannot_judge(report),
        };
        if let Some(view) = &mut self.view {
            view.latest = after.clone();
        }
        let judged = effect::judge(
            Evidence {
                action,
                target,
                before,
                after: &after,
                comparison,
                quiet: &quiet,
                stirring: &stirring,
            },
            self.conduct.effect,
        );
        let may_be_hidden = match near {
            Some(near) => hidden.iter().any(|field| field.intersects(&near)),
            None => action.entered_secret().is_some() && !hidden.is_empty(),
        };
        if may_be_hidden && judged.verdict == Verdict::NoEffect {
            return Ok(Effect {
                settle_time: judged.settle_time,
                ..effect::unknown(HIDDEN.to_owned())
            });
        }
        let is_nothing = matches!(judged.verdict, Verdict::NoEffect | Verdict::EndReached);
        if !is_nothing || stirring.is_empty() {
            return Ok(judged);
        }
        // That a clock goes on is nobody's doing, wherever it is.
        let everything = CompareRequest {
            ignore: [hidden, self.clocks()].concat(),
            ..CompareRequest::new(before.id.clone(), after.id)
        };
        self.doubt(judged, action, near, everything).await
    }

    /// What happened where something moves anyway was not counted: that is no proof that nothing happened.
    async fn doubt(
        &mut self,
        judged: Effect,
        action: &Action<CapturePoint>,
        near: Option<CaptureRect>,
        request: CompareRequest,
    ) -> Flow<Effect> {
        let Ok(everything) = self.compare(request.clone()).await? else {
            return Ok(judged);
        };
        if !effect::is_obscured(action, near, &everything.change)
            || self.was_so_before(action, near, &request).await?
        {
            return Ok(judged);
        }
        match near {
            Some(near) => self.judge_by_text(judged, near).await,
            None => Ok(effect::obscured(judged)),
        }
    }

    /// Whether the screen looks as it did at some time before the action: what moves has come back to where it was, as
    /// carets do.
    async fn was_so_before(
        &mut self,
        action: &Action<CapturePoint>,
        near: Option<CaptureRect>,
        request: &CompareRequest,
    ) -> Flow<bool> {
        for before in self.idle_frames.clone() {
            let request = CompareRequest {
                before,
                ..request.clone()
            };
            // A frame that is not known any more says nothing.
            if let Ok(comparison) = self.compare(request).await?
                && !effect::is_obscured(action, near, &comparison.change)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What an action that had no effect has done after all, since it was judged.
    pub(super) async fn late_effect(
        &mut self,
        record: &ActionRecord,
        baseline: &Frame,
    ) -> Flow<Option<Effect>> {
        let hidden = self.task.secret_fields.boxes();
        let now = self.frame_of_now(&hidden).await?;
        let stirring = self.stirring_places();
        let compare = CompareRequest {
            ignore: [hidden.as_slice(), stirring.as_slice()].concat(),
            near: record.target.map(effect::near).into_iter().collect(),
            ..CompareRequest::new(baseline.id.clone(), now.id.clone())
        };
        let comparison = match self.compare(compare).await? {
            Ok(comparison) => comparison,
            Err(report) => return self.cannot_judge(report).map(Some),
        };
        let judged = effect::judge(
            Evidence {
                action: &record.action,
                target: record.target,
                before: baseline,
                after: &now,
                comparison,
                quiet: &Quiet {
                    settled: true,
                    changed: true,
                    elapsed: Duration::ZERO,
                    first_change_after: None,
                    still_changing: Vec::new(),
                    noise: Vec::new(),
                },
                stirring: &stirring,
            },
            Rule::Places,
        );
        let came = !matches!(judged.verdict, Verdict::NoEffect | Verdict::EndReached);
        if let Some(view) = &mut self.view {
            view.latest = now;
            view.stale |= came;
        }
        Ok(came.then_some(judged))
    }

    async fn await_quiet(
        &mut self,
        deed: &Deed<'_>,
        before: &Frame,
        times: u32,
        ignore: &[CaptureRect],
    ) -> Flow<Result<Quiet>> {
        let Patience {
            first_change,
            altogether,
        } = patience(deed.action.kind());
        let request = AwaitQuiet {
            display: self.display(),
            since_frame: Some(before.id.clone()),
            first_change_timeout: first_change * times,
            timeout: altogether * times,
            ignore: ignore.to_vec(),
            ..AwaitQuiet::default()
        };
        self.ask_for_answer("waiting until the screen is quiet", move |ports| {
            let request = request.clone();
            async move { ports.perception.await_quiet(request).await }
        })
        .await
    }

    /// Captures the screen and compares it. Where the step may end with this action, the screen is looked at for the
    /// next step meanwhile.
    async fn compare_after(
        &mut self,
        deed: &Deed<'_>,
        before: &Frame,
        near: Option<CaptureRect>,
        noise: Vec<CaptureRect>,
    ) -> Flow<Result<(Frame, Comparison)>> {
        // Where a secret went is known only after this.
        if deed.is_last && deed.action.entered_secret().is_none() {
            self.begin_next_look().await?;
        }
        let hidden = self.task.secret_fields.boxes_beside(deed.action);
        let after = self.frame_of_now(&hidden).await?;
        let compare = CompareRequest {
            ignore: noise,
            near: near.into_iter().collect(),
            ..CompareRequest::new(before.id.clone(), after.id.clone())
        };
        let comparison = self.compare(compare).await?;
        Ok(comparison.map(|comparison| (after, comparison)))
    }

    /// The screen without the pointer, which follows every click and is no effect of it.
    pub(super) async fn frame_of_now(&mut self, hidden: &[CaptureRect]) -> Flow<Frame> {
        let capture = CaptureRequest {
            display: self.display(),
            omit_cursor: true,
            redactions: self.painted_over(hidden),
            ..CaptureRequest::default()
        };
        let captured = self
            .ask("looking at the screen", move |ports| {
                let request = capture.clone();
                async move { ports.perception.capture(request).await }
            })
            .await?;
        Ok(captured.frame)
    }

    pub(super) async fn compare(&mut self, request: CompareRequest) -> Flow<Result<Comparison>> {
        self.ask_for_answer("comparing the screen", move |ports| {
            let request = request.clone();
            async move { ports.perception.compare(request).await }
        })
        .await
    }

    /// Something moves at the target anyway, so that its pixels say nothing: what can be read there does.
    async fn judge_by_text(&mut self, judged: Effect, near: CaptureRect) -> Flow<Effect> {
        let Some(view) = &self.view else {
            return Ok(judged);
        };
        let (scene, frame) = (&view.observation.scene, &view.observation.frame);
        let before = effect::text_within(scene, frame, near);
        let Some(area) = near.intersection(&view.latest.bounds()) else {
            return Ok(judged);
        };
        let area = CaptureArea::Region(area);
        let seen = self.look_at(area, ParseOptions::default()).await?;
        let after = effect::text_within(&seen.scene, &seen.frame, near);
        Ok(effect::by_text(judged, &before, &after))
    }

    /// What was on the screen before is not known any more: Perception was restarted, or keeps too few frames.
    fn cannot_judge(&mut self, report: ErrorReport) -> Flow<Effect> {
        if report.code != Code::NotFound {
            return Err(halt("judging an action", report));
        }
        self.view = None;
        Ok(effect::unknown(report.message))
    }

    /// What is known to move anyway: the clocks of the screen, and what was seen to.
    pub(super) fn stirring_places(&self) -> Vec<CaptureRect> {
        [self.clocks(), self.stirring.noise()].concat()
    }

    fn clocks(&self) -> Vec<CaptureRect> {
        let observed = self.view.as_ref().map(|view| &view.observation);
        let clocks =
            observed.map(|seen| effect::clocks(&seen.scene, &seen.frame, &self.stirring.noise()));
        clocks.unwrap_or_default()
    }

    /// What was seen to move since the look of the step. After its first action there is nothing of the kind.
    fn take_in_sightings(&mut self, latest: &Frame) {
        self.idle_frames.clear();
        let Some(lookout) = self.lookout.take() else {
            return;
        };
        let seen = self.tape.sighting(|| lookout.end().noted());
        let sighting = Sighting::of(seen);
        for changed in &sighting.changes {
            self.stirring.add(changed);
        }
        self.idle_frames = sighting.frames;
        self.idle_frames.push(latest.id.clone());
    }

    /// Looks what has changed by itself since the last look: what does so again and again is no effect of anything. `None`
    /// if what was there is not known any more.
    pub(super) async fn note_stirring(&mut self) -> Flow<Option<ChangeMap>> {
        let Some(latest) = self.view.as_ref().map(|view| view.latest.clone()) else {
            return Ok(None);
        };
        self.take_in_sightings(&latest);
        let hidden = self.task.secret_fields.boxes();
        let now = self.frame_of_now(&hidden).await?;
        let compare = CompareRequest {
            ignore: hidden,
            ..CompareRequest::new(latest.id, now.id.clone())
        };
        let change = match self.compare(compare).await? {
            Ok(comparison) => Some(comparison.change),
            // Perception has forgotten the frame before; then there is nothing to be learnt from it.
            Err(report) if report.code == Code::NotFound => None,
            Err(report) => return Err(halt("comparing the screen", report)),
        };
        if let Some(change) = &change {
            self.stirring.note(change);
        }
        if let Some(view) = &mut self.view {
            view.latest = now;
        }
        Ok(change)
    }
}
