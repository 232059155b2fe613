# 面向用户的中文消息。消息标识和参数与 `en.ftl` 相同，由测试比对。
# 格式为 Fluent：https://projectfluent.org/fluent/guide/

## 组合

list-separator = 、
clause-separator = ；
sentence-separator = {""}
list-empty = 无
with-detail = { $text }：{ $detail }
quoted-label = “{ $text }”
element-kind = { $kind ->
    [button] 按钮
    [link] 链接
    [text-field] 输入框
    [checkbox] 复选框
    [radio] 单选框
    [switch] 开关
    [drop-down] 下拉框
    [slider] 滑块
    [spin-box] 数字框
    [tab] 标签页
    [menu-item] 菜单
    [list-item] 列表项
    [table-row] 行
    [icon] 图标
    [image] 图片
    [label] 文字
    [dialog] 对话框
    [scroll-bar] 滚动条
    [window-control] 窗口按钮
    [control] 控件
   *[other] 元素
}
frame-part = { $part ->
    [top-left] 左上
    [top] 上方
    [top-right] 右上
    [left] 左侧
    [right] 右侧
    [bottom-left] 左下
    [bottom] 下方
    [bottom-right] 右下
   *[centre] 中间
}

## 状态、判断与结果

task-state = { $state ->
    [pending] 未开始
    [running] 运行中
    [paused] 已暂停
    [awaiting-user] 等待用户
    [succeeded] 已完成
    [failed] 失败
    [cancelled] 已取消
   *[other] 未知
}
task-state-sentence = { $state ->
    [pending] 尚未开始。
    [running] 仍在运行。
    [paused] 已暂停。
    [awaiting-user] 正在等待用户。
    [succeeded] 已完成。
    [failed] 失败。
    [cancelled] 已取消。
   *[other] 状态未知。
}
effect-verdict = { $verdict ->
    [confirmed] 已生效
    [changed-elsewhere] 别处有变化
    [no-effect] 没有效果
    [end-reached] 已到尽头
    [target-moved] 目标移动了
    [text-differs] 文字不符
   *[unknown] 效果未知
}
action-outcome = { $outcome ->
    [under-way] 正在执行
    [performed] 已执行
    [refused] 被拒绝
    [failed] 失败
    [stopped] 中途停止
    [not-performed] 未执行
   *[outcome-unknown] 结果未知
}
approval-state = { $state ->
    [approved] 已批准
    [denied] 已拒绝
    [expired] 批准已过期
   *[invalidated] 批准已失效
}
desktop-state = { $state ->
    [available] 可用
    [leased] 使用中
    [draining] 正在停用
    [unreachable] 无法连接
   *[other] 未知
}
failure-with-reason = { $message }（{ $reason }）
duration-milliseconds = { $milliseconds } 毫秒
duration-seconds = { $seconds } 秒
duration-minutes = { $minutes } 分 { $seconds } 秒
duration-hours = { $hours } 小时 { $minutes } 分

## 尚未开始的任务的等待

desktops-awaited = 正在等待桌面：{ $holds }；排在第 { $position } 位
desktop-held = { $desktop } 由 { $holder } 占用
desktop-held-by-other = { $desktop } 由其他租户的任务占用
desktop-unavailable = { $desktop } 无法连接或正在停用
desktop-not-registered = 没有符合条件的已注册桌面
start-time-awaited = 正在等待开始时间
session-awaited = 正在等待同一会话中的 { $task } 结束

## 任务的限额

time-limit = 已达到 { $seconds } 秒的时间上限；如果任务需要更长时间，请调高 `limits.max_duration`
time-limit-while-waiting = 在等待用户时已达到 { $seconds } 秒的时间上限：{ $request }；如果回答需要更长时间，请调高 `limits.max_duration`
step-limit = 已达到 { $max } 步的步数上限；如果任务需要更多步骤，请调高 `limits.max_steps`
model-awaited = { $problem }；任务等待 { $seconds } 秒后再次请求
model-too-late = { $problem }；{ $seconds } 秒后才能再次请求，而任务只剩 { $left } 秒：请用 `--max-time` 延长时限，或添加另一个后端
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
summary-goal = 任务是：{ $goal }。
outcome-extracted = 已从屏幕上提取数据

## 完成情况的核对

claim-without-evidence = 没有给出任何依据。请再看一次屏幕：如果目标已达成，请再次说明，并给出能证明的文字或窗口标题；否则请继续
claim-without-new-evidence = 没有给出最后一个操作之后新出现的依据。请再看一次屏幕：如果目标已达成，请再次说明，并给出新出现的文字或窗口标题；否则请继续
last-action-without-effect = 最后一个操作（{ $intent }）没有可见的效果
last-action-reported-failure = 最后一个操作（{ $intent }）之后，屏幕显示“{ $text }”
notice-awaited = 等待查看{ $texts }是否消失
answer-text-elsewhere = { $answer }（最后一个操作的唯一迹象在屏幕的其他位置：出现了{ $texts }）
answer-text-gone-elsewhere = { $answer }（最后一个操作的唯一迹象在屏幕的其他位置：{ $texts }消失了）
answer-own-look = { $answer }（只有被点击处的外观变了，获得焦点时也可能如此）
answer-change-elsewhere = { $answer }（最后一个操作的唯一迹象是屏幕其他位置的变化）
evidence-not-visible = 在最后的屏幕上看不到所称的依据“{ $evidence }”
text-not-on-screen = 屏幕上没有文字“{ $text }”
window-not-titled = 当前窗口的标题不是“{ $title }”
file-missing = 桌面的文件夹中没有文件 { $name }
file-not-of-task = 桌面文件夹中的文件 { $name } 早于此任务
data-not-extracted = 提取的数据中没有 { $json }
claim-not-supported = 规划器称任务已完成，但{ $missing }
goal-not-reached = 尚不能确认目标已达成：{ $missing }

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
image-not-shown = 附上的图片 { $name } 无法显示给模型，只能作为文件使用：{ $problem }
files-sent = 我附上了 { $names }。

## 接管与暂停

taken-over-by = { $user } 已接管桌面；交还后任务将继续
taken-over = 有人已接管桌面；交还后任务将继续
step-abandoned = 用户已接管桌面
person-also = 用户还{ $action }。
handed-back = 用户曾接管桌面，现已交还。
handed-back-after = 用户曾接管桌面，期间{ $actions }，现已交还。
clipboard-withheld = 剪贴板上的文字留在桌面上：它可能是机密，或超过 1 兆字节。
handed-back-message = 用户留言：{ $message }
acknowledged = 我已经操作
paused-on-request = 应用户要求
paused-on-input = 有人正在使用鼠标或键盘
paused-on-restore = 任务是从备份恢复的，备份之后它可能继续执行过；请先确认已完成的操作，再恢复执行或取消
step-dropped-on-restore = 任务是从备份恢复的：这一步以及之后的操作可能已经执行过；重复任何操作之前请先查看屏幕

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
action-not-started = 该操作没有开始
action-outcome-unknown = 该操作已经开始，不清楚是否生效，因此不再重复
nothing-sent = { $reason }；尚未发送任何输入
approval-used-too-late = 批准在使用之前已过期
approval-screen-changed = 自请求批准以来，目标处的屏幕内容或策略已发生变化
approval-more-rules = 该操作现在涉及的规则多于已批准的规则
approval-look-changed = 自请求批准以来，目标的外观已发生变化
approval-target-moved = 自请求批准以来，目标的位置已发生变化
approval-window-changed = 自请求批准以来，窗口已发生变化：之前是{ $before }，现在是{ $now }
approval-page-changed = 自请求批准以来，网页已发生变化：之前是{ $before }，现在是{ $now }
approval-amount-changed = 自请求批准以来，金额已发生变化：之前是{ $before }，现在是{ $now }
approval-recipient-changed = 自请求批准以来，收款人、收件人或账号已发生变化：之前是{ $before }，现在是{ $now }
approval-target-changed = 自请求批准以来，目标上的文字已发生变化：之前是{ $before }，现在是{ $now }
approval-text-changed = 自请求批准以来，目标旁的文字已发生变化：之前是{ $before }，现在是{ $now }
approval-asked-again = 再次请求批准，因为之前的批准已失效：{ $problem }
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
effect-text-differs = 输入的是“{ $entered }”，但输入框显示“{ $shown }”
effect-target-moved = 点击时目标移动了，无法确定是否点中
effect-own-look = 没有任何结果；只有指针下的外观发生了变化
effect-focus-left = 没有任何结果；只有原来的输入框失去了焦点
effect-passed-elsewhere = 其他位置曾有变化，但很快恢复了原状
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
pointer-target-unsteady = { $intent }：屏幕不断变化，无法按策略要求确认指针已在目标上

## 函数调用

call-function = 调用 { $name }
calling-function = 调用 { $name }
call-not-made = 未调用该函数：{ $reason }
call-outcome-unknown = { $reason }；不清楚该调用是否已执行；再次调用前请先查看屏幕
call-interrupted = 任务在调用期间被中断
call-interrupted-before = 任务在调用之前被中断
task-interrupted = 任务被中断
task-ended-before-result = 任务在函数返回之前已结束
call-not-answered = 没有及时答复（{ $problem }）
call-broken = 连接中断（{ $problem }）
function-failed = 函数执行失败：{ $problem }
function-failed-with = 函数执行失败（{ $code }）：{ $problem }
function-failed-silently = 函数执行失败，没有说明原因
function-unknown = 未知的函数 `{ $name }`；{ $known }
functions-known = 可用的函数：{ $names }
functions-none = 此任务没有任何函数
arguments-not-json = `{ $name }` 的参数不是 JSON：{ $problem }
arguments-not-object = `{ $name }` 的参数不是 JSON 对象
arguments-mismatch = `{ $name }` 的参数不符合其模式：{ $faults }
content-omitted = 不支持的内容，已省略
image-omitted = 图像（{ $media_type }）已省略
audio-omitted = 音频（{ $media_type }）已省略
file-omitted = 文件 { $uri } 已省略
linked-content = 见 { $uri }
result-truncated = 内容过长，只保留前 { $kept } 字节，共 { $size } 字节

## 工具及其函数

function-of-tool = { $tool } 的 `{ $function }`
function-name-taken = { $first }和 { $second }都会以 `{ $name }` 的名称提供；请将其中一个改名，或在 `orchestrator.tools` 中配置其所属工具，工具名会成为函数名的前缀
function-without-name = 该函数没有名称
functions-too-many = 此任务有 { $count } 个函数，最多只能向模型提供 { $max } 个
functions-too-large = 此任务的函数声明共 { $size } 字节，最多只能向模型提供 { $max } 字节
schema-too-large = 其模式有 { $size } 字节，最多只能向模型提供 { $max } 字节
schema-invalid = 其模式不是有效的 `JSON Schema`：{ $problem }
schema-not-json = 其模式不是 JSON：{ $problem }
schema-not-object = 其模式不是 JSON 对象
schema-other-type = 其模式的类型必须是 `object`
tool-unknown = 未知的工具 `{ $endpoint }`；{ $alternatives }
tool-address-forbidden = 任务不能使用地址 `{ $endpoint }`；{ $alternatives }
tool-alternatives = 已配置的工具：{ $tools }；允许的地址：{ $addresses }；请使用其中之一，或请运维人员扩充 `orchestrator.tools` 或 `orchestrator.allowed_tool_addresses`
tool-timed-out = { $seconds } 秒内没有答复
tool-recorded = 录制的任务不能调用工具
tool-unreachable = 无法连接该工具：{ $problem }
tool-not-connected = 无法连接 { $place } 处的 MCP 服务器：{ $problem }
tool-last-output = { $problem }（其最后一行输出：{ $line }）
tool-needs-token = { $place } 需要令牌；请在 `orchestrator.tools` 中设置
tool-command-empty = 命令为空
tool-not-started = 无法启动程序 `{ $program }`：{ $problem }
tool-listing-failed = 无法列出其函数：{ $problem }
tool-listing-failed-with = 无法列出其函数（{ $code }）：{ $problem }
tool-too-many-functions = 它的函数超过 { $max } 个，这是能提供的最大数量
tool-service-missing = 该地址没有 `motorium.tool.v1.ToolService`；如果是 MCP 服务器，请写成 `mcp+http://…`
tool-without-result = 该工具既没有返回结果，也没有返回错误
tool-requests-unsupported = 服务器没有返回结果；不支持服务器发出的请求，例如征询用户

## 钩子

hook-denied = 被钩子 { $hook } 拒绝：{ $reason }
hook-failed = 必需的钩子 { $hook } 失败：{ $reason }
hook-unreachable = 无法连接该钩子：{ $problem }
hook-call-failed = 该钩子出错：{ $problem }
hook-timed-out = 该钩子在 { $milliseconds } 毫秒内没有答复
hook-panicked = 该钩子崩溃了
hook-point-unknown = 未知的钩子调用点 { $number }；请确认双方的版本相同
hook-amendment-misplaced = 在 { $point } 处的修改无效：此处不能修改 { $fields }
hook-amendment-invalid = 在 { $point } 处的修改无效：{ $problem }
no-reason-given = 没有说明理由
activity-log-unwritable = 无法写入活动日志 { $path }：{ $problem }
hook-denies-run = 不允许运行此任务：{ $denial }
hook-denies-model-call = 不允许调用模型：{ $denial }
hook-denies-screenshot = 不允许截屏：{ $denial }
hook-denies-action = 不允许“{ $intent }”：{ $denial }
hook-denies-function = 不调用 { $name }：{ $denial }
hook-denies-decision = 不执行此决定：{ $denial }
hook-denies-text = （内容已隐去：{ $denial }）
hooks-interrupted = 任务在钩子答复之前被停止或暂停；请重新决定
hook-skipped = { $problem }；任务在没有它的情况下继续
redactions-added = 又遮盖了 { $count } 处
text-replaced = 文字被替换了
past-images-sent = 发送 { $count } 张较早的图像
model-notices = 告知模型：{ $notices }
text-withheld = （内容已隐去：任务在钩子答复之前被停止）

## 数据提取与结果文件

extraction-failed = 从屏幕提取数据失败：{ $problem }
result-cancelled = 任务已取消
result-timed-out = 耗时过长
result-not-stored = 无法保存

## 任务执行中的步骤

operation-plan = 规划
operation-list-backends = 列出规划器的后端
operation-read-capabilities = 读取执行器的能力
operation-lease-desktop = 租用桌面
operation-read-attachment = 读取附件
operation-put-file = 把文件放到桌面
operation-look-up-action = 查询操作的结果
operation-perform-action = 执行操作
operation-observe = 观察屏幕
operation-capture = 截取屏幕
operation-capture-approval = 截取待批准的内容
operation-capture-pointer = 截取鼠标指针
operation-compare = 比较屏幕
operation-await-late-change = 等待迟来的变化
operation-search-evidence = 查找依据
operation-find-file = 查找文件
operation-read-image = 读取图像
operation-extract = 从屏幕提取数据
operation-read-page = 读取网页
operation-settle = 等待屏幕稳定
operation-judge = 判断操作的效果
operation-await-look = 等待目标的外观
operation-move-pointer = 移动鼠标指针
operation-read-pointer = 读取鼠标指针的位置
operation-locate-pointer = 查找鼠标指针
operation-await-reaction = 等待对鼠标指针的反应
operation-store-image = 存储图像
operation-find-target = 查找目标
operation-list-functions = 列出工具 { $tool } 的函数
look-repeated = { $operation }失败，将再次尝试：{ $problem }
screen-not-parsed = 屏幕已截取，但无法解析：本步没有任何元素信息，只有截图（{ $problem }）
operation-failed = { $operation }失败：{ $problem }
tool-failed = 工具 { $tool }：{ $problem }
backend-unknown = 未知的规划器后端 `{ $name }`；已知的后端：{ $known }；其他后端请加入配置项 `planner.backends`

## 导出的页面、回答和会话记录

page-trajectory = 任务记录
page-steps = 步骤
page-back-to-top = 回到顶部
page-step-keys = 按 ↑ ↓ 切换步骤
page-no-steps = 还没有步骤。
page-step = 第 { $number } 步
page-screen-before = 第 { $number } 步开始时的屏幕
page-screen-after = 最后一个操作之后的屏幕
page-no-screenshot = 此步骤没有截图。
page-attempts = 尝试了 { $attempts } 次
page-decided = 决定：{ $decision }
page-extracted = 提取的数据
decision-kind = { $decision ->
    [act] 执行操作
    [done] 完成
    [fail] 放弃
    [ask] 询问
    [call-functions] 调用函数
    [extract] 提取数据
   *[other] { $decision }
}
stage-name = { $stage ->
    [observe] 观察
    [decide] 决定
    [resolve] 定位目标
    [pointer] 核对指针
    [act] 执行
    [settle] 等待稳定
    [call] 调用
    [extract] 提取
   *[other] { $stage }
}
fact-label = { $fact ->
    [task] 任务
    [steps] 步数
    [desktop] 桌面
    [started] 开始时间
    [time] 用时
    [model-calls] 模型调用次数
    [tokens] 词元
   *[cost] 费用
}
fact-tokens = 输入 { $input }，输出 { $output }
fact-cost = { $amount } 美元
timeline-title = { $title ->
    [recovered] 已恢复
    [desktop-released] 已释放桌面
    [queued] 排队
    [follows-earlier-tasks] 接续之前的任务
    [file-not-put-on-the-desktop] 文件没有放到桌面
    [image-not-shown-to-the-model] 图片未能提供给模型
    [file-put-on-the-desktop] 文件已放到桌面
    [backend-skipped] 跳过后端
    [retried] 重试
    [pointer-checked] 核对指针
    [not-performed] 未执行
    [asks-the-user] 询问用户
    [needs-a-manual-action] 需要用户操作
    [asks-for-approval] 请求批准
    [taken-over-by-the-user] 用户接管
    [the-user] 用户
    [approved] 已批准
    [denied] 已拒绝
    [not-approved-in-time] 未及时批准
    [approval-invalidated] 批准失效
    [taken-over] 接管
    [handed-back] 交还
    [paused] 暂停
    [resumed] 继续
    [cancellation-requested] 请求取消
    [loop-detected] 检测到循环
    [prompt-injection-suspected] 疑似提示词注入
    [verified] 已核对
    [second-look-requested] 要求再看一次
    [success-claim-rejected] 未认可完成
    [file-fetched] 已取回文件
    [file-not-fetched] 文件没有取回
    [transient-failure] 暂时故障
    [summary] 总结
   *[a-hook-intervened] 钩子介入
}
timeline-recovered = 另一次运行结束后，由 { $orchestrator } 继续此任务
timeline-pointer = 指针位于 ({ $x }, { $y })，{ $place ->
    [target] 在目标上
   *[elsewhere] 不在目标上
}；校正 { $corrections } 次
timeline-verified = 已确认任务完成
timeline-resolved-by = { $text }，由 { $user } 决定
transcript-task = { $number }. { $task }（{ $state }）
transcript-author = { $role ->
    [user] 用户
   *[assistant] Motorium
}
transcript-file = 文件：{ $name }

## 操作的目标

target-element-missing = 画面中没有元素 { $element }；它可能在作出决定之后消失了
target-outside = ({ $x }, { $y }) 超出了 { $width }×{ $height } 像素的画面
target-not-found = 屏幕上找不到{ $target }
target-not-found-nearest = 屏幕上找不到{ $target }；最接近的文字是{ $nearest }
target-ambiguous = 有 { $count } 个元素符合{ $target }；请补充类型、位置或序号
target-nth = 第 { $number } 个
target-last = 最后一个
target-at-part = { $part }的

## 语句手册：问题、失败和进度

phrasebook-waiting = 等待中：{ $words }
phrasebook-done-long = 已完成全部 { $clauses } 条指令，最后一条：{ $last }。
phrasebook-done = 已完成：{ $joined }。
phrasebook-only-text = “{ $words }”：屏幕上找不到{ $thing }，只有文字{ $text }。
phrasebook-not-found = “{ $words }”：屏幕上找不到{ $thing }。
phrasebook-not-found-nearest = “{ $words }”：屏幕上找不到{ $thing }。最接近的是{ $listed }。
phrasebook-in-the-way = { $problem }{ $obstacle }在最前面，可能挡住了目标：请先回应或关闭它。
phrasebook-ask-which = “{ $words }”：有 { $count } 处符合：{ $listed }。指的是哪一个？
phrasebook-more-candidates = 以及另外 { $count } 处
phrasebook-answer-unknown = “{ $answer }”没有指明其中的一个。{ $question }请用 1 到 { $count } 的数字回答，或用其中一个的文字回答。
phrasebook-candidate = （{ $number }）{ $kind }“{ $content }”，{ $place }
phrasebook-candidate-beside = （{ $number }）{ $kind }“{ $content }”，在“{ $neighbour }”旁边
phrasebook-candidate-nth = （{ $number }）{ $kind }“{ $content }”，{ $place }，那里的第 { $rank } 个
phrasebook-nothing-changed = 已执行“{ $words }”，但屏幕没有任何变化。
phrasebook-page-failed = “{ $words }”：浏览器无法显示该网页：{ $error }。
phrasebook-not-taken = “{ $words }”：该输入框没有接受这段文字。
phrasebook-not-taken-shows = “{ $words }”：该输入框没有接受这段文字，现在显示{ $quoted }。
phrasebook-not-cleared = “{ $words }”：该输入框仍显示{ $shown }。
phrasebook-not-checked = 已执行“{ $words }”，但仍未勾选。
phrasebook-not-unchecked = 已执行“{ $words }”，但仍处于勾选状态。
phrasebook-slider-shows = 已执行“{ $words }”，但滑块显示 { $shown }。
phrasebook-slider-put-back = “{ $words }”：滑块不能取这个值，已恢复为 { $shown }。
phrasebook-no-slider-value = “{ $words }”：{ $value }不是 0 到 500 的整数。
phrasebook-dialog-stands = 已执行“{ $words }”，但对话框{ $title }仍未关闭。
phrasebook-not-chosen = “{ $words }”：对话框已关闭，但没有选中{ $file }，页面显示{ $shown }。请改为点击对话框中的按钮，例如“打开”。
phrasebook-at-end = “{ $words }”：没有滚动，已经到头。
phrasebook-not-performed = 没有执行“{ $words }”。
phrasebook-already-so = 本来就是这样：{ $listed }。
phrasebook-page-says = 网页显示{ $quoted }。
phrasebook-left-out = 未执行：{ $listed }。
phrasebook-refused = “{ $words }”不被允许：{ $detail }
phrasebook-failed = “{ $words }”失败：{ $detail }
phrasebook-was-performed = 执行“{ $words }”时被中断，无法确定是否已完成。请查看：已完成请回答“已完成”，否则回答“重试”。
phrasebook-reply-unclear = “{ $answer }”没有说明是否已完成。{ $question }
phrasebook-was-effective = 看不出“{ $words }”是否生效。请查看：已生效请回答“已完成”，否则回答“重试”。
phrasebook-was-chosen = 执行“{ $words }”后对话框已关闭，但没有看到{ $file }。请查看：已选中请回答“已完成”，否则回答“重试”。
phrasebook-was-any-chosen = 执行“{ $words }”后对话框已关闭，看不出选中了哪个文件。请查看：选对了请回答“已完成”，否则回答“重试”。
phrasebook-asks-to-leave = 执行“{ $words }”时，浏览器询问{ $question }：网页上未保存的更改将会丢失。请在屏幕上作出选择：已离开网页请回答“已完成”，留在网页请回答“继续”。
phrasebook-was-hit = 执行“{ $words }”的点击时页面移动了，无法确定是否点中。请查看：已点中请回答“已完成”，否则回答“重试”。
phrasebook-end-reached = “{ $words }”：已滚动到尽头，没有出现{ $text }。
phrasebook-no-scroll-end = “{ $words }”：一直可以滚动，没有到达尽头。
phrasebook-not-appeared = “{ $words }”：{ $seconds } 秒内没有出现{ $text }。
phrasebook-still-there = “{ $words }”：{ $seconds } 秒后{ $text }仍在。
phrasebook-not-shown = “{ $words }”：没有显示{ $text }。
phrasebook-shown = “{ $words }”：显示了{ $text }。
phrasebook-unknown-application = “{ $words }”：这里不能打开该应用。可以打开的有：{ $listed }。
phrasebook-no-new-window = “{ $words }”：{ $seconds } 秒内没有出现窗口。
phrasebook-message-ignored = 无法理解“{ $message }”，不作改变。
phrasebook-not-understood = { $why }；能理解的句子例如：{ $example }
phrasebook-example = 点击“保存”，在“姓名”中输入“张三”然后按回车
phrasebook-cannot-take-over = 其他后端已开始执行该目标，无法得知哪些已完成，因此不能接手
phrasebook-candidate-separator = ，
parse-empty = 目标为空
parse-too-long = 目标太长
parse-unclosed-quote = 引号没有闭合
parse-unknown-verb = 开头不是已知的动词
parse-similar-verb = 开头不是已知的动词，是否想说“{ $verb }”
parse-missing-target = 没有说明对象
parse-invalid-target = 没有指明屏幕上的对象，请把它的文字放进引号
parse-missing-text = 没有说明文字内容
parse-unquoted-text = 文字没有放进引号
parse-missing-field = 没有说明每段文字输入到哪里
parse-missing-destination = 没有说明拖到哪里
parse-unknown-key = 没有叫“{ $name }”的按键
parse-invalid-address = 没有给出网址
parse-trailing-words = 多出了“{ $words }”

## 模型给出的操作的说明

intent-move = 把指针移到{ $place }
intent-click = { $gesture ->
    [double] 双击
    [triple] 三击
    [right] 右键点击
    [middle] 中键点击
    [back] 用后退侧键点击
    [forward] 用前进侧键点击
   *[single] 点击
}{ $place }
intent-while-holding = 按住 { $keys } { $action }
intent-mouse-down = 在{ $place }按下鼠标键
intent-mouse-up = 在{ $place }松开鼠标键
intent-drag = 拖动
intent-drag-to = 从{ $from }拖到{ $to }
intent-scroll = { $direction ->
    [down] 向下
    [up] 向上
    [right] 向右
   *[left] 向左
}滚动
intent-type = 输入{ $text }
intent-press = 按 { $keys }
intent-hold = 按住 { $keys }
intent-other = { $kind ->
    [set-clipboard] 设置剪贴板
    [paste] 粘贴
    [open-application] 打开应用程序
    [open-url] 打开网址
    [focus-window] 切换窗口
    [go-to-url] 前往网址
    [go-back] 后退
    [go-forward] 前进
    [refresh] 刷新
    [wait] 等待
   *[other] 其他操作
}
place-at-pointer = 指针所在处
place-element = 一个元素
place-in-part = { $part }的一点

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
progress-copied = 已将 { $name } 复制到桌面上的 { $path }
progress-fetched = 已取回 { $name }，保存在 { $path }
progress-not-fetched = 无法取回文件：{ $problem }
files-not-fetched = 任务已完成，但缺少文件：{ $names }
progress-second-look = 尚无完成的依据，再看一次
progress-not-complete = 尚未完成：{ $missing }
progress-transient-failure = 正在重试：{ $problem }
progress-taken-over = 用户已接管
progress-desktop-released = 在问题得到回答之前，{ $desktop } 可供其他任务使用
progress-handed-back = 用户已交还
progress-paused = 已暂停：{ $reason }
progress-injection = 屏幕上可能有提示词注入：{ $quotes }
progress-returned = { $name } 返回 { $result }
progress-returned-nothing = { $name } 没有返回结果
progress-call-failed = { $name } 失败：{ $error }
progress-refused = 被 { $rule } 拒绝：{ $detail }
task-failed = 失败：{ $message }
task-cancelled = 已取消
task-cancelled-because = 已取消：{ $reason }

## 命令行：表格与结果

table-column = { $column ->
    [task] 任务
    [state] 状态
    [steps] 步数
    [goal] 目标
    [answer] 回答
    [approval] 批准
    [action] 操作
    [reason] 理由
    [step] 步骤
    [effect] 效果
    [milliseconds] 毫秒
    [desktop] 桌面
    [platform] 平台
    [display] 显示器
    [rule] 规则
   *[labels] 标签
}
platform-unknown = 未知
act-rule = { $outcome }（规则 { $rule }）
act-drag-sent = 已发送（{ $effect }）
act-pointer = { $outcome }；指针在 ({ $x }, { $y })
act-on-other-desktop = 正在 { $executor } 处执行器的桌面 { $display } 上操作，而环境变量 `DISPLAY` 是 { $own }；可用 `--display` 选择它的桌面，或用 `--in-process` 在 { $own } 上操作
see-other-desktop = 正在查看 { $perception } 处感知服务的桌面 { $display }，而环境变量 `DISPLAY` 是 { $own }；可用 `--in-process` 查看 { $own }
act-for-task = 正在您接管的 { $task } 的桌面上操作
act-desktop-of-task = 桌面正由 { $task } 使用；可用 `motorium tasks take-over { $task }` 接管，或等待任务结束
act-desktop-used = 桌面正由 `{ $holder }` 使用；请在 { $seconds } 秒后再试
act-input-only = { $task } 被接管期间，只能使用鼠标、键盘和直接给出的文字；其他操作请先用 `motorium tasks hand-back { $task }` 交还桌面
act-interrupted = 操作被中断，请查看屏幕
act-interrupted-before = 操作在开始之前被中断

## 命令行：提问

prompt-answer = 请输入回答
prompt-done = 完成后输入“完成”，或输入一条消息
prompt-approve = 是否批准？[是/否]
prompt-answer-unclear = “{ $line }”不明确：请回答“是”，或回答“否”并说明理由
hint-answer = 用 `motorium tasks answer { $task } "…"{ $flags }` 回答
hint-approve = 用 `motorium tasks approve { $approval }{ $flags }` 批准，或用 `motorium tasks deny { $approval } "…"{ $flags }` 拒绝
run-cancelling = { $cause }：正在取消任务
run-cancel-cause = 命令行收到 { $cause }
run-detached = 用 `motorium tasks watch { $task }{ $flags }` 查看
watch-ended = 不再查看；{ $task } 继续运行
no-person-answers = 没有人可以回答：{ $request }
hint-no-person-answers = 请在终端中运行任务，或用 `--on-approval wait` 或 `--on-approval approve` 选择处理方式
hint-no-person-answers-in-process = 请在终端中运行任务，或用 `--on-approval approve` 选择处理方式
approved-in-advance = 已按 `--on-approval approve` 批准：{ $action }
safety-check-approved-in-advance = 其中包括模型提供方的安全检查（{ $code }）：{ $message }
unfinished-tasks = 之前的运行留下 { $count } 个未完成的任务：{ $names }
hint-resume = 用 `motorium run --in-process --resume { $task }` 继续其中一个
up-hint = 用 `motorium run '点击“保存”'` 提交任务；按 Ctrl-C 停止
up-unfinished = 还有 { $count } 个未完成的任务，会在下次 `motorium up` 时继续：{ $names }
deleted = 已删除 { $name }
would-delete = 将会删除 { $name }
purge-done = 已删除 { $tasks } 个任务和 { $sessions } 个会话；其文件由服务器在之后的清理中移除
serving = 服务正常
not-serving = 服务不可用：请运行 `motorium doctor`，并查看该服务的日志
backup-done = 备份在 { $folder } 中：任务和 { $blobs } 个文件（{ $bytes } 字节）
backup-without-damaged = 警告：存储中有 { $blobs } 个文件已损坏，没有放入备份
restore-done = 已恢复 { $created } 的备份，共 { $blobs } 个文件；未完成的任务在备份之后可能继续执行过，因此下次启动时会暂停
restore-replaced = 原有的存储已移到 { $folder }
purge-dry-run = 去掉 `--dry-run` 将会删除 { $tasks } 个任务和 { $sessions } 个会话
up-page = 在浏览器中打开网页（链接只能用一次）：{ $url }
up-page-elsewhere = { $taken } 已被另一个程序占用；这次网页在 { $address } 提供
up-without-page = 网页没有提供：{ $taken } 及其后的端口都已被其他程序占用；请停止该程序，或设置 `gateway.listen`
page-link = 打开 { $url }（只能用一次，{ $minutes } 分钟内有效）
page-not-served = 无法使用网关 { $url }：{ $problem }；请用 `motorium up` 启动
page-token-refused = 网关 { $url } 不接受来自 { $origin } 的令牌；在网关所在的机器上请不要指定令牌，它自己的令牌会被找到
token-of-configuration = 配置
token-of-data-folder = 数据文件夹 { $path }
page-disabled = 网关已停用；请将 `gateway.enabled` 设为 `true`
up-desktop = 桌面 { $display }
up-virtual-desktop = 虚拟桌面 { $display }
up-isolated = 其中的程序看不到本用户的文件，也看不到其他进程
up-not-isolated = 其中的程序没有隔离：它们能读写本用户能读写的一切，包括 Motorium 的数据和密钥（{ $reason }）
up-pages-not-isolated = 网页没有与浏览器隔离：系统不允许浏览器建立自己的命名空间
up-pages-not-filtered = 网页可以把浏览器引向本机和本地网络的地址；设置 `executor.devtools` 可以防止（见 `docs/security.md`）

## 命令行：错误

error-line = 错误：{ $error }
unwritable = 无法写入 { $path }：{ $problem }
store-not-in-files = 此命令只备份文件形式的存储（`sqlite://`、`file://`）；`PostgreSQL` 请参见 `docs/operations.md`
not-deletable = `{ $name }` 既不是任务也不是会话；请给出 `tasks/NAME` 或 `sessions/NAME` 这样的名称
orchestrator-unreachable = 无法连接 { $server } 处的任务服务（{ $report }）；请用 `motorium up` 启动一个，或在 `motorium run` 后加上 `--in-process`
virtual-desktop-failed = 虚拟桌面没有启动：{ $problem }
no-display-server = { $first } 和 { $second } 都没有安装；请安装 `tigervnc-standalone-server` 或 `xvfb`
display-access-not-granted = 无法让本用户访问虚拟显示器：{ $problem }；请安装软件包 { $package }，或把 `XAUTHORITY` 设为一个可写的文件
desktop-not-isolated = 无法隔离虚拟桌面中的程序：{ $problem }；把 `desktop.isolation` 设为 `auto` 就会不加隔离地启动
data-folder-in-use = 数据文件夹 { $path } 正被另一个虚拟桌面使用（进程 { $process }）；请结束该进程，或用 `--data` 选择另一个文件夹
desktop-session-not-started = 无法启动虚拟桌面中的程序：{ $problem }
isolation-is-off = `desktop.isolation` 为 `off`
sandbox-not-installed = 没有安装 { $program }；请安装软件包 { $package }
program-not-started = 无法启动 { $program }：{ $problem }；请安装软件包 { $package }
program-not-ready = { $program } 在 { $seconds } 秒内没有就绪
no-display = 没有找到显示器；请用 `motorium up` 启动一个虚拟显示器
not-found-hint = { $problem }；可用 `{ $command }` 查看现有的名称
resume-unknown = { $task } 不是之前的运行留下的未完成任务；未完成的任务：{ $names }
wait-needs-server = `--on-approval wait` 需要服务器：在本进程中执行的任务无法从别处答复
path-is-no-file = { $path } 不是文件
image-unreadable = 无法读取图像 { $path }：{ $problem }；请指定一个 PNG、JPEG 或 WebP 文件，或去掉 `--image` 以查看屏幕
no-pending-approval = { $task } 没有待批准的操作
task-ended-already = { $task } 已经结束（{ $state }）
server-silent = { $server } 已 { $seconds } 秒没有任何消息；将一直重试，直到它应答
server-answers-again = { $server } 又有应答了
session-before-subcommand = `--session` 不能放在子命令之前；请把它交给 `list` 或 `watch`
history-unreadable = { $path }：{ $problem }；应为如下形式的列表：`{"{"}"role": "user" 或 "assistant", "content": TEXT{"}"}`
history-image-not-embedded = { $path }：{ $field } 只给出了图片的位置，没有图片本身；请以 `base64` 嵌入（`data:image/png;base64,…`），或用 `--attach` 附上文件
history-image-unreadable = { $path }：{ $field } 不是 `base64` 编码的 PNG、JPEG 或 WebP 图片
history-image-of-assistant = { $path }：{ $field } 是助手的图片；这里只接受用户的图片，请将其删除
event-stream-ended = { $task } 尚未结束，它的事件流就中断了
server-ended = { $server } 处的任务服务已结束（{ $report }）；{ $task } 尚未完成，再次运行 `motorium up` 时会继续：届时可用 `motorium tasks watch { $task }` 查看，或用 `motorium tasks cancel { $task }` 取消
executor-with-tls = { $address } 处可能有使用加密连接的执行器；请用 `--executor https://…` 指定
drag-needs-points = 拖动至少需要两个点：`X1 Y1 X2 Y2`
clipboard-lost = 剪贴板的内容已丢失：{ $cause }
clipboard-not-taken-over = { $seconds } 秒内没有进程接手
clipboard-refused = 显示器拒绝了请求
server-not-answering = 服务器已 { $seconds } 秒没有应答
standard-output = 标准输出
this-process = 本进程
no-token = 没有用于 { $server } 的令牌：既没有配置令牌，本用户的服务器也没有在这台计算机上创建令牌；请用 `motorium up` 启动一个服务器，或用 `--token-file` 指定文件
no-tool-configured = 没有配置任何工具；添加方法见 `docs/functions.md`
scene-saved = { $elements } 个元素；标注截图在 { $path }；{ $stages }
desktop-removed = 已移除 { $desktop }

## 命令行：`motorium policy`

policy-active = 内置策略 `{ $name }`，版本 { $version }；批准在 { $seconds } 秒后过期
policy-file-active = 来自文件 { $name } 的策略，版本 { $version }；批准在 { $seconds } 秒后过期
policy-needs-second-person = 每个批准都必须由任务创建者以外的人给出
policy-own-lexicon = 内置词表已被管理员的词表取代
rule-effect = { $effect ->
    [permit] 允许
    [require-approval] 需要批准
    [second-person] 需要第二人
    [verify-pointer] 核实指针位置
    [deny] 拒绝
   *[unspecified] 未知
}

trial-decision = { $decision ->
    [allow] 会直接执行，无需询问
    [require-approval] 需要批准
    [second-person] 需要第二人批准
    [deny] 会被拒绝
   *[unspecified] 未知
}

## 命令行：`motorium audit`

audit-whole = 第 { $first } 至 { $last } 条记录完整
audit-broken = 审计日志不完整：{ $problem }
audit-end-unconfirmed = 仅凭一个文件无法判断其后是否还有记录；请校验整个文件夹
audit-checkpoint = 如需日后证明，请将此值另行保存：{ $checkpoint }

## 命令行：`motorium doctor` 的检查

check-all-met = 所有要求都已满足
check-all-met-with-warnings = 所有要求都已满足；警告列出了效果较差或不可用的功能
check-missing = 缺少 { $count } 项要求
check-data-folder = 数据文件夹 { $path }
check-data-folder-unwritable = 数据文件夹 { $path } 不可写：{ $problem }
remedy-data-folder = 请用 `--data` 或 `MOTORIUM_DATA` 指定另一个文件夹
remedy-setting = 请更正该设置，或将其删除
check-file-missing = { $name }：{ $path } 不存在
check-file = { $name }：{ $path }
check-file-slow = { $name }：{ $path }，这是较慢的原始版本
remedy-install-model = 请在源码目录中运行 `{ $command }` 安装
remedy-optimise-model = 请在源码目录中运行 `{ $command }` 优化
model-runtime = `ONNX Runtime`
model-text-detection = 文字检测模型
model-text-recognition = 文字识别模型
check-display-server = { $program }，用于虚拟桌面
check-no-display-server = 没有用于虚拟桌面的显示服务器
check-program = { $program }，{ $purpose }
purpose-window-manager = 虚拟桌面的窗口管理器
purpose-session-bus = 虚拟桌面的会话总线
purpose-display-access = 只让本用户访问虚拟桌面
purpose-isolation = 隔离虚拟桌面中的程序
purpose-browser = 用来打开网址的浏览器
purpose-editor = 虚拟桌面的文本编辑器
check-no-display = 没有显示器：{ $problem }
remedy-start-desktop = 请用 `motorium up` 启动虚拟桌面
check-displays = 显示器 { $displays }
check-running = 服务正在运行（{ $address }）；以下检查的是它的桌面
check-no-window = 无法在 { $display } 上打开窗口：{ $problem }
remedy-display-access = 请检查对该显示器的访问权限，例如用 `xdpyinfo`
probe-not-shown = 窗口没有出现
check-captured = 可以截取窗口
probe-not-captured = 截图中没有应有的窗口
check-capture-fails = 截取 { $display } 失败：{ $problem }
remedy-covered-screen = 请检查屏幕是否被遮挡，例如被锁屏界面遮挡
probe-input = 输入
probe-click = 单击
probe-word = 输入的文字
check-no-keyboard = 被单击的窗口没有得到键盘焦点，文字会输入到别处
remedy-start-manager = 请启动窗口管理器，例如 `icewm`
check-arrives = { $what }能够到达窗口
check-does-not-arrive = { $what }没有到达应有的窗口
check-not-tried = 没有尝试{ $what }：{ $problem }
remedy-try-later = 请在没有任务执行时再次运行 `motorium doctor`
check-window-manager = { $display } 上有窗口管理器
check-no-window-manager = { $display } 上没有窗口管理器，窗口没有标题，也不能激活、移动或关闭，文字会输入到上次获得键盘焦点的地方
remedy-start-manager-there = 请在该显示器上启动一个，例如 `icewm`

## Approvals through a client of MCP

mcp-approval-application = 应用：{ $application }
mcp-approval-window = 窗口：{ $window }
mcp-approval-page = 网页：{ $page }
mcp-approval-question = 问题：{ $question }
mcp-approval-target = 目标：{ $target }
mcp-approval-texts = 周围文字：{ $texts }
mcp-approval-amounts = 金额：{ $amounts }
mcp-approval-recipients = 收件人：{ $recipients }
mcp-decision = 决定
mcp-approve = 批准
mcp-deny = 拒绝
mcp-reason = 给任务的理由
mcp-answer = 回答
mcp-person = { $client } 的使用者
mcp-task-cancelled = 提出此任务的智能体取消了它
mcp-call-cancelled = 提出此任务的智能体不再等待它
