//! Runs CPU-bound or blocking work off the threads that serve connections.
//!
//! It does not limit how much work waits: callers do.

use tracing::Span;

/// Runs `work` on the blocking thread pool, in the current span. A panic propagates to the caller.
///
/// Dropping the future does not stop the work, which runs to its end in the background.
pub async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let span = Span::current();
    match tokio::task::spawn_blocking(move || span.in_scope(work)).await {
        Ok(value) => value,
        Err(error) => match error.try_into_panic() {
            Ok(payload) => std::panic::resume_unwind(payload),
            // Only a runtime that shuts down cancels such a task, and it cancels the caller too.
            Err(_) => std::future::pending().await,
        },
    }
}

#[cfg(test)]
mod tests {
    #[tokio::test]
    async fn blocking_work_returns_its_result() {
        assert_eq!(super::run(|| 6 * 7).await, 42);
    }

    #[tokio::test]
    #[should_panic(expected = "in the work")]
    async fn panic_in_blocking_work_reaches_the_caller() {
        super::run(|| panic!("in the work")).await;
    }
}
