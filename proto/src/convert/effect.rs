use super::{
    duration, into_messages, non_empty, optional, require, required_enum, try_from_messages,
    wire_duration,
};
use crate::domain::effect::{
    ActionOutcome, ActionResult, ChangeMap, ChangedRegion, Effect, Verdict,
};
use crate::error::FieldError;
use crate::v1::common as wire;

impl TryFrom<wire::ChangedRegion> for ChangedRegion {
    type Error = FieldError;

    fn try_from(region: wire::ChangedRegion) -> Result<Self, FieldError> {
        Ok(Self {
            bounds: require("bounds", region.bounds)?,
            changed_pixels: region.changed_pixels,
        })
    }
}

impl From<ChangedRegion> for wire::ChangedRegion {
    fn from(region: ChangedRegion) -> Self {
        Self {
            bounds: Some(region.bounds.into()),
            changed_pixels: region.changed_pixels,
        }
    }
}

impl TryFrom<wire::ChangeMap> for ChangeMap {
    type Error = FieldError;

    fn try_from(map: wire::ChangeMap) -> Result<Self, FieldError> {
        Ok(Self {
            changed_share: map.changed_share,
            changed_pixels: map.changed_pixels,
            regions: try_from_messages("regions", map.regions)?,
            size_differs: map.size_differs,
            background_motion: try_from_messages("background_motion", map.background_motion)?,
        })
    }
}

impl From<ChangeMap> for wire::ChangeMap {
    fn from(map: ChangeMap) -> Self {
        Self {
            changed_share: map.changed_share,
            changed_pixels: map.changed_pixels,
            regions: into_messages(map.regions),
            size_differs: map.size_differs,
            background_motion: into_messages(map.background_motion),
        }
    }
}

impl From<Verdict> for wire::EffectVerdict {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Confirmed => Self::Confirmed,
            Verdict::ChangedElsewhere => Self::ChangedElsewhere,
            Verdict::NoEffect => Self::NoEffect,
            Verdict::Unknown => Self::Unknown,
            Verdict::EndReached => Self::EndReached,
        }
    }
}

fn verdict(number: i32) -> Result<Verdict, FieldError> {
    use wire::EffectVerdict as Wire;

    required_enum("verdict", number, |verdict| match verdict {
        Wire::Unspecified => None,
        Wire::Confirmed => Some(Verdict::Confirmed),
        Wire::ChangedElsewhere => Some(Verdict::ChangedElsewhere),
        Wire::NoEffect => Some(Verdict::NoEffect),
        Wire::Unknown => Some(Verdict::Unknown),
        Wire::EndReached => Some(Verdict::EndReached),
    })
}

impl TryFrom<wire::Effect> for Effect {
    type Error = FieldError;

    fn try_from(effect: wire::Effect) -> Result<Self, FieldError> {
        Ok(Self {
            verdict: verdict(effect.verdict)?,
            change: optional("change", effect.change)?.unwrap_or_default(),
            share_near_target: effect.share_near_target,
            window_changed: effect.window_changed,
            explanation: effect.explanation,
            settled: effect.settled,
            settle_time: duration("settle_time", effect.settle_time)?.unwrap_or_default(),
        })
    }
}

impl From<Effect> for wire::Effect {
    fn from(effect: Effect) -> Self {
        Self {
            verdict: wire::EffectVerdict::from(effect.verdict).into(),
            change: Some(effect.change.into()),
            share_near_target: effect.share_near_target,
            window_changed: effect.window_changed,
            explanation: effect.explanation,
            settled: effect.settled,
            settle_time: Some(wire_duration(effect.settle_time)),
        }
    }
}

impl From<ActionResult> for wire::ActionResult {
    fn from(result: ActionResult) -> Self {
        match result {
            ActionResult::Performed => Self::Performed,
            ActionResult::Refused => Self::Refused,
            ActionResult::Failed => Self::Failed,
            ActionResult::Unknown => Self::Unknown,
            ActionResult::Cancelled => Self::Cancelled,
        }
    }
}

fn result(number: i32) -> Result<ActionResult, FieldError> {
    use wire::ActionResult as Wire;

    required_enum("result", number, |result| match result {
        Wire::Unspecified => None,
        Wire::Performed => Some(ActionResult::Performed),
        Wire::Refused => Some(ActionResult::Refused),
        Wire::Failed => Some(ActionResult::Failed),
        Wire::Unknown => Some(ActionResult::Unknown),
        Wire::Cancelled => Some(ActionResult::Cancelled),
    })
}

impl TryFrom<wire::ActionOutcome> for ActionOutcome {
    type Error = FieldError;

    fn try_from(outcome: wire::ActionOutcome) -> Result<Self, FieldError> {
        Ok(Self {
            result: result(outcome.result)?,
            rule: non_empty(outcome.rule),
            detail: outcome.detail,
            pointer: optional("pointer", outcome.pointer)?,
            elapsed: duration("elapsed", outcome.elapsed)?.unwrap_or_default(),
            already_performed: outcome.already_performed,
        })
    }
}

impl From<ActionOutcome> for wire::ActionOutcome {
    fn from(outcome: ActionOutcome) -> Self {
        Self {
            result: wire::ActionResult::from(outcome.result).into(),
            rule: outcome.rule.unwrap_or_default(),
            detail: outcome.detail,
            pointer: outcome.pointer.map(Into::into),
            elapsed: Some(wire_duration(outcome.elapsed)),
            already_performed: outcome.already_performed,
        }
    }
}
