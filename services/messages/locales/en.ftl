# English messages for people. `zh.ftl` has the same ids with the same arguments; a test compares the two.
# The format is Fluent: https://projectfluent.org/fluent/guide/

## Composition

list-separator = {", "}
clause-separator = {"; "}
sentence-separator = {" "}
list-empty = none
with-detail = { $text }: { $detail }
quoted-label = "{ $text }"
element-kind = { $kind ->
    [button] button
    [link] link
    [text-field] text field
    [checkbox] checkbox
    [radio] radio
    [switch] switch
    [drop-down] drop down
    [slider] slider
    [spin-box] spin box
    [tab] tab
    [menu-item] menu item
    [list-item] list item
    [table-row] table row
    [icon] icon
    [image] image
    [label] label
    [dialog] dialog
    [scroll-bar] scroll bar
    [window-control] window control
    [control] control
   *[other] element
}
frame-part = { $part ->
    [top-left] top left
    [top] top
    [top-right] top right
    [left] left
    [right] right
    [bottom-left] bottom left
    [bottom] bottom
    [bottom-right] bottom right
   *[centre] centre
}

## States, verdicts and outcomes

task-state = { $state ->
    [pending] pending
    [running] running
    [paused] paused
    [awaiting-user] awaiting user
    [succeeded] succeeded
    [failed] failed
    [cancelled] cancelled
   *[other] unknown
}
task-state-sentence = { $state ->
    [pending] Not started.
    [running] Still running.
    [paused] Paused.
    [awaiting-user] Waiting for the user.
    [succeeded] Done.
    [failed] Failed.
    [cancelled] Cancelled.
   *[other] Unknown.
}
effect-verdict = { $verdict ->
    [confirmed] confirmed
    [changed-elsewhere] changed elsewhere
    [no-effect] no effect
    [end-reached] end reached
    [target-moved] target moved
    [text-differs] text differs
   *[unknown] unknown
}
action-outcome = { $outcome ->
    [under-way] under way
    [performed] performed
    [refused] refused
    [failed] failed
    [stopped] stopped
    [not-performed] not performed
   *[outcome-unknown] outcome unknown
}
approval-state = { $state ->
    [approved] approved
    [denied] denied
    [expired] the approval expired
   *[invalidated] the approval is no longer valid
}
desktop-state = { $state ->
    [available] available
    [leased] leased
    [draining] draining
    [unreachable] unreachable
   *[other] unknown
}
failure-with-reason = { $message } ({ $reason })
duration-milliseconds = { $milliseconds } ms
duration-seconds = { $seconds } s
duration-minutes = { $minutes } min { $seconds } s
duration-hours = { $hours } h { $minutes } min

## Waits of a task that has not started

desktops-awaited = waiting for a desktop: { $holds }; place { $position } in the queue
desktop-held = { $desktop } is held by { $holder }
desktop-held-by-other = { $desktop } is held by a task of another tenant
desktop-unavailable = { $desktop } is unreachable or draining
desktop-not-registered = no registered desktop matches
start-time-awaited = waiting for its start time
session-awaited = waiting for the end of { $task }, which belongs to the same session

## Limits of a task

time-limit = the time limit of { $seconds } s is used up; raise limits.max_duration if the task needs longer
time-limit-while-waiting = the time limit of { $seconds } s is used up while waiting for a person: { $request }; raise limits.max_duration if an answer takes longer
step-limit = the limit of { $max } steps is used up; raise limits.max_steps if the task needs more
model-awaited = { $problem }; the task waits and asks again in { $seconds } s
model-too-late = { $problem }; it may be asked again in { $seconds } s, and the task has { $left } s left: allow it more time with `--max-time`, or add another backend
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
summary-goal = The task was: { $goal }.
outcome-extracted = data was taken from the screen

## Verification of a success claim

claim-without-evidence = nothing was named that shows it. Look at the screen once more: if the goal is reached, say so again and name a text or a window title that shows it; if not, go on
claim-without-new-evidence = nothing was named that shows it and was not there before the last action. Look at the screen once more: if the goal is reached, say so again and name a text or a window title that is new; if not, go on
last-action-without-effect = the last action ({ $intent }) had no visible effect
last-action-reported-failure = after the last action ({ $intent }) the screen says "{ $text }"
notice-awaited = waiting to see whether { $texts } goes again
answer-text-elsewhere = { $answer } (the only sign of the last action is elsewhere on the screen, where { $texts } appeared)
answer-text-gone-elsewhere = { $answer } (the only sign of the last action is elsewhere on the screen, where { $texts } disappeared)
answer-own-look = { $answer } (only what was clicked looks different, as it may when it has the focus)
answer-change-elsewhere = { $answer } (the only sign of the last action is a change elsewhere on the screen)
evidence-not-visible = its evidence "{ $evidence }" cannot be seen on the last screen
text-not-on-screen = the text "{ $text }" is not on the screen
window-not-titled = the active window is not titled "{ $title }"
file-missing = there is no file { $name } in the desktop's folder
file-not-of-task = the file { $name } in the desktop's folder is older than this task
data-not-extracted = nothing was extracted that has { $json }
claim-not-supported = the planner claims success, but { $missing }
goal-not-reached = the goal is not shown to be reached: { $missing }

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
image-not-shown = the attached image { $name } cannot be shown to the model, which only has the file: { $problem }
files-sent = I have attached { $names }.

## Take-over and pause

taken-over-by = { $user } has taken over; hand the desktop back to go on
taken-over = a person has taken over; hand the desktop back to go on
step-abandoned = a person took over
person-also = The person also { $action }.
handed-back = A person had taken over and has handed the desktop back.
handed-back-after = A person had taken over and has handed the desktop back, having { $actions }.
clipboard-withheld = The text on the clipboard stays on the desktop: it may be a secret, or is longer than 1 MiB.
handed-back-message = They say: { $message }
acknowledged = I have done it
paused-on-request = requested by the user
paused-on-input = a person uses the mouse or the keyboard
paused-on-restore =
    the task was restored from a backup and may have gone on after it was made; check what has been done, then resume or
    cancel it
step-dropped-on-restore =
    the task was restored from a backup: actions of this step, and later ones, may have been performed already; look at the
    screen before repeating any

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
approval-expired = no person approved this action in time ({ $intent }); it was not performed
approval-invalidated = the approval of this action ({ $intent }) holds no longer
approval-not-repeated = the action was performed once without effect; it is not repeated automatically
action-not-started = the action was not started
action-outcome-unknown = the action was started, and it is unknown whether it took effect; it is not repeated
nothing-sent = { $reason }; nothing had been sent
approval-used-too-late = the approval expired before it could be used
approval-screen-changed = the screen at the target or the policy has changed since approval was requested
approval-more-rules = the action now matches more rules than were approved
approval-look-changed = the look of the target has changed since approval was requested
approval-target-moved = the place of the target has changed since approval was requested
approval-window-changed = the window has changed since approval was requested: before { $before }, now { $now }
approval-page-changed = the page has changed since approval was requested: before { $before }, now { $now }
approval-amount-changed = an amount has changed since approval was requested: before { $before }, now { $now }
approval-recipient-changed = a recipient or an account has changed since approval was requested: before { $before }, now { $now }
approval-target-changed = the text of the target has changed since approval was requested: before { $before }, now { $now }
approval-text-changed = a text beside the target has changed since approval was requested: before { $before }, now { $now }
approval-asked-again = asked again, because the approval before is void: { $problem }
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
effect-text-differs = "{ $entered }" was entered, but the field shows "{ $shown }"
effect-target-moved = the target moved as it was clicked; it is not known whether the click reached it
effect-own-look = no effect; only the look under the pointer changed
effect-focus-left = no effect; only the field that had the keyboard lost it
effect-passed-elsewhere = something changed elsewhere and was as before again soon after
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
pointer-target-unsteady = { $intent }: the screen keeps changing, so the pointer could not be verified on its target as the policy demands

## Function calls

call-function = call { $name }
calling-function = calling { $name }
call-not-made = the function was not called: { $reason }
call-outcome-unknown = { $reason }; it is unknown whether the call was carried out; check the screen before calling it again
call-interrupted = the task was interrupted during the call
call-interrupted-before = the task was interrupted before the call
task-interrupted = the task was interrupted
task-ended-before-result = the task ended before the function returned
call-not-answered = no answer in time ({ $problem })
call-broken = the connection broke ({ $problem })
function-failed = the function failed: { $problem }
function-failed-with = the function failed with { $code }: { $problem }
function-failed-silently = the function failed without a message
function-unknown = unknown function `{ $name }`; { $known }
functions-known = known functions: { $names }
functions-none = this task has no functions
arguments-not-json = the arguments of `{ $name }` are not JSON: { $problem }
arguments-not-object = the arguments of `{ $name }` are not a JSON object
arguments-mismatch = the arguments of `{ $name }` do not match its schema: { $faults }
content-omitted = unsupported content omitted
image-omitted = image ({ $media_type }) omitted
audio-omitted = audio ({ $media_type }) omitted
file-omitted = file { $uri } omitted
linked-content = see { $uri }
result-truncated = truncated: the first { $kept } of { $size } bytes

## Tools and their functions

function-of-tool = `{ $function }` of { $tool }
function-name-taken = { $first } and { $second } would both be offered as `{ $name }`; rename one of them, or configure its tool under orchestrator.tools, whose name its functions then begin with
function-without-name = the function has no name
functions-too-many = the task has { $count } functions; at most { $max } can be offered to a model
functions-too-large = the declarations of the task's functions take { $size } bytes; at most { $max } can be offered to a model
schema-too-large = its schema takes { $size } bytes; at most { $max } can be offered to a model
schema-invalid = its schema is not a JSON Schema: { $problem }
schema-not-json = its schema is not JSON: { $problem }
schema-not-object = its schema is not a JSON object
schema-other-type = its schema must have the type `object`
tool-unknown = unknown tool `{ $endpoint }`; { $alternatives }
tool-address-forbidden = tasks may not use the address `{ $endpoint }`; { $alternatives }
tool-alternatives = configured tools: { $tools }; allowed addresses: { $addresses }; use one of them, or ask the operator to extend orchestrator.tools or orchestrator.allowed_tool_addresses
tool-timed-out = no answer within { $seconds } s
tool-recorded = a tool of a recorded task cannot be called
tool-unreachable = the tool cannot be reached: { $problem }
tool-not-connected = connecting to the MCP server at { $place } failed: { $problem }
tool-last-output = { $problem } (its last output: { $line })
tool-needs-token = { $place } requires a token; set one under orchestrator.tools
tool-command-empty = the command is empty
tool-not-started = the program `{ $program }` cannot be started: { $problem }
tool-listing-failed = listing its functions failed: { $problem }
tool-listing-failed-with = listing its functions failed with { $code }: { $problem }
tool-too-many-functions = it has more than { $max } functions, the maximum that can be offered
tool-service-missing = no motorium.tool.v1.ToolService at this address; for an MCP server, write mcp+http://…
tool-without-result = the tool answered with neither a result nor an error
tool-requests-unsupported = the server did not answer with a result; requests from the server, such as elicitation, are not supported

## Hooks

hook-denied = denied by the hook { $hook }: { $reason }
hook-failed = the required hook { $hook } failed: { $reason }
hook-unreachable = the hook cannot be reached: { $problem }
hook-call-failed = the hook failed: { $problem }
hook-timed-out = the hook did not answer within { $milliseconds } ms
hook-panicked = the hook panicked
hook-point-unknown = unknown hook point { $number }; check that both sides have the same version
hook-amendment-misplaced = invalid amendment at { $point }: { $fields } cannot be amended there
hook-amendment-invalid = invalid amendment at { $point }: { $problem }
no-reason-given = no reason given
activity-log-unwritable = the activity log { $path } cannot be written: { $problem }
hook-denies-run = the task may not run: { $denial }
hook-denies-model-call = no model may be called: { $denial }
hook-denies-screenshot = no screenshot may be taken: { $denial }
hook-denies-action = { $intent } is refused: { $denial }
hook-denies-function = { $name } is not called: { $denial }
hook-denies-decision = the decision is not carried out: { $denial }
hook-denies-text = (withheld: { $denial })
hooks-interrupted = the task was stopped or paused before the hooks answered; decide again
hook-skipped = { $problem }; the task continues without it
redactions-added = { $count ->
    [one] 1 more redaction is applied
   *[other] { $count } more redactions are applied
}
text-replaced = the text was replaced
past-images-sent = { $count } earlier images are sent
model-notices = the model is told: { $notices }
text-withheld = (withheld: the task was stopped before the hooks answered)

## Extraction and result files

extraction-failed = extracting data from the screen failed: { $problem }
result-cancelled = the task was cancelled
result-timed-out = it took too long
result-not-stored = it could not be stored

## Operations of a run

operation-plan = planning
operation-list-backends = listing the planner's backends
operation-read-capabilities = reading the Executor's capabilities
operation-lease-desktop = leasing the desktop
operation-read-attachment = reading an attachment
operation-put-file = putting a file on the desktop
operation-look-up-action = looking up an action
operation-perform-action = performing an action
operation-observe = observing the screen
operation-capture = capturing the screen
operation-capture-approval = capturing what is to be approved
operation-capture-pointer = capturing the pointer
operation-compare = comparing the screen
operation-await-late-change = waiting for a late change
operation-search-evidence = searching for evidence
operation-find-file = looking for a file
operation-read-image = reading an image
operation-extract = extracting data from the screen
operation-read-page = reading the page
operation-settle = waiting for the screen to settle
operation-judge = judging an action
operation-await-look = waiting for the look of the target
operation-move-pointer = moving the pointer
operation-read-pointer = reading the pointer
operation-locate-pointer = locating the pointer
operation-await-reaction = waiting for the reaction to the pointer
operation-store-image = storing an image
operation-find-target = finding a target
operation-list-functions = listing the functions of the tool { $tool }
look-repeated = { $operation } failed and is tried again: { $problem }
screen-not-parsed = the screen could be captured, but not parsed: no element is known in this step, only the screenshot ({ $problem })
operation-failed = { $operation } failed: { $problem }
tool-failed = the tool { $tool }: { $problem }
backend-unknown = unknown planner backend `{ $name }`; known backends: { $known }; add others to `planner.backends` in the configuration

## Exported page, answer and transcript of a task

page-trajectory = Trajectory
page-steps = Steps
page-back-to-top = Back to top
page-step-keys = ↑ ↓ to move between steps
page-no-steps = No steps yet.
page-step = Step { $number }
page-screen-before = The screen at the beginning of step { $number }
page-screen-after = The screen after the last action
page-no-screenshot = No screenshot of this step.
page-attempts = { $attempts ->
    [one] 1 attempt
   *[other] { $attempts } attempts
}
page-decided = Decided: { $decision }
page-extracted = Extracted data
decision-kind = { $decision ->
    [act] act
    [done] done
    [fail] fail
    [ask] ask
    [call-functions] call functions
    [extract] extract
   *[other] { $decision }
}
stage-name = { $stage ->
    [observe] observe
    [decide] decide
    [resolve] resolve
    [pointer] pointer
    [act] act
    [settle] settle
    [call] call
    [extract] extract
   *[other] { $stage }
}
fact-label = { $fact ->
    [task] Task
    [steps] Steps
    [desktop] Desktop
    [started] Started
    [time] Time
    [model-calls] Model calls
    [tokens] Tokens
   *[cost] Cost
}
fact-tokens = { $input } in, { $output } out
fact-cost = { $amount } USD
timeline-title = { $title ->
    [recovered] Recovered
    [desktop-released] Desktop released
    [queued] Queued
    [follows-earlier-tasks] Follows earlier tasks
    [file-not-put-on-the-desktop] File not put on the desktop
    [image-not-shown-to-the-model] Image not shown to the model
    [file-put-on-the-desktop] File put on the desktop
    [backend-skipped] Backend skipped
    [retried] Retried
    [pointer-checked] Pointer checked
    [not-performed] Not performed
    [asks-the-user] Asks the user
    [needs-a-manual-action] Needs a manual action
    [asks-for-approval] Asks for approval
    [taken-over-by-the-user] Taken over by the user
    [the-user] The user
    [approved] Approved
    [denied] Denied
    [not-approved-in-time] Not approved in time
    [approval-invalidated] Approval invalidated
    [taken-over] Taken over
    [handed-back] Handed back
    [paused] Paused
    [resumed] Resumed
    [cancellation-requested] Cancellation requested
    [loop-detected] Loop detected
    [prompt-injection-suspected] Prompt injection suspected
    [verified] Verified
    [second-look-requested] Second look requested
    [success-claim-rejected] Success claim rejected
    [file-fetched] File fetched
    [file-not-fetched] File not fetched
    [transient-failure] Transient failure
    [summary] Summary
   *[a-hook-intervened] A hook intervened
}
timeline-recovered = { $orchestrator } continues the task after another run ended
timeline-pointer = the pointer is at ({ $x }, { $y }), { $place ->
    [target] on its target
   *[elsewhere] not on its target
}; { $corrections ->
    [one] 1 correction
   *[other] { $corrections } corrections
}
timeline-verified = the success claim was confirmed
timeline-resolved-by = { $text }, by { $user }
transcript-task = { $number }. { $task } ({ $state })
transcript-author = { $role ->
    [user] User
   *[assistant] Motorium
}
transcript-file = file: { $name }

## Targets of actions

target-element-missing = the scene has no element { $element }; it may have disappeared since the frame of the decision
target-outside = ({ $x }, { $y }) lies outside the frame of { $width }×{ $height } pixels
target-not-found = { $target } is not on the screen
target-not-found-nearest = { $target } is not on the screen; the most similar texts are { $nearest }
target-ambiguous = { $target } matches { $count } elements; add a kind, a place or an ordinal
target-nth = number { $number } of
target-last = the last of
target-at-part = at the { $part }

## Phrasebook: questions, failures and progress

phrasebook-waiting = Waiting: { $words }
phrasebook-done-long = Done, all { $clauses } instructions; the last one: { $last }.
phrasebook-done = Done: { $joined }.
phrasebook-only-text = `{ $words }`: { $thing } is not on the screen; only the text { $text } is.
phrasebook-not-found = `{ $words }`: { $thing } is not on the screen.
phrasebook-not-found-nearest = `{ $words }`: { $thing } is not on the screen. The closest matches are { $listed }.
phrasebook-in-the-way = { $problem } { $obstacle } is in front and may be in the way: answer or close it first.
phrasebook-ask-which = `{ $words }`: { $count } elements match: { $listed }. Which one do you mean?
phrasebook-more-candidates = and { $count } more
phrasebook-answer-unknown = "{ $answer }" names none of them, or more than one. { $question } Answer with a number from 1 to { $count }, or in the words of one of them.
phrasebook-candidate = ({ $number }) { $kind } "{ $content }", { $place }
phrasebook-candidate-beside = ({ $number }) { $kind } "{ $content }", beside "{ $neighbour }"
phrasebook-candidate-nth = ({ $number }) { $kind } "{ $content }", { $place }, number { $rank } there
phrasebook-nothing-changed = `{ $words }` was performed, but nothing on the screen changed.
phrasebook-page-failed = `{ $words }`: the browser could not show the page: { $error }.
phrasebook-not-taken = `{ $words }`: the field did not take the text.
phrasebook-not-taken-shows = `{ $words }`: the field did not take the text; it shows { $quoted }.
phrasebook-not-cleared = `{ $words }`: the field still shows { $shown }.
phrasebook-not-checked = `{ $words }` was performed, but it is still unchecked.
phrasebook-not-unchecked = `{ $words }` was performed, but it is still checked.
phrasebook-slider-shows = `{ $words }` was performed, but the slider shows { $shown }.
phrasebook-slider-put-back = `{ $words }`: the slider does not take this value; it is back at { $shown }.
phrasebook-no-slider-value = `{ $words }`: { $value } is no whole number from 0 to 500.
phrasebook-dialog-stands = `{ $words }` was performed, but the dialog { $title } is still open.
phrasebook-not-chosen = `{ $words }`: the dialog closed without choosing { $file }; the page shows { $shown }. Click its button instead, such as `Open`.
phrasebook-at-end = `{ $words }`: nothing moved; the end is reached.
phrasebook-not-performed = `{ $words }` was not performed.
phrasebook-already-so = Was already so: { $listed }.
phrasebook-page-says = The page says { $quoted }.
phrasebook-left-out = Left out: { $listed }.
phrasebook-refused = `{ $words }` is not allowed: { $detail }
phrasebook-failed = `{ $words }` failed: { $detail }
phrasebook-was-performed = Interrupted while performing `{ $words }`; it is unknown whether it took effect. Check the screen, then answer `done` if it did or `retry` if it did not.
phrasebook-reply-unclear = "{ $answer }" does not say whether it took effect. { $question }
phrasebook-was-effective = It cannot be seen whether `{ $words }` took effect. Check the screen, then answer `done` if it did or `retry` if it did not.
phrasebook-was-chosen = The dialog closed after `{ $words }`, but { $file } is not seen. Check the screen, then answer `done` if it was chosen or `retry` if it was not.
phrasebook-was-any-chosen = The dialog closed after `{ $words }`; it cannot be seen which file was chosen. Check the screen, then answer `done` if it is the right one or `retry` if it is not.
phrasebook-asks-to-leave = At `{ $words }` the browser asks { $question }: unsaved changes of the page would be lost. Answer it on the screen, then answer `done` if the page was left or `continue` if it stays.
phrasebook-was-hit = The page moved as the click for `{ $words }` came; it is unknown whether it hit. Check the screen, then answer `done` if it did or `retry` if it did not.
phrasebook-end-reached = `{ $words }`: reached the end, but { $text } did not appear.
phrasebook-no-scroll-end = `{ $words }`: stopped scrolling before the end was reached.
phrasebook-not-appeared = `{ $words }`: { $text } did not appear within { $seconds } seconds.
phrasebook-still-there = `{ $words }`: { $text } is still there after { $seconds } seconds.
phrasebook-not-shown = `{ $words }`: { $text } is not shown.
phrasebook-shown = `{ $words }`: { $text } is shown.
phrasebook-unknown-application = `{ $words }`: this application is not allowed. Allowed applications: { $listed }.
phrasebook-no-new-window = `{ $words }`: no window appeared within { $seconds } seconds.
phrasebook-message-ignored = `{ $message }` is not understood and is ignored.
phrasebook-not-understood = { $why }; examples of supported sentences: { $example }
phrasebook-example = `click "Save"`, `type "Alice" into "Name" then press Enter`
phrasebook-cannot-take-over = it cannot continue a goal that another backend has started, because the completed steps are unknown
phrasebook-candidate-separator = {", "}
parse-empty = the goal is empty
parse-too-long = the goal is too long
parse-unclosed-quote = a quote is opened and not closed
parse-unknown-verb = it does not start with a known verb
parse-similar-verb = it does not start with a known verb; did you mean `{ $verb }`
parse-missing-target = it names no target
parse-invalid-target = it does not name an element; put its text in quotes
parse-missing-text = it gives no text
parse-unquoted-text = its text is not in quotes
parse-missing-field = it does not say into which field each text goes
parse-missing-destination = it gives no destination
parse-unknown-key = no key is called `{ $name }`
parse-invalid-address = it does not give an address
parse-trailing-words = unexpected `{ $words }`

## Intents of actions that a model named

intent-move = move the pointer to { $place }
intent-click = { $gesture ->
    [double] double-click
    [triple] triple-click
    [right] right-click
    [middle] middle-click
    [back] click with the back button
    [forward] click with the forward button
   *[single] click
} { $place }
intent-while-holding = { $keys }+{ $action }
intent-mouse-down = press the mouse button { $place }
intent-mouse-up = release the mouse button { $place }
intent-drag = drag
intent-drag-to = drag from { $from } to { $to }
intent-scroll = scroll { $direction ->
    [down] down
    [up] up
    [right] right
   *[left] left
}
intent-type = type { $text }
intent-press = press { $keys }
intent-hold = hold { $keys }
intent-other = { $kind ->
    [set-clipboard] set clipboard
    [paste] paste
    [open-application] open application
    [open-url] open url
    [focus-window] focus window
    [go-to-url] go to url
    [go-back] go back
    [go-forward] go forward
    [refresh] refresh
    [wait] wait
   *[other] another action
}
place-at-pointer = where the pointer is
place-element = an element
place-in-part = a point at the { $part }

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
progress-copied = copied { $name } to { $path } on the desktop
progress-fetched = fetched { $name }, which is saved at { $path }
progress-not-fetched = could not fetch a file: { $problem }
files-not-fetched = the task is done, but without its files: { $names }
progress-second-look = no evidence for success yet; looking once more
progress-not-complete = not complete yet: { $missing }
progress-transient-failure = retrying: { $problem }
progress-taken-over = taken over by the user
progress-desktop-released = { $desktop } is free for other tasks until the question is answered
progress-handed-back = handed back by the user
progress-paused = paused: { $reason }
progress-injection = possible prompt injection on the screen: { $quotes }
progress-returned = { $name } returned { $result }
progress-returned-nothing = { $name } returned nothing
progress-call-failed = { $name } failed: { $error }
progress-refused = refused by { $rule }: { $detail }
task-failed = failed: { $message }
task-cancelled = cancelled
task-cancelled-because = cancelled: { $reason }

## Command line: tables and lines

table-column = { $column ->
    [task] task
    [state] state
    [steps] steps
    [goal] goal
    [answer] answer
    [approval] approval
    [action] action
    [reason] reason
    [step] step
    [effect] effect
    [milliseconds] ms
    [desktop] desktop
    [platform] platform
    [display] display
    [rule] rule
   *[labels] labels
}
platform-unknown = unknown
act-rule = { $outcome } by { $rule }
act-drag-sent = sent ({ $effect })
act-pointer = { $outcome }; pointer at { $x }, { $y }
act-on-other-desktop = acting on { $display }, a desktop of the Executor at { $executor }, although DISPLAY is { $own }; choose one of its desktops with `--display`, or act on { $own } with `--in-process`
see-other-desktop = seeing { $display }, a desktop of the Perception at { $perception }, although DISPLAY is { $own }; see { $own } with `--in-process`
act-for-task = acting on the desktop of { $task }, which you have taken over
act-desktop-of-task = the desktop is used by { $task }; take it over with `motorium tasks take-over { $task }`, or wait until the task has ended
act-desktop-used = the desktop is used by `{ $holder }`; try again in { $seconds } s
act-input-only = while { $task } is taken over, only the mouse, the keyboard and literal text can be used; hand the desktop back with `motorium tasks hand-back { $task }` for anything else
act-interrupted = interrupted; check the screen
act-interrupted-before = interrupted before the action started

## Command line: questions

prompt-answer = your answer
prompt-done = type "done" when it is done, or a message
prompt-approve = approve? [yes/no]
prompt-answer-unclear = "{ $line }" is neither: answer `yes`, or `no` with a reason
hint-answer = answer with `motorium tasks answer { $task } "…"{ $flags }`
hint-approve = approve with `motorium tasks approve { $approval }{ $flags }`, or deny with `motorium tasks deny { $approval } "…"{ $flags }`
run-cancelling = { $cause }: cancelling the task
run-cancel-cause = { $cause } at the command line
run-detached = watch it with `motorium tasks watch { $task }{ $flags }`
watch-ended = the watch ends; { $task } goes on
no-person-answers = no person is available to answer: { $request }
hint-no-person-answers = run the task at a terminal, or choose with `--on-approval wait` or `--on-approval approve`
hint-no-person-answers-in-process = run the task at a terminal, or choose with `--on-approval approve`
approved-in-advance = approved by `--on-approval approve`: { $action }
safety-check-approved-in-advance = this includes a safety check of the model's provider ({ $code }): { $message }
unfinished-tasks = { $count } unfinished { $count ->
    [one] task
   *[other] tasks
} of earlier runs: { $names }
hint-resume = continue one with `motorium run --in-process --resume { $task }`
up-hint = submit a task with `motorium run 'click "Save"'`; stop with Ctrl-C
up-unfinished = { $count } unfinished { $count ->
    [one] task goes
   *[other] tasks go
} on at the next `motorium up`: { $names }
deleted = { $name } is deleted
would-delete = { $name } would be deleted
purge-done = deleted: { $tasks } { $tasks ->
    [one] task
   *[other] tasks
}, { $sessions } { $sessions ->
    [one] session
   *[other] sessions
}; their files are removed by the server's next sweeps
serving = serving
not-serving = not serving: run `motorium doctor`, and see the log of the service
backup-done =
    the backup is in { $folder }: the tasks and { $blobs } { $blobs ->
        [one] file
       *[other] files
    } ({ $bytes } bytes)
backup-without-damaged =
    warning: { $blobs } { $blobs ->
        [one] file is
       *[other] files are
    } damaged in the store and not in the backup
restore-done =
    the backup of { $created } is restored, with { $blobs } { $blobs ->
        [one] file
       *[other] files
    }; unfinished tasks are paused at the next start, because they may have gone on after the backup
restore-replaced = the store that was there is now in { $folder }
purge-dry-run = without `--dry-run`, this would delete { $tasks } { $tasks ->
    [one] task
   *[other] tasks
} and { $sessions } { $sessions ->
    [one] session
   *[other] sessions
}
up-page = open the page with this link, which works once: { $url }
up-page-elsewhere = { $taken } is taken by another program; the page is served at { $address } this time
up-without-page = the page is NOT served: { $taken } is taken by another program, and so are the ports after it; stop it, or set `gateway.listen`
page-link = open { $url }  (works once, within { $minutes } minutes)
page-not-served = the gateway at { $url } cannot be used: { $problem }; start it with `motorium up`
page-token-refused = the gateway at { $url } does not accept the token from { $origin }; on the machine of the gateway, leave it out: its own token is found
token-of-configuration = the configuration
token-of-data-folder = the data folder { $path }
page-disabled = the gateway is disabled; set `gateway.enabled` to `true`
up-desktop = desktop { $display }
up-virtual-desktop = virtual desktop { $display }
up-isolated = its programs see neither this user's files nor other processes
up-not-isolated =
    its programs are NOT isolated: they can read and change what this user can, Motorium's data and keys included
    ({ $reason })
up-pages-not-isolated = web pages are NOT isolated from the browser: the system allows it no namespaces of its own
up-pages-not-filtered =
    web pages can lead the browser to addresses of this machine and its network; `executor.devtools` prevents that
    (docs/security.md)

## Command line: errors

error-line = error: { $error }
unwritable = cannot write { $path }: { $problem }
store-not-in-files =
    only a store in files (`sqlite://`, `file://`) is backed up by this command; for PostgreSQL, see `docs/operations.md`
not-deletable = `{ $name }` is neither a task nor a session; give a name such as `tasks/NAME` or `sessions/NAME`
orchestrator-unreachable = cannot reach the Orchestrator at { $server } ({ $report }); start one with `motorium up`, or add --in-process to `motorium run`
virtual-desktop-failed = the virtual desktop did not start: { $problem }
no-display-server = neither { $first } nor { $second } is installed; install tigervnc-standalone-server or xvfb
display-access-not-granted =
    this user cannot be given access to the virtual display: { $problem }; install the package { $package }, or set
    `XAUTHORITY` to a file that can be written
desktop-not-isolated =
    the programs of the virtual desktop cannot be isolated: { $problem }; set `desktop.isolation` to `auto` to start
    it without
data-folder-in-use =
    the data folder { $path } is in use by another virtual desktop (process { $process }); end that one, or choose
    another folder with `--data`
desktop-session-not-started = the programs of the virtual desktop cannot be started: { $problem }
isolation-is-off = `desktop.isolation` is `off`
sandbox-not-installed = { $program } is not installed; install the package { $package }
program-not-started = { $program } cannot be started: { $problem }; install the package { $package }
program-not-ready = { $program } was not ready within { $seconds } s
no-display = no display found; start a virtual one with `motorium up`
not-found-hint = { $problem }; `{ $command }` lists what there is
resume-unknown = { $task } is no unfinished task of an earlier run; unfinished tasks: { $names }
wait-needs-server = --on-approval wait needs a server: a task in this process cannot be answered from elsewhere
path-is-no-file = { $path } is not a file
image-unreadable = the image { $path } cannot be read: { $problem }; name a PNG, JPEG or WebP file, or leave --image out to see the screen
no-pending-approval = { $task } has no pending approval
task-ended-already = { $task } has already ended ({ $state })
server-silent = no response from { $server } for { $seconds } s; trying again until it answers
server-answers-again = { $server } answers again
session-before-subcommand = `--session` cannot be given before a subcommand; give it to `list` or `watch`
history-unreadable = { $path }: { $problem }; expected a list of `{"{"}"role": "user" or "assistant", "content": TEXT{"}"}`
history-image-not-embedded = { $path }: { $field } names an image without containing it; embed it in `base64` (`data:image/png;base64,…`), or attach the file with `--attach`
history-image-unreadable = { $path }: { $field } is not a PNG, JPEG or WebP image in `base64`
history-image-of-assistant = { $path }: { $field } is an image of the assistant; only images of the user are taken, so remove it
event-stream-ended = the event stream of { $task } ended before the task
server-ended = the Orchestrator at { $server } has ended ({ $report }); { $task } is unfinished and goes on when `motorium up` runs again: watch it then with `motorium tasks watch { $task }`, or end it with `motorium tasks cancel { $task }`
executor-with-tls = an Executor with TLS may be running at { $address }; specify it with --executor https://…
drag-needs-points = a drag needs at least two points: X1 Y1 X2 Y2
clipboard-lost = the content of the clipboard is gone: { $cause }
clipboard-not-taken-over = nothing took it over within { $seconds } s
clipboard-refused = the display refused it
server-not-answering = the server has not answered for { $seconds } s
standard-output = standard output
this-process = this process
no-token = there is no token for { $server }: none is configured, and no server of this user has created one on this machine; start one with `motorium up`, or name a file with --token-file
no-tool-configured = no tool is configured; see docs/functions.md for how to add one
scene-saved = { $elements } elements; annotated screenshot in { $path }; { $stages }
desktop-removed = { $desktop } was removed

## Command line: `motorium policy`

policy-active = built-in policy `{ $name }`, version { $version }; approvals expire after { $seconds } s
policy-file-active = policy of the file { $name }, version { $version }; approvals expire after { $seconds } s
policy-needs-second-person = every approval has to come from another person than the one that created the task
policy-own-lexicon = the built-in lexicon is replaced by one of the operator
rule-effect = { $effect ->
    [permit] permits
    [require-approval] requires approval
    [second-person] requires a second person
    [verify-pointer] verifies the pointer
    [deny] denies
   *[unspecified] unknown
}

trial-decision = { $decision ->
    [allow] would be done without asking
    [require-approval] would need an approval
    [second-person] would need the approval of a second person
    [deny] would be refused
   *[unspecified] unknown
}

## Command line: `motorium audit`

audit-whole = records { $first } to { $last } are whole
audit-broken = the audit log is not whole: { $problem }
audit-end-unconfirmed = one file does not tell whether records follow it; verify the folder
audit-checkpoint = to prove it later, keep this elsewhere: { $checkpoint }

## Command line: checks of `motorium doctor`

check-all-met = all requirements are met
check-all-met-with-warnings = all requirements are met; the warnings say what works less well or not at all
check-missing = { $count } requirements are missing
check-data-folder = data folder { $path }
check-data-folder-unwritable = data folder { $path } cannot be written: { $problem }
remedy-data-folder = choose another folder with --data or MOTORIUM_DATA
remedy-setting = correct the setting, or remove it
check-file-missing = { $name }: { $path } does not exist
check-file = { $name } in { $path }
check-file-slow = { $name } in { $path }, the original, slower version
remedy-install-model = install it with `{ $command }` in a checkout of Motorium
remedy-optimise-model = optimise it with `{ $command }` in a checkout of Motorium
model-runtime = ONNX Runtime
model-text-detection = the text detection model
model-text-recognition = the text recognition model
check-display-server = { $program }, for virtual desktops
check-no-display-server = no X server for virtual desktops
check-program = { $program }, { $purpose }
purpose-window-manager = the window manager of virtual desktops
purpose-session-bus = the session bus of virtual desktops
purpose-display-access = access to virtual desktops for this user only
purpose-isolation = isolation of the programs on virtual desktops
purpose-browser = the browser that URLs are opened in
purpose-editor = the text editor of virtual desktops
check-no-display = no display: { $problem }
remedy-start-desktop = start a virtual desktop with `motorium up`
check-displays = display { $displays }
check-running = Motorium runs, with its services at { $address }; the display is that of its desktop
check-no-window = no window can be opened on { $display }: { $problem }
remedy-display-access = check the access to the display, for example with `xdpyinfo`
probe-not-shown = it does not appear
check-captured = a window is captured
probe-not-captured = it does not show the window that is there
check-capture-fails = a capture of { $display } fails: { $problem }
remedy-covered-screen = check that nothing covers the screen, such as a lock screen
probe-input = input
probe-click = a click
probe-word = a typed word
check-no-keyboard = a clicked window does not get the keyboard: text would go elsewhere
remedy-start-manager = start a window manager, for example icewm
check-arrives = { $what } arrives at a window
check-does-not-arrive = { $what } does not arrive at the window that is there
check-not-tried = { $what } was not tried: { $problem }
remedy-try-later = run `motorium doctor` again when no task runs
check-window-manager = a window manager on { $display }
check-no-window-manager = no window manager on { $display }: windows get no titles and cannot be activated, moved or closed, and typed text goes to whatever had the keyboard last
remedy-start-manager-there = start one on that display, for example icewm

## Approvals through a client of MCP

mcp-approval-application = application: { $application }
mcp-approval-window = window: { $window }
mcp-approval-page = page: { $page }
mcp-approval-question = question: { $question }
mcp-approval-target = target: { $target }
mcp-approval-texts = texts around it: { $texts }
mcp-approval-amounts = amounts: { $amounts }
mcp-approval-recipients = recipients: { $recipients }
mcp-decision = Decision
mcp-approve = Approve
mcp-deny = Deny
mcp-reason = Reason, for the task
mcp-answer = Answer
mcp-person = a person at { $client }
mcp-task-cancelled = the agent that asked for this task cancelled it
mcp-call-cancelled = the agent that asked for this task no longer waits for it
