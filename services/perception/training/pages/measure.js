// Runs inside the page: the box of what is seen of every labelled element, in the picture's own pixels.

/** Elements of which less than this share is seen are left out. */
export function measure(scale) {
  const LEAST = 0.35;
  const style = document.createElement('style');
  style.textContent = '*{pointer-events:auto!important}';
  document.head.append(style);
  const boxes = [];
  for (const element of document.querySelectorAll('[data-k]')) {
    const kind = element.dataset.k;
    let r = element.getBoundingClientRect();
    const own = getComputedStyle(element);
    if (own.visibility === 'hidden' || own.display === 'none' || Number(own.opacity) === 0) continue;
    // Frameless pictograms and links are what is drawn of them.
    const svg =
      kind === 'icon' &&
      own.backgroundColor === 'rgba(0, 0, 0, 0)' &&
      own.backgroundImage === 'none' &&
      parseFloat(own.borderTopWidth) === 0 &&
      element.querySelector('svg');
    if (svg) r = svg.getBoundingClientRect();
    const whole = r.width * r.height;
    if (r.width < 3 || r.height < 3) continue;
    let [x1, y1, x2, y2] = [r.left, r.top, r.right, r.bottom];
    for (let up = element.parentElement; up; up = up.parentElement) {
      const s = getComputedStyle(up);
      if (s.overflowX !== 'visible' || s.overflowY !== 'visible') {
        const c = up.getBoundingClientRect();
        x1 = Math.max(x1, c.left + up.clientLeft);
        y1 = Math.max(y1, c.top + up.clientTop);
        x2 = Math.min(x2, c.left + up.clientLeft + up.clientWidth);
        y2 = Math.min(y2, c.top + up.clientTop + up.clientHeight);
      }
    }
    x1 = Math.max(x1, 0);
    y1 = Math.max(y1, 0);
    x2 = Math.min(x2, innerWidth);
    y2 = Math.min(y2, innerHeight);
    if (x2 - x1 < 3 || y2 - y1 < 3) continue;
    const nx = Math.min(24, Math.max(5, Math.round((x2 - x1) / 10))),
      ny = Math.min(16, Math.max(5, Math.round((y2 - y1) / 10)));
    let seen = 0,
      l = nx,
      t = ny,
      rr = -1,
      b = -1;
    for (let j = 0; j < ny; j++)
      for (let i = 0; i < nx; i++) {
        const hit = document.elementFromPoint(x1 + ((i + 0.5) * (x2 - x1)) / nx, y1 + ((j + 0.5) * (y2 - y1)) / ny);
        if (hit && (element.contains(hit) || hit.contains(element))) {
          seen++;
          l = Math.min(l, i);
          t = Math.min(t, j);
          rr = Math.max(rr, i);
          b = Math.max(b, j);
        }
      }
    const share = ((seen / (nx * ny)) * ((x2 - x1) * (y2 - y1))) / whole;
    if (share < LEAST) continue;
    const w = x2 - x1,
      h = y2 - y1;
    if (l > 0) x1 += (l * w) / nx;
    if (t > 0) y1 += (t * h) / ny;
    if (rr < nx - 1) x2 -= ((nx - 1 - rr) * w) / nx;
    if (b < ny - 1) y2 -= ((ny - 1 - b) * h) / ny;
    const round = (v) => Math.round(v * scale * 10) / 10;
    boxes.push({
      class: kind,
      box: [round(x1), round(y1), round(x2), round(y2)],
      visible: Math.round(Math.min(1, share) * 100) / 100,
      state: JSON.parse(element.dataset.s || '{}'),
    });
  }
  style.remove();
  return boxes;
}
