// Looks drawn here, after the habits of desktop toolkits: no kit is needed for them, and every kit falls back on them
// for what it does not have. `dk-` classes only, so that they meet no kit's own.

const families = {
  gtk: {
    radius: 6,
    border: '#cdc7c2',
    face: '#f6f5f4',
    base: '#fff',
    ink: '#2e3436',
    accent: '#3584e4',
    height: 32,
    mark: 16,
    knob: 20,
    gradient: 0.04,
  },
  breeze: {
    radius: 3,
    border: '#bcbebf',
    face: '#eff0f1',
    base: '#fcfcfc',
    ink: '#232629',
    accent: '#3daee9',
    height: 28,
    mark: 18,
    knob: 18,
    gradient: 0.03,
  },
  fluent: {
    radius: 4,
    border: '#d1d1d1',
    face: '#fbfbfb',
    base: '#fff',
    ink: '#1b1b1b',
    accent: '#005fb8',
    height: 32,
    mark: 18,
    knob: 16,
    gradient: 0,
  },
  aqua: {
    radius: 6,
    border: '#c8c8c8',
    face: '#ffffff',
    base: '#fff',
    ink: '#262626',
    accent: '#007aff',
    height: 22,
    mark: 14,
    knob: 16,
    gradient: 0.02,
  },
  swing: {
    radius: 0,
    border: '#7a8a99',
    face: '#e3ebf3',
    base: '#fff',
    ink: '#222',
    accent: '#6382bf',
    height: 25,
    mark: 13,
    knob: 15,
    gradient: 0.12,
  },
  motif: {
    radius: 0,
    border: '#777',
    face: '#c3c3c3',
    base: '#d8d8d8',
    ink: '#000',
    accent: '#4a6984',
    height: 26,
    mark: 13,
    knob: 14,
    gradient: 0,
    bevel: true,
  },
  flat: {
    radius: 10,
    border: '#e2e8f0',
    face: '#f1f5f9',
    base: '#fff',
    ink: '#0f172a',
    accent: '#6366f1',
    height: 38,
    mark: 18,
    knob: 20,
    gradient: 0,
  },
  sharp: {
    radius: 0,
    border: '#d4d4d8',
    face: '#fafafa',
    base: '#fff',
    ink: '#18181b',
    accent: '#e11d48',
    height: 30,
    mark: 15,
    knob: 14,
    gradient: 0,
  },
};

export const familyNames = Object.keys(families);

/** The colours and measures of one page. */
export function look(r, family, theme) {
  const f = { ...families[family] };
  if (theme === 'dark')
    Object.assign(f, {
      face: r.pick(['#353535', '#2d2f33', '#31363b']),
      base: r.pick(['#1e1e1e', '#242424', '#1b1e20']),
      ink: '#eee',
      border: r.pick(['#5b5b5b', '#474747']),
    });
  if (theme === 'contrast')
    Object.assign(f, {
      face: '#000',
      base: '#000',
      ink: '#fff',
      border: '#fff',
      accent: r.pick(['#ffff00', '#00ffff', '#1aebff']),
    });
  if (r.maybe(0.4))
    f.accent = r.pick(['#3584e4', '#0d9488', '#c026d3', '#d97706', '#16a34a', '#dc2626', '#475569', '#7c3aed']);
  f.size = r.pick([11, 12, 13, 13, 14, 14, 15, 16]);
  f.height = Math.max(18, Math.round(f.height * r.pick([0.8, 1, 1, 1.15])));
  return f;
}

export function css(f) {
  const face = f.gradient
    ? `linear-gradient(color-mix(in srgb, ${f.face}, white ${f.gradient * 200}%), color-mix(in srgb, ${f.face}, black ${f.gradient * 100}%))`
    : f.face;
  const bevel = f.bevel ? 'border:2px outset #ddd;' : `border:1px solid ${f.border};`;
  const sunk = f.bevel ? 'border:2px inset #ddd;' : `border:1px solid ${f.border};`;
  return `
.dk{--b:${f.base};--f:${f.face};--i:${f.ink};--a:${f.accent};--l:${f.border};color:var(--i)}
.dk-btn{display:inline-flex;align-items:center;justify-content:center;gap:6px;height:${f.height}px;padding:0 ${f.height * 0.45}px;background:${face};color:${f.ink};${bevel}border-radius:${f.radius}px;font:inherit;white-space:nowrap;box-sizing:border-box;vertical-align:middle}
.dk-btn.main{background:${f.accent};color:#fff;border-color:${f.accent}}.dk-btn.text{background:none;border-color:transparent;color:${f.accent}}
.dk-off{opacity:.45}
.dk-field{display:inline-flex;align-items:center;gap:4px;height:${f.height}px;min-width:60px;padding:0 8px;background:${f.base};color:${f.ink};${sunk}border-radius:${f.radius}px;box-sizing:border-box;overflow:hidden;white-space:nowrap;vertical-align:middle}
.dk-field.under{border:none;border-bottom:1px solid ${f.border};border-radius:0;background:none}
.dk-field .ph{opacity:.5}.dk-focus{outline:2px solid ${f.accent};outline-offset:-1px}
.dk-mark{display:inline-flex;align-items:center;justify-content:center;flex:none;width:${f.mark}px;height:${f.mark}px;background:${f.base};${sunk}border-radius:${Math.min(4, f.radius)}px;box-sizing:border-box;color:#fff;font:bold ${f.mark * 0.75}px/1 'DejaVu Sans';vertical-align:middle}
.dk-mark.round{border-radius:50%}.dk-mark.on{background:${f.accent};border-color:${f.accent}}
.dk-switch{display:inline-block;flex:none;width:${f.knob * 2}px;height:${f.knob}px;border-radius:${f.knob}px;background:${f.border};position:relative;vertical-align:middle}
.dk-switch::after{content:'';position:absolute;left:2px;top:2px;width:${f.knob - 4}px;height:${f.knob - 4}px;border-radius:50%;background:#fff}
.dk-switch.on{background:${f.accent}}.dk-switch.on::after{left:${f.knob + 2}px}
.dk-slide{display:inline-block;position:relative;width:140px;height:${f.knob}px;vertical-align:middle}
.dk-slide i{position:absolute;left:0;right:0;top:calc(50% - 2px);height:4px;border-radius:2px;background:${f.border}}.dk-slide u{position:absolute;left:0;top:calc(50% - 2px);height:4px;background:${f.accent}}
.dk-slide b{position:absolute;top:0;width:${f.knob}px;height:${f.knob}px;border-radius:${f.radius ? '50%' : 0};background:${f.face};border:1px solid ${f.border};box-sizing:border-box}
.dk-spin{padding-right:0}.dk-spin em{margin-left:auto;display:flex;flex-direction:column;border-left:1px solid ${f.border};width:18px;height:100%;font:7px/1 'DejaVu Sans';text-align:center;justify-content:space-around}
.dk-tabs{display:flex;gap:2px;border-bottom:1px solid ${f.border};background:${f.face}}.dk-tab{display:inline-flex;gap:6px;align-items:center;padding:${f.height / 6}px 12px;white-space:nowrap;border-radius:${f.radius}px ${f.radius}px 0 0}
.dk-tab.on{background:${f.base};box-shadow:inset 0 -2px ${f.accent}}
.dk-link{color:${f.accent};text-decoration:underline;white-space:nowrap}
.dk-menu{background:${f.base};color:${f.ink};border:1px solid ${f.border};border-radius:${f.radius}px;box-shadow:0 4px 16px #0004;padding:4px 0;min-width:160px;display:inline-block}
.dk-item{display:flex;gap:8px;align-items:center;padding:${Math.max(3, f.height / 7)}px 12px;white-space:nowrap}.dk-item.on{background:${f.accent};color:#fff}.dk-item small{margin-left:auto;padding-left:24px;opacity:.7}
.dk-bar{display:flex;background:${f.face};color:${f.ink}}.dk-bar .dk-item{padding:4px 9px}
.dk-table{border-collapse:collapse;width:100%;background:${f.base};color:${f.ink}}.dk-table th,.dk-table td{padding:${f.height / 6}px 10px;border-bottom:1px solid ${f.border};text-align:start;white-space:nowrap}.dk-table tr.on{background:color-mix(in srgb, ${f.accent} 25%, transparent)}
.dk-panel{background:${f.face};color:${f.ink}}.dk-base{background:${f.base};color:${f.ink}}
.dk-dialog{background:${f.face};color:${f.ink};border:1px solid ${f.border};border-radius:${f.radius + 2}px;box-shadow:0 12px 40px #0007;padding:16px}
.dk-ico{display:inline-flex;align-items:center;justify-content:center;vertical-align:middle}.dk-ico.framed{width:${f.height}px;height:${f.height}px;background:${face};${bevel}border-radius:${f.radius}px;box-sizing:border-box;color:${f.ink}}
.dk-ico svg,.dk-svg{width:1.25em;height:1.25em;display:block;flex:none}`;
}

/** Every control. `o.a(kind, extra)` gives the attributes that label an element. */
export const controls = {
  button: (o) =>
    `<span class="dk-btn ${o.pick(['', '', 'main', 'text'])} ${o.off}" ${o.a('button')}>${o.icon}${o.text}</span>`,
  icon: (o) =>
    o.framed
      ? `<span class="dk-ico framed ${o.off}" ${o.a('icon')}>${o.icon}</span>`
      : `<span class="dk-ico ${o.off}" style="margin:${o.int(2, 9)}px" ${o.a('icon')}>${o.icon}</span>`,
  text_field: (o) =>
    `<span class="dk-field ${o.pick(['', '', 'under'])} ${o.focus} ${o.off}" style="width:${o.width}px" ${o.a('text_field', o.empty ? { placeholder: true } : {})}>${o.maybe(0.2) ? o.icon : ''}<span class="${o.empty ? 'ph' : ''}">${o.text}</span></span>`,
  text_area: (o) =>
    `<div class="dk-field ${o.focus}" style="display:block;width:${o.width}px;height:${o.int(60, 140)}px;white-space:normal;padding:6px" ${o.a('text_field', o.empty ? { placeholder: true } : {})}>${o.text}</div>`,
  checkbox: (o) =>
    `<span class="dk-mark ${o.on} ${o.off}" ${o.a('checkbox', { checked: !!o.on })}>${o.on ? '✓' : ''}</span>`,
  radio: (o) =>
    `<span class="dk-mark round ${o.on} ${o.off}" ${o.a('radio', { checked: !!o.on })}>${o.on ? '●' : ''}</span>`,
  switch: (o) => `<span class="dk-switch ${o.on} ${o.off}" ${o.a('switch', { checked: !!o.on })}></span>`,
  drop_down: (o) =>
    `<span class="dk-field ${o.off}" style="width:${o.width}px" ${o.a('drop_down', { expanded: false })}><span>${o.text}</span><span style="margin-inline-start:auto;font-family:'DejaVu Sans'">${o.pick(['▾', '⌄', '▼', '⇅'])}</span></span>`,
  slider: (o) => {
    const at = o.int(0, 85);
    return `<span class="dk-slide ${o.off}" ${o.a('slider')}><i></i><u style="width:${at}%"></u><b style="left:${at}%"></b></span>`;
  },
  spin_box: (o) =>
    `<span class="dk-field dk-spin ${o.off}" style="width:${o.int(70, 130)}px" ${o.a('spin_box')}><span>${o.number}</span>${o.maybe(0.7) ? '<em><s style="text-decoration:none">▲</s><s style="text-decoration:none">▼</s></em>' : '<em style="width:44px;flex-direction:row;font-size:14px;align-items:center"><s style="text-decoration:none">−</s><s style="text-decoration:none">+</s></em>'}</span>`,
  tabs: (o) =>
    `<div class="dk-tabs">${o.items.map((t, i) => `<span class="dk-tab ${i === o.at ? 'on' : ''}" ${o.a('tab', { selected: i === o.at })}>${o.maybe(0.3) ? o.icon : ''}${t}</span>`).join('')}</div>`,
  link: (o) => `<a class="dk-link" ${o.a('link')}>${o.text}</a>`,
  menu: (o) =>
    `<div class="dk-menu">${o.items.map((t, i) => `<div class="dk-item ${i === o.at ? 'on' : ''}" ${o.a('menu_item', { selected: i === o.at })}>${o.icons[i] ?? ''}<span>${t}</span>${o.keys[i] ?? ''}</div>${o.maybe(0.15) ? '<hr style="margin:3px 0;border:0;border-top:1px solid #8886">' : ''}`).join('')}</div>`,
  table: (o) =>
    `<table class="dk-table"><thead><tr>${o.head.map((h) => `<th>${h}</th>`).join('')}</tr></thead><tbody>${o.rows.map((row, i) => `<tr class="${i === o.at ? 'on' : ''}" ${o.a('table_row', { selected: i === o.at })}>${row.map((c) => `<td>${c}</td>`).join('')}</tr>`).join('')}</tbody></table>`,
  dialog: (o) =>
    `<div class="dk-dialog" ${o.a('dialog')}><div style="font-weight:bold;margin-bottom:10px">${o.title}</div><div>${o.body}</div><div style="display:flex;gap:8px;justify-content:flex-end;margin-top:16px">${o.buttons}</div></div>`,
};
