//! Strategies of retries, as events and records name them.

/// Strategy of a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RetryStrategy {
    /// The same action again, because nothing of it was sent.
    Unchanged,
    /// The point offset by a few pixels, inside the target.
    OffsetPoint,
    /// Another point of the target.
    OtherPoint,
    /// The point at which a new parse of the screen locates the target.
    RelocatedTarget,
    /// The scroll in the opposite direction.
    ReversedScroll,
    /// Nothing is sent; only the effect is observed again.
    ReobservedEffect,
}

impl RetryStrategy {
    /// Returns true if the strategy performs an action.
    #[must_use]
    pub fn performs_action(self) -> bool {
        self != RetryStrategy::ReobservedEffect
    }
}
