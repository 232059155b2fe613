// Runs inside the page: applies the requested states, and measures the visible box of every labelled element in image
// pixels.

/** Focuses the element that requests it, and positions popups under their openers. */
export function settle() {
  document.querySelector('[data-focus]')?.focus({ focusVisible: true });
  for (const open of document.querySelectorAll('[data-under]')) {
    const opener = document.querySelector(`[data-opener="${open.dataset.under}"]`);
    const at = (opener?.matches('[data-k]') ? opener : opener?.querySelector('[data-k]'))?.getBoundingClientRect();
    const hit = at && document.elementFromPoint(at.left + at.width / 2, at.top + at.height / 2);
    if (!hit || !(opener.contains(hit) || hit.contains(opener))) {
      // Its opener is not visible, so nothing can have opened there.
      open.remove();
      continue;
    }
    const { width, height } = open.getBoundingClientRect();
    open.style.left = `${Math.max(0, Math.min(at.left, innerWidth - width))}px`;
    open.style.top = `${at.bottom + height > innerHeight && at.top > height ? at.top - height : at.bottom}px`;
  }
}

/** Elements less than a third visible are omitted. `acts`: whether each class is interactable. */
export function measure({ scale, acts }) {
  const MIN_VISIBLE = 0.35;
  const SMALLEST = 3;
  const style = document.createElement('style');
  style.textContent = '*{pointer-events:auto!important}.pointer,.pointer *{pointer-events:none!important}';
  document.head.append(style);
  const screen = [0, 0, innerWidth, innerHeight];
  const cut = (a, b) => [Math.max(a[0], b[0]), Math.max(a[1], b[1]), Math.min(a[2], b[2]), Math.min(a[3], b[3])];
  const clips = new Map();
  /** The area that the ancestors from `element` on leave visible. */
  function clipOf(element) {
    if (!element) return screen;
    let clip = clips.get(element);
    if (clip) return clip;
    clip = clipOf(element.parentElement);
    const own = getComputedStyle(element);
    if (own.overflowX !== 'visible' || own.overflowY !== 'visible') {
      const r = element.getBoundingClientRect();
      const [left, top] = [r.left + element.clientLeft, r.top + element.clientTop];
      clip = cut(clip, [left, top, left + element.clientWidth, top + element.clientHeight]);
    }
    clips.set(element, clip);
    return clip;
  }
  /** The fraction of `box` where `element` is on top, and the bounding box of that part. */
  function seen(element, box) {
    const [x, y, w, h] = [box[0], box[1], box[2] - box[0], box[3] - box[1]];
    const columns = Math.min(16, Math.max(4, Math.round(w / 14)));
    const rows = Math.min(12, Math.max(4, Math.round(h / 14)));
    let [count, left, top, right, bottom] = [0, columns, rows, -1, -1];
    for (let j = 0; j < rows; j++)
      for (let i = 0; i < columns; i++) {
        const hit = document.elementFromPoint(x + ((i + 0.5) * w) / columns, y + ((j + 0.5) * h) / rows);
        if (!hit || !(element.contains(hit) || hit.contains(element))) continue;
        count++;
        [left, top, right, bottom] = [Math.min(left, i), Math.min(top, j), Math.max(right, i), Math.max(bottom, j)];
      }
    return {
      share: count / (columns * rows),
      box: [
        x + (left * w) / columns,
        y + (top * h) / rows,
        x + ((right + 1) * w) / columns,
        y + ((bottom + 1) * h) / rows,
      ],
    };
  }
  const hasText = (field) => !['checkbox', 'radio', 'range', 'color', 'file'].includes(field.type);
  const valueOf = (field) =>
    field.matches('select') ? (field.selectedOptions[0]?.text ?? '') : field.value || field.placeholder || '';
  /** Text of the element outside labelled children; undefined if not completely visible. */
  function textOf(element, within) {
    const isOwn = (one) => one.closest('[data-k]') === element;
    const written = [];
    const fields = element.matches('input,textarea,select') ? [element] : element.querySelectorAll('input,textarea,select');
    for (const field of fields) if (isOwn(field) && hasText(field)) written.push(valueOf(field));
    const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      const holder = text.parentElement;
      if (!text.data.trim() || !isOwn(holder) || holder.closest('svg,style,script,select,textarea')) continue;
      if (!holder.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
      const range = document.createRange();
      range.selectNodeContents(text);
      const r = range.getBoundingClientRect();
      const [left, top, right, bottom] = cut([r.left, r.top, r.right, r.bottom], clipOf(holder));
      // Text for screen readers only.
      if (right - left < SMALLEST || bottom - top < SMALLEST) continue;
      const isCut = right - left < r.width - 1 || left < within[0] - 1 || right > within[2] + 1;
      if (isCut) return undefined;
      written.push(text.data);
    }
    return written.join(' ').replace(/\s+/g, ' ').trim();
  }
  const round = (v) => Math.round(v * scale * 10) / 10;
  const boxes = [];
  for (const element of document.querySelectorAll('[data-k]')) {
    const own = getComputedStyle(element);
    if (own.visibility === 'hidden' || own.display === 'none' || Number(own.opacity) === 0) continue;
    const r = element.getBoundingClientRect();
    if (r.width < SMALLEST || r.height < SMALLEST) continue;
    const within = cut([r.left, r.top, r.right, r.bottom], clipOf(element.parentElement));
    const [w, h] = [within[2] - within[0], within[3] - within[1]];
    if (w < SMALLEST || h < SMALLEST || (w * h) / (r.width * r.height) < MIN_VISIBLE) continue;
    const { share, box } = seen(element, within);
    const visible = (share * w * h) / (r.width * r.height);
    if (visible < MIN_VISIBLE) continue;
    const kind = element.dataset.k;
    const text = textOf(element, within);
    boxes.push({
      class: kind,
      box: box.map(round),
      visible: Math.round(Math.min(1, visible) * 100) / 100,
      interactable: element.dataset.i === undefined ? acts[kind] : element.dataset.i === '1',
      state: {
        ...JSON.parse(element.dataset.s || '{}'),
        ...(element.dataset.off === undefined ? {} : { disabled: true }),
        ...(element.dataset.focused === undefined ? {} : { focused: true }),
      },
      ...(text === undefined ? {} : { text }),
    });
  }
  style.remove();
  return boxes;
}
