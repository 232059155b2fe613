//! Events of a task, as tests inspect them.

use motorium_proto::v1::common::{ActionOutcome, ActionResult, Effect, EffectVerdict};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_task::{RecordedEvent, Task, invariants, view};

/// The events of a task, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct TaskEvents(pub(crate) Vec<wire::Event>);

impl TaskEvents {
    /// Returns the names of the event kinds.
    pub(crate) fn kinds(&self) -> Vec<String> {
        self.0.iter().map(kind).collect()
    }

    /// Asserts what holds for every task: the log's invariants, gapless sequence numbers, one final event, which comes
    /// last, and the state after each event.
    pub(crate) fn check(&self) {
        let numbers = self.0.iter().map(|event| event.sequence);
        let text = self.text();
        assert!(numbers.eq(1..=self.0.len() as i64), "gaps:\n{text}");
        let ends = self.0.iter().filter(|event| is_end(event)).count();
        assert!(
            ends == 1 && self.0.last().is_some_and(is_end),
            "no end, or not last:\n{text}"
        );
        let log: Vec<RecordedEvent> = self
            .0
            .iter()
            .map(|event| RecordedEvent::try_from(event.clone()).expect("we wrote it"))
            .collect();
        assert_eq!(invariants::violation(&log), None, "{text}");
        let mut task = Task::from_events(log.first().cloned()).expect("the creation comes first");
        for (event, recorded) in self.0.iter().zip(&log) {
            task.apply(recorded);
            let state = view::state(&task.lifecycle);
            assert_eq!(event.state(), state, "event {}:\n{text}", event.sequence);
        }
    }

    /// Formats one line per event, for failed assertions.
    pub(crate) fn text(&self) -> String {
        let line = |event: &wire::Event| {
            let words: String = format!("{:?}", event.kind).chars().take(200).collect();
            format!("{:>3} {words}", event.sequence)
        };
        self.0.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        self.0.iter().filter(|event| kind(event) == name).count()
    }

    /// Maps the events that `choose` selects.
    pub(crate) fn all<T>(&self, choose: impl Fn(&Kind) -> Option<T>) -> Vec<T> {
        let kinds = self.0.iter().filter_map(|event| event.kind.as_ref());
        kinds.filter_map(choose).collect()
    }

    /// Returns the results of actions, in order.
    pub(crate) fn results(&self) -> Vec<ActionResult> {
        self.outcomes().iter().map(ActionOutcome::result).collect()
    }

    pub(crate) fn outcomes(&self) -> Vec<ActionOutcome> {
        self.all(|kind| match kind {
            Kind::ActionPerformed(performed) => performed.outcome.clone(),
            _ => None,
        })
    }

    pub(crate) fn verdicts(&self) -> Vec<EffectVerdict> {
        let effects: Vec<Effect> = self.all(|kind| match kind {
            Kind::EffectJudged(judged) => judged.effect.clone(),
            _ => None,
        });
        effects.iter().map(Effect::verdict).collect()
    }

    /// Returns the answer of a succeeded task.
    pub(crate) fn answer(&self) -> String {
        match self.0.last().and_then(|event| event.kind.clone()) {
            Some(Kind::Succeeded(end)) => end.answer,
            _ => panic!("it did not succeed:\n{}", self.text()),
        }
    }

    /// Returns the reason and message of a failed task.
    pub(crate) fn failure(&self) -> (String, String) {
        match self.0.last().and_then(|event| event.kind.clone()) {
            Some(Kind::Failed(end)) => {
                let failure = end.failure.expect("a failure has a reason");
                (failure.reason, failure.message)
            }
            _ => panic!("it did not fail:\n{}", self.text()),
        }
    }

    /// Asserts that the task failed with this reason and message.
    pub(crate) fn check_failure(&self, reason: &str, words: &str) {
        self.check();
        let (given, message) = self.failure();
        assert_eq!(given, reason, "{message}");
        assert!(message.contains(words), "{message}");
    }
}

/// Returns the name of an event's kind.
pub(crate) fn kind(event: &wire::Event) -> String {
    let words = format!("{:?}", event.kind.as_ref());
    let name = words.trim_start_matches("Some(");
    let camel = name.chars().take_while(|letter| letter.is_alphanumeric());
    let mut snake = String::new();
    for letter in camel {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

pub(crate) fn is_end(event: &wire::Event) -> bool {
    matches!(
        event.kind,
        Some(Kind::Succeeded(_) | Kind::Failed(_) | Kind::Cancelled(_))
    )
}
