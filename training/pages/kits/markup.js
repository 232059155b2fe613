// Shared markup of kits: plain HTML controls, and controls of kits that only add classes.

export const checked = (o) => (o.on ? 'checked' : '');
/** Attribute for the text of a field: a placeholder while it is empty. */
export const says = (o) => (o.empty ? 'placeholder' : 'value');
/** Labels of a field, of a closed drop-down, and of checkable controls with their state. */
export const ofField = (o) => o.a('text_field', o.empty ? { placeholder: true } : {});
export const closed = (o) => o.a('drop_down', { expanded: false });
export const is = (o) => ({ checked: !!o.on });

export const mark = (kind) => (o) =>
  `<input type="${kind}" ${checked(o)} ${o.dis} ${o.foc} ${o.a(kind, is(o))}>`;
export const native = {
  button: (o) => `<button ${o.dis} ${o.foc} ${o.a('button')}>${o.text}</button>`,
  text_field: (o) =>
    `<input style="width:${o.width}px" type="${o.pick(['text', 'email', 'search', 'password'])}" ${o.dis} ${o.foc} ${says(o)}="${o.plain}" ${ofField(o)}>`,
  text_area: (o) =>
    `<textarea rows="${o.int(2, 6)}" style="width:${o.width}px" ${o.a('text_field')}>${o.plain}</textarea>`,
  checkbox: mark('checkbox'),
  radio: mark('radio'),
  drop_down: (o) =>
    `<select style="width:${o.width}px" ${o.dis} ${o.foc} ${closed(o)}><option>${o.plain}</option></select>`,
  slider: (o) =>
    `<input type="range" style="width:${o.width}px" value="${o.int(0, 100)}" ${o.dis} ${o.foc} ${o.a('slider')}>`,
  link: (o) => `<a href="#" ${o.a('link')}>${o.text}</a>`,
};
export const classed = (c) => ({
  ...(c.button && {
    button: (o) =>
      `<button class="${o.pick(c.button)} ${c.off ? o.offClass(c.off) : ''}" ${c.off ? '' : o.dis} ${o.foc} ${o.a('button')}>${o.maybe(0.25) ? o.icon : ''}${o.text}</button>`,
  }),
  ...(c.field && {
    text_field: (o) =>
      `<input class="${c.field}" style="width:${o.width}px;display:inline-block" ${o.dis} ${o.foc} ${says(o)}="${o.plain}" ${ofField(o)}>`,
    text_area: (o) =>
      `<textarea class="${c.area ?? c.field}" rows="${o.int(2, 6)}" style="width:${o.width}px;height:auto" ${o.a('text_field')}>${o.plain}</textarea>`,
  }),
  ...(c.select && {
    drop_down: (o) =>
      `<select class="${c.select}" style="width:${o.width}px;display:inline-block" ${o.dis} ${o.foc} ${closed(o)}><option>${o.plain}</option></select>`,
  }),
  ...(c.check && {
    checkbox: (o) =>
      `<input type="checkbox" class="${c.check}" ${checked(o)} ${o.dis} ${o.foc} ${o.a('checkbox', is(o))}>`,
  }),
  ...(c.radio && {
    radio: (o) =>
      `<input type="radio" class="${c.radio}" ${checked(o)} ${o.dis} ${o.a('radio', is(o))}>`,
  }),
  ...(c.range && {
    slider: (o) =>
      `<input type="range" class="${c.range}" style="width:${o.width}px" value="${o.int(0, 100)}" ${o.a('slider')}>`,
  }),
  ...(c.table && {
    table: (o) =>
      `<table class="${c.table}" style="width:100%"><thead><tr>${o.head.map((h) => `<th>${h}</th>`).join('')}</tr></thead><tbody>${o.rows.map((row, i) => `<tr ${o.row(i)} ${i === o.at ? 'style="background:#3b82f640"' : ''}>${row.map((x) => `<td>${x}</td>`).join('')}</tr>`).join('')}</tbody></table>`,
  }),
  ...(c.tabs && { tabs: (o) => c.tabs(o) }),
});
export const list = (ul, li, a, on) => (o) =>
  `<ul class="${ul}">${o.items.map((t, i) => `<li class="${li} ${i === o.at ? on : ''}" ${a === undefined ? o.a('tab', { selected: i === o.at }) : ''}>${a === undefined ? t : `<a href="#" class="${a} ${i === o.at ? on : ''}" ${o.a('tab', { selected: i === o.at })}>${t}</a>`}</li>`).join('')}</ul>`;

export const linked = native.link;
