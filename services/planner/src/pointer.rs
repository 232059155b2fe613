//! Whether the pointer is on its target, by geometry alone.

use motorium_proto::domain::decision::Usage;
use motorium_proto::service::{PointerCheck, PointerRequest};

/// A pointer this near to its target is on it, in pixels (the origin's rule).
const TOLERANCE: i32 = 14;

/// Compares where the pointer is with where it should be.
#[must_use]
pub fn check(request: &PointerRequest) -> PointerCheck {
    let off = request.target - request.pointer;
    let is_inside = request
        .target_bounds
        .is_some_and(|bounds| bounds.contains(request.pointer));
    let is_near = off.to_i64().square_length() <= i64::from(TOLERANCE).pow(2);
    PointerCheck {
        on_target: is_inside || is_near,
        dx: off.x,
        dy: off.y,
        usage: Usage::default(),
    }
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};

    use super::*;

    #[track_caller]
    fn expect(pointer: (i32, i32), bounds: Option<CaptureRect>, expected: (bool, i32, i32)) {
        let request = PointerRequest {
            intent: String::new(),
            target: CapturePoint::new(100, 100),
            target_bounds: bounds,
            pointer: CapturePoint::new(pointer.0, pointer.1),
            marked_image: None,
            backends: Vec::new(),
        };
        let check = check(&request);
        assert_eq!(
            (check.on_target, check.dx, check.dy),
            expected,
            "{pointer:?}"
        );
    }

    #[test]
    fn near_or_inside_is_on_target() {
        let wide = CaptureRect::new(CapturePoint::new(0, 90), CapturePoint::new(400, 110));
        expect((100, 100), None, (true, 0, 0));
        expect((114, 100), None, (true, -14, 0));
        expect((110, 110), None, (false, -10, -10));
        expect((300, 95), Some(wide), (true, -200, 5));
        expect((300, 80), Some(wide), (false, -200, 20));
        expect((i32::MIN / 2, 0), None, (false, 100 - i32::MIN / 2, 100));
    }
}
