//! Conversion of the outcomes and effects of actions.
//!
//! Only tables: the effects are judged in the task crate.

use crate::domain::effect::{
    ActionOutcome, ActionResult, ChangeMap, ChangedRegion, Effect, Verdict,
};
use crate::error::FieldError;
use crate::v1::common as wire;

conversions! {
    wire::ChangedRegion => ChangedRegion {
        bounds: required,
        changed_pixels: same,
    }

    wire::ChangeMap => ChangeMap {
        changed_share: same,
        changed_pixels: same,
        regions: repeated,
        size_differs: same,
        background_motion: repeated,
    }

    wire::Effect => Effect {
        verdict: enumeration(verdict, wire::EffectVerdict),
        change: default,
        share_near_target: same,
        window_changed: same,
        explanation: same,
        settled: same,
        settle_time: default_duration,
    }

    wire::ActionOutcome => ActionOutcome {
        result: enumeration(result, wire::ActionResult),
        rule: text,
        detail: same,
        pointer: optional,
        elapsed: default_duration,
        already_performed: same,
        sent_nothing: same,
    }
}

enumerations! {
    required verdict("verdict"): wire::EffectVerdict => Verdict {
        Confirmed, ChangedElsewhere, NoEffect, Unknown, EndReached, TargetMoved, TextDiffers
    }

    required result("result"): wire::ActionResult => ActionResult {
        Performed, Refused, Failed, Unknown, Cancelled
    }
}
