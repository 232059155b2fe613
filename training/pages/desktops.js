// Surroundings of window contents: window frames with their buttons, panels and task bars, wallpapers, pointers, and
// browser toolbars. Each belongs to one split.

const mark = (b, kind, style, inner = '') =>
  `<span ${b.label('window_control')} style="display:inline-flex;align-items:center;justify-content:center;flex:none;box-sizing:border-box;${style}">${inner}</span>`;
const sign = (path, size = 10, width = 1.2) =>
  `<svg viewBox="0 0 10 10" width="${size}" height="${size}" fill="none" stroke="currentColor" stroke-width="${width}">${path}</svg>`;
const low = '<path d="M1 8h8"/>';
const middle = '<path d="M1 5h8"/>';
const box = '<path d="M1 1h8v8H1z"/>';
const boxes = '<path d="M1 3h6v6H1zM3 3V1h6v6H7"/>';
const cross = '<path d="M1 1l8 8M9 1L1 9"/>';
const up = '<path d="M1 7l4-4 4 4"/>';
const down = '<path d="M1 3l4 4 4-4"/>';
const diamond = '<path d="M5 1l4 4-4 4-4-4z"/>';

const bar = (inner, style) =>
  `<div style="display:flex;align-items:center;flex:none;overflow:hidden;box-sizing:border-box;${style}">${inner}</div>`;
const middled = (title) =>
  `<span style="flex:1;padding:0 10px;text-align:center;overflow:hidden;white-space:nowrap;min-width:0">${title}</span>`;
const sided = (title) =>
  `<span style="flex:1;padding:0 8px;overflow:hidden;white-space:nowrap;min-width:0">${title}</span>`;

/** Title bars: `bar(b, title, active)`, and the style of the window around it. */
export const decorations = {
  headerBar: {
    split: 'train',
    frame: 'border-radius:10px 10px 0 0;border:1px solid #0004;box-shadow:0 6px 24px #0006',
    bar: (b, title, active) =>
      bar(
        `${b.r.many(0, 3, () => b.icon({ framed: b.r.maybe(0.5) })).join('')}${middled(`<b>${title}</b>`)}${b.r.many(0, 3, () => b.icon({ framed: b.r.maybe(0.5) })).join('')}${b.r
          .pick([[cross], [low, boxes, cross], [low, cross]])
          .map((m) => mark(b, m, 'width:24px;height:24px;border-radius:50%;background:#8884;margin:0 4px', sign(m)))
          .join('')}`,
        `background:${b.f.face};color:${b.f.ink};min-height:${b.r.int(36, 47)}px;padding:0 6px;${active ? '' : 'opacity:.8;'}`,
      ),
  },
  lights: {
    split: 'train',
    frame: 'border-radius:9px;border:1px solid #0003;box-shadow:0 14px 40px #0007',
    bar: (b, title, active) =>
      bar(
        `${['#ff5f57', '#febc2e', '#28c840'].map((c) => mark(b, c, `width:12px;height:12px;border-radius:50%;background:${active ? c : '#aaa'};margin:0 4px`)).join('')}${middled(title)}`,
        `background:${b.f.face};color:${b.f.ink};height:${b.r.int(22, 38)}px;padding:0 6px`,
      ),
  },
  wide: {
    split: 'train',
    frame: 'border:1px solid #0006;box-shadow:0 6px 20px #0005',
    bar: (b, title, active) => {
      const ink =
        active && b.r.maybe(0.4)
          ? [b.f.accent, '#fff']
          : [b.f.theme === 'light' ? '#fff' : '#202020', b.f.theme === 'light' ? '#000' : '#fff'];
      const h = b.r.int(28, 34);
      return bar(
        `<span style="padding-left:8px;font-size:13px">${b.pictogram()}</span>${sided(title)}${[middle, b.r.pick([box, boxes]), cross].map((m) => mark(b, m, `width:46px;height:${h}px`, sign(m))).join('')}`,
        `background:${ink[0]};color:${ink[1]};height:${h}px`,
      );
    },
  },
  bevelled: {
    split: 'train',
    frame: 'border:2px outset #ddd;padding:2px;background:#c3c3c3',
    bar: (b, title, active) =>
      bar(
        `${sided(`<b>${title}</b>`)}${[low, box, cross].map((m) => mark(b, m, 'width:18px;height:16px;background:#c3c3c3;color:#000;border:2px outset #eee;margin:1px', sign(m, 8))).join('')}`,
        `background:${active ? b.r.pick(['#000080', 'linear-gradient(90deg,#0a246a,#a6caf0)', '#4b6983']) : '#808080'};color:#fff;height:22px;padding:0 2px`,
      ),
  },
  slim: {
    split: 'train',
    frame: 'border:1px solid #222;border-bottom-width:4px',
    bar: (b, title, active) =>
      bar(
        `${mark(b, 0, 'width:20px;height:18px', sign(down))}${middled(title)}${[low, up, cross].map((m) => mark(b, m, 'width:20px;height:18px', sign(m, 9, 1.6))).join('')}`,
        `background:${active ? b.r.pick(['#3c3c3c', '#5294e2', '#e8e8e7']) : '#6a6a6a'};color:${active ? '#fff' : '#ddd'};text-shadow:0 0 2px #0008;height:20px`,
      ),
  },
  leftRound: {
    split: 'train',
    frame: 'border-radius:6px 6px 0 0;border:1px solid #0005;box-shadow:0 4px 16px #0005',
    bar: (b, title, active) =>
      bar(
        `${[cross, low, box].map((m) => mark(b, m, `width:16px;height:16px;border-radius:50%;margin:0 3px;background:${m === cross && active ? '#df4b16' : '#7777'};color:#fff`, sign(m, 7))).join('')}${sided(title)}`,
        'background:linear-gradient(#504f4a,#3c3b37);color:#dfdbd2;height:28px;padding:0 6px',
      ),
  },
  coloured: {
    split: 'train',
    frame: 'border:1px solid #0006;border-radius:7px 7px 3px 3px',
    bar: (b, title, active) => {
      const hue = b.r.int(0, 359);
      return bar(
        `<span style="padding:0 6px">${b.pictogram()}</span>${sided(`<b>${title}</b>`)}${[low, box, cross].map((m) => mark(b, m, `width:21px;height:21px;margin:0 1px;border-radius:4px;color:#fff;border:1px solid #fff8;background:${m === cross ? '#d9431f' : `hsl(${hue} 60% 50%)`}`, sign(m, 9, 2))).join('')}`,
        `background:linear-gradient(hsl(${hue} 80% 60%),hsl(${hue} 80% 42%));color:#fff;height:30px;padding:0 3px;${active ? '' : 'filter:saturate(.4);'}`,
      );
    },
  },
  breezy: {
    split: 'validation',
    frame: 'border-radius:4px 4px 0 0;border:1px solid #0004;box-shadow:0 6px 22px #0006',
    bar: (b, title, active) =>
      bar(
        `<span style="padding:0 6px">${b.pictogram()}</span>${middled(title)}${[down, up, cross].map((m) => mark(b, m, `width:20px;height:20px;border-radius:50%;margin:0 3px;${m === cross ? 'background:#fff3' : ''}`, sign(m, 10, 1))).join('')}`,
        `background:${active ? '#31363b' : '#4d5257'};color:#fcfcfc;height:28px;padding:0 4px`,
      ),
  },
  underlined: {
    split: 'validation',
    frame: 'border:1px solid #9a9a9a;border-radius:3px',
    bar: (b, title, active) =>
      bar(
        `${mark(b, 0, 'width:24px;height:22px', sign(cross, 9))}${middled(title)}${[low, box].map((m) => mark(b, m, 'width:24px;height:22px', sign(m, 9))).join('')}`,
        `background:${active ? '#e6e6e6' : '#f4f4f4'};color:#333;border-bottom:2px solid ${active ? b.f.accent : '#bbb'};height:26px`,
      ),
  },
  glass: {
    split: 'test',
    frame:
      'border:1px solid #3c5a78;border-radius:8px;padding:0 5px 5px;background:#a9c8e6;box-shadow:0 8px 26px #0008',
    bar: (b, title, active) =>
      bar(
        `<span style="padding:0 4px">${b.pictogram()}</span>${sided(title)}<span style="display:flex;align-self:flex-start">${[low, box, cross].map((m) => mark(b, m, `width:${m === cross ? 44 : 28}px;height:18px;border:1px solid #3c5a7899;border-top:0;color:#fff;background:${m === cross && active ? 'linear-gradient(#e0a090,#c0402a 50%,#b03018)' : 'linear-gradient(#cfe0f0,#8fb0d0)'}`, sign(m, 9, 2))).join('')}</span>`,
        'background:none;color:#000;height:29px',
      ),
  },
  yaruBar: {
    split: 'test',
    frame: 'border-radius:12px 12px 0 0;border:1px solid #0005;box-shadow:0 6px 26px #0007',
    bar: (b, title, active) =>
      bar(
        `${b.r.maybe(0.5) ? b.icon({ framed: true }) : ''}${middled(`<b>${title}</b>`)}${[low, box, cross].map((m) => mark(b, m, `width:22px;height:22px;border-radius:50%;margin:0 5px;background:${active ? '#7773' : 'none'}`, sign(m, 9, 1.1))).join('')}`,
        `background:${b.f.theme === 'light' ? '#ebebeb' : '#303030'};color:${b.f.theme === 'light' ? '#3d3d3d' : '#f7f7f7'};height:${b.r.int(38, 46)}px;padding:0 7px`,
      ),
  },
  diamonds: {
    split: 'test',
    frame: 'border:3px solid #69737d;border-radius:2px',
    bar: (b, title, active) =>
      bar(
        `${sided(title)}${[low, diamond, cross].map((m) => mark(b, m, 'width:26px;height:21px;border-left:1px solid #0003', sign(m, 9))).join('')}`,
        `background:${active ? '#d3dae3' : '#eef1f4'};color:#22303c;height:23px`,
      ),
  },
};

const edgeOf = (b, style, inner, size, side) =>
  `<div style="position:absolute;${side === 'left' ? `left:0;top:0;bottom:0;width:${size}px;flex-direction:column` : `left:0;right:0;${side}:0;height:${size}px`};display:flex;align-items:center;overflow:hidden;box-sizing:border-box;z-index:40;white-space:nowrap;${style}">${inner}</div>`;
const task = (b, style, on) =>
  `<span ${b.label('button', { selected: on })} style="display:inline-flex;align-items:center;gap:6px;padding:0 10px;box-sizing:border-box;overflow:hidden;${style}">${b.pictogram()}${b.text()}</span>`;
const clock = (b) => `${b.r.int(0, 23)}:${b.r.int(10, 59)}`;

/** Panels and task bars: the screen area that they take, and their drawing. */
export const panels = {
  dockBottom: {
    split: 'train',
    side: 'bottom',
    size: [38, 50],
    draw: (b, size) =>
      edgeOf(
        b,
        `background:${b.r.pick(['#f3f3f3ee', '#1f1f1fee', '#101828', '#0b2545'])};color:${b.r.pick(['#68a', '#7ab', '#8ac'])}`,
        `${b.r.maybe(0.6) ? '<span style="flex:1"></span>' : ''}${b.r.many(3, 10, () => b.bare('font-size:22px')).join('')}${b.r.many(0, 3, (i) => task(b, `height:${size - 8}px;margin:0 2px;background:#8884`, i === 0)).join('')}<span style="flex:1"></span>${b.r.many(2, 5, () => b.bare('font-size:14px')).join('')}<span ${b.label('button')} style="padding:0 8px;text-align:end;font-size:11px;line-height:1.2">${clock(b)}<br>${b.r.int(1, 28)}.${b.r.int(1, 12)}.2024</span>`,
        size,
        'bottom',
      ),
  },
  topBar: {
    split: 'train',
    side: 'top',
    size: [24, 30],
    draw: (b, size) =>
      edgeOf(
        b,
        'background:#131313;color:#eee',
        `<span ${b.label('button')} style="padding:0 12px">${b.text()}</span>${middled(`<span ${b.label('button')}>${b.text(1, 1)} ${clock(b)}</span>`)}${b.r.many(2, 5, () => b.bare('font-size:13px')).join('')}`,
        size,
        'top',
      ),
  },
  classic: {
    split: 'train',
    side: 'bottom',
    size: [26, 32],
    draw: (b, size) =>
      edgeOf(
        b,
        'background:#c3c3c3;color:#000;border-top:2px outset #fff',
        `<span ${b.label('button')} style="display:inline-flex;gap:4px;align-items:center;border:2px outset #eee;padding:0 6px;margin:2px;height:${size - 6}px;box-sizing:border-box">${b.pictogram()}<b>${b.text(1, 1)}</b></span>${b.r.many(1, 6, (i) => task(b, `height:${size - 6}px;width:${b.r.int(100, 170)}px;margin:2px 1px;border:2px ${i ? 'outset' : 'inset'} #eee`, i === 0)).join('')}<span style="flex:1"></span><span style="border:1px inset #eee;padding:0 4px;display:flex;align-items:center">${b.r.many(1, 3, () => b.bare('font-size:13px')).join('')}${clock(b)}</span>`,
        size,
        'bottom',
      ),
  },
  twoPanels: {
    split: 'train',
    side: 'bottom',
    size: [24, 28],
    draw: (b, size) =>
      edgeOf(
        b,
        `background:${b.f.face};color:${b.f.ink}`,
        `${b.bare()}${b.r.many(1, 5, (i) => task(b, `height:${size - 4}px;width:${b.r.int(110, 190)}px;margin:0 1px;background:${i ? 'none' : '#8885'};border:1px solid #8886`, i === 0)).join('')}<span style="flex:1"></span>${b.r.times(4, (i) => `<span ${b.label('control', { selected: i === 0 })} style="width:26px;height:${size - 8}px;margin-inline-end:1px;border:1px solid #8888;background:${i ? 'none' : b.f.accent}"></span>`).join('')}`,
        size,
        'bottom',
      ) +
      edgeOf(
        b,
        `background:${b.f.face};color:${b.f.ink}`,
        `${b.r.times(3, () => `<span class="dk-item" ${b.label('menu_item')}>${b.text(1, 1)}</span>`).join('')}${b.r.many(1, 4, () => b.bare()).join('')}<span style="flex:1"></span>${b.bare()}${clock(b)}`,
        size,
        'top',
      ),
  },
  leftDock: {
    split: 'train',
    side: 'left',
    size: [48, 66],
    draw: (b, size) =>
      edgeOf(
        b,
        'background:#2c001ecc;color:#eee;gap:4px;padding:6px 0',
        b.r.many(4, 10, () => b.bare(`font-size:${size - 26}px;margin:2px`)).join(''),
        size,
        'left',
      ),
  },
  breezePanel: {
    split: 'validation',
    side: 'bottom',
    size: [36, 46],
    draw: (b, size) =>
      edgeOf(
        b,
        `background:${b.r.pick(['#eff0f1', '#2a2e32'])};color:${b.r.pick(['#3daee9', '#5c8'])}`,
        `${b.bare('font-size:24px')}${b.r.many(2, 6, () => b.bare('font-size:24px')).join('')}${b.r.many(1, 3, (i) => task(b, `height:100%;width:170px;border-top:3px solid ${i ? '#0000' : '#3daee9'}`, i === 0)).join('')}<span style="flex:1"></span>${b.r.many(3, 7, () => b.bare('font-size:16px')).join('')}<span style="padding:0 8px">${clock(b)}</span>`,
        size,
        'bottom',
      ),
  },
  glassBar: {
    split: 'test',
    side: 'bottom',
    size: [38, 42],
    draw: (b, size) =>
      edgeOf(
        b,
        'background:linear-gradient(#4a6d91,#22384f);color:#dfefff;border-top:1px solid #9fc0e0',
        `<span ${b.label('icon')} style="width:${size - 4}px;height:${size - 4}px;border-radius:50%;background:radial-gradient(#9cd0ff,#1c4f8c);display:flex;align-items:center;justify-content:center;margin:0 6px;font-size:18px">${b.pictogram()}</span>${b.r.many(2, 6, (i) => `<span ${b.label('icon', { selected: i === 0 })} style="display:flex;align-items:center;justify-content:center;width:58px;height:${size - 4}px;margin:0 1px;border-radius:3px;border:1px solid #fff5;background:${i ? '#fff1' : '#fff4'};font-size:20px">${b.pictogram()}</span>`).join('')}<span style="flex:1"></span>${b.r.many(2, 4, () => b.bare('font-size:13px')).join('')}<span style="padding:0 10px;text-align:center;font-size:11px">${clock(b)}</span>`,
        size,
        'bottom',
      ),
  },
  floating: {
    split: 'test',
    side: 'bottom',
    size: [56, 64],
    draw: (b, size) =>
      `<div style="position:absolute;left:50%;bottom:6px;transform:translateX(-50%);height:${size - 10}px;display:flex;align-items:center;gap:6px;padding:0 10px;border-radius:14px;background:#fff6;z-index:40">${b.r.many(4, 11, () => `<span ${b.label('icon')} style="width:${size - 22}px;height:${size - 22}px;border-radius:9px;background:hsl(${b.r.int(0, 359)} 60% 50%);color:#fff;display:flex;align-items:center;justify-content:center;font-size:${Math.round(size / 2.6)}px">${b.pictogram()}</span>`).join('')}</div>` +
      edgeOf(
        b,
        'background:#f6f6f6cc;color:#222',
        `${b.bare()}${b.r.many(3, 7, () => `<span ${b.label('menu_item')} style="padding:0 9px">${b.text(1, 1)}</span>`).join('')}<span style="flex:1"></span>${b.r.many(2, 5, () => b.bare('font-size:13px')).join('')}<span style="padding:0 8px">${clock(b)}</span>`,
        24,
        'top',
      ),
  },
};

/** Mouse pointers: content of an SVG of 24 by 24 with the hot spot at (2, 2). */
export const pointers = {
  black: { split: 'train', path: '<path d="M2 2v16l4-4 3 7 3-1.200-3-6.800h6z" fill="#000" stroke="#fff"/>' },
  white: { split: 'train', path: '<path d="M2 2v17l4.500-4 2.500 6 2.500-1-2.500-6h6z" fill="#fff" stroke="#000"/>' },
  hand: {
    split: 'train',
    path: '<path d="M6 2c1.500 0 2 1 2 2v6h9c2 0 3 1 3 3v4c0 3-2 5-5 5h-4c-2 0-3-1-4-3l-4-6c1-1 2-1 3 0l1 1V4c0-1 0-2-1-2z" fill="#fff" stroke="#000"/>',
  },
  caret: {
    split: 'train',
    path: '<path d="M2 2h3M7 2h3M5 2.500v16M7 2.500v16M2 19h3M7 19h3" stroke="#000" fill="none"/>',
  },
  round: {
    split: 'validation',
    path: '<path d="M2 2l3 18 5-6 8-1z" fill="#31363b" stroke="#fff" stroke-linejoin="round"/>',
  },
  plain: { split: 'test', path: '<path d="M2 2v18l5-5h7z" fill="#fff" stroke="#000"/>' },
  amber: { split: 'test', path: '<path d="M2 2l4 17 3-6 7-1z" fill="#111" stroke="#e95420"/>' },
};

const gradient = (r) => {
  const hue = r.int(0, 359);
  return `linear-gradient(${r.int(0, 360)}deg,hsl(${hue} 60% 40%),hsl(${(hue + 60) % 360} 60% 25%))`;
};
/** Wallpapers: CSS of the background, or the kind of image that fills it. */
export const wallpapers = {
  gradient: { split: 'train', css: gradient },
  plain: { split: 'train', css: (r) => `hsl(${r.int(0, 359)} ${r.int(0, 50)}% ${r.int(8, 70)}%)` },
  hills: { split: 'train', image: 'landscape' },
  blots: { split: 'train', image: 'shapes' },
  rays: {
    split: 'validation',
    css: (r) =>
      `repeating-conic-gradient(from ${r.int(0, 90)}deg at 70% 90%,hsl(${r.int(0, 359)} 50% 45%) 0 12deg,hsl(${r.int(0, 359)} 50% 35%) 12deg 24deg)`,
  },
  haze: { split: 'test', image: 'blur' },
  stripes: {
    split: 'test',
    css: (r) =>
      `repeating-linear-gradient(${r.int(20, 70)}deg,hsl(${r.int(0, 359)} 35% 40%) 0 90px,hsl(${r.int(0, 359)} 35% 34%) 90px 180px)`,
  },
};

const tabTitle = (b) =>
  `<span style="flex:1;min-width:0;overflow:hidden;white-space:nowrap">${b.text(1, 3)}</span><span style="font-size:10px;display:flex">${b.signs.close}</span>`;
/** The toolbar of a browser window, above the page. */
export const browserHeads = {
  rounded: {
    split: 'train',
    draw: (b) => {
      const n = b.r.int(1, 8);
      const on = b.r.int(0, n - 1);
      return `<div style="display:flex;gap:2px;padding:6px 6px 0;background:color-mix(in srgb, ${b.f.ink} 16%, ${b.f.face});flex:none;overflow:hidden">${b.r.times(n, (i) => `<span ${b.label('tab', { selected: i === on })} style="display:flex;gap:6px;align-items:center;padding:6px 10px;width:${b.r.int(110, 200)}px;overflow:hidden;border-radius:8px 8px 0 0;box-sizing:border-box" class="${i === on ? 'dk-base' : ''}">${b.pictogram()}${tabTitle(b)}</span>`).join('')}${b.bare()}</div>${b.line(`${b.bare()}${b.bare()}${b.bare()}<span class="dk-field" style="flex:1;border-radius:99px" ${b.label('text_field')}>${b.pictogram()}example.org/${b.text(1, 1)}</span>${b.r.many(1, 5, () => b.bare()).join('')}`, `padding:4px 6px;${b.edge('bottom')}`)}${b.r.maybe(0.3) ? b.line(b.r.many(3, 9, () => `<span ${b.label('button')} style="display:inline-flex;gap:5px;align-items:center;padding:2px 6px;white-space:nowrap;font-size:12px">${b.pictogram()}${b.text()}</span>`).join(''), `padding:2px 6px;${b.edge('bottom')}`) : ''}`;
    },
  },
  floatingTabs: {
    split: 'train',
    draw: (b) => {
      const n = b.r.int(1, 6);
      return `<div class="dk-panel" style="display:flex;gap:5px;padding:5px;flex:none;overflow:hidden">${b.r.times(n, (i) => `<span ${b.label('tab', { selected: i === 0 })} style="display:flex;gap:6px;align-items:center;padding:7px 9px;width:${b.r.int(120, 220)}px;overflow:hidden;border-radius:4px;box-sizing:border-box;${i === 0 ? `background:${b.f.base};box-shadow:0 0 3px #0007` : ''}">${b.pictogram()}${tabTitle(b)}</span>`).join('')}${b.bare()}<span style="flex:1"></span>${b.bare()}</div>${b.line(`${b.bare()}${b.bare()}${b.bare()}<span style="flex:1"></span>${b.field({ width: Math.round(b.width * 0.5), drawn: true })}<span style="flex:1"></span>${b.bare()}${b.bare()}`, 'padding:4px')}`;
    },
  },
  boxTabs: {
    split: 'validation',
    draw: (b) =>
      `${b.line(`${b.bare()}${b.bare()}${b.bare()}${b.field({ width: Math.round(b.width * 0.45), drawn: true })}${b.field({ width: 120, drawn: true })}${b.bare()}`, 'padding:4px')}${b.tabs({ drawn: true, closing: true })}`,
  },
  oneLine: {
    split: 'test',
    draw: (b) =>
      `<div class="dk-panel" style="display:flex;align-items:center;gap:8px;padding:7px 10px;flex:none;overflow:hidden;${b.edge('bottom')}">${b.bare()}${b.bare()}<span style="flex:1"></span><span class="dk-field" style="width:${Math.round(b.width * 0.4)}px;justify-content:center" ${b.label('text_field')}>example.org</span><span style="flex:1"></span>${b.bare()}${b.bare()}${b.bare()}</div>${b.r.maybe(0.6) ? `<div style="display:flex;flex:none;background:${b.f.face}">${b.r.times(b.r.int(2, 5), (i) => `<span ${b.label('tab', { selected: i === 0 })} style="flex:1;display:flex;align-items:center;gap:6px;padding:4px 8px;min-width:0;font-size:12px;${b.edge('inline-end')}${i ? '' : `background:${b.f.base}`}">${tabTitle(b)}</span>`).join('')}</div>` : ''}`,
  },
  squareTabs: {
    split: 'test',
    draw: (b) =>
      `<div style="display:flex;background:#3a5f85;flex:none;overflow:hidden;padding-top:5px">${b.r.times(b.r.int(1, 6), (i) => `<span ${b.label('tab', { selected: i === 0 })} style="display:flex;align-items:center;gap:6px;width:170px;padding:5px 8px;box-sizing:border-box;${i ? 'background:#5d83a8;color:#fff' : `background:${b.f.base};color:${b.f.ink}`};border:1px solid #234;border-bottom:0">${b.pictogram()}${tabTitle(b)}</span>`).join('')}</div>${b.line(`${b.icon()}${b.icon()}${b.field({ width: Math.round(b.width * 0.55), drawn: true })}${b.icon()}${b.icon()}`, 'padding:3px')}`,
  },
};
