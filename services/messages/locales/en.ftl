# English messages for people. `zh.ftl` has the same ids with the same arguments; a test compares the two.
# The format is Fluent: https://projectfluent.org/fluent/guide/

## Composition

list-separator = {", "}
clause-separator = {"; "}
sentence-separator = {" "}
with-detail = { $text }: { $detail }
quoted-label = "{ $text }"

## Waits of a task that has not started

desktops-awaited = waiting for a desktop: { $holds }; place { $position } in the queue
desktop-held = { $desktop } is held by { $holder }
desktop-unavailable = { $desktop } is unreachable or draining
desktop-not-registered = no registered desktop matches
start-time-awaited = waiting for its start time
session-awaited = waiting for the end of { $task }, which belongs to the same session

## Limits of a task

time-limit = the time limit of { $seconds } s is used up; raise limits.max_duration if the task needs longer
time-limit-while-waiting = the time limit of { $seconds } s is used up while waiting for a person: { $request }; raise limits.max_duration if an answer takes longer
step-limit = the limit of { $max } steps is used up; raise limits.max_steps if the task needs more
token-limit = the limit of { $max } tokens is used up; raise limits.max_tokens if the task needs more
cost-limit = the limit of { $amount } USD is used up; raise limits.max_cost_micros_usd if the task needs more
risk-limit = the limit of { $max } risky actions is used up, and the next one is risky ({ $risk }); raise limits.max_risky_actions if the task needs more
budget-used-up = the budget of this task is used up: { $usage }
budget-nearly-used = most of the budget of this task is used: { $usage }; come to an end with what is left, or say what is missing
budget-tokens = { $used } of { $limit } tokens
budget-cost = { $used } of { $limit } USD

## Answer of a task that ends without one

summary-succeeded = Done: { $done }.
summary-nothing-needed = Done; no action was needed.
summary-failed = Not done: { $reason }.
summary-stopped = Stopped.
summary-stopped-because = Stopped: { $reason }.
summary-done = Done so far: { $done }.
summary-nothing-done = Nothing was done.
summary-remaining = What remains: { $remaining }.
summary-goal-remains = The rest of the task remains: { $goal }.
outcome-extracted = data was taken from the screen

## Verification of a success claim

evidence-not-visible = its evidence "{ $evidence }" cannot be seen on the last screen
text-not-on-screen = the text "{ $text }" is not on the screen
window-not-titled = the active window is not titled "{ $title }"
file-missing = there is no file { $name } in the desktop's folder
data-not-extracted = nothing was extracted that has { $json }
claim-not-supported = the planner claims success, but { $missing }
goal-not-reached = the goal is not reached yet: { $missing }

## Loop detection

loop-repetition = { $intents } has been tried again and again and changes nothing
loop-cycle = the same comes again and again ({ $intents })
loop-stagnation = nothing of the last { $steps } steps has changed anything (the last: { $intents })
loop-advice = { $pattern }; consider another way
loop-blocked = { $pattern }; it is not performed on this screen any more: choose another way
loop-question = { $pattern }. How shall I go on?
loop-refusal = { $intents } was not performed: it has been tried { $times } times on this screen and did not help; choose another way

## Files that the user attaches

file-attached = the user has attached the file { $name }; it is at { $path }
file-not-attached = the file { $name } of the user could not be put on the desktop: { $error }
files-sent = I have attached { $names }.

## Take-over and pause

taken-over-by = { $user } has taken over; hand the desktop back to go on
taken-over = a person has taken over; hand the desktop back to go on
step-abandoned = a person took over
person-also = The person also { $action }.
handed-back = A person had taken over and has handed the desktop back.
handed-back-after = A person had taken over and has handed the desktop back, having { $actions }.
handed-back-message = They say: { $message }
acknowledged = I have done it
paused-on-request = requested by the user
paused-on-input = a person uses the mouse or the keyboard

## Manual actions of a person

person-clicked = clicked at ({ $x }, { $y }){ $button ->
    [right] {" "}with the right button
    [middle] {" "}with the middle button
    [back] {" "}with the back button
    [forward] {" "}with the forward button
   *[left] {""}
}
person-clicked-element = clicked { $element } at ({ $x }, { $y }){ $button ->
    [right] {" "}with the right button
    [middle] {" "}with the middle button
    [back] {" "}with the back button
    [forward] {" "}with the forward button
   *[left] {""}
}
person-typed = { $characters ->
    [one] typed 1 character
   *[other] typed { $characters } characters
}
person-pressed = pressed { $keys }
person-scrolled = scrolled at ({ $x }, { $y })
text-field = a text field

## Approvals

approval-denied = the user refused this action ({ $intent })
approval-expired = nobody approved this action in time ({ $intent }); it was not performed
approval-invalidated = the approval of this action ({ $intent }) holds no longer
approval-not-repeated = the action was performed once without effect; it is not repeated automatically
approval-used-too-late = the approval expired before it could be used
approval-screen-changed = the screen at the target or the policy has changed since approval was requested
approval-more-rules = the action now matches more rules than were approved
approval-target-unsteady = the approved target keeps changing on the screen
provider-warning = the model's provider warns ({ $code }): { $message }
call-with-arguments = call { $name } ({ $tool }) with { $arguments }

## Policy

policy-denial = { $action } is denied by the policy ({ $rules }): { $reasons }
rule-applies = the rule `{ $rule }` applies
rule-not-evaluated = a rule could not be evaluated: { $problem }
no-rule-permits = no rule permits it
text-from-screen = "{ $text }" was read from the screen
text-from-extraction = "{ $text }" is data taken from the screen
text-from-function = "{ $text }" was returned by the function { $name }
text-from-clipboard = the pasted text was in the clipboard, and its origin is not known

## Retries

retry-unsent = nothing had been sent
retry-reversed-scroll = the end is reached; trying the opposite direction
retry-reobserved = nothing has changed so far; the action is not safe to repeat, so only its effect is observed again
retry-offset = nothing changed ({ $attempts ->
    [one] once
   *[other] after { $attempts } attempts
}); trying a few pixels away
retry-other-point = nothing changed ({ $attempts ->
    [one] once
   *[other] after { $attempts } attempts
}); trying another point of the target
retry-relocated = nothing changed ({ $attempts ->
    [one] once
   *[other] after { $attempts } attempts
}); locating the target again
retry-unobserved = the screen was not observed after the last attempt, which had no effect; the action is not repeated
retry-without-element = { $intent } changed nothing, and its point has no element to search for
retry-target-lost = { $intent } changed nothing, and its target is no longer found in a magnified view
screen-not-observed = the screen has not been observed
screen-not-observed-for-policy = the screen has not been observed, so the action cannot be judged

## Effects

effect-window = the active window is now "{ $title }"
effect-at-target = { $pixels ->
    [one] 1 pixel
   *[other] { $pixels } pixels
} changed at the target
effect-elsewhere = { $pixels ->
    [one] 1 pixel
   *[other] { $pixels } pixels
} changed, but not at the target
effect-none = nothing changed
effect-target-moved = the target moved as it was clicked; it is not known whether the click reached it
effect-own-look = nothing came of it; only the look under the pointer changed
effect-end-reached = nothing moved: the end is reached
effect-not-settled = the screen did not settle in time
effect-obscured = background motion on the screen may hide the effect
effect-text-unchanged = background motion at the target, and its text is unchanged
effect-text-changed = the text at the target changed
effect-redacted = the target area is redacted because a secret was entered there
effect-not-observed = the action's effect was not observed

## Pointer check

pointer-off-target = it should be at ({ $x }, { $y }) and is at ({ $actual_x }, { $actual_y }) after { $corrections ->
    [one] 1 correction
   *[other] { $corrections } corrections
}
pointer-question = The mouse pointer could not be moved to its target ({ $intent }): { $problem }. Nothing was clicked. Please click it yourself, or suggest another way.
pointer-not-moved = { $intent }: the pointer could not be moved there: { $problem }
pointer-not-readable = the pointer cannot be read back

## Function calls

call-function = call { $name }
calling-function = calling { $name }
call-not-made = the function was not called: { $reason }
call-outcome-unknown = { $reason }; it is unknown whether the call was carried out; check the screen before calling it again
call-interrupted = the task was interrupted during the call
call-interrupted-before = the task was interrupted before the call
task-interrupted = the task was interrupted
task-ended-before-result = the task ended before the function returned

## Hooks

hook-denied = denied by the hook { $hook }: { $reason }
hook-failed = the required hook { $hook } failed: { $reason }
hook-denies-run = the task may not run: { $denial }
hook-denies-model-call = no model may be called: { $denial }
hook-denies-screenshot = no screenshot may be taken: { $denial }
hook-denies-action = { $intent } is refused: { $denial }
hook-denies-function = { $name } is not called: { $denial }
hook-denies-decision = the decision is not carried out: { $denial }
hook-denies-text = (withheld: { $denial })
hooks-interrupted = the task was stopped or paused before the hooks answered; decide again
text-withheld = (withheld: the task was stopped before the hooks answered)

## Extraction and result files

extraction-failed = extracting data from the screen failed: { $problem }
result-cancelled = the task was cancelled
result-timed-out = it took too long
result-not-stored = it could not be stored

## Command line: progress of a task

progress-starting = starting
progress-observing = observing the screen
progress-stopping = stopping
progress-observing-again = { $action } (observing again)
progress-retrying = { $action } (retrying)
progress-calling = calling { $name } { $arguments }
progress-recovered = the orchestrator was restarted; continuing
progress-skipped = skipped { $backend }: { $problem }
progress-looks = ({ $looks ->
    [one] 1 look
   *[other] { $looks } looks
})
progress-attempts = ({ $attempts ->
    [one] 1 attempt
   *[other] { $attempts } attempts
})
progress-copied = copied { $name } to the desktop
progress-fetched = fetched { $name }, which is saved at { $path }
progress-not-fetched = could not fetch a file: { $problem }
progress-not-complete = not complete yet: { $missing }
progress-disturbed = retrying: { $problem }
progress-taken-over = taken over by the user
progress-desktop-released = { $desktop } is free for other tasks until the question is answered
progress-handed-back = handed back by the user
progress-paused = paused: { $reason }
progress-injection = possible prompt injection on the screen: { $quotes }
progress-returned = { $name } returned { $result }
progress-returned-nothing = { $name } returned nothing
progress-call-failed = { $name } failed: { $error }
progress-refused = refused by { $rule }: { $detail }
progress-approved = approved
progress-denied = denied
progress-approval-expired = the approval expired
progress-approval-invalid = the approval is no longer valid
task-failed = failed ({ $reason }): { $message }
task-cancelled = cancelled
task-cancelled-because = cancelled: { $reason }

## Command line: questions

prompt-answer = your answer
prompt-done = type "done" when it is done, or a message
prompt-approve = approve? [yes/no]
hint-answer = answer with `motorium tasks answer { $task } "…"{ $flags }`
hint-approve = approve with `motorium tasks approve { $approval }{ $flags }`, or deny with `motorium tasks deny { $approval } "…"{ $flags }`
run-cancelling = { $cause }: cancelling the task
run-cancel-cause = { $cause } at the command line
run-detached = watch it with `motorium tasks watch { $task }{ $flags }`
watch-ended = the watch ends; { $task } goes on
nobody-answers = no person is available to answer: { $request }
hint-nobody-answers = run the task at a terminal, or choose with `--on-approval wait` or `--on-approval approve`
hint-nobody-answers-in-process = run the task at a terminal, or choose with `--on-approval approve`
approved-in-advance = approved by `--on-approval approve`: { $action }
safety-check-approved-in-advance = this includes a safety check of the model's provider ({ $code }): { $message }
unfinished-tasks = { $count } unfinished { $count ->
    [one] task
   *[other] tasks
} of earlier runs: { $names }
hint-resume = continue one with `motorium run --in-process --resume { $task }`
up-hint = submit a task with `motorium run 'click "Save"'`; stop with Ctrl-C
