// Draws screens in headless Chromium and writes images and labels:
//   node render.js --out DIR --seed 1 --train 1000 --validation 100 --test 150 [--workers 1] [--labels-only] [--layouts form,login]
// Output: one line of JSON per image in DIR/SPLIT/labels.jsonl. Existing output is kept, so a run can be resumed.
// Test and validation screens are drawn first, so that evaluation data exists before training data is complete.

import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { modules, withBrowser } from './browser.js';
import { layouts, screen } from './grammar.js';
import { pictogramFrom } from './icons.js';
import { measure, settle } from './measure.js';
import { sizeOf } from './image-size.js';

const { values: args } = parseArgs({
  options: {
    out: { type: 'string' },
    seed: { type: 'string', default: '1' },
    train: { type: 'string', default: '1000' },
    validation: { type: 'string', default: '100' },
    test: { type: 'string', default: '150' },
    workers: { type: 'string', default: '1' },
    layouts: { type: 'string', default: '' },
    chromium: { type: 'string', default: '/usr/bin/chromium' },
    'labels-only': { type: 'boolean', default: false },
  },
});
if (!args.out) throw new Error('name the folder to write to: --out DIR');

/** Applies to training only: evaluation screens stay reproducible. */
const onlyLayouts = args.layouts.split(',').filter(Boolean);
const unknown = onlyLayouts.filter((name) => layouts[name]?.split !== 'train');
if (unknown.length) throw new Error(`no layout of the split train: ${unknown.join(', ')}; see layouts/train.js`);
const acts = Object.fromEntries(
  JSON.parse(readFileSync(new URL('../classes.json', import.meta.url), 'utf8')).classes.map((one) => [
    one.name,
    one.interactable,
  ]),
);
const svg = pictogramFrom(modules);

async function draw(job, show, cdp, page) {
  const s = screen(job.seed, job.split, svg, job.split === 'train' ? onlyLayouts : []);
  await show(s);
  await page.evaluate(settle);
  const boxes = await page.evaluate(measure, { scale: s.scale, acts });
  const size = [Math.round(s.width * s.scale), Math.round(s.height * s.scale)];
  const name = `${job.name}.jpg`;
  if (!args['labels-only']) {
    const shot = Buffer.from(
      (await cdp.send('Page.captureScreenshot', { format: 'jpeg', quality: s.quality })).data,
      'base64',
    );
    const drawn = sizeOf(shot);
    if (drawn.join() !== size.join()) throw new Error(`the picture is ${drawn}, and its labels are for ${size}`);
    writeFileSync(join(args.out, job.split, name), shot);
  }
  appendFileSync(job.labels, JSON.stringify({ image: name, size, ...s.meta, boxes }) + '\n');
}

const worker = (jobs) =>
  withBrowser(args.chromium, async (show, cdp, page) => {
    for (let job = jobs.shift(); job; job = jobs.shift())
      try {
        await draw(job, show, cdp, page);
      } catch (error) {
        // The browser has ended or was stopped: the rest is left to the next run.
        if (page.isClosed()) throw error;
        console.error(`left out ${job.seed}: ${error.message.split('\n')[0]}`);
      }
  });

const jobs = [];
for (const split of ['test', 'validation', 'train']) {
  const labels = join(args.out, split, 'labels.jsonl');
  mkdirSync(dirname(labels), { recursive: true });
  const lines = existsSync(labels) ? readFileSync(labels, 'utf8').split('\n').filter(Boolean) : [];
  const done = new Set(lines.map((line) => JSON.parse(line).seed));
  for (let i = 0; i < Number(args[split]); i++) {
    const seed = `${args.seed}/${split}/${i}`;
    if (!done.has(seed)) jobs.push({ seed, split, name: String(i).padStart(6, '0'), labels });
  }
}
const started = Date.now();
const total = jobs.length;
await Promise.all(Array.from({ length: Number(args.workers) }, () => worker(jobs)));
console.log(`${total} screens in ${((Date.now() - started) / 1000).toFixed(0)} s`);
