// Kits for training.

import { signs } from '../drawn.js';
import { classed, linked, list, mark, native } from './markup.js';

export const kits = {
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
  drawn: { split: 'train', css: [], controls: {}, share: 12 },
};
