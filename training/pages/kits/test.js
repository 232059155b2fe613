// Kits for testing.

import { classed, linked, native } from './markup.js';

export const kits = {
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
