const queue = [];
let sending = false;
async function send() {
  if (sending) return;
  sending = true;
  while (queue.length) {
    const batch = queue.splice(0);
    await fetch('/', { method: 'POST', body: JSON.stringify(batch) });
  }
  sending = false;
}
function report(kind, more) { queue.push({ kind, ...more }); send(); }
// The browser drops input until it has painted the page, so that being focused is not enough.
function ready() {
  if (!document.hasFocus()) return setTimeout(ready, 20);
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => report('ready', { address: location.href }), 50)));
}
// Also when the browser brings a page back that it has kept.
addEventListener('pageshow', ready);
