// Evaluation data is never used in training: no name and no drawing is in two splits.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HABITS } from './drawn.js';
import { display, screen, tables } from './grammar.js';
import { chance } from './random.js';

const SPLITS = ['train', 'validation', 'test'];
const svg = (set) =>
  `<svg data-set="${Object.keys(tables.iconSets).find((name) => tables.iconSets[name] === set)}"></svg>`;
const screens = (split) => Array.from({ length: 150 }, (_, i) => screen(`splits/${split}/${i}`, split, svg));
const drawn = Object.fromEntries(SPLITS.map((split) => [split, screens(split)]));

test('a screen is made of what belongs to its split', () => {
  for (const split of SPLITS)
    for (const one of drawn[split])
      for (const [table, names] of Object.entries(one.meta.parts))
        for (const name of names)
          assert.equal(tables[table][name].split, split, `${table} ${name} on a screen of ${split}`);
});

test('everything is used by its split, and every split has something of each kind', () => {
  const minimum = {
    kits: 3,
    looks: 3,
    iconSets: 3,
    fonts: 4,
    layouts: 8,
    decorations: 2,
    panels: 1,
    pointers: 1,
    wallpapers: 1,
    browserHeads: 1,
  };
  for (const split of SPLITS)
    for (const [table, entries] of Object.entries(tables)) {
      const names = Object.keys(entries).filter((name) => entries[name].split === split);
      assert.ok(names.length >= minimum[table], `${split} has only ${names.length} ${table}`);
    }
  for (const [table, entries] of Object.entries(tables))
    for (const [name, { split }] of Object.entries(entries))
      assert.ok(SPLITS.includes(split), `${table} ${name} is in no split`);
});

test('no drawing is in two splits under two names', () => {
  const same = (one) =>
    JSON.stringify(one, (key, value) =>
      key === 'split' || key === 'share' ? undefined : typeof value === 'function' ? String(value) : value,
    );
  for (const [table, entries] of Object.entries(tables)) {
    const where = new Map();
    for (const entry of Object.values(entries)) {
      const drawing = table === 'iconSets' ? entry.folder : table === 'kits' ? entry.css.join() || entry : same(entry);
      // System fonts differ only by name.
      if (table === 'fonts' && !entry.file) continue;
      assert.equal(where.get(drawing) ?? entry.split, entry.split, `${table}: ${String(drawing).slice(0, 80)}`);
      where.set(drawing, entry.split);
    }
  }
});

test('no look of validation or test has the habits of a look of training', () => {
  const habits = (look) =>
    Object.keys(HABITS)
      .map((habit) => look.habits[habit])
      .join();
  const learned = new Set(
    Object.values(tables.looks)
      .filter((look) => look.split === 'train')
      .map(habits),
  );
  for (const [name, look] of Object.entries(tables.looks))
    if (look.split !== 'train') assert.ok(!learned.has(habits(look)), name);
});

test('a screen names no font but those of its split', () => {
  const generic = new Set(['inherit']);
  for (const split of SPLITS)
    for (const one of drawn[split])
      for (const [, families] of `${one.css}${one.body}`.matchAll(/font-family:([^;}"]+)/g))
        for (const name of families.split(',').map((family) =>
          family
            .replace(/!important/, '')
            .replace(/'/g, '')
            .trim(),
        ))
          assert.ok(generic.has(name) || tables.fonts[name]?.split === split, `${name} on ${one.meta.seed}`);
});

test('pictograms come from sets of the split', () => {
  for (const split of SPLITS)
    for (const one of drawn[split])
      for (const [, set] of one.body.matchAll(/data-set="([^"]*)"/g))
        assert.equal(tables.iconSets[set].split, split, `${set} on ${one.meta.seed}`);
});

test('the same string gives the same screen', () => {
  assert.deepEqual(screen('again', 'train', svg), screen('again', 'train', svg));
});

test('a screen is a whole number of pixels wide and high at every scale', () => {
  for (const split of SPLITS)
    for (let i = 0; i < 500; i++) {
      const { width, height, scale } = display(chance(`${split}${i}`), split);
      assert.ok(Number.isInteger(width * scale) && Number.isInteger(height * scale), `${width}x${height} at ${scale}`);
      if (split !== 'train')
        assert.ok(['1280x800', '1920x1080', '2560x1440'].includes(`${width * scale}x${height * scale}`));
    }
});
