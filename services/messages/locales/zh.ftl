# 面向用户的中文消息。消息标识和参数与 `en.ftl` 相同，由测试比对。
# 格式为 Fluent：https://projectfluent.org/fluent/guide/

## 组合

list-separator = 、
clause-separator = ；
sentence-separator = {""}
with-detail = { $text }：{ $detail }
quoted-label = “{ $text }”

## 尚未开始的任务的等待

desktops-awaited = 正在等待桌面：{ $holds }；排在第 { $position } 位
desktop-held = { $desktop } 由 { $holder } 占用
desktop-unavailable = { $desktop } 无法连接或正在停用
desktop-not-registered = 没有符合条件的已注册桌面
start-time-awaited = 正在等待开始时间
session-awaited = 正在等待同一会话中的 { $task } 结束

## 任务的限额

time-limit = 已达到 { $seconds } 秒的时间上限；如果任务需要更长时间，请调高 `limits.max_duration`
time-limit-while-waiting = 在等待用户时已达到 { $seconds } 秒的时间上限：{ $request }；如果回答需要更长时间，请调高 `limits.max_duration`
step-limit = 已达到 { $max } 步的步数上限；如果任务需要更多步骤，请调高 `limits.max_steps`
token-limit = 已达到 { $max } 个词元的上限；如果任务需要更多词元，请调高 `limits.max_tokens`
cost-limit = 已达到 { $amount } 美元的费用上限；如果任务需要更多费用，请调高 `limits.max_cost_micros_usd`
risk-limit = 已达到 { $max } 次高风险操作的上限，而下一个操作属于高风险（{ $risk ->
    [pay] 付款
    [delete] 删除
    [send] 发送
    [grant] 授权
   *[other] { $risk }
}）；如果任务需要更多次，请调高 `limits.max_risky_actions`
budget-used-up = 此任务的预算已用完：{ $usage }
budget-nearly-used = 此任务的预算即将用完：{ $usage }；请用剩余的预算收尾，或说明还缺什么
budget-tokens = 已用 { $used } 个词元，上限 { $limit } 个
budget-cost = 已用 { $used } 美元，上限 { $limit } 美元

## 任务结束时没有回答时的说明

summary-succeeded = 已完成：{ $done }。
summary-nothing-needed = 已完成，无需任何操作。
summary-failed = 未完成：{ $reason }。
summary-stopped = 已停止。
summary-stopped-because = 已停止：{ $reason }。
summary-done = 到目前为止已完成：{ $done }。
summary-nothing-done = 没有执行任何操作。
summary-remaining = 尚未完成：{ $remaining }。
summary-goal-remains = 任务的其余部分尚未完成：{ $goal }。
outcome-extracted = 已从屏幕上提取数据

## 完成情况的核对

evidence-not-visible = 在最后的屏幕上看不到所称的依据“{ $evidence }”
text-not-on-screen = 屏幕上没有文字“{ $text }”
window-not-titled = 当前窗口的标题不是“{ $title }”
file-missing = 桌面的文件夹中没有文件 { $name }
data-not-extracted = 提取的数据中没有 { $json }
claim-not-supported = 规划器称任务已完成，但{ $missing }
goal-not-reached = 目标尚未达成：{ $missing }

## 循环检测

loop-repetition = 已反复尝试“{ $intents }”，但没有任何变化
loop-cycle = 一直在重复同样的操作（{ $intents }）
loop-stagnation = 最近 { $steps } 步没有带来任何变化（最后一步：{ $intents }）
loop-advice = { $pattern }；请考虑换一种做法
loop-blocked = { $pattern }；在此屏幕上不再执行该操作，请换一种做法
loop-question = { $pattern }。接下来该怎么做？
loop-refusal = 未执行“{ $intents }”：在此屏幕上已尝试 { $times } 次，没有作用；请换一种做法

## 用户附上的文件

file-attached = 用户附上了文件 { $name }，位于 { $path }
file-not-attached = 用户的文件 { $name } 无法放到桌面上：{ $error }
files-sent = 我附上了 { $names }。

## 接管与暂停

taken-over-by = { $user } 已接管桌面；交还后任务将继续
taken-over = 有人已接管桌面；交还后任务将继续
step-abandoned = 用户已接管桌面
person-also = 用户还{ $action }。
handed-back = 用户曾接管桌面，现已交还。
handed-back-after = 用户曾接管桌面，期间{ $actions }，现已交还。
handed-back-message = 用户留言：{ $message }
acknowledged = 我已经操作
paused-on-request = 应用户要求
paused-on-input = 有人正在使用鼠标或键盘

## 用户的手动操作

person-clicked = { $button ->
    [right] 右键单击了
    [middle] 中键单击了
    [back] 用后退侧键单击了
    [forward] 用前进侧键单击了
   *[left] 单击了
} ({ $x }, { $y }) 处
person-clicked-element = { $button ->
    [right] 右键单击了
    [middle] 中键单击了
    [back] 用后退侧键单击了
    [forward] 用前进侧键单击了
   *[left] 单击了
} ({ $x }, { $y }) 处的{ $element }
person-typed = 输入了 { $characters } 个字符
person-pressed = 按下了 { $keys }
person-scrolled = 在 ({ $x }, { $y }) 处滚动了屏幕
text-field = 输入框

## 批准

approval-denied = 用户拒绝了此操作（{ $intent }）
approval-expired = 无人及时批准此操作（{ $intent }），因此未执行
approval-invalidated = 对此操作（{ $intent }）的批准已失效
approval-not-repeated = 该操作已执行过一次但没有效果，不会自动重复
approval-used-too-late = 批准在使用之前已过期
approval-screen-changed = 自请求批准以来，目标处的屏幕内容或策略已发生变化
approval-more-rules = 该操作现在涉及的规则多于已批准的规则
approval-target-unsteady = 已批准的目标在屏幕上不断变化
provider-warning = 模型提供方发出警告（{ $code }）：{ $message }
call-with-arguments = 调用 { $name }（{ $tool }），参数为 { $arguments }

## 策略

policy-denial = 策略不允许“{ $action }”（{ $rules }）：{ $reasons }
rule-applies = 适用规则 `{ $rule }`
rule-not-evaluated = 无法评估一条规则：{ $problem }
no-rule-permits = 没有规则允许它
text-from-screen = “{ $text }”来自屏幕
text-from-extraction = “{ $text }”是从屏幕提取的数据
text-from-function = “{ $text }”由函数 { $name } 返回
text-from-clipboard = 将要粘贴的是剪贴板中的内容，来源不明

## 重试

retry-unsent = 尚未发送任何输入
retry-reversed-scroll = 已到尽头，改为反方向滚动
retry-reobserved = 目前没有变化；该操作不宜重复，因此只再次观察其效果
retry-offset = 没有变化（已尝试 { $attempts } 次）；改为在几个像素之外再试
retry-other-point = 没有变化（已尝试 { $attempts } 次）；改为在目标的另一点再试
retry-relocated = 没有变化（已尝试 { $attempts } 次）；重新定位目标后再试
retry-unobserved = 上次尝试没有效果，之后也未观察过屏幕；不再重复该操作
retry-without-element = “{ $intent }”没有带来任何变化，且该点没有可供查找的元素
retry-target-lost = “{ $intent }”没有带来任何变化，放大后也找不到其目标
screen-not-observed = 尚未观察屏幕
screen-not-observed-for-policy = 尚未观察屏幕，无法判断此操作

## 效果

effect-window = 当前窗口变为“{ $title }”
effect-at-target = 目标处有 { $pixels } 个像素发生变化
effect-elsewhere = 有 { $pixels } 个像素发生变化，但不在目标处
effect-none = 没有变化
effect-target-moved = 点击时目标移动了，无法确定是否点中
effect-own-look = 没有任何结果；只有指针下的外观发生了变化
effect-end-reached = 画面没有移动：已到尽头
effect-not-settled = 屏幕未能及时稳定
effect-obscured = 屏幕上的背景动画可能掩盖了效果
effect-text-unchanged = 目标处有背景动画，但文字没有变化
effect-text-changed = 目标处的文字发生了变化
effect-redacted = 目标区域因输入过机密内容而被遮盖
effect-not-observed = 未能观察该操作的效果

## 指针核对

pointer-off-target = 应在 ({ $x }, { $y })，校正 { $corrections } 次后位于 ({ $actual_x }, { $actual_y })
pointer-question = 无法将鼠标指针移到目标处（{ $intent }）：{ $problem }。尚未点击。请您自行点击，或建议其他做法。
pointer-not-moved = { $intent }：无法将指针移到目标处：{ $problem }
pointer-not-readable = 无法读取指针的位置

## 函数调用

call-function = 调用 { $name }
calling-function = 调用 { $name }
call-not-made = 未调用该函数：{ $reason }
call-outcome-unknown = { $reason }；不清楚该调用是否已执行；再次调用前请先查看屏幕
call-interrupted = 任务在调用期间被中断
call-interrupted-before = 任务在调用之前被中断
task-interrupted = 任务被中断
task-ended-before-result = 任务在函数返回之前已结束

## 钩子

hook-denied = 被钩子 { $hook } 拒绝：{ $reason }
hook-failed = 必需的钩子 { $hook } 失败：{ $reason }
hook-denies-run = 不允许运行此任务：{ $denial }
hook-denies-model-call = 不允许调用模型：{ $denial }
hook-denies-screenshot = 不允许截屏：{ $denial }
hook-denies-action = 不允许“{ $intent }”：{ $denial }
hook-denies-function = 不调用 { $name }：{ $denial }
hook-denies-decision = 不执行此决定：{ $denial }
hook-denies-text = （内容已隐去：{ $denial }）
hooks-interrupted = 任务在钩子答复之前被停止或暂停；请重新决定
text-withheld = （内容已隐去：任务在钩子答复之前被停止）

## 数据提取与结果文件

extraction-failed = 从屏幕提取数据失败：{ $problem }
result-cancelled = 任务已取消
result-timed-out = 耗时过长
result-not-stored = 无法保存

## 命令行：任务进度

progress-starting = 正在启动
progress-observing = 正在观察屏幕
progress-stopping = 正在停止
progress-observing-again = { $action }（再次观察）
progress-retrying = { $action }（正在重试）
progress-calling = 正在调用 { $name } { $arguments }
progress-recovered = 编排器已重启，任务继续
progress-skipped = 跳过 { $backend }：{ $problem }
progress-looks = （共查看 { $looks } 次）
progress-attempts = （共 { $attempts } 次尝试）
progress-copied = 已将 { $name } 复制到桌面
progress-fetched = 已取回 { $name }，保存在 { $path }
progress-not-fetched = 无法取回文件：{ $problem }
progress-not-complete = 尚未完成：{ $missing }
progress-disturbed = 正在重试：{ $problem }
progress-taken-over = 用户已接管
progress-desktop-released = 在问题得到回答之前，{ $desktop } 可供其他任务使用
progress-handed-back = 用户已交还
progress-paused = 已暂停：{ $reason }
progress-injection = 屏幕上可能有提示词注入：{ $quotes }
progress-returned = { $name } 返回 { $result }
progress-returned-nothing = { $name } 没有返回结果
progress-call-failed = { $name } 失败：{ $error }
progress-refused = 被 { $rule } 拒绝：{ $detail }
progress-approved = 已批准
progress-denied = 已拒绝
progress-approval-expired = 批准已过期
progress-approval-invalid = 批准已失效
task-failed = 失败（{ $reason }）：{ $message }
task-cancelled = 已取消
task-cancelled-because = 已取消：{ $reason }

## 命令行：提问

prompt-answer = 请输入回答
prompt-done = 完成后输入“完成”，或输入一条消息
prompt-approve = 是否批准？[是/否]
hint-answer = 用 `motorium tasks answer { $task } "…"{ $flags }` 回答
hint-approve = 用 `motorium tasks approve { $approval }{ $flags }` 批准，或用 `motorium tasks deny { $approval } "…"{ $flags }` 拒绝
run-cancelling = { $cause }：正在取消任务
run-cancel-cause = 命令行收到 { $cause }
run-detached = 用 `motorium tasks watch { $task }{ $flags }` 查看
watch-ended = 不再查看；{ $task } 继续运行
nobody-answers = 没有人可以回答：{ $request }
hint-nobody-answers = 请在终端中运行任务，或用 `--on-approval wait` 或 `--on-approval approve` 选择处理方式
hint-nobody-answers-in-process = 请在终端中运行任务，或用 `--on-approval approve` 选择处理方式
approved-in-advance = 已按 `--on-approval approve` 批准：{ $action }
safety-check-approved-in-advance = 其中包括模型提供方的安全检查（{ $code }）：{ $message }
unfinished-tasks = 之前的运行留下 { $count } 个未完成的任务：{ $names }
hint-resume = 用 `motorium run --in-process --resume { $task }` 继续其中一个
up-hint = 用 `motorium run '点击“保存”'` 提交任务；按 Ctrl-C 停止
