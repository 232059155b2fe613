// Component libraries for training: kits whose controls have their own markup. Each is written as its own program would
// render it, without that program.

import { signs } from '../drawn.js';
import { checked, classed, closed, is, linked, list, native, ofField, says } from './markup.js';

const tick = '<svg viewBox="0 0 14 14" width="10" height="10"><path d="M2 7l4 4 6-8" fill="none" stroke="currentColor" stroke-width="2"/></svg>';
/** A row of tabs: `around` returns the container, `one` each tab. */
const tabs = (around, one) => (o) =>
  around(o.items.map((text, i) => one(text, i === o.at, o.a('tab', { selected: i === o.at }))).join(''));
/** A mark that a label draws before its text; the label is as large as the mark. */
const asLarge = (side) => `display:inline-block;padding:0;margin:0;min-width:0;min-height:0;width:${side}px;height:${side}px`;

const prime = (light, dark) => ({
  split: 'train',
  css: [`primereact/resources/themes/${light}/theme.css`, 'primereact/resources/primereact.min.css'],
  ...(dark
    ? { darkCss: [`primereact/resources/themes/${dark}/theme.css`, 'primereact/resources/primereact.min.css'] }
    : { light: true }),
  controls: {
    link: linked,
    ...classed({ field: 'p-inputtext p-component', area: 'p-inputtextarea p-inputtext p-component' }),
    button: (o) =>
      `<button class="p-button p-component ${o.pick(['', '', 'p-button-secondary', 'p-button-success', 'p-button-danger', 'p-button-outlined', 'p-button-text', 'p-button-raised', 'p-button-sm'])}" ${o.dis} ${o.foc} ${o.a('button')}><span class="p-button-label">${o.text}</span></button>`,
    checkbox: (o) =>
      `<div class="p-checkbox p-component"><div class="p-checkbox-box ${o.on && 'p-highlight'}" ${o.a('checkbox', is(o))}>${o.on && `<span class="p-checkbox-icon p-icon">${tick}</span>`}</div></div>`,
    radio: (o) =>
      `<div class="p-radiobutton p-component"><div class="p-radiobutton-box ${o.on && 'p-highlight'}" ${o.a('radio', is(o))}><div class="p-radiobutton-icon"></div></div></div>`,
    switch: (o) =>
      `<div class="p-inputswitch p-component ${o.on && 'p-inputswitch-checked p-highlight'}" ${o.a('switch', is(o))}><span class="p-inputswitch-slider"></span></div>`,
    drop_down: (o) =>
      `<div class="p-dropdown p-component" style="width:${o.width}px" ${closed(o)}><span class="p-dropdown-label p-inputtext">${o.text}</span><div class="p-dropdown-trigger">${signs.chevron}</div></div>`,
    slider: (o) => {
      const at = o.int(5, 95);
      return `<div style="display:inline-block;padding:8px 0" ${o.a('slider')}><div class="p-slider p-component p-slider-horizontal" style="width:${o.width}px"><span class="p-slider-range" style="inset-inline-start:0;width:${at}%"></span><span class="p-slider-handle" style="left:${at}%"></span></div></div>`;
    },
    tabs: tabs(
      (inner) => `<div class="p-tabview p-component"><ul class="p-tabview-nav">${inner}</ul></div>`,
      (text, on, a) =>
        `<li class="${on ? 'p-highlight' : ''}"><a class="p-tabview-nav-link" ${a}><span class="p-tabview-title">${text}</span></a></li>`,
    ),
    menu: (o) =>
      `<div class="p-menu p-component" style="display:inline-block"><ul class="p-menu-list p-reset">${o.items.map((t, i) => `<li class="p-menuitem ${i === o.at ? 'p-focus p-highlight' : ''}"><div class="p-menuitem-content" ${o.a('menu_item', { selected: i === o.at })}><a class="p-menuitem-link"><span class="p-menuitem-text">${t}</span></a></div></li>`).join('')}</ul></div>`,
  },
});

export const kits = {
  primeLara: prime('lara-light-blue', 'lara-dark-indigo'),
  primeSaga: prime('saga-green', 'arya-orange'),
  primeMaterial: prime('md-light-indigo', 'md-dark-deeppurple'),
  primeDense: prime('mdc-light-deeppurple', 'mdc-dark-indigo'),
  primeFluent: prime('fluent-light'),
  primeNova: prime('nova'),
  primeRhea: prime('rhea'),
  primeSoho: prime('soho-light', 'soho-dark'),
  primeViva: prime('viva-light', 'viva-dark'),
  primeNano: prime('nano'),
  primeMira: prime('mira', 'luna-amber'),
  arco: {
    split: 'train',
    css: ['@arco-design/web-react/dist/css/arco.min.css'],
    hides: ['text_field disabled', 'switch disabled'],
    light: true,
    controls: {
      link: linked,
      ...classed({
        button: ['primary', 'secondary', 'outline', 'dashed', 'text'].map(
          (kind) => `arco-btn arco-btn-${kind} arco-btn-size-default arco-btn-shape-square`,
        ),
        off: 'arco-btn-disabled',
        field: 'arco-input arco-input-size-default',
        area: 'arco-textarea',
      }),
      checkbox: (o) =>
        `<label class="arco-checkbox ${o.on && 'arco-checkbox-checked'} ${o.offClass('arco-checkbox-disabled')}" style="padding:0"><span class="arco-icon-hover arco-checkbox-icon-hover"><div class="arco-checkbox-mask" ${o.a('checkbox', is(o))}>${o.on && tick}</div></span></label>`,
      radio: (o) =>
        `<label class="arco-radio ${o.on && 'arco-radio-checked'} ${o.offClass('arco-radio-disabled')}" style="padding:0;margin:0"><span class="arco-icon-hover arco-radio-icon-hover"><div class="arco-radio-mask" ${o.a('radio', is(o))}></div></span></label>`,
      switch: (o) =>
        `<button class="arco-switch arco-switch-type-${o.pick(['circle', 'round', 'line'])} ${o.on && 'arco-switch-checked'} ${o.offClass('arco-switch-disabled')}" ${o.a('switch', is(o))}><div class="arco-switch-dot"></div></button>`,
      drop_down: (o) =>
        `<div class="arco-select arco-select-single arco-select-size-default" style="width:${o.width}px;display:inline-block" ${closed(o)}><div class="arco-select-view"><span class="arco-select-view-selector"><span class="arco-select-view-value">${o.text}</span></span><div class="arco-select-suffix"><div class="arco-select-arrow-icon">${signs.chevron}</div></div></div></div>`,
      tabs: tabs(
        (inner) =>
          `<div class="arco-tabs arco-tabs-horizontal arco-tabs-line arco-tabs-top arco-tabs-size-default"><div class="arco-tabs-header-nav arco-tabs-header-nav-horizontal arco-tabs-header-nav-line"><div class="arco-tabs-header">${inner}</div></div></div>`,
        (text, on, a) =>
          `<div class="arco-tabs-header-title ${on ? 'arco-tabs-header-title-active' : ''}" ${a}><span class="arco-tabs-header-title-text">${text}</span></div>`,
      ),
    },
  },
  tdesign: {
    split: 'train',
    css: ['tdesign-vue-next/dist/tdesign.min.css'],
    dark: 'theme-mode="dark"',
    controls: {
      link: (o) => `<a class="t-link t-link--theme-primary t-size-m" ${o.a('link')}>${o.text}</a>`,
      button: (o) =>
        `<button class="t-button t-size-${o.pick(['s', 'm', 'm', 'l'])} t-button--shape-rectangle ${o.pick(['t-button--theme-primary t-button--variant-base', 't-button--theme-default t-button--variant-base', 't-button--theme-default t-button--variant-outline', 't-button--theme-danger t-button--variant-text', 't-button--theme-primary t-button--variant-dashed'])} ${o.offClass('t-is-disabled')}" ${o.a('button')}><span class="t-button__text">${o.text}</span></button>`,
      text_field: (o) =>
        `<div class="t-input__wrap" style="display:inline-block;width:${o.width}px"><div class="t-input" ${ofField(o)}><input class="t-input__inner" ${says(o)}="${o.plain}"></div></div>`,
      text_area: (o) =>
        `<div class="t-textarea" style="width:${o.width}px"><textarea class="t-textarea__inner" rows="${o.int(2, 6)}" ${o.a('text_field')}>${o.plain}</textarea></div>`,
      checkbox: (o) =>
        `<label class="t-checkbox ${o.on && 't-is-checked'} ${o.offClass('t-is-disabled')}"><span class="t-checkbox__input" ${o.a('checkbox', is(o))}></span></label>`,
      radio: (o) =>
        `<label class="t-radio ${o.on && 't-is-checked'} ${o.offClass('t-is-disabled')}"><span class="t-radio__input" ${o.a('radio', is(o))}></span></label>`,
      switch: (o) =>
        `<button class="t-switch t-size-${o.pick(['s', 'm', 'l'])} ${o.on && 't-is-checked'} ${o.offClass('t-is-disabled')}" ${o.a('switch', is(o))}><span class="t-switch__handle"></span></button>`,
      drop_down: (o) =>
        `<div class="t-input__wrap" style="display:inline-block;width:${o.width}px"><div class="t-input t-input--suffix" ${closed(o)}><input class="t-input__inner" value="${o.plain}" readonly><span class="t-input__suffix t-input__suffix-icon">${signs.chevron}</span></div></div>`,
      tabs: tabs(
        (inner) =>
          `<div class="t-tabs"><div class="t-tabs__header t-is-top"><div class="t-tabs__nav"><div class="t-tabs__nav-container t-is-top"><div class="t-tabs__nav-wrap">${inner}</div></div></div></div></div>`,
        (text, on, a) =>
          `<div class="t-tabs__nav-item t-size-m t-is-top ${on ? 't-is-active' : ''}" ${a}><div class="t-tabs__nav-item-wrapper"><span class="t-tabs__nav-item-text-wrapper">${text}</span></div></div>`,
      ),
    },
  },
  rsuite: {
    split: 'train',
    css: ['rsuite/dist/rsuite.min.css'],
    darkClass: 'rs-theme-dark',
    controls: {
      link: linked,
      ...classed({
        button: ['default', 'primary', 'ghost', 'subtle', 'link'].map((kind) => `rs-btn rs-btn-${kind}`),
        off: 'rs-btn-disabled',
        field: 'rs-input',
      }),
      switch: (o) =>
        `<label class="rs-toggle ${o.on && 'rs-toggle-checked'}"><input type="checkbox" class="rs-toggle-input" ${checked(o)}><span class="rs-toggle-presentation" ${o.a('switch', is(o))}></span></label>`,
      tabs: tabs(
        (inner) => `<div class="rs-nav rs-nav-subtle rs-nav-horizontal">${inner}</div>`,
        (text, on, a) => `<a class="rs-nav-item ${on ? 'rs-nav-item-active' : ''}" ${a}>${text}</a>`,
      ),
    },
  },
  tablerCore: {
    split: 'train',
    css: ['@tabler/core/dist/css/tabler.min.css'],
    dark: 'data-bs-theme="dark"',
    controls: {
      link: linked,
      ...classed({
        button: [
          'btn',
          'btn btn-primary',
          'btn btn-outline-primary',
          'btn btn-ghost-danger',
          'btn btn-pill btn-success',
          'btn btn-sm',
        ],
        field: 'form-control',
        select: 'form-select',
        range: 'form-range',
        check: 'form-check-input',
        radio: 'form-check-input',
        table: 'table table-vcenter table-striped',
        tabs: list('nav nav-tabs', 'nav-item', 'nav-link', 'active'),
      }),
      switch: (o) =>
        `<span class="form-check form-switch" style="display:inline-block;margin:0"><input class="form-check-input" type="checkbox" ${checked(o)} ${o.dis} ${o.a('switch', is(o))}></span>`,
    },
  },
  govuk: {
    split: 'train',
    css: ['govuk-frontend/dist/govuk/govuk-frontend.min.css'],
    light: true,
    controls: {
      link: (o) => `<a href="#" class="govuk-link" ${o.foc} ${o.a('link')}>${o.text}</a>`,
      ...classed({
        button: ['govuk-button', 'govuk-button govuk-button--secondary', 'govuk-button govuk-button--warning'],
        field: 'govuk-input',
        area: 'govuk-textarea',
        select: 'govuk-select',
        table: 'govuk-table',
      }),
      checkbox: (o) =>
        `<div class="govuk-checkboxes__item" style="${asLarge(40)}" ${o.a('checkbox', is(o))}><input type="checkbox" class="govuk-checkboxes__input" ${checked(o)} ${o.dis}><label class="govuk-checkboxes__label"></label></div>`,
      radio: (o) =>
        `<div class="govuk-radios__item" style="${asLarge(40)}" ${o.a('radio', is(o))}><input type="radio" class="govuk-radios__input" ${checked(o)} ${o.dis}><label class="govuk-radios__label"></label></div>`,
    },
  },
  clarity: {
    split: 'train',
    css: ['@clr/ui/clr-ui.min.css'],
    light: true,
    controls: {
      ...native,
      slider: undefined,
      ...classed({
        button: ['btn', 'btn btn-primary', 'btn btn-outline', 'btn btn-link', 'btn btn-sm', 'btn btn-danger-outline'],
        field: 'clr-input',
        area: 'clr-textarea',
        table: 'table table-compact',
      }),
      drop_down: (o) =>
        `<div class="clr-select-wrapper" style="display:inline-block;width:${o.width}px"><select class="clr-select" style="width:100%" ${o.dis} ${closed(o)}><option>${o.plain}</option></select></div>`,
      tabs: tabs(
        (inner) => `<ul class="nav">${inner}</ul>`,
        (text, on, a) =>
          `<li class="nav-item"><button class="btn btn-link nav-link ${on ? 'active' : ''}" ${a}>${text}</button></li>`,
      ),
    },
  },
  onsen: {
    split: 'train',
    css: ['onsenui/css/onsen-css-components.min.css'],
    hides: ['button focused', 'text_field focused'],
    darkCss: ['onsenui/css/dark-onsen-css-components.min.css'],
    controls: {
      link: linked,
      ...classed({
        button: ['button', 'button button--outline', 'button button--light', 'button button--cta', 'button button--quiet'],
        field: 'text-input text-input--underbar',
        area: 'textarea',
      }),
      checkbox: (o) =>
        `<label class="checkbox"><input type="checkbox" class="checkbox__input" ${checked(o)} ${o.dis}><div class="checkbox__checkmark" ${o.a('checkbox', is(o))}></div></label>`,
      switch: (o) =>
        `<label class="switch"><input type="checkbox" class="switch__input" ${checked(o)} ${o.dis}><div class="switch__toggle" ${o.a('switch', is(o))}><div class="switch__handle"></div></div></label>`,
      tabs: tabs(
        (inner) => `<div class="segment" style="width:100%">${inner}</div>`,
        (text, on, a) =>
          `<div class="segment__item"><input type="radio" class="segment__input" ${on ? 'checked' : ''}><div class="segment__button" ${a}>${text}</div></div>`,
      ),
    },
  },
  mdui: {
    split: 'train',
    css: ['mdui/dist/css/mdui.min.css'],
    hides: ['text_field disabled', 'button focused', 'text_field focused', 'drop_down focused'],
    darkClass: 'mdui-theme-layout-dark',
    controls: {
      link: linked,
      ...classed({
        button: [
          'mdui-btn',
          'mdui-btn mdui-btn-raised',
          'mdui-btn mdui-btn-raised mdui-color-indigo',
          'mdui-btn mdui-btn-dense mdui-color-pink',
        ],
        field: 'mdui-textfield-input',
        select: 'mdui-select',
        table: 'mdui-table mdui-table-hoverable',
      }),
      checkbox: (o) =>
        `<label class="mdui-checkbox" style="${asLarge(18)}"><input type="checkbox" ${checked(o)} ${o.dis}><i class="mdui-checkbox-icon" style="top:0" ${o.a('checkbox', is(o))}></i></label>`,
      radio: (o) =>
        `<label class="mdui-radio" style="${asLarge(20)}"><input type="radio" ${checked(o)} ${o.dis}><i class="mdui-radio-icon" style="top:0" ${o.a('radio', is(o))}></i></label>`,
      switch: (o) =>
        `<label class="mdui-switch"><input type="checkbox" ${checked(o)} ${o.dis}><i class="mdui-switch-icon" ${o.a('switch', is(o))}></i></label>`,
      tabs: tabs(
        (inner) => `<div class="mdui-tab" style="overflow:hidden">${inner}</div>`,
        (text, on, a) => `<a class="mdui-ripple ${on ? 'mdui-tab-active' : ''}" ${a}>${text}</a>`,
      ),
    },
  },
  materialize: {
    split: 'train',
    css: ['@materializecss/materialize/dist/css/materialize.min.css'],
    dark: 'theme="dark"',
    controls: {
      link: linked,
      ...classed({
        button: ['btn filled', 'btn outlined', 'btn tonal', 'btn text', 'btn elevated'],
      }),
      switch: (o) =>
        `<div class="switch" style="display:inline-block"><label><input type="checkbox" ${checked(o)} ${o.dis}><span class="lever" style="margin:0" ${o.a('switch', is(o))}></span></label></div>`,
      tabs: tabs(
        (inner) => `<ul class="tabs">${inner}</ul>`,
        (text, on, a) => `<li class="tab"><a class="${on ? 'active' : ''}" ${a}>${text}</a></li>`,
      ),
    },
  },
  beer: {
    split: 'train',
    css: ['beercss/dist/cdn/beer.min.css'],
    darkClass: 'dark',
    controls: {
      link: (o) => `<a class="link" ${o.a('link')}>${o.text}</a>`,
      button: (o) =>
        `<button class="${o.pick(['small', 'border', 'fill', 'transparent', 'small round', 'secondary'])}" style="margin:0" ${o.dis} ${o.a('button')}>${o.text}</button>`,
      text_field: (o) =>
        `<div class="field small ${o.pick(['border', 'fill', 'border round'])}" style="margin:0;display:inline-block;width:${o.width}px"><input ${says(o)}="${o.plain}" ${ofField(o)}></div>`,
      switch: (o) =>
        `<label class="switch" ${o.a('switch', is(o))}><input type="checkbox" ${checked(o)} ${o.dis}><span></span></label>`,
      tabs: tabs(
        (inner) => `<div class="tabs">${inner}</div>`,
        (text, on, a) => `<a class="${on ? 'active' : ''}" ${a}>${text}</a>`,
      ),
    },
  },
  foundation: {
    split: 'train',
    css: ['foundation-sites/dist/css/foundation.min.css'],
    light: true,
    controls: {
      ...native,
      ...classed({
        button: ['button', 'button secondary', 'button hollow', 'button small alert', 'button clear'],
        table: 'hover',
      }),
      switch: (o) =>
        `<div class="switch ${o.pick(['', 'tiny', 'small'])}" style="display:inline-block;margin:0"><input class="switch-input" type="checkbox" ${checked(o)} ${o.dis}><label class="switch-paddle" ${o.a('switch', is(o))}></label></div>`,
      tabs: tabs(
        (inner) => `<ul class="tabs">${inner}</ul>`,
        (text, on, a) =>
          `<li class="tabs-title ${on ? 'is-active' : ''}"><a href="#" ${on ? 'aria-selected="true"' : ''} ${a}>${text}</a></li>`,
      ),
    },
  },
  system6: {
    split: 'train',
    css: ['@sakun/system.css/dist/system.css'],
    looks: ['motif'],
    light: true,
    controls: {
      ...native,
      checkbox: undefined,
      radio: undefined,
      slider: undefined,
      ...classed({ button: ['btn', 'btn btn-default'] }),
    },
  },
};
