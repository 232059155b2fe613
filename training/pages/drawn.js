// Looks drawn here, modelled on desktop toolkits and web pages. They need no kit, and every kit falls back on a look of
// its own split for missing controls. Only `dk-` classes are used, to avoid conflicts with kits.
//
// A look consists of measures, colours and one variant of each detail that toolkits draw differently (HABITS). Each
// look belongs to one split; `mixed` (training) chooses every variant and measure at random, so that training covers
// more than can be listed.

/** Details that toolkits draw differently, with the variants drawn here. */
export const HABITS = {
  tick: ['tick', 'thick', 'cross', 'square', 'dash'],
  toggle: ['inner', 'outer', 'square', 'outline', 'words'],
  tabs: ['under', 'box', 'pill', 'bevel', 'top', 'plain'],
  spin: ['stacked', 'sides', 'ends', 'bare'],
  arrow: ['chevron', 'triangle', 'double', 'button', 'tinted'],
  scroll: ['thumb', 'track', 'arrows', 'thin'],
  thumb: ['round', 'box', 'bar', 'ring'],
  field: ['box', 'under', 'filled', 'sunk', 'pill'],
  button: ['flat', 'raised', 'outlined', 'bevel', 'pill'],
  focus: ['ring', 'dotted', 'glow', 'border'],
  rows: ['fill', 'tint', 'bar', 'round'],
};

const one = (split, colours, measures, habits) => {
  const [border, face, base, ink, accent] = colours.split(' ');
  const [radius, height, mark, knob, gradient = 0] = measures;
  const [tick, toggle, tabs, spin, arrow, scroll, thumb, field, button, focus, rows] = habits.split(' ');
  return {
    split,
    border,
    face,
    base,
    ink,
    accent,
    radius,
    height,
    mark,
    knob,
    gradient,
    habits: { tick, toggle, tabs, spin, arrow, scroll, thumb, field, button, focus, rows },
  };
};

// Columns: border face base ink accent · radius height mark knob gradient · tick toggle tabs spin arrow scroll thumb
// field button focus rows
export const looks = {
  adwaita: one(
    'train',
    '#cdc7c2 #f6f5f4 #fff #2e3436 #3584e4',
    [5, 34, 16, 24, 0.05],
    'tick inner under sides chevron thin round box raised border fill',
  ),
  fluent: one(
    'train',
    '#d1d1d1 #fbfbfb #fff #1b1b1b #005fb8',
    [4, 32, 18, 20],
    'tick outline box stacked chevron thumb ring under flat ring bar',
  ),
  metro: one(
    'train',
    '#999999 #e6e6e6 #fff #000 #0078d7',
    [0, 32, 20, 20],
    'thick outline plain stacked chevron arrows bar box flat border tint',
  ),
  swing: one(
    'train',
    '#7a8a99 #e3ebf3 #fff #222 #6382bf',
    [0, 25, 13, 15, 0.12],
    'tick square bevel stacked button arrows bar sunk raised dotted fill',
  ),
  motif: one(
    'train',
    '#777 #c3c3c3 #d8d8d8 #000 #4a6984',
    [0, 26, 13, 14],
    'square square bevel stacked button arrows box sunk bevel dotted fill',
  ),
  fusion: one(
    'train',
    '#b8b8b8 #efefef #fff #1a1a1a #308cc6',
    [2, 24, 14, 16, 0.08],
    'tick inner box stacked triangle track box box raised glow fill',
  ),
  material: one(
    'train',
    '#8a8a8a #f4eff4 #fffbfe #1c1b1f #6750a4',
    [20, 40, 18, 24],
    'thick outer under bare triangle thin round filled pill ring round',
  ),
  flat: one(
    'train',
    '#e2e8f0 #f1f5f9 #fff #0f172a #6366f1',
    [10, 38, 18, 20],
    'tick inner pill ends chevron thumb ring box flat glow round',
  ),
  sharp: one(
    'train',
    '#d4d4d8 #fafafa #fff #18181b #e11d48',
    [0, 30, 15, 14],
    'cross square under ends double track box under outlined border tint',
  ),
  imgui: one(
    'train',
    '#43567a #24415f #151617 #f0f0f0 #4296fa',
    [0, 20, 17, 14],
    'tick square box ends button track bar filled flat border fill',
  ),
  code: one(
    'train',
    '#cecece #f3f3f3 #fff #3b3b3b #007acc',
    [2, 26, 18, 16],
    'tick inner top bare chevron thumb bar filled flat border fill',
  ),
  mixed: one(
    'train',
    '#cfcfcf #f4f4f4 #fff #202020 #2563eb',
    [4, 30, 16, 18],
    'tick inner under stacked chevron thumb round box flat ring fill',
  ),
  breeze: one(
    'validation',
    '#bcbebf #eff0f1 #fcfcfc #232629 #3daee9',
    [3, 28, 18, 18, 0.03],
    'tick inner top stacked chevron thin round box raised border tint',
  ),
  clam: one(
    'validation',
    '#9e9a91 #dcdad5 #fff #000 #4a6984',
    [1, 27, 12, 14, 0.02],
    'cross square box stacked button arrows bar sunk bevel dotted fill',
  ),
  plain: one(
    'validation',
    '#e0e0e0 #f4f4f4 #fff #161616 #0f62fe',
    [0, 40, 18, 18],
    'tick outline under sides chevron thumb round filled flat ring tint',
  ),
  aqua: one(
    'test',
    '#c8c8c8 #ececec #fff #262626 #007aff',
    [6, 22, 14, 18, 0.02],
    'tick inner pill bare tinted thin round box raised glow round',
  ),
  aero: one(
    'test',
    '#acacac #f0f0f0 #fff #000 #3399ff',
    [3, 23, 13, 15, 0.09],
    'tick square bevel stacked triangle arrows bar box raised dotted tint',
  ),
  nimbus: one(
    'test',
    '#8e96a6 #d6d9df #fff #000 #33628c',
    [4, 27, 18, 17, 0.14],
    'tick square box stacked button track ring sunk raised glow fill',
  ),
  yaru: one(
    'test',
    '#cdcdcd #f7f7f7 #fff #3d3d3d #e95420',
    [7, 36, 20, 26, 0.01],
    'thick inner under sides triangle thumb round box flat ring round',
  ),
  brisk: one(
    'test',
    '#d5d9e0 #f6f7f9 #fff #1c2127 #2d72d2',
    [2, 30, 16, 16, 0.01],
    'tick inner under ends double thin box box raised glow fill',
  ),
};

const DARK = [
  ['#353535', '#242424', '#5b5b5b'],
  ['#2d2f33', '#1e1e1e', '#474747'],
  ['#31363b', '#1b1e20', '#616569'],
  ['#2a2a2a', '#191919', '#3d3d3d'],
  ['#282a36', '#21222c', '#44475a'],
  ['#161b22', '#0d1117', '#30363d'],
];
const ACCENTS = [
  '#3584e4',
  '#0d9488',
  '#c026d3',
  '#d97706',
  '#16a34a',
  '#dc2626',
  '#475569',
  '#7c3aed',
  '#0078d4',
  '#e95420',
];

/** Colours, measures and variants of one page. */
export function look(r, name, theme) {
  const f = { ...looks[name], habits: { ...looks[name].habits } };
  if (name === 'mixed') {
    for (const [habit, ways] of Object.entries(HABITS)) f.habits[habit] = r.pick(ways);
    Object.assign(f, {
      radius: r.pick([0, 2, 3, 4, 6, 8, 12, 16]),
      height: r.int(20, 44),
      mark: r.int(12, 22),
      knob: r.int(12, 28),
    });
    f.gradient = r.pick([0, 0, 0.03, 0.06, 0.12]);
    const hue = r.int(0, 359);
    const grey = (low, high) => `hsl(${hue} ${r.int(0, 14)}% ${r.int(low, high)}%)`;
    Object.assign(f, {
      face: grey(84, 97),
      base: r.maybe(0.7) ? '#fff' : grey(94, 100),
      ink: grey(5, 25),
      border: grey(60, 85),
    });
    f.accent = `hsl(${r.int(0, 359)} ${r.int(40, 95)}% ${r.int(35, 55)}%)`;
  } else if (r.maybe(0.4)) f.accent = r.pick(ACCENTS);
  if (theme === 'dark') {
    const [face, base, border] = r.pick(DARK);
    Object.assign(f, { face, base, border, ink: r.pick(['#eee', '#fff', '#d4d4d4']) });
  }
  if (theme === 'contrast')
    Object.assign(
      f,
      r.maybe(0.75)
        ? {
            face: '#000',
            base: '#000',
            ink: '#fff',
            border: '#fff',
            accent: r.pick(['#ff0', '#0ff', '#1aebff', '#3ff23f']),
          }
        : { face: '#fff', base: '#fff', ink: '#000', border: '#000', accent: '#37006e' },
      { gradient: 0 },
    );
  f.theme = theme;
  f.lightAccent = ['#ff0', '#0ff', '#1aebff', '#3ff23f'].includes(f.accent);
  f.onAccent = f.lightAccent ? '#000' : '#fff';
  f.size = r.pick([11, 12, 13, 13, 14, 14, 15, 16]);
  f.height = Math.max(18, Math.round(f.height * r.pick([0.8, 1, 1, 1.15])));
  if (r.maybe(0.15)) f.mark = 13;
  return f;
}

const drawing = (path, size = '1em') =>
  `<svg class="dk-g" viewBox="0 0 16 16" style="width:${size};height:${size}" fill="none" stroke="currentColor" stroke-width="1.8">${path}</svg>`;
const filled = (path, size) =>
  drawing(path, size).replace('fill="none"', 'fill="currentColor"').replace('stroke="currentColor"', '');
/** Small symbols of controls, in the variant of the look. They are drawn, because a font could belong to another
 * split. */
export const signs = {
  tick: drawing('<path d="M3 8.5l3.4 3.5L13 4.5"/>'),
  thick: drawing('<path d="M2.5 8.5l4 4L14 4" stroke-width="3"/>'),
  cross: drawing('<path d="M3 3l10 10M13 3L3 13"/>'),
  square: filled('<path d="M3 3h10v10H3z"/>'),
  dash: filled('<path d="M2 6.5h12v3H2z"/>'),
  dot: filled('<circle cx="8" cy="8" r="4"/>'),
  chevron: drawing('<path d="M3 5.5l5 5 5-5"/>'),
  triangle: filled('<path d="M3 5h10l-5 7z"/>'),
  double: drawing('<path d="M4 6l4-4 4 4M4 10l4 4 4-4"/>'),
  up: filled('<path d="M8 4l6 8H2z"/>'),
  down: filled('<path d="M8 12L2 4h12z"/>'),
  left: drawing('<path d="M10.5 3l-5 5 5 5"/>'),
  right: drawing('<path d="M5.5 3l5 5-5 5"/>'),
  plus: drawing('<path d="M8 2v12M2 8h12"/>'),
  minus: drawing('<path d="M2 8h12"/>'),
  close: drawing('<path d="M3.5 3.5l9 9M12.5 3.5l-9 9" stroke-width="1.5"/>'),
  star: filled('<path d="M8 1l2.1 4.6 5 .5-3.8 3.3 1.1 5L8 11.800l-4.400 2.600 1.100-5L.9 6.100l5-.5z"/>'),
  starless: drawing(
    '<path stroke-width="1.100" d="M8 1l2.100 4.600 5 .5-3.800 3.300 1.100 5L8 11.800l-4.400 2.600 1.100-5L.9 6.100l5-.5z"/>',
  ),
};

const FOCUS = {
  ring: (f) => `outline:2px solid ${f.accent}!important;outline-offset:2px`,
  dotted: (f) => `outline:1px dotted ${f.ink}!important;outline-offset:-4px;border-color:${f.ink}`,
  glow: (f) => `box-shadow:0 0 0 3px color-mix(in srgb, ${f.accent} 55%, transparent)!important`,
  border: (f) =>
    `outline:2px solid ${f.accent}!important;outline-offset:-2px;box-shadow:inset 0 0 0 3px ${f.base}!important`,
};
const BUTTON = {
  flat: () => '',
  raised: () => 'box-shadow:0 1px 2px #0003;',
  outlined: (f) => `background:none;border-color:${f.accent};color:${f.accent};`,
  bevel: () => 'border:2px outset #ccc;',
  pill: () => 'border-radius:99px;',
};
const FIELD = {
  box: () => '',
  under: (f) =>
    `border-color:transparent;border-bottom:1px solid ${f.ink};border-radius:${f.radius}px ${f.radius}px 0 0;`,
  filled: (f) => `background:color-mix(in srgb, ${f.ink} 9%, ${f.base});border-color:transparent;`,
  sunk: () => 'border:2px inset #ccc;',
  pill: () => 'border-radius:99px;',
};
const TABS = {
  under: (f) => [`border-bottom:1px solid ${f.border}`, '', `box-shadow:inset 0 -3px ${f.accent};`],
  box: (f) => [
    `border-bottom:1px solid ${f.border};background:${f.face}`,
    `border:1px solid ${f.border};border-bottom:0;border-radius:${f.radius}px ${f.radius}px 0 0;`,
    `background:${f.base};`,
  ],
  pill: (f) => [
    `background:color-mix(in srgb, ${f.ink} 10%, ${f.face});border-radius:${f.radius + 2}px;padding:3px;width:max-content`,
    `border-radius:${f.radius}px;`,
    `background:${f.base};box-shadow:0 1px 3px #0004;`,
  ],
  bevel: (f) => [
    `border-bottom:2px groove #ccc`,
    `border:2px outset #ccc;border-bottom:0;margin-top:3px;background:${f.face};`,
    'margin-top:0;padding-bottom:7px;',
  ],
  top: (f) => [
    `background:${f.face}`,
    `border-right:1px solid ${f.border};`,
    `background:${f.base};box-shadow:inset 0 2px ${f.accent};`,
  ],
  plain: (f) => ['gap:14px', '', `color:${f.accent};font-weight:bold;`],
};
const ROWS = {
  fill: (f) => `background:${f.accent};color:${f.onAccent};`,
  tint: (f) => `background:color-mix(in srgb, ${f.accent} 25%, transparent);box-shadow:inset 0 0 0 1px ${f.accent};`,
  bar: (f) => `background:color-mix(in srgb, ${f.ink} 9%, transparent);box-shadow:inset 3px 0 ${f.accent};`,
  round: (f) => `background:color-mix(in srgb, ${f.accent} 22%, transparent);border-radius:8px;`,
};

export function css(f) {
  const h = f.habits;
  const face = f.gradient
    ? `linear-gradient(color-mix(in srgb, ${f.face}, white ${f.gradient * 200}%), color-mix(in srgb, ${f.face}, black ${f.gradient * 100}%))`
    : f.face;
  const line = `border:1px solid ${f.border};`;
  const [tabs, tab, tabOn] = TABS[h.tabs](f);
  const mark =
    h.field === 'sunk' ? 'border:2px inset #ccc;' : `border:1px solid color-mix(in srgb, ${f.border}, ${f.ink} 35%);`;
  return `
.dk{color:${f.ink}}
.dk-g{display:inline-block;flex:none;vertical-align:middle}
.dk-btn{display:inline-flex;align-items:center;justify-content:center;gap:6px;height:${f.height}px;padding:0 ${Math.max(7, f.height * 0.45)}px;background:${face};color:${f.ink};${line}border-radius:${Math.min(f.radius, f.height / 2)}px;font:inherit;white-space:nowrap;box-sizing:border-box;vertical-align:middle;flex:none;${BUTTON[h.button](f)}}
.dk-btn.main{background:${f.accent};color:${f.onAccent};border-color:${f.accent}}.dk-btn.text{background:none;border-color:transparent;box-shadow:none;color:${f.accent}}
.dk-btn.on{background:color-mix(in srgb, ${f.accent} 35%, ${f.face})}
.dk-off{opacity:.42}
.dk-focus{${FOCUS[h.focus](f)}}
.dk-field{display:inline-flex;align-items:center;gap:4px;height:${f.height}px;min-width:48px;padding:0 8px;background:${f.base};color:${f.ink};${line}border-radius:${Math.min(f.radius, 10)}px;box-sizing:border-box;overflow:hidden;white-space:nowrap;vertical-align:middle;${FIELD[h.field](f)}}
.dk-field .ph{opacity:.5}
.dk-mark{display:inline-flex;align-items:center;justify-content:center;flex:none;width:${f.mark}px;height:${f.mark}px;background:${f.base};${mark}border-radius:${Math.min(4, f.radius)}px;box-sizing:border-box;color:${f.onAccent};font-size:${f.mark * 0.8}px;vertical-align:middle}
.dk-mark.round{border-radius:50%}.dk-mark.on{background:${f.accent};border-color:${f.accent}}
.dk-mark.open.on{background:${f.base};color:${f.ink};border-color:${f.border}}
.dk-switch{display:inline-block;flex:none;width:${Math.round(f.knob * (h.toggle === 'words' ? 2.6 : 1.9))}px;height:${f.knob}px;border-radius:${h.toggle === 'square' ? 0 : f.knob}px;background:${f.border};position:relative;vertical-align:middle;box-sizing:border-box;font-weight:bold;font-size:${Math.max(7, f.knob * 0.42)}px;line-height:${f.knob - 2}px;color:${f.onAccent};${h.toggle === 'outline' ? `background:none;border:2px solid ${f.ink};` : ''}${h.toggle === 'outer' ? `background:linear-gradient(${f.border},${f.border}) center/100% 60% no-repeat;` : ''}}
.dk-switch::after{content:'';position:absolute;left:${h.toggle === 'outer' ? 0 : 2}px;top:${h.toggle === 'outer' ? 0 : 2}px;bottom:${h.toggle === 'outer' ? 0 : 2}px;aspect-ratio:1;border-radius:${h.toggle === 'square' ? 0 : '50%'};background:${h.toggle === 'outline' ? f.ink : '#fff'};box-shadow:0 0 0 .5px #0006}
.dk-switch.on{background:${h.toggle === 'outer' ? `linear-gradient(${f.accent},${f.accent}) center/100% 60% no-repeat` : f.accent};${h.toggle === 'outline' ? `border-color:${f.accent};` : ''}}.dk-switch.on::after{left:auto;right:${h.toggle === 'outer' ? 0 : 2}px;background:${h.toggle === 'outer' ? f.accent : f.onAccent}}
.dk-switch small{position:absolute;right:4px;font-size:inherit}.dk-switch.on small{right:auto;left:5px}
.dk-slide{display:inline-block;position:relative;width:140px;height:${f.knob}px;vertical-align:middle;flex:none}.dk-slide.tall{width:${f.knob}px;height:120px}
.dk-slide i{position:absolute;left:0;right:0;top:calc(50% - 2px);height:4px;border-radius:2px;background:${f.border}}.dk-slide u{position:absolute;left:0;top:calc(50% - 2px);height:4px;background:${f.accent}}
.dk-slide.tall i{left:calc(50% - 2px);right:auto;top:0;bottom:0;width:4px;height:auto}
.dk-slide b{position:absolute;top:0;height:${f.knob}px;width:${h.thumb === 'bar' ? Math.round(f.knob / 2) : f.knob}px;border-radius:${h.thumb === 'round' || h.thumb === 'ring' ? '50%' : `${Math.min(3, f.radius)}px`};background:${h.thumb === 'bar' ? f.accent : face};border:${h.thumb === 'ring' ? `${Math.round(f.knob / 4)}px solid ${f.accent}` : `1px solid ${f.border}`};box-sizing:border-box}
.dk-spin{padding-inline-end:0}.dk-spin em{margin-inline-start:auto;display:flex;flex:none;height:100%;border-inline-start:1px solid ${f.border};font-style:normal}
.dk-spin em s{display:flex;align-items:center;justify-content:center;text-decoration:none;flex:1;width:18px;font-size:8px}.dk-spin em.up{flex-direction:column}.dk-spin em.wide s{width:${f.height}px;font-size:12px;border-inline-start:1px solid ${f.border}}
.dk-tabs{display:flex;gap:2px;flex:none;overflow:hidden;${tabs}}.dk-tab{display:inline-flex;gap:6px;align-items:center;padding:${Math.max(3, f.height / 6)}px 12px;white-space:nowrap;flex:none;box-sizing:border-box;${tab}}
.dk-tab.on{${tabOn}}
.dk-link{color:${f.theme === 'light' || f.lightAccent ? f.accent : `color-mix(in srgb, ${f.accent}, white 45%)`};white-space:nowrap}.dk-link.line{text-decoration:underline}
.dk-menu{background:${f.base};color:${f.ink};border:1px solid ${f.border};border-radius:${Math.min(12, f.radius)}px;box-shadow:0 4px 16px #0004;padding:4px ${h.rows === 'round' ? 4 : 0}px;min-width:130px;display:inline-block;box-sizing:border-box}
.dk-item{display:flex;gap:8px;align-items:center;padding:${Math.max(3, f.height / 7)}px 12px;white-space:nowrap;box-sizing:border-box}.dk-item.on,.dk-row.on{${ROWS[h.rows](f)}}.dk-item small{margin-inline-start:auto;padding-inline-start:24px;opacity:.7}
.dk-bar{display:flex;background:${f.face};color:${f.ink};overflow:hidden}.dk-bar .dk-item{padding:4px 9px}
.dk-table{border-collapse:collapse;width:100%;background:${f.base};color:${f.ink}}.dk-table th,.dk-table td{padding:${f.height / 6}px 10px;border-bottom:1px solid ${f.border};text-align:start;white-space:nowrap}.dk-table.dense td,.dk-table.dense th{padding:1px 6px;border-bottom:0}.dk-table.lined td,.dk-table.lined th{border:1px solid ${f.border}}.dk-table tr.on{background:color-mix(in srgb, ${f.accent} 28%, transparent)}.dk-table th{background:${f.face};font-weight:${f.size % 2 ? 600 : 400}}
.dk-panel{background:${f.face};color:${f.ink}}.dk-base{background:${f.base};color:${f.ink}}
.dk-dialog{background:${f.face};color:${f.ink};border:1px solid ${f.border};border-radius:${Math.min(16, f.radius + 2)}px;box-shadow:0 12px 40px #0007;padding:16px;box-sizing:border-box}
.dk-card{background:${f.base};color:${f.ink};border:1px solid ${f.border};border-radius:${Math.min(12, f.radius + 2)}px;box-sizing:border-box;overflow:hidden}
.dk-ico{display:inline-flex;align-items:center;justify-content:center;vertical-align:middle;flex:none}.dk-ico.framed{width:${f.height}px;height:${f.height}px;background:${face};${line}border-radius:${Math.min(f.radius, f.height / 2)}px;box-sizing:border-box;color:${f.ink};${h.button === 'bevel' ? 'border:2px outset #ccc;' : ''}}.dk-ico.framed.on{background:color-mix(in srgb, ${f.accent} 40%, ${f.face})}
.dk-ico svg,.dk-svg{width:1.25em;height:1.25em;display:block;flex:none}
.dk-calm{border-radius:4px}`;
}

const arrowOf = (f, open) => {
  const way = f.habits.arrow;
  const turned = open ? 'transform:rotate(180deg);' : '';
  if (way === 'button' || way === 'tinted')
    return `<span style="margin-inline-start:auto;align-self:stretch;margin-inline-end:-8px;width:${Math.max(14, f.height - 6)}px;display:flex;align-items:center;justify-content:center;flex:none;${way === 'tinted' ? `background:${f.accent};color:${f.onAccent};margin-block:3px;margin-inline-end:-5px;border-radius:4px` : `background:${f.face};border-inline-start:1px solid ${f.border}`};font-size:10px"><span style="${turned}display:flex">${way === 'tinted' ? signs.double : signs.triangle}</span></span>`;
  return `<span style="margin-inline-start:auto;display:flex;font-size:11px;${turned}">${signs[way]}</span>`;
};
const steps = {
  stacked: `<em class="up"><s>${signs.up}</s><s>${signs.down}</s></em>`,
  sides: `<em class="wide"><s>${signs.minus}</s><s>${signs.plus}</s></em>`,
  ends: `<em class="wide"><s>${signs.minus}</s><s>${signs.plus}</s></em>`,
  bare: `<em class="up" style="border:0"><s>${signs.up}</s><s>${signs.down}</s></em>`,
};

/** Every control of the look `f`. `o.a(kind, state)` returns the label attributes of an element; reading `o.off` or
 * `o.focus` declares that the control shows whether it is disabled or focused. */
export const controlsOf = (f) => ({
  button: (o) =>
    `<span class="dk-btn ${o.style ?? o.pick(['', '', '', 'main', 'text'])} ${o.off} ${o.focus}" ${o.a('button')}>${o.icon}${o.text}${o.opens ? `<span style="font-size:9px;display:flex">${signs.triangle}</span>` : ''}</span>`,
  icon: (o) =>
    o.framed
      ? `<span class="dk-ico framed ${o.toggled ? 'on' : ''} ${o.off} ${o.focus}" ${o.a('icon', o.toggled ? { checked: true } : {})}>${o.icon}</span>`
      : `<span class="dk-ico ${o.off}" style="padding:${o.int(2, 9)}px" ${o.a('icon')}>${o.icon}</span>`,
  text_field: (o) =>
    `<span class="dk-field ${o.off} ${o.focus}" style="width:${o.width}px" ${o.a('text_field', o.empty ? { placeholder: true } : {})}>${o.maybe(0.2) ? o.icon : ''}<span class="${o.empty ? 'ph' : ''}">${o.text}</span>${o.maybe(0.1) ? `<span style="margin-inline-start:auto;font-size:11px;opacity:.7">${signs.close}</span>` : ''}</span>`,
  text_area: (o) =>
    `<div class="dk-field ${o.focus}" style="display:block;width:${o.width}px;height:${o.int(60, 140)}px;white-space:normal;padding:6px;border-radius:${Math.min(8, f.radius)}px" ${o.a('text_field', o.empty ? { placeholder: true } : {})}><span class="${o.empty ? 'ph' : ''}">${o.text}</span></div>`,
  checkbox: (o) =>
    `<span class="dk-mark ${f.habits.field === 'sunk' ? 'open' : ''} ${o.on} ${o.off} ${o.focus}" ${o.a('checkbox', { checked: !!o.on })}>${o.on ? signs[f.habits.tick] : ''}</span>`,
  radio: (o) =>
    `<span class="dk-mark round ${f.habits.field === 'sunk' ? 'open' : ''} ${o.on} ${o.off} ${o.focus}" ${o.a('radio', { checked: !!o.on })}>${o.on ? signs.dot : ''}</span>`,
  switch: (o) =>
    `<span class="dk-switch ${o.on} ${o.off} ${o.focus}" ${o.a('switch', { checked: !!o.on })}>${f.habits.toggle === 'words' ? `<small>${o.on ? 'ON' : 'OFF'}</small>` : ''}</span>`,
  drop_down: (o) =>
    `<span class="dk-field ${o.off} ${o.focus}" style="width:${o.width}px" ${o.a('drop_down', { expanded: !!o.open })}><span style="overflow:hidden">${o.text}</span>${arrowOf(f, o.open)}</span>`,
  slider: (o) => {
    const at = o.int(0, 85);
    if (o.tall) return `<span class="dk-slide tall ${o.off}" ${o.a('slider')}><i></i><b style="top:${at}%"></b></span>`;
    return `<span class="dk-slide ${o.off}" style="width:${o.long ?? 140}px" ${o.a('slider')}><i></i><u style="width:${at}%"></u><b class="${o.focus}" style="left:${at}%"></b></span>`;
  },
  spin_box: (o) =>
    f.habits.spin === 'ends'
      ? `<span class="dk-field dk-spin ${o.off} ${o.focus}" style="width:${o.int(90, 150)}px;padding:0" ${o.a('spin_box')}><em class="wide" style="border:0;margin:0"><s>${signs.minus}</s></em><span style="margin:auto">${o.number}</span><em class="wide" style="margin:0"><s>${signs.plus}</s></em></span>`
      : `<span class="dk-field dk-spin ${o.off} ${o.focus}" style="width:${o.int(70, 130)}px" ${o.a('spin_box')}><span>${o.number}</span>${steps[f.habits.spin]}</span>`,
  tabs: (o) =>
    `<div class="dk-tabs">${o.items.map((t, i) => `<span class="dk-tab ${i === o.at ? 'on' : ''}" ${o.a('tab', { selected: i === o.at })}>${o.icons?.[i] ?? ''}${t}${o.closing ? `<span style="font-size:10px;margin-inline-start:4px;display:flex">${signs.close}</span>` : ''}</span>`).join('')}</div>`,
  link: (o) => `<a class="dk-link ${o.pick(['line', ''])} ${o.focus}" ${o.a('link')}>${o.text}</a>`,
  menu: (o) =>
    `<div class="dk-menu">${o.items.map((t, i) => `<div class="dk-item ${i === o.at ? 'on' : ''} ${o.offs?.[i] ? 'dk-off' : ''}" ${o.a('menu_item', { selected: i === o.at, ...(o.offs?.[i] ? { disabled: true } : {}) })}>${o.icons[i] ?? ''}<span>${t}</span>${o.keys[i] ?? ''}</div>${o.maybe(0.15) ? `<div style="margin:3px 0;border-top:1px solid ${f.border}"></div>` : ''}`).join('')}</div>`,
  table: (o) =>
    `<table class="dk-table ${o.pick(['', '', 'dense', 'lined'])}"><thead><tr>${o.head.map((h, i) => `<th ${o.sorts ? o.a('control') : ''}>${h}${o.sorts && i === 0 ? ` <span style="font-size:8px">${signs.down}</span>` : ''}</th>`).join('')}</tr></thead><tbody>${o.rows.map((row, i) => `<tr class="${i === o.at ? 'on' : ''}" ${o.row(i)}>${row.map((c) => `<td>${c}</td>`).join('')}</tr>`).join('')}</tbody></table>`,
  dialog: (o) =>
    `<div class="dk-dialog" ${o.a('dialog')}><div style="display:flex;font-weight:bold;margin-bottom:10px"><span style="flex:1">${o.title}</span>${o.mark}</div><div>${o.body}</div><div style="display:flex;gap:8px;justify-content:flex-end;margin-top:16px">${o.buttons}</div></div>`,
});
