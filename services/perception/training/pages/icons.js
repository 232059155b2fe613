// The pictograms of a set: line drawings go into the page as they are, to take its colour; coloured ones as pictures.

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';

const inline = (text) =>
  text
    .replace(/<!--[\s\S]*?-->|<\?xml[^>]*>|<!DOCTYPE[^>]*>|<title>[\s\S]*?<\/title>/g, '')
    .replace(/\s(width|height|class)=\s*"[^"]*"/g, '')
    .replace(/<svg(?![^>]*fill=)/, '<svg fill="currentColor"')
    .replace('<svg', '<svg class="dk-svg"')
    .trim();

/** A function that draws a random pictogram of a set, whose packages are under `modules`. A set of the system that is not
 * installed is an error: the same seed would give other screens. */
export function pictogramFrom(modules) {
  const files = new Map();
  const texts = new Map();
  const filesOf = (folder) => {
    if (!files.has(folder)) {
      const place = isAbsolute(folder) ? folder : join(modules, folder);
      if (!existsSync(place)) throw new Error(`there are no icons in ${place}: see the packages in README.md`);
      files.set(folder, readdirSync(place).filter((name) => /\.(svg|png)$/.test(name)).sort().map((name) => join(place, name)));
    }
    return files.get(folder);
  };
  return (set, r) => {
    const file = r.pick(filesOf(set.folder));
    if (set.colours) {
      const path = isAbsolute(set.folder) ? file : file.slice(modules.length);
      return `<img class="dk-svg" src="${encodeURI(path)}">`;
    }
    if (!texts.has(file)) texts.set(file, inline(readFileSync(file, 'utf8')));
    return texts.get(file);
  };
}
