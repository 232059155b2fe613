// Icons of a set: monochrome icons are inlined into the page, to take its colour; coloured ones are images.

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { extname, isAbsolute, join } from 'node:path';

const inline = (text) =>
  text
    .replace(/<!--[\s\S]*?-->|<\?xml[^>]*>|<!DOCTYPE[^>]*>|<title>[\s\S]*?<\/title>/g, '')
    .replace(/\s(width|height|class)=\s*"[^"]*"/g, '')
    .replace(/<svg(?![^>]*fill=)/, '<svg fill="currentColor"')
    .replace('<svg', '<svg class="dk-svg"')
    .trim();

const types = { '.svg': 'image/svg+xml', '.png': 'image/png' };
/** Inlines an icon: a request for each would take most of the time of a screen. */
const imageTag = (file) =>
  `<img class="dk-svg" src="data:${types[extname(file)]};base64,${readFileSync(file).toString('base64')}">`;

/** Returns a function that draws a random icon of a set, whose packages are under `modules`. A missing system set is
 * an error, because the same seed would give other screens. */
export function pictogramFrom(modules) {
  const files = new Map();
  const texts = new Map();
  const filesOf = (folder) => {
    if (!files.has(folder)) {
      const place = isAbsolute(folder) ? folder : join(modules, folder);
      if (!existsSync(place)) throw new Error(`there are no icons in ${place}: see the packages in README.md`);
      files.set(
        folder,
        readdirSync(place)
          .filter((name) => /\.(svg|png)$/.test(name))
          .sort()
          .map((name) => join(place, name)),
      );
    }
    return files.get(folder);
  };
  return (set, r) => {
    const file = r.pick(filesOf(set.folder));
    if (!texts.has(file)) texts.set(file, set.colours ? imageTag(file) : inline(readFileSync(file, 'utf8')));
    return texts.get(file);
  };
}
