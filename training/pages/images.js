// Placeholders for photographs, maps, charts and faces: drawn at random, because no image is shipped.

const colour = (r) => `hsl(${r.int(0, 359)} ${r.int(15, 90)}% ${r.int(18, 85)}%)`;
const shapes = (r) =>
  r
    .many(2, 7, () =>
      r.maybe(0.5)
        ? `<circle cx="${r.int(0, 100)}" cy="${r.int(0, 100)}" r="${r.int(5, 45)}" fill="${colour(r)}"/>`
        : `<path d="M${r.int(0, 100)} ${r.int(0, 100)}L${r.int(0, 100)} ${r.int(0, 100)}L${r.int(0, 100)} ${r.int(0, 100)}Z" fill="${colour(r)}"/>`,
    )
    .join('');
const ridge = (r, height, fill) =>
  `<path d="M0 100V${height}${r.times(9, (i) => `L${(i + 1) * 11} ${height + r.int(-14, 14)}`).join('')}V100Z" fill="${fill}"/>`;
const sky = (r, id) =>
  `<defs><linearGradient id="${id}" x2="0" y2="1"><stop stop-color="${colour(r)}"/><stop offset="1" stop-color="${colour(r)}"/></linearGradient></defs><rect width="100" height="100" fill="url(#${id})"/>`;

const scenes = {
  shapes: (r) => `<rect width="100" height="100" fill="${colour(r)}"/>${shapes(r)}`,
  landscape: (r, id) =>
    `${sky(r, id)}<circle cx="${r.int(10, 90)}" cy="${r.int(10, 40)}" r="${r.int(3, 9)}" fill="#fff9"/>${ridge(r, r.int(35, 55), colour(r))}${ridge(r, r.int(55, 75), colour(r))}${ridge(r, r.int(75, 90), colour(r))}`,
  face: (r) =>
    `<rect width="100" height="100" fill="${colour(r)}"/><circle cx="50" cy="40" r="20" fill="${colour(r)}"/><ellipse cx="50" cy="98" rx="36" ry="34" fill="${colour(r)}"/>`,
  blur: (r, id) =>
    `${sky(r, id)}${r.times(5, () => `<ellipse cx="${r.int(0, 100)}" cy="${r.int(0, 100)}" rx="${r.int(15, 50)}" ry="${r.int(15, 50)}" fill="${colour(r)}" opacity=".35"/>`).join('')}`,
  bars: (r) => {
    const n = r.int(4, 14);
    const ink = colour(r);
    return r
      .times(
        n,
        (i) => `<rect x="${(i * 100) / n + 1}" width="${70 / n}" y="${r.int(5, 85)}" height="100" fill="${ink}"/>`,
      )
      .join('');
  },
  lines: (r) =>
    r
      .many(
        1,
        3,
        () =>
          `<polyline vector-effect="non-scaling-stroke" fill="none" stroke="${colour(r)}" stroke-width="2" points="${r.times(12, (i) => `${i * 9},${r.int(5, 95)}`).join(' ')}"/>`,
      )
      .join('') + '<path d="M0 0V100H100" fill="none" stroke="#8888" vector-effect="non-scaling-stroke"/>',
  pie: (r) => {
    let at = 0;
    return r
      .times(4, () => {
        const from = at;
        at += r.int(60, 110);
        const point = (angle) =>
          `${50 + 46 * Math.cos((angle * Math.PI) / 180)} ${50 + 46 * Math.sin((angle * Math.PI) / 180)}`;
        return `<path d="M50 50L${point(from)}A46 46 0 0 1 ${point(Math.min(at, 359))}Z" fill="${colour(r)}"/>`;
      })
      .join('');
  },
  map: (r) =>
    `<rect width="100" height="100" fill="${r.pick(['#e8e4d8', '#dfe7ee', '#2b3240'])}"/>${r.times(3, () => `<ellipse cx="${r.int(0, 100)}" cy="${r.int(0, 100)}" rx="${r.int(8, 30)}" ry="${r.int(8, 24)}" fill="${r.pick(['#bfe0b4', '#a9cfe8', '#cfe3c0'])}"/>`).join('')}${r.times(14, () => `<path d="M${r.int(-10, 110)} ${r.int(-10, 110)}L${r.int(-10, 110)} ${r.int(-10, 110)}" stroke="${r.pick(['#fff', '#fbd36b', '#c9c9c9'])}" stroke-width="${r.int(1, 4)}" vector-effect="non-scaling-stroke"/>`).join('')}`,
};

export const photographs = ['shapes', 'landscape', 'blur', 'landscape', 'face'];
export const charts = ['bars', 'lines', 'pie'];

/** Content of an SVG of 100 by 100. */
export const scene = (r, kind) => scenes[kind](r, `g${r.int(0, 1e9)}`);
