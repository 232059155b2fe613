//! Declarations of all messages: ids and named arguments. The texts are in `locales/`.

use fluent_bundle::FluentArgs;

/// Declares the enum of messages with the ids and arguments that its texts have.
macro_rules! messages {
    ($(#[$attribute:meta])* $name:ident<$life:lifetime>: $(
        $variant:ident = $id:literal $({ $($argument:ident: $type:ty),+ $(,)? })?,
    )*) => {
        $(#[$attribute])*
        pub enum $name<$life> {
            $($variant $({ $($argument: $type),+ })?,)*
        }

        impl<$life> $name<$life> {
            /// Ids of all messages with the names of their arguments.
            #[cfg(test)]
            pub(crate) const DECLARED: &'static [(&'static str, &'static [&'static str])] =
                &[$(($id, &[$($(stringify!($argument)),+)?])),*];

            /// Returns the id of the message's texts.
            #[must_use]
            pub fn id(&self) -> &'static str {
                match self {
                    $($name::$variant { .. } => $id,)*
                }
            }

            pub(crate) fn arguments(&self) -> FluentArgs<'_> {
                let mut arguments = FluentArgs::new();
                match self {
                    $($name::$variant $({ $($argument),+ })? => {
                        $($(arguments.set(stringify!($argument), *$argument);)+)?
                    })*
                }
                arguments
            }
        }
    };
}

messages! {
    /// A message for people. Each variant is named after its id in the locale files.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    Message<'a>:

    // Composition
    ListSeparator = "list-separator",
    ClauseSeparator = "clause-separator",
    SentenceSeparator = "sentence-separator",
    WithDetail = "with-detail" { text: &'a str, detail: &'a str },
    QuotedLabel = "quoted-label" { text: &'a str },
    // Waits of a task that has not started
    DesktopsAwaited = "desktops-awaited" { holds: &'a str, position: u64 },
    DesktopHeld = "desktop-held" { desktop: &'a str, holder: &'a str },
    DesktopUnavailable = "desktop-unavailable" { desktop: &'a str },
    DesktopNotRegistered = "desktop-not-registered",
    StartTimeAwaited = "start-time-awaited",
    SessionAwaited = "session-awaited" { task: &'a str },
    // Limits of a task
    TimeLimit = "time-limit" { seconds: u64 },
    TimeLimitWhileWaiting = "time-limit-while-waiting" { seconds: u64, request: &'a str },
    StepLimit = "step-limit" { max: u64 },
    TokenLimit = "token-limit" { max: u64 },
    CostLimit = "cost-limit" { amount: &'a str },
    RiskLimit = "risk-limit" { max: u64, risk: &'a str },
    BudgetUsedUp = "budget-used-up" { usage: &'a str },
    BudgetNearlyUsed = "budget-nearly-used" { usage: &'a str },
    BudgetTokens = "budget-tokens" { used: &'a str, limit: &'a str },
    BudgetCost = "budget-cost" { used: &'a str, limit: &'a str },
    // Answer of a task that ends without one
    SummarySucceeded = "summary-succeeded" { done: &'a str },
    SummaryNothingNeeded = "summary-nothing-needed",
    SummaryFailed = "summary-failed" { reason: &'a str },
    SummaryStopped = "summary-stopped",
    SummaryStoppedBecause = "summary-stopped-because" { reason: &'a str },
    SummaryDone = "summary-done" { done: &'a str },
    SummaryNothingDone = "summary-nothing-done",
    SummaryRemaining = "summary-remaining" { remaining: &'a str },
    SummaryGoalRemains = "summary-goal-remains" { goal: &'a str },
    OutcomeExtracted = "outcome-extracted",
    // Verification of a success claim
    EvidenceNotVisible = "evidence-not-visible" { evidence: &'a str },
    TextNotOnScreen = "text-not-on-screen" { text: &'a str },
    WindowNotTitled = "window-not-titled" { title: &'a str },
    FileMissing = "file-missing" { name: &'a str },
    DataNotExtracted = "data-not-extracted" { json: &'a str },
    ClaimNotSupported = "claim-not-supported" { missing: &'a str },
    GoalNotReached = "goal-not-reached" { missing: &'a str },
    // Loop detection
    LoopRepetition = "loop-repetition" { intents: &'a str },
    LoopCycle = "loop-cycle" { intents: &'a str },
    LoopStagnation = "loop-stagnation" { steps: usize, intents: &'a str },
    LoopAdvice = "loop-advice" { pattern: &'a str },
    LoopBlocked = "loop-blocked" { pattern: &'a str },
    LoopQuestion = "loop-question" { pattern: &'a str },
    LoopRefusal = "loop-refusal" { intents: &'a str, times: usize },
    // Files that the user attaches
    FileAttached = "file-attached" { name: &'a str, path: &'a str },
    FileNotAttached = "file-not-attached" { name: &'a str, error: &'a str },
    FilesSent = "files-sent" { names: &'a str },
    // Take-over and pause
    TakenOverBy = "taken-over-by" { user: &'a str },
    TakenOver = "taken-over",
    StepAbandoned = "step-abandoned",
    PersonAlso = "person-also" { action: &'a str },
    HandedBack = "handed-back",
    HandedBackAfter = "handed-back-after" { actions: &'a str },
    HandedBackMessage = "handed-back-message" { message: &'a str },
    Acknowledged = "acknowledged",
    PausedOnRequest = "paused-on-request",
    PausedOnInput = "paused-on-input",
    // Manual actions of a person
    PersonClicked = "person-clicked" { x: i32, y: i32, button: &'a str },
    PersonClickedElement = "person-clicked-element" { element: &'a str, x: i32, y: i32, button: &'a str },
    PersonTyped = "person-typed" { characters: u32 },
    PersonPressed = "person-pressed" { keys: &'a str },
    PersonScrolled = "person-scrolled" { x: i32, y: i32 },
    TextField = "text-field",
    // Approvals
    ApprovalDenied = "approval-denied" { intent: &'a str },
    ApprovalExpired = "approval-expired" { intent: &'a str },
    ApprovalInvalidated = "approval-invalidated" { intent: &'a str },
    ApprovalNotRepeated = "approval-not-repeated",
    ApprovalUsedTooLate = "approval-used-too-late",
    ApprovalScreenChanged = "approval-screen-changed",
    ApprovalMoreRules = "approval-more-rules",
    ApprovalTargetUnsteady = "approval-target-unsteady",
    ProviderWarning = "provider-warning" { code: &'a str, message: &'a str },
    CallWithArguments = "call-with-arguments" { name: &'a str, tool: &'a str, arguments: &'a str },
    // Policy
    PolicyDenial = "policy-denial" { action: &'a str, rules: &'a str, reasons: &'a str },
    RuleApplies = "rule-applies" { rule: &'a str },
    RuleNotEvaluated = "rule-not-evaluated" { problem: &'a str },
    NoRulePermits = "no-rule-permits",
    TextFromScreen = "text-from-screen" { text: &'a str },
    TextFromExtraction = "text-from-extraction" { text: &'a str },
    TextFromFunction = "text-from-function" { text: &'a str, name: &'a str },
    TextFromClipboard = "text-from-clipboard",
    // Retries
    RetryUnsent = "retry-unsent",
    RetryReversedScroll = "retry-reversed-scroll",
    RetryReobserved = "retry-reobserved",
    RetryOffset = "retry-offset" { attempts: u32 },
    RetryOtherPoint = "retry-other-point" { attempts: u32 },
    RetryRelocated = "retry-relocated" { attempts: u32 },
    RetryUnobserved = "retry-unobserved",
    RetryWithoutElement = "retry-without-element" { intent: &'a str },
    RetryTargetLost = "retry-target-lost" { intent: &'a str },
    ScreenNotObserved = "screen-not-observed",
    ScreenNotObservedForPolicy = "screen-not-observed-for-policy",
    // Effects
    EffectWindow = "effect-window" { title: &'a str },
    EffectAtTarget = "effect-at-target" { pixels: u64 },
    EffectElsewhere = "effect-elsewhere" { pixels: u64 },
    EffectNone = "effect-none",
    EffectOwnLook = "effect-own-look",
    EffectTargetMoved = "effect-target-moved",
    EffectEndReached = "effect-end-reached",
    EffectNotSettled = "effect-not-settled",
    EffectObscured = "effect-obscured",
    EffectTextUnchanged = "effect-text-unchanged",
    EffectTextChanged = "effect-text-changed",
    EffectRedacted = "effect-redacted",
    EffectNotObserved = "effect-not-observed",
    // Pointer check
    PointerOffTarget = "pointer-off-target" { x: i32, y: i32, actual_x: i32, actual_y: i32, corrections: u32 },
    PointerQuestion = "pointer-question" { intent: &'a str, problem: &'a str },
    PointerNotMoved = "pointer-not-moved" { intent: &'a str, problem: &'a str },
    PointerNotReadable = "pointer-not-readable",
    // Function calls
    CallFunction = "call-function" { name: &'a str },
    CallingFunction = "calling-function" { name: &'a str },
    CallNotMade = "call-not-made" { reason: &'a str },
    CallOutcomeUnknown = "call-outcome-unknown" { reason: &'a str },
    CallInterrupted = "call-interrupted",
    CallInterruptedBefore = "call-interrupted-before",
    TaskInterrupted = "task-interrupted",
    TaskEndedBeforeResult = "task-ended-before-result",
    // Hooks
    HookDenied = "hook-denied" { hook: &'a str, reason: &'a str },
    HookFailed = "hook-failed" { hook: &'a str, reason: &'a str },
    HookDeniesRun = "hook-denies-run" { denial: &'a str },
    HookDeniesModelCall = "hook-denies-model-call" { denial: &'a str },
    HookDeniesScreenshot = "hook-denies-screenshot" { denial: &'a str },
    HookDeniesAction = "hook-denies-action" { intent: &'a str, denial: &'a str },
    HookDeniesFunction = "hook-denies-function" { name: &'a str, denial: &'a str },
    HookDeniesDecision = "hook-denies-decision" { denial: &'a str },
    HookDeniesText = "hook-denies-text" { denial: &'a str },
    HooksInterrupted = "hooks-interrupted",
    TextWithheld = "text-withheld",
    // Extraction and result files
    ExtractionFailed = "extraction-failed" { problem: &'a str },
    ResultCancelled = "result-cancelled",
    ResultTimedOut = "result-timed-out",
    ResultNotStored = "result-not-stored",
    // Command line: progress of a task
    ProgressStarting = "progress-starting",
    ProgressObserving = "progress-observing",
    ProgressStopping = "progress-stopping",
    ProgressObservingAgain = "progress-observing-again" { action: &'a str },
    ProgressRetrying = "progress-retrying" { action: &'a str },
    ProgressCalling = "progress-calling" { name: &'a str, arguments: &'a str },
    ProgressRecovered = "progress-recovered",
    ProgressSkipped = "progress-skipped" { backend: &'a str, problem: &'a str },
    ProgressLooks = "progress-looks" { looks: u32 },
    ProgressAttempts = "progress-attempts" { attempts: u32 },
    ProgressCopied = "progress-copied" { name: &'a str },
    ProgressFetched = "progress-fetched" { name: &'a str, path: &'a str },
    ProgressNotFetched = "progress-not-fetched" { problem: &'a str },
    ProgressNotComplete = "progress-not-complete" { missing: &'a str },
    ProgressDisturbed = "progress-disturbed" { problem: &'a str },
    ProgressTakenOver = "progress-taken-over",
    ProgressDesktopReleased = "progress-desktop-released" { desktop: &'a str },
    ProgressHandedBack = "progress-handed-back",
    ProgressPaused = "progress-paused" { reason: &'a str },
    ProgressInjection = "progress-injection" { quotes: &'a str },
    ProgressReturned = "progress-returned" { name: &'a str, result: &'a str },
    ProgressReturnedNothing = "progress-returned-nothing" { name: &'a str },
    ProgressCallFailed = "progress-call-failed" { name: &'a str, error: &'a str },
    ProgressRefused = "progress-refused" { rule: &'a str, detail: &'a str },
    ProgressApproved = "progress-approved",
    ProgressDenied = "progress-denied",
    ProgressApprovalExpired = "progress-approval-expired",
    ProgressApprovalInvalid = "progress-approval-invalid",
    TaskFailed = "task-failed" { reason: &'a str, message: &'a str },
    TaskCancelled = "task-cancelled",
    TaskCancelledBecause = "task-cancelled-because" { reason: &'a str },
    // Command line: questions
    PromptAnswer = "prompt-answer",
    PromptDone = "prompt-done",
    PromptApprove = "prompt-approve",
    HintAnswer = "hint-answer" { task: &'a str, flags: &'a str },
    HintApprove = "hint-approve" { approval: &'a str, flags: &'a str },
    RunCancelling = "run-cancelling" { cause: &'a str },
    RunCancelCause = "run-cancel-cause" { cause: &'a str },
    RunDetached = "run-detached" { task: &'a str, flags: &'a str },
    WatchEnded = "watch-ended" { task: &'a str },
    NobodyAnswers = "nobody-answers" { request: &'a str },
    HintNobodyAnswers = "hint-nobody-answers",
    HintNobodyAnswersInProcess = "hint-nobody-answers-in-process",
    ApprovedInAdvance = "approved-in-advance" { action: &'a str },
    SafetyCheckApprovedInAdvance = "safety-check-approved-in-advance" { code: &'a str, message: &'a str },
    UnfinishedTasks = "unfinished-tasks" { count: u64, names: &'a str },
    HintResume = "hint-resume" { task: &'a str },
    UpHint = "up-hint",
}
