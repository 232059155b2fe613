//! Writes the final answer of a task that ends without one.
//!
//! A model writes it from the record of the task, within a time limit of its own: the task's limit may be the reason of the
//! end. Without a model, or if none answers in time, the answer is computed ([`motorium_task::summary`]).

use std::time::Duration;

use motorium_messages::Message;
use motorium_proto::domain::decision::{RemainingLimits, Usage};
use motorium_proto::service::{SummarizeRequest, Summary};

use super::context::RunContext;
use super::decide::history;
use super::recorder::ExchangeTexts;
use super::{RunResult, StopReason, hooks};
use crate::error::reason;
use motorium_task::event::Event;
use motorium_task::{limits, summary};

/// Default time limit for a model to write the answer. Two or three sentences take models 2 to 6 s.
pub const DEFAULT_SUMMARY_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit after a stop: the call that cancels a task waits 5 s, of which stopping the input may take 2.5 s.
const STOPPED_SUMMARY_TIMEOUT: Duration = Duration::from_secs(2);

/// Records the answer if the end has none, and returns its text.
pub(super) async fn write(run: &mut RunContext, end: &Event) -> RunResult<Option<String>> {
    let Some(timeout) = run.config.summary_timeout else {
        return Ok(None);
    };
    let Some(computed) = summary::summarise(run.task(), end) else {
        return Ok(None);
    };
    let written = match wants_model(run, end, timeout) {
        true => ask_model(run, end, timeout, &computed).await?,
        false => None,
    };
    let Summary {
        text,
        usage,
        requests,
        responses,
    } = written.unwrap_or_else(|| Summary {
        text: computed.clone(),
        usage: Usage::default(),
        requests: Vec::new(),
        responses: Vec::new(),
    });
    let by_model = text != computed;
    let text = hooks::final_text(run, text).await;
    let exchange = ExchangeTexts {
        requests,
        responses,
    };
    // The answer counts, whether or not its exchange can be stored; storing logs its own failure.
    let exchange = run.store_exchange(&exchange, "summary").await;
    run.defer(Event::Summarized {
        text: text.clone(),
        usage,
        by_model,
        exchange: exchange.unwrap_or_default(),
    });
    hooks::after_usage(run, usage).await;
    Ok(Some(text))
}

/// Returns whether a model is asked. A planner that gave up has just said why in its own words, and a task that decided
/// nothing has no record to write about.
fn wants_model(run: &RunContext, end: &Event, timeout: Duration) -> bool {
    let gave_up =
        matches!(end, Event::Failed(failure) if failure.reason == reason::PLANNER_GAVE_UP);
    let has_record = run.task().steps.iter().any(|step| step.decision.is_some());
    !timeout.is_zero() && !gave_up && has_record
}

/// Asks the Planner. `None` if it does not answer in time, or a hook denies the call.
async fn ask_model(
    run: &mut RunContext,
    end: &Event,
    timeout: Duration,
    computed: &str,
) -> RunResult<Option<Summary>> {
    if !hooks::may_summarise(run).await {
        return Ok(None);
    }
    let request = request(run, end, computed);
    let is_stopped = matches!(end, Event::Cancelled { .. });
    let timeout = match is_stopped {
        true => timeout.min(STOPPED_SUMMARY_TIMEOUT),
        false => timeout,
    };
    let planner = run.ports.planner.clone();
    let answered = tokio::select! {
        biased;
        // A task that is being cancelled has received its stop already.
        stop = run.interrupts.stop.requested(), if !is_stopped => {
            run.recording().stopped();
            return match stop {
                StopReason::Cancelled => Ok(None),
                stop => Err(stop.into()),
            };
        }
        answered = planner.summarize(request) => answered,
        () = run.recording().deadline(timeout) => {
            run.recording().timed_out();
            return Ok(None);
        }
    };
    match answered {
        Ok(summary) => Ok(Some(summary)),
        Err(report) => {
            tracing::debug!(task = %run.task().spec.name, %report, "no summary by a model");
            if report.usage().calls > 0 {
                run.record_failed_model_call("summary", &report).await;
            }
            Ok(None)
        }
    }
}

fn request(run: &RunContext, end: &Event, computed: &str) -> SummarizeRequest {
    let task = run.task();
    let answer = match end {
        Event::Failed(failure) => failure.message.clone(),
        Event::Cancelled { reason } if reason.is_empty() => task.text(Message::TaskCancelled),
        Event::Cancelled { reason } => task.text(Message::TaskCancelledBecause { reason }),
        _ => String::new(),
    };
    SummarizeRequest {
        goal: task.spec.goal.clone(),
        history: history(task),
        answer,
        succeeded: matches!(end, Event::Succeeded { .. }),
        language: task.spec.language.clone(),
        backends: task.spec.backends.clone(),
        // Neither steps nor time are needed; tokens and money are still limited.
        remaining: RemainingLimits {
            steps: None,
            time: None,
            ..limits::remaining(task, run.now())
        },
        fallback: computed.to_owned(),
    }
}
