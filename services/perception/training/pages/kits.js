// The kits: which files they need, which split they belong to, and their own markup for the controls they have.
// What a kit lacks is drawn (drawn.js) in a look of its own split. A kit is in one split only, wholly.
//
// Reading `o.dis`, `o.foc` or calling `o.offClass` says that the control shows that it is off or focused: only what is read
// is written into the labels. states.test.js looks whether it is true.

import { signs } from './drawn.js';

const mark = (kind) => (o) =>
  `<input type="${kind}" ${o.on ? 'checked' : ''} ${o.dis} ${o.foc} ${o.a(kind, { checked: !!o.on })}>`;
const native = {
  button: (o) => `<button ${o.dis} ${o.foc} ${o.a('button')}>${o.text}</button>`,
  text_field: (o) =>
    `<input style="width:${o.width}px" type="${o.pick(['text', 'email', 'search', 'password'])}" ${o.dis} ${o.foc} ${o.empty ? 'placeholder' : 'value'}="${o.plain}" ${o.a('text_field', o.empty ? { placeholder: true } : {})}>`,
  text_area: (o) =>
    `<textarea rows="${o.int(2, 6)}" style="width:${o.width}px" ${o.a('text_field')}>${o.plain}</textarea>`,
  checkbox: mark('checkbox'),
  radio: mark('radio'),
  drop_down: (o) =>
    `<select style="width:${o.width}px" ${o.dis} ${o.foc} ${o.a('drop_down', { expanded: false })}><option>${o.plain}</option></select>`,
  slider: (o) =>
    `<input type="range" style="width:${o.width}px" value="${o.int(0, 100)}" ${o.dis} ${o.foc} ${o.a('slider')}>`,
  link: (o) => `<a href="#" ${o.a('link')}>${o.text}</a>`,
};
const classed = (c) => ({
  ...(c.button && {
    button: (o) =>
      `<button class="${o.pick(c.button)} ${c.off ? o.offClass(c.off) : ''}" ${c.off ? '' : o.dis} ${o.foc} ${o.a('button')}>${o.maybe(0.25) ? o.icon : ''}${o.text}</button>`,
  }),
  ...(c.field && {
    text_field: (o) =>
      `<input class="${c.field}" style="width:${o.width}px;display:inline-block" ${o.dis} ${o.foc} ${o.empty ? 'placeholder' : 'value'}="${o.plain}" ${o.a('text_field', o.empty ? { placeholder: true } : {})}>`,
    text_area: (o) =>
      `<textarea class="${c.area ?? c.field}" rows="${o.int(2, 6)}" style="width:${o.width}px;height:auto" ${o.a('text_field')}>${o.plain}</textarea>`,
  }),
  ...(c.select && {
    drop_down: (o) =>
      `<select class="${c.select}" style="width:${o.width}px;display:inline-block" ${o.dis} ${o.foc} ${o.a('drop_down', { expanded: false })}><option>${o.plain}</option></select>`,
  }),
  ...(c.check && {
    checkbox: (o) =>
      `<input type="checkbox" class="${c.check}" ${o.on ? 'checked' : ''} ${o.dis} ${o.foc} ${o.a('checkbox', { checked: !!o.on })}>`,
  }),
  ...(c.radio && {
    radio: (o) =>
      `<input type="radio" class="${c.radio}" ${o.on ? 'checked' : ''} ${o.dis} ${o.a('radio', { checked: !!o.on })}>`,
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
const list = (ul, li, a, on) => (o) =>
  `<ul class="${ul}">${o.items.map((t, i) => `<li class="${li} ${i === o.at ? on : ''}" ${a === undefined ? o.a('tab', { selected: i === o.at }) : ''}>${a === undefined ? t : `<a href="#" class="${a} ${i === o.at ? on : ''}" ${o.a('tab', { selected: i === o.at })}>${t}</a>`}</li>`).join('')}</ul>`;

const linked = native.link;
/** `css`: its files; `dark`, `darkCss`, `darkClass`: how it is made dark; `light`: it cannot be; `root`: attributes it
 * asks for; `looks`: what it falls back on, where not every look of its split fits; `hides`: states that its controls have
 * and do not show; `share`: how often it is taken, against 1. */
export const kits = {
  // train
  browser: { split: 'train', css: [], controls: native },
  bootstrap: {
    split: 'train',
    css: ['bootstrap/dist/css/bootstrap.min.css'],
    dark: 'data-bs-theme="dark"',
    controls: {
      link: linked,
      ...classed({
        button: [
          'btn btn-primary',
          'btn btn-secondary',
          'btn btn-outline-primary',
          'btn btn-light',
          'btn btn-danger',
          'btn btn-sm btn-success',
        ],
        field: 'form-control',
        select: 'form-select',
        range: 'form-range',
        table: 'table table-hover',
        check: 'form-check-input',
        radio: 'form-check-input',
        tabs: list('nav nav-tabs', 'nav-item', 'nav-link', 'active'),
      }),
      switch: (o) =>
        `<span class="form-check form-switch" style="display:inline-block"><input class="form-check-input" type="checkbox" role="switch" ${o.on ? 'checked' : ''} ${o.dis} ${o.a('switch', { checked: !!o.on })}></span>`,
      menu: (o) =>
        `<div class="dropdown-menu show" style="position:static;display:inline-block">${o.items.map((t, i) => `<a class="dropdown-item ${i === o.at ? 'active' : ''}" href="#" ${o.a('menu_item', { selected: i === o.at })}>${t}</a>`).join('')}</div>`,
    },
  },
  bulma: {
    split: 'train',
    css: ['bulma/css/bulma.min.css'],
    dark: 'data-theme="dark"',
    controls: {
      link: linked,
      checkbox: mark('checkbox'),
      radio: mark('radio'),
      ...classed({
        button: [
          'button',
          'button is-primary',
          'button is-link is-light',
          'button is-small',
          'button is-danger is-outlined',
        ],
        field: 'input',
        area: 'textarea',
        table: 'table is-striped is-fullwidth',
      }),
      drop_down: (o) =>
        `<span class="select" ${o.a('drop_down', { expanded: false })}><select style="width:${o.width}px" ${o.dis}><option>${o.plain}</option></select></span>`,
    },
  },
  pico: {
    split: 'train',
    css: ['@picocss/pico/css/pico.min.css'],
    dark: 'data-theme="dark"',
    plainDark: true,
    controls: {
      ...native,
      button: (o) =>
        `<button class="${o.pick(['', 'secondary', 'contrast', 'outline'])}" style="width:auto" ${o.dis} ${o.a('button')}>${o.text}</button>`,
      switch: (o) =>
        `<input type="checkbox" role="switch" ${o.on ? 'checked' : ''} ${o.a('switch', { checked: !!o.on })}>`,
      ...classed({ table: 'striped' }),
    },
  },
  spectre: {
    split: 'train',
    css: ['spectre.css/dist/spectre.min.css'],
    controls: {
      link: linked,
      ...classed({
        button: ['btn', 'btn btn-primary', 'btn btn-link', 'btn btn-sm'],
        field: 'form-input',
        select: 'form-select',
        range: 'slider',
        table: 'table table-striped',
      }),
      checkbox: (o) =>
        `<label class="form-checkbox" style="display:inline-block;padding-left:18px;margin:0"><input type="checkbox" ${o.on ? 'checked' : ''} ${o.dis}><i class="form-icon" ${o.a('checkbox', { checked: !!o.on })}></i>&nbsp;</label>`,
      radio: (o) =>
        `<label class="form-radio" style="display:inline-block;padding-left:18px;margin:0"><input type="radio" ${o.on ? 'checked' : ''} ${o.dis}><i class="form-icon" ${o.a('radio', { checked: !!o.on })}></i>&nbsp;</label>`,
      switch: (o) =>
        `<label class="form-switch" style="display:inline-block;padding-left:36px;margin:0"><input type="checkbox" ${o.on ? 'checked' : ''} ${o.dis}><i class="form-icon" ${o.a('switch', { checked: !!o.on })}></i>&nbsp;</label>`,
    },
  },
  uikit: {
    split: 'train',
    css: ['uikit/dist/css/uikit.min.css'],
    controls: classed({
      button: [
        'uk-button uk-button-default',
        'uk-button uk-button-primary',
        'uk-button uk-button-danger uk-button-small',
        'uk-button uk-button-text',
      ],
      field: 'uk-input',
      area: 'uk-textarea',
      select: 'uk-select',
      check: 'uk-checkbox',
      radio: 'uk-radio',
      range: 'uk-range',
      table: 'uk-table uk-table-divider',
      tabs: list('uk-tab', '', '', 'uk-active'),
    }),
  },
  win98: {
    split: 'train',
    css: ['98.css/dist/98.css'],
    hides: ['slider disabled', 'slider focused', 'text_field focused'],
    looks: ['motif'],
    light: true,
    controls: { ...native, checkbox: undefined, radio: undefined },
  },
  winxp: {
    split: 'train',
    css: ['xp.css/dist/XP.css'],
    hides: ['slider disabled', 'slider focused', 'text_field focused'],
    looks: ['swing'],
    light: true,
    controls: { ...native, checkbox: undefined, radio: undefined },
  },
  antd: {
    split: 'train',
    css: ['antd/dist/antd.css'],
    darkCss: ['antd/dist/antd.dark.css'],
    controls: {
      link: linked,
      ...classed({
        button: [
          'ant-btn',
          'ant-btn ant-btn-primary',
          'ant-btn ant-btn-dashed',
          'ant-btn ant-btn-link',
          'ant-btn ant-btn-sm',
          'ant-btn ant-btn-primary ant-btn-lg',
        ],
        field: 'ant-input',
      }),
      checkbox: (o) =>
        `<span class="ant-checkbox ${o.on && 'ant-checkbox-checked'} ${o.offClass('ant-checkbox-disabled')}" ${o.a('checkbox', { checked: !!o.on })}><input type="checkbox" class="ant-checkbox-input"><span class="ant-checkbox-inner"></span></span>`,
      radio: (o) =>
        `<span class="ant-radio ${o.on && 'ant-radio-checked'} ${o.offClass('ant-radio-disabled')}" style="top:0" ${o.a('radio', { checked: !!o.on })}><input type="radio" class="ant-radio-input"><span class="ant-radio-inner"></span></span>`,
      switch: (o) =>
        `<button class="ant-switch ${o.on && 'ant-switch-checked'} ${o.offClass('ant-switch-disabled')}" ${o.a('switch', { checked: !!o.on })}><div class="ant-switch-handle"></div><span class="ant-switch-inner"></span></button>`,
      drop_down: (o) =>
        `<div class="ant-select ant-select-single ant-select-show-arrow" style="width:${o.width}px" ${o.a('drop_down', { expanded: false })}><div class="ant-select-selector"><span class="ant-select-selection-item">${o.text}</span></div><span class="ant-select-arrow">${signs.chevron}</span></div>`,
      tabs: (o) =>
        `<div class="ant-tabs ant-tabs-top"><div class="ant-tabs-nav"><div class="ant-tabs-nav-list">${o.items.map((t, i) => `<div class="ant-tabs-tab ${i === o.at ? 'ant-tabs-tab-active' : ''}" ${o.a('tab', { selected: i === o.at })}><div class="ant-tabs-tab-btn">${t}</div></div>`).join('')}</div></div></div>`,
    },
  },
  fomantic: {
    split: 'train',
    css: ['fomantic-ui-css/semantic.min.css'],
    controls: {
      link: linked,
      checkbox: mark('checkbox'),
      radio: mark('radio'),
      ...classed({
        button: ['ui button', 'ui primary button', 'ui basic button', 'ui mini button', 'ui red button'],
        table: 'ui celled table',
      }),
      text_field: (o) =>
        `<div class="ui input" ${o.a('text_field', o.empty ? { placeholder: true } : {})}><input style="width:${o.width}px" ${o.empty ? 'placeholder' : 'value'}="${o.plain}"></div>`,
      tabs: (o) =>
        `<div class="ui tabular menu">${o.items.map((t, i) => `<a class="item ${i === o.at ? 'active' : ''}" ${o.a('tab', { selected: i === o.at })}>${t}</a>`).join('')}</div>`,
    },
  },
  primer: {
    split: 'train',
    css: [
      '@primer/primitives/dist/css/functional/themes/light.css',
      '@primer/primitives/dist/css/base/size/size.css',
      '@primer/primitives/dist/css/functional/size/size.css',
      '@primer/css/dist/primer.css',
    ],
    root: 'data-color-mode="light" data-light-theme="light"',
    light: true,
    controls: {
      link: linked,
      checkbox: mark('checkbox'),
      radio: mark('radio'),
      ...classed({
        button: ['btn', 'btn btn-primary', 'btn btn-danger', 'btn btn-sm', 'btn-link'],
        field: 'form-control',
        select: 'form-select',
      }),
    },
  },
  milligram: {
    split: 'train',
    css: ['milligram/dist/milligram.min.css'],
    light: true,
    controls: {
      ...native,
      ...classed({ button: ['button', 'button button-outline', 'button button-clear'], table: 'x' }),
    },
  },
  pure: {
    split: 'train',
    css: ['purecss/build/pure-min.css'],
    light: true,
    controls: {
      ...native,
      ...classed({
        button: ['pure-button', 'pure-button pure-button-primary'],
        table: 'pure-table pure-table-horizontal',
      }),
    },
  },
  daisyui: {
    split: 'train',
    css: ['daisyui/dist/full.css'],
    dark: 'data-theme="dark"',
    controls: {
      link: linked,
      ...classed({
        button: ['btn', 'btn btn-primary', 'btn btn-ghost', 'btn btn-outline', 'btn btn-sm btn-accent'],
        field: 'input input-bordered',
        area: 'textarea textarea-bordered',
        select: 'select select-bordered',
        check: 'checkbox',
        radio: 'radio',
        range: 'range',
        table: 'table',
        tabs: (o) =>
          `<div class="tabs tabs-bordered">${o.items.map((t, i) => `<a class="tab ${i === o.at ? 'tab-active' : ''}" ${o.a('tab', { selected: i === o.at })}>${t}</a>`).join('')}</div>`,
      }),
      switch: (o) =>
        `<input type="checkbox" class="toggle" ${o.on ? 'checked' : ''} ${o.a('switch', { checked: !!o.on })}>`,
    },
  },
  nes: {
    split: 'train',
    css: ['nes.css/css/nes.min.css'],
    light: true,
    controls: {
      link: linked,
      ...classed({
        button: ['nes-btn', 'nes-btn is-primary', 'nes-btn is-warning'],
        off: 'is-disabled',
        field: 'nes-input',
        area: 'nes-textarea',
      }),
    },
  },
  drawn: { split: 'train', css: [], controls: {}, share: 8 },
  // validation
  drawnValidation: { split: 'validation', css: [], controls: {}, share: 3 },
  carbon: {
    split: 'validation',
    css: ['carbon-components/css/carbon-components.min.css'],
    looks: ['plain'],
    light: true,
    controls: {
      link: linked,
      ...classed({
        button: [
          'bx--btn bx--btn--primary',
          'bx--btn bx--btn--secondary',
          'bx--btn bx--btn--tertiary',
          'bx--btn bx--btn--ghost bx--btn--sm',
        ],
        field: 'bx--text-input',
        area: 'bx--text-area',
        table: 'bx--data-table',
      }),
      drop_down: (o) =>
        `<div class="bx--select-input__wrapper" style="display:inline-block;width:${o.width}px"><select class="bx--select-input" ${o.a('drop_down', { expanded: false })}><option>${o.plain}</option></select></div>`,
    },
  },
  layui: {
    split: 'validation',
    css: ['layui/dist/css/layui.css'],
    hides: ['button focused'],
    looks: ['plain'],
    light: true,
    controls: {
      link: linked,
      ...classed({
        button: [
          'layui-btn',
          'layui-btn layui-btn-primary',
          'layui-btn layui-btn-sm layui-btn-normal',
          'layui-btn layui-btn-danger',
        ],
        off: 'layui-btn-disabled',
        field: 'layui-input',
        area: 'layui-textarea',
        table: 'layui-table',
      }),
      tabs: (o) =>
        `<div class="layui-tab layui-tab-brief"><ul class="layui-tab-title">${o.items.map((t, i) => `<li class="${i === o.at ? 'layui-this' : ''}" ${o.a('tab', { selected: i === o.at })}>${t}</li>`).join('')}</ul></div>`,
    },
  },
  // test
  drawnTest: { split: 'test', css: [], controls: {}, share: 4 },
  win7: {
    split: 'test',
    css: ['7.css/dist/7.css'],
    looks: ['aero'],
    light: true,
    controls: { ...native, checkbox: undefined, radio: undefined },
  },
  blueprint: {
    split: 'test',
    css: ['@blueprintjs/core/lib/css/blueprint.css'],
    looks: ['brisk'],
    darkClass: 'bp5-dark',
    controls: {
      link: linked,
      ...classed({
        button: [
          'bp5-button',
          'bp5-button bp5-intent-primary',
          'bp5-button bp5-minimal bp5-intent-success',
          'bp5-button bp5-small',
        ],
        field: 'bp5-input',
        area: 'bp5-text-area',
        table: 'bp5-html-table bp5-interactive',
      }),
      checkbox: (o) =>
        `<label class="bp5-control bp5-checkbox" style="display:inline-block;margin:0"><input type="checkbox" ${o.on ? 'checked' : ''} ${o.dis}><span class="bp5-control-indicator" ${o.a('checkbox', { checked: !!o.on })}></span></label>`,
      switch: (o) =>
        `<label class="bp5-control bp5-switch" style="display:inline-block;margin:0"><input type="checkbox" ${o.on ? 'checked' : ''} ${o.dis}><span class="bp5-control-indicator" ${o.a('switch', { checked: !!o.on })}></span></label>`,
      drop_down: (o) =>
        `<div class="bp5-html-select" ${o.a('drop_down', { expanded: false })}><select style="width:${o.width}px" ${o.dis}><option>${o.plain}</option></select></div>`,
    },
  },
  patternfly: {
    split: 'test',
    css: ['@patternfly/patternfly/patternfly.min.css'],
    looks: ['brisk'],
    light: true,
    controls: {
      ...classed({
        button: [
          'pf-v5-c-button pf-m-primary',
          'pf-v5-c-button pf-m-secondary',
          'pf-v5-c-button pf-m-link',
          'pf-v5-c-button pf-m-danger',
        ],
        table: 'pf-v5-c-table pf-m-grid-md',
      }),
      text_field: (o) =>
        `<span class="pf-v5-c-form-control" style="display:inline-grid;width:${o.width}px" ${o.a('text_field', o.empty ? { placeholder: true } : {})}><input ${o.empty ? 'placeholder' : 'value'}="${o.plain}"></span>`,
      switch: (o) =>
        `<label class="pf-v5-c-switch"><input class="pf-v5-c-switch__input" type="checkbox" ${o.on ? 'checked' : ''}><span class="pf-v5-c-switch__toggle" ${o.a('switch', { checked: !!o.on })}></span></label>`,
    },
  },
  element: {
    split: 'test',
    css: ['element-plus/dist/index.css', 'element-plus/theme-chalk/dark/css-vars.css'],
    looks: ['brisk'],
    darkClass: 'dark',
    controls: {
      link: (o) =>
        `<a class="el-link el-link--primary" ${o.a('link')}><span class="el-link__inner">${o.text}</span></a>`,
      ...classed({
        button: [
          'el-button',
          'el-button el-button--primary',
          'el-button el-button--success is-plain',
          'el-button el-button--small',
          'el-button is-round',
        ],
        off: 'is-disabled',
      }),
      text_field: (o) =>
        `<div class="el-input" style="width:${o.width}px"><div class="el-input__wrapper" ${o.a('text_field', o.empty ? { placeholder: true } : {})}><input class="el-input__inner" ${o.empty ? 'placeholder' : 'value'}="${o.plain}"></div></div>`,
      checkbox: (o) =>
        `<span class="el-checkbox" style="height:auto;margin:0"><span class="el-checkbox__input ${o.on && 'is-checked'} ${o.offClass('is-disabled')}"><span class="el-checkbox__inner" ${o.a('checkbox', { checked: !!o.on })}></span></span></span>`,
      radio: (o) =>
        `<span class="el-radio" style="height:auto;margin:0"><span class="el-radio__input ${o.on && 'is-checked'} ${o.offClass('is-disabled')}"><span class="el-radio__inner" ${o.a('radio', { checked: !!o.on })}></span></span></span>`,
      switch: (o) =>
        `<div class="el-switch ${o.on && 'is-checked'} ${o.offClass('is-disabled')}"><span class="el-switch__core" ${o.a('switch', { checked: !!o.on })}><div class="el-switch__action"></div></span></div>`,
      tabs: (o) =>
        `<div class="el-tabs el-tabs--top"><div class="el-tabs__header is-top"><div class="el-tabs__nav is-top">${o.items.map((t, i) => `<div class="el-tabs__item is-top ${i === o.at ? 'is-active' : ''}" ${o.a('tab', { selected: i === o.at })}>${t}</div>`).join('')}</div></div></div>`,
    },
  },
};

/** Icon sets: a folder of SVG files, of a package or of the system. Those in colours are shown as pictures. */
const colours = (split, folder, licence) => ({ split, folder, colours: true, licence });
const lines = (split, folder) => ({ split, folder });
export const iconSets = {
  lucide: lines('train', 'lucide-static/icons'),
  bootstrap: lines('train', 'bootstrap-icons/icons'),
  mdi: lines('train', '@mdi/svg/svg'),
  tabler: lines('train', '@tabler/icons/icons/outline'),
  fontawesome: lines('train', '@fortawesome/fontawesome-free/svgs/solid'),
  codicons: lines('train', '@vscode/codicons/src/icons'),
  octicons: lines('train', '@primer/octicons/build/svg'),
  heroicons: lines('train', 'heroicons/24/outline'),
  ionicons: lines('train', 'ionicons/dist/svg'),
  'flat-color': colours('train', 'flat-color-icons/svg'),
  'material-files': colours('train', 'material-icon-theme/icons'),
  'tango-actions': colours('train', '/usr/share/icons/Tango/scalable/actions', 'public domain (tango-icon-theme)'),
  'tango-apps': colours('train', '/usr/share/icons/Tango/scalable/apps', 'public domain (tango-icon-theme)'),
  'tango-places': colours('train', '/usr/share/icons/Tango/scalable/places', 'public domain (tango-icon-theme)'),
  phosphor: lines('validation', '@phosphor-icons/core/assets/regular'),
  carbon: lines('validation', '@carbon/icons/svg/32'),
  oxygen: colours('validation', '/usr/share/icons/oxygen/base/32x32/actions', 'LGPL-3 (oxygen-icon-theme)'),
  'remix-system': lines('test', 'remixicon/icons/System'),
  'remix-document': lines('test', 'remixicon/icons/Document'),
  eva: lines('test', 'eva-icons/outline/svg'),
  'breeze-actions': colours('test', '/usr/share/icons/breeze/actions/22', 'LGPL-3 (breeze-icon-theme)'),
  'breeze-places': colours('test', '/usr/share/icons/breeze/places/64', 'LGPL-3 (breeze-icon-theme)'),
};

const font = (split, use, file) => ({ split, use, file });
/** Fonts: for words, for code, and for the scripts that those lack. `file`: its style sheet; else it is the system's. */
export const fonts = {
  'DejaVu Sans': font('train', 'words'),
  'Liberation Sans': font('train', 'words'),
  'Nimbus Sans': font('train', 'words'),
  'Liberation Serif': font('train', 'words'),
  Inter: font('train', 'words', '@fontsource/inter/index.css'),
  Roboto: font('train', 'words', '@fontsource/roboto/index.css'),
  'Open Sans': font('train', 'words', '@fontsource/open-sans/index.css'),
  Cantarell: font('train', 'words', '@fontsource/cantarell/index.css'),
  Lato: font('train', 'words', '@fontsource/lato/index.css'),
  'IBM Plex Sans': font('train', 'words', '@fontsource/ibm-plex-sans/index.css'),
  Poppins: font('train', 'words', '@fontsource/poppins/index.css'),
  Merriweather: font('train', 'words', '@fontsource/merriweather/index.css'),
  'DejaVu Sans Mono': font('train', 'code'),
  'Liberation Mono': font('train', 'code'),
  'JetBrains Mono': font('train', 'code', '@fontsource/jetbrains-mono/index.css'),
  'Noto Sans CJK SC': font('train', 'chinese'),
  'Noto Sans Arabic': font('train', 'arabic', '@fontsource/noto-sans-arabic/index.css'),
  'Source Sans 3': font('validation', 'words', '@fontsource/source-sans-3/index.css'),
  'DejaVu Serif': font('validation', 'words'),
  'Fira Sans': font('validation', 'words', '@fontsource/fira-sans/index.css'),
  'Source Code Pro': font('validation', 'code', '@fontsource/source-code-pro/index.css'),
  'WenQuanYi Zen Hei': font('validation', 'chinese'),
  Vazirmatn: font('validation', 'arabic', '@fontsource/vazirmatn/index.css'),
  Ubuntu: font('test', 'words', '@fontsource/ubuntu/index.css'),
  'URW Gothic': font('test', 'words'),
  'Work Sans': font('test', 'words', '@fontsource/work-sans/index.css'),
  'Ubuntu Mono': font('test', 'code', '@fontsource/ubuntu-mono/index.css'),
  'WenQuanYi Micro Hei': font('test', 'chinese'),
  Cairo: font('test', 'arabic', '@fontsource/cairo/index.css'),
};
