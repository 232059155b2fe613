//! Python written by models.

use motorium_planner::response::pyautogui::{MAX_CODE_CHARS, read};

use super::describe;

#[track_caller]
fn check(code: &str, expected: &str) {
    match read(code) {
        Ok(commands) => assert_eq!(describe(&commands), expected, "{code}"),
        Err(error) => panic!("{code}\n{error}"),
    }
}

#[track_caller]
fn refused(code: &str, expected: &str) {
    let error = read(code).expect_err(code).to_string();
    assert!(error.contains(expected), "{code}\n{error}");
}

#[test]
fn clicks() {
    check("pyautogui.click(x=644, y=364)", "left x1 at (644, 364)");
    check("pyautogui.click(644, 364)", "left x1 at (644, 364)");
    check("pyautogui.click((644, 364))", "left x1 at (644, 364)");
    check("pyautogui.click([644, 364.5])", "left x1 at (644, 364.5)");
    check("pyautogui.click()", "left x1");
    check("pyautogui.click(x=None, y=None)", "left x1");
    check(
        "pyautogui.click(1, 2, 2, 0.1, 'right')",
        "right x2 at (1, 2)",
    );
    check(
        "pyautogui.click(1, 2, clicks=3, interval=0.1, duration=1)",
        "left x3 at (1, 2)",
    );
    check(
        "pyautogui.click(x=1, y=2, button=\"middle\")",
        "middle x1 at (1, 2)",
    );
    check("pyautogui.rightClick(x=1, y=2)", "right x1 at (1, 2)");
    check("pyautogui.middleClick(1, 2)", "middle x1 at (1, 2)");
    check("pyautogui.doubleClick(1, 2)", "left x2 at (1, 2)");
    check(
        "pyautogui.doubleClick(1, 2, button='right')",
        "right x2 at (1, 2)",
    );
    check("pyautogui.tripleClick(x=1, y=2)", "left x3 at (1, 2)");
    check("computer.triple_click(x=1, y=2)", "left x3 at (1, 2)");
    check(
        "pyautogui.click(x=0.3141, y=0.8725)",
        "left x1 at (0.3141, 0.8725)",
    );
}

#[test]
fn ends_are_read_as_the_models_were_taught_them() {
    check("DONE", "done \"\"");
    check(" FAIL\n", "fail \"\"");
    check("WAIT", "wait 5s");
    check("computer.done()", "done \"\"");
    check("computer.fail(message='no file')", "fail \"no file\"");
    check("computer.terminate(status='success')", "done \"\"");
    refused(
        "computer.done()\npyautogui.click(1, 2)",
        "nothing can follow the end",
    );
    refused("OVER", "only plain calls");
}

#[test]
fn movements() {
    check("pyautogui.moveTo(1, 2, duration=0.5)", "move (1, 2)");
    check("pyautogui.moveTo(-1, +2)", "move (-1, 2)");
    check(
        "pyautogui.moveTo(1, 2)\npyautogui.dragTo(30, 40, 0.5)",
        "move (1, 2); left drag (1, 2) to (30, 40) in 500ms",
    );
    check(
        "pyautogui.dragTo(30, 40, button='right')",
        "right down; move (30, 40); right up",
    );
    check(
        "pyautogui.moveTo(1, 2)\npyautogui.dragRel(10, 0)\npyautogui.moveRel(0, 5)",
        "move (1, 2); left drag (1, 2) to (11, 2); move (11, 7)",
    );
    check(
        "pyautogui.mouseDown(1, 2); pyautogui.moveTo(3, 4); pyautogui.mouseUp()",
        "left down at (1, 2); move (3, 4); left up",
    );
    refused(
        "pyautogui.moveRel(10, 0)",
        "after a call that says where it is",
    );
}

#[test]
fn the_wheel() {
    check("pyautogui.scroll(-5)", "scroll 0,5 notches");
    check(
        "pyautogui.scroll(5, x=1, y=2)",
        "scroll 0,-5 notches at (1, 2)",
    );
    check("pyautogui.scroll(clicks=-3)", "scroll 0,3 notches");
    check("pyautogui.vscroll(2)", "scroll 0,-2 notches");
    check("pyautogui.hscroll(4)", "scroll 4,0 notches");
    refused("pyautogui.scroll(0)", "0 wheel clicks");
    refused("pyautogui.scroll(-2000)", "-2000 wheel clicks");
    refused("pyautogui.scroll(0.5)", "must be a whole number");
}

#[test]
fn text_and_keys() {
    check("pyautogui.write('Hello, 世界')", "type \"Hello, 世界\"");
    check(
        "pyautogui.write(message=\"it's\", interval=0.05)",
        "type \"it's\"",
    );
    check("pyautogui.typewrite(text='a' 'b')", "type \"ab\"");
    check(
        "pyautogui.write(content='''two\nlines''')",
        "type \"two\\nlines\"",
    );
    check("pyautogui.write(r'C:\\temp')", "type \"C:\\\\temp\"");
    check(
        "pyautogui.write('tab\\tand \\u4e16')",
        "type \"tab\\tand 世\"",
    );
    check(
        "pyautogui.write('secret:MAIL_PASSWORD')",
        "type secret MAIL_PASSWORD",
    );
    check(
        "pyautogui.typewrite(['a', 'enter'])",
        "press a x1; press enter x1",
    );
    check("pyautogui.press('enter')", "press enter x1");
    check("pyautogui.press('down', presses=3)", "press down x3");
    check(
        "pyautogui.press(keys=['tab', 'f5'])",
        "press tab x1; press f5 x1",
    );
    check("pyautogui.hotkey('ctrl', 's')", "press ctrl+s x1");
    check(
        "pyautogui.hotkey(['ctrl', 'shift', 't'])",
        "press ctrl+shift+t x1",
    );
    check("pyautogui.hotkey(keys=['alt', 'f4'])", "press alt+f4 x1");
    check("pyautogui.hotkey('ctrl+c')", "press ctrl+c x1");
    refused("pyautogui.press('flurb')", "`flurb`");
    refused("pyautogui.write('')", "the text is empty");
    refused("pyautogui.write(5)", "must be a text");
    refused("pyautogui.press('a', presses=0)", "1 to 1000 times");
}

#[test]
fn keys_that_are_held() {
    check(
        "pyautogui.keyDown('ctrl')\npyautogui.click(1, 2)\npyautogui.click(3, 4)\npyautogui.keyUp('ctrl')",
        "ctrl+left x1 at (1, 2); ctrl+left x1 at (3, 4)",
    );
    check(
        "pyautogui.keyDown('ctrl')\npyautogui.press('c')\npyautogui.keyUp('ctrl')",
        "press ctrl+c x1",
    );
    check(
        "pyautogui.keyDown('alt')\npyautogui.keyDown('tab')\npyautogui.keyUp('tab')\npyautogui.keyUp('alt')",
        "press alt+tab x1",
    );
    check(
        "pyautogui.keyDown('w')\ntime.sleep(1.5)\npyautogui.keyUp('w')",
        "hold w 1.5s",
    );
    check(
        "pyautogui.keyDown('shift'); pyautogui.scroll(-2); pyautogui.keyUp('shift')",
        "shift+scroll 0,2 notches",
    );
    refused("pyautogui.keyDown('shift')", "not released");
    refused("pyautogui.keyUp('shift')", "was not put down");
    refused(
        "pyautogui.keyDown('w')\ntime.sleep(40)\ntime.sleep(40)\npyautogui.keyUp('w')",
        "held for at most 60 seconds",
    );
    refused(
        "pyautogui.keyDown('shift')\npyautogui.write('a')\npyautogui.keyUp('shift')",
        "not possible while keys are down",
    );
}

#[test]
fn waiting_and_ending() {
    check("computer.wait()", "wait 5s");
    check("pyautogui.sleep(2)", "wait 2s");
    check("import time\ntime.sleep(0.5)", "wait 500ms");
    check("computer.terminate(status=\"success\")", "done \"\"");
    check("computer.terminate('success', answer='42')", "done \"42\"");
    check("computer.terminate(status=\"fail\")", "fail \"\"");
    check("computer.terminate(status='Failure')", "fail \"\"");
    refused("computer.terminate(status='maybe')", "`maybe` is no status");
    refused(
        "computer.terminate(status='success')\npyautogui.click(1, 2)",
        "line 2 of the code: nothing can follow",
    );
    refused("time.sleep(3600)", "0 to 60");
    refused("time.sleep(-1)", "0 to 60");
}

#[test]
fn imports_and_comments_around_calls() {
    check(
        "import pyautogui, time\n\n# Open it.\npyautogui.click(1, 2)  # the icon\npyautogui.press('enter')\n",
        "left x1 at (1, 2); press enter x1",
    );
    refused(
        "import os\nos.system('true')",
        "line 1 of the code: only pyautogui, computer, time",
    );
    refused("import pyautogui as gui", "under their own names");
    refused("from pyautogui import click", "only plain calls");
    refused("# nothing", "asks for no action");
    refused("", "asks for no action");
    refused("import pyautogui", "asks for no action");
}

#[test]
fn unsupported_code_is_refused_with_its_line() {
    refused(
        "pyautogui.click(1, 2)\nfor i in range(3):\n    pyautogui.press('a')",
        "line 2",
    );
    refused("x = 5\npyautogui.click(x, 2)", "line 1");
    refused("pyautogui.click(600 + 44, 364)", "must be written out");
    refused("pyautogui.click(*point)", "must be written out");
    refused("pyautogui.click(**{'x': 1})", "`**`");
    refused("pyautogui.click(x=1)", "both x and y");
    refused("pyautogui.click('save.png')", "must be a number");
    refused("pyautogui.click(1, 2, x=3)", "given twice");
    refused("pyautogui.click(x=1, y=2, z=3)", "no argument `z`");
    refused("pyautogui.click(1, 2, clicks=4)", "4 clicks");
    refused("pyautogui.click(1, 2, button='thumb')", "no button `thumb`");
    refused("pyautogui.click(1e999, 2)", "no usable number");
    refused("pyautogui.click(99999999999, 2)", "too large");
    refused("pyautogui.write(f'{name}')", "must be written out");
    refused(
        "pyautogui.write(open('/etc/passwd').read())",
        "must be written out",
    );
    refused("pyautogui.write(b'x')", "must be written out");
    refused("pyautogui.alert('x')", "no function pyautogui.alert");
    refused("os.system('reboot')", "no function os.system");
    refused("click(1, 2)", "by their full names");
    refused("__import__('os').system('true')", "by their full names");
    refused("pyautogui.click.click(1, 2)", "by their full names");
    refused("(lambda: 1)()", "by their full names");
    refused(
        "pyautogui.click(1, 2) if True else None",
        "only plain calls",
    );
    refused("pyautogui.click(1, 2", "no Python");
    refused("Click the button.", "no Python");
}

#[test]
fn code_that_would_exhaust_the_machine_is_refused() {
    let deep = [
        "(",
        "[",
        "-",
        "not ",
        "lambda:",
        "a.",
        "f(",
        "~",
        "1 if a else ",
        "a**",
        "await ",
    ];
    for sign in deep {
        assert!(
            read(&sign.repeat(MAX_CODE_CHARS / sign.len())).is_err(),
            "{sign}"
        );
    }
    let blocks: String = (0..120)
        .map(|depth| " ".repeat(depth) + "if a:\n")
        .collect();
    assert!(read(&blocks).is_err());
    refused(&"#".repeat(MAX_CODE_CHARS + 1), "at most 16384 characters");
    refused(
        &"pyautogui.press('a')\n".repeat(65),
        "at most 64 statements",
    );
    let keys = format!("pyautogui.press([{}])", "'a',".repeat(201));
    refused(&keys, "asks for 201 actions");
}
