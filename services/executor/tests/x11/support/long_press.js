// A list whose items can be moved only after they were held still for 150 ms. The times are those of the input, so that a busy
// page judges as an idle one.
const HOLD_MS = 150;
let held = null;
let since = 0;
let armed = false;
addEventListener('mousemove', e => {
  report('mousemove', { x: e.clientX, y: e.clientY, scale: devicePixelRatio, buttons: e.buttons });
  if (!held || armed) return;
  if (e.timeStamp - since >= HOLD_MS) armed = true;
  else held = null;
});
addEventListener('mousedown', e => { [held, since] = [e.target, e.timeStamp]; });
addEventListener('mouseup', e => {
  if (held && armed) e.target.after(held);
  [held, armed] = [null, false];
  report('order', { order: [...document.querySelectorAll('div')].map(item => item.id).join(' ') });
});
addEventListener('keyup', e => report('keyup', { key: e.key }));
