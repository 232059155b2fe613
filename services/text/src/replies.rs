//! Words in which applications reply to an action: that it is done, or that it failed.
//!
//! Pure. Which text on a screen may be a reply, the caller decides. The words are not in the lexicon, which users may replace for
//! their policy: they are those of the applications.

use crate::fold::NormalisedText;

/// Words of replies that say that something was done, as buttons and forms show them.
const ACKNOWLEDGEMENTS: &[&str] = &[
    "saved",
    "sent",
    "done",
    "success",
    "successful",
    "successfully",
    "thanks",
    "thank you",
    "added",
    "removed",
    "deleted",
    "updated",
    "created",
    "copied",
    "applied",
    "completed",
    "submitted",
    "received",
    "confirmed",
    "uploaded",
    "downloaded",
    "undo",
    "已",
    "成功",
    "完成",
    "谢谢",
    "感谢",
    "撤销",
];

/// Phrases of replies that say that something failed.
const FAILURES: &[&str] = &[
    "could not",
    "couldn t",
    "couldnt",
    "cannot",
    "can not",
    "can t be",
    "unable to",
    "failed",
    "failure",
    "error",
    "invalid",
    "not allowed",
    "not permitted",
    "not valid",
    "not saved",
    "not sent",
    "denied",
    "rejected",
    "try again",
    "went wrong",
    "is required",
    "are required",
    "required field",
    "please fill",
    "enter a valid",
    "incorrect",
    "wrong password",
    "wrong code",
    "wrong user name",
    "already taken",
    "already exists",
    "already in use",
    "too short",
    "too long",
    "too large",
    "does not match",
    "do not match",
    "not logged in",
    "exceeds",
    "out of stock",
    "sold out",
    "no file selected",
    "enter a number between",
    "失败",
    "错误",
    "出错",
    "无法",
    "未能",
    "无效",
    "被拒绝",
    "请填写",
    "不正确",
    "不能为空",
    "已存在",
    "已被占用",
    "太短",
    "太长",
    "不匹配",
    "超过",
    "已售罄",
    "未登录",
    "重试",
    "失敗",
    "錯誤",
    "無法",
    "無效",
];

/// Phrases with these words that report no failure.
const NO_FAILURES: &[&str] = &[
    "no error",
    "no errors",
    "0 errors",
    "without error",
    "without errors",
    "error free",
    "none failed",
    "0 failed",
    "没有错误",
    "无错误",
    "無錯誤",
];

/// Returns true if a text says that something was done. A failure says so as well where it denies one (`not saved`).
#[must_use]
pub fn acknowledges(text: &str) -> bool {
    contains_any(&NormalisedText::of(text), ACKNOWLEDGEMENTS)
}

/// Returns true if a text says that something failed.
#[must_use]
pub fn reports_failure(text: &str) -> bool {
    let phrases = NO_FAILURES.iter().map(|phrase| NormalisedText::of(phrase));
    let text = phrases.fold(NormalisedText::of(text), |text, phrase| {
        text.without(&phrase)
    });
    contains_any(&text, FAILURES)
}

fn contains_any(text: &NormalisedText, phrases: &[&str]) -> bool {
    let mut phrases = phrases.iter().map(|phrase| NormalisedText::of(phrase));
    phrases.any(|phrase| text.contains(&phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_from_what_is_done() {
        let failures = [
            "Could not save: the server does not answer",
            "Couldn't send the message",
            "COULDNT SAVE",
            "Error 503",
            "Please try again",
            "This address is not valid",
            "保存失败",
            "无法连接到服务器",
            "Email is required",
            "Please fill in all fields",
            "Please enter a valid email address.",
            "Wrong password",
            "This name is already taken",
            "Password too short",
            "You are not logged in",
            "Amount exceeds the limit",
            "Out of stock",
            "No file selected",
            "Enter a number between 1 and 10",
            "请填写收货人",
            "密码不正确",
        ];
        for text in failures {
            assert!(reports_failure(text), "{text}");
        }
        let others = [
            "Saved",
            "0 errors, 3 warnings",
            "No errors were found",
            "Terrorism in film",
            "A mirror",
            "Canned peas",
            "Please enter your password",
            "Expires in 2028",
            "Required reading",
            "Choose a date",
            "没有错误",
            "已保存",
        ];
        for text in others {
            assert!(!reports_failure(text), "{text}");
        }
    }

    #[test]
    fn acknowledgements_are_whole_words() {
        for text in [
            "Saved",
            "Your message was sent.",
            "Thank you!",
            "已添加到购物车",
        ] {
            assert!(acknowledges(text), "{text}");
        }
        for text in ["Ann is online", "Abandoned", "3 updates", "正在加载"] {
            assert!(!acknowledges(text), "{text}");
        }
    }
}
