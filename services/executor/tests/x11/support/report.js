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
function ready() {
  if (!document.hasFocus()) return setTimeout(ready, 20);
  requestAnimationFrame(() => requestAnimationFrame(() => report('ready', { address: location.href })));
}
// F8 probes whether keys reach the page. No other handler may see it.
for (const kind of ['keydown', 'keyup']) {
  addEventListener(kind, e => {
    if (e.key != 'F8') return;
    e.preventDefault();
    e.stopImmediatePropagation();
    report('awake', {});
  }, true);
}
// Also when the browser restores the page from its back/forward cache.
addEventListener('pageshow', ready);
