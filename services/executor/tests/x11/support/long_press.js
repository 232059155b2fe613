// A list whose items can be moved only after they were held still for 150 ms. The times are those of the input, so that a busy
// page judges as an idle one. As in the libraries for such lists, a tremor of a few pixels is no movement: browsers repeat the
// last position after a press when the page below it has changed.
const HOLD_MS = 150;
const TREMOR_PIXELS = 4;
let held = null;
let press = null;
let armed = false;
addEventListener('mousemove', e => {
  report('mousemove', { x: e.clientX, y: e.clientY, time: e.timeStamp, scale: devicePixelRatio, buttons: e.buttons });
  if (!held || armed) return;
  if (Math.hypot(e.clientX - press.x, e.clientY - press.y) <= TREMOR_PIXELS) return;
  if (e.timeStamp - press.time >= HOLD_MS) armed = true;
  else held = null;
});
addEventListener('mousedown', e => {
  held = e.target;
  press = { x: e.clientX, y: e.clientY, time: e.timeStamp };
  report('mousedown', press);
});
addEventListener('mouseup', e => {
  if (held && armed) e.target.after(held);
  [held, armed] = [null, false];
  report('order', { order: [...document.querySelectorAll('div')].map(item => item.id).join(' ') });
});
addEventListener('keyup', e => report('keyup', { key: e.key }));
