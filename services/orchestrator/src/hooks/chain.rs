//! Asking one hook after the other.
//!
//! The first that denies is the last that is asked. What one changes, the next ones see. A hook that panics, fails or
//! hangs harms nobody: it counts as its configuration says.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt as _;
use futures::future::join_all;

use super::happening::{Happening, Point, Points};
use super::image_retention::ImageRetention;
use super::{Context, Error, Hook, OnError, Verdict};
use crate::error::reason;

/// Hooks, in the order in which they are asked.
#[derive(Debug, Clone)]
pub struct Chain(Vec<Arc<dyn Hook>>);

/// What is usual: the latest pictures are kept.
impl Default for Chain {
    fn default() -> Self {
        Self(vec![Arc::new(ImageRetention::default())])
    }
}

impl Chain {
    #[must_use]
    pub fn new(hooks: Vec<Arc<dyn Hook>>) -> Self {
        Self(hooks)
    }

    /// Asks this one after all others.
    pub fn push(&mut self, hook: Arc<dyn Hook>) {
        self.0.push(hook);
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|hook| hook.name())
    }

    /// The chain for one run of a task. Where the hooks want to be called is not known yet.
    #[must_use]
    pub fn listen(&self) -> Listening {
        let seat = |hook: &Arc<dyn Hook>| Seat {
            hook: Arc::clone(hook),
            known: Mutex::default(),
        };
        Listening {
            seats: self.0.iter().map(seat).collect(),
        }
    }
}

/// The chain during one run.
#[derive(Debug, Default)]
pub struct Listening {
    seats: Vec<Seat>,
}

#[derive(Debug)]
struct Seat {
    hook: Arc<dyn Hook>,
    known: Mutex<Known>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Known {
    /// `None`: it could not be asked.
    points: Option<Points>,
    /// It was said already that it cannot be asked.
    is_missed: bool,
}

/// A hook that has denied or changed something, or could not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intervention {
    pub hook: String,
    pub point: Point,
    /// What it says, what has changed, or why it had nothing to say.
    pub message: String,
    pub denied: bool,
}

/// Why something shall not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    pub hook: String,
    pub reason: String,
    /// It did not say so itself: it had nothing to say, and nothing happens without it.
    pub by_default: bool,
}

impl Denial {
    /// For the user and the model.
    #[must_use]
    pub fn words(&self) -> String {
        let Self { hook, reason, .. } = self;
        if self.by_default {
            format!("the hook {hook} has to agree and could not: {reason}")
        } else {
            format!("the hook {hook} denies it: {reason}")
        }
    }

    /// Why a task fails that cannot go on without what was denied.
    #[must_use]
    pub fn failure_reason(&self) -> &'static str {
        if self.by_default {
            reason::HOOK_FAILED
        } else {
            reason::HOOK_DENIED
        }
    }
}

/// What has come of asking.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Passage {
    pub interventions: Vec<Intervention>,
    pub denial: Option<Denial>,
}

impl Listening {
    /// Whether anybody may want to be called there.
    #[must_use]
    pub fn wants(&self, point: Point) -> bool {
        self.seats.iter().any(|seat| seat.may_want(point))
    }

    /// Asks everybody where they want to be called.
    pub async fn begin(&self) -> Passage {
        let asked = join_all(self.seats.iter().map(|seat| seat.wants(Point::BeforeRun))).await;
        let mut passage = Passage::default();
        for (seat, answer) in self.seats.iter().zip(asked) {
            if let Err(error) = answer {
                seat.fail(Point::BeforeRun, &error, &mut passage);
            }
        }
        passage
    }

    /// Asks everybody who wants to be asked there, in order.
    pub async fn pass(&self, context: &Context<'_>, happening: &mut Happening<'_>) -> Passage {
        let mut passage = Passage::default();
        for seat in &self.seats {
            seat.ask(context, happening, &mut passage).await;
            if passage.denial.is_some() {
                break;
            }
        }
        self.tell(context, &passage.interventions).await;
        passage
    }

    /// Tells everybody what has come of asking.
    pub async fn tell(&self, context: &Context<'_>, interventions: &[Intervention]) {
        for intervention in interventions {
            for seat in &self.seats {
                let told = seat.hook.noticed(context, intervention);
                let told = seat.contained(async {
                    told.await;
                    Ok(())
                });
                if let Err(error) = told.await {
                    tracing::warn!(hook = seat.hook.name(), %error, "a hook could not be told");
                }
            }
        }
    }
}

impl Seat {
    fn known(&self) -> Known {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn know(&self, known: Known) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }

    fn may_want(&self, point: Point) -> bool {
        self.known()
            .points
            .is_none_or(|points| points.contains(point))
    }

    async fn wants(&self, point: Point) -> Result<bool, Error> {
        if self.known().points.is_none() {
            let points = self.contained(self.hook.points()).await?;
            self.know(Known {
                points: Some(points),
                is_missed: false,
            });
        }
        Ok(self.may_want(point))
    }

    async fn ask(&self, context: &Context<'_>, happening: &mut Happening<'_>, into: &mut Passage) {
        let point = happening.point();
        match self.wants(point).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return self.fail(point, &error, into),
        }
        let verdict = self.contained(self.hook.call(context, happening)).await;
        let verdict = match verdict {
            Ok(verdict) if point.is_asked() => verdict,
            Ok(_) => return,
            Err(error) => return self.fail(point, &error, into),
        };
        match verdict {
            Verdict::Continue => {}
            Verdict::Deny { reason } => self.deny(point, reason, false, into),
            Verdict::Amend(amendment) => match happening.amend(amendment) {
                Ok(Some(message)) if self.hook.is_noted() => {
                    into.interventions.push(Intervention {
                        hook: self.hook.name().to_owned(),
                        point,
                        message,
                        denied: false,
                    });
                }
                Ok(_) => {}
                Err(error) => self.fail(point, &error, into),
            },
        }
    }

    /// What comes of a hook that has nothing to say. That one cannot be reached whose say is not needed is said once.
    fn fail(&self, point: Point, error: &Error, into: &mut Passage) {
        if point.is_asked() && self.hook.on_error() == OnError::Deny {
            self.forget_if_lost(error);
            return self.deny(point, error.to_string(), true, into);
        }
        let was_missed = self.known().is_missed;
        self.forget_if_lost(error);
        if !(was_missed && self.known().is_missed) {
            into.interventions.push(Intervention {
                hook: self.hook.name().to_owned(),
                point,
                message: format!("{error}; it is gone on without it"),
                denied: false,
            });
        }
    }

    /// Somebody else may be there next time.
    fn forget_if_lost(&self, error: &Error) {
        if matches!(error, Error::Unreachable(_)) {
            self.know(Known {
                points: None,
                is_missed: true,
            });
        }
    }

    fn deny(&self, point: Point, reason: String, by_default: bool, into: &mut Passage) {
        let hook = self.hook.name().to_owned();
        into.interventions.push(Intervention {
            hook: hook.clone(),
            point,
            message: reason.clone(),
            denied: true,
        });
        into.denial = Some(Denial {
            hook,
            reason,
            by_default,
        });
    }

    /// Awaits a hook, for as long as it may take; its panic is an error like others.
    async fn contained<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let most = self.hook.timeout();
        let work = AssertUnwindSafe(work).catch_unwind();
        match tokio::time::timeout(most, work).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(panic)) => Err(Error::Panicked(words_of(panic.as_ref()))),
            Err(_) => Err(Error::TimedOut(most)),
        }
    }
}

fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("without a word").to_owned()
}
