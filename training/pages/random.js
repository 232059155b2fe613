// Reproducible randomness: everything on a page follows from one string.

/** A random source for `name` (xmur3 seeding mulberry32, both public domain). */
export function chance(name) {
  let h = 1779033703 ^ name.length;
  for (const c of name) {
    h = Math.imul(h ^ c.codePointAt(0), 3432918353);
    h = (h << 13) | (h >>> 19);
  }
  let a = h >>> 0;
  const next = () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const int = (low, high) => low + Math.floor(next() * (high - low + 1));
  const pick = (list) => list[Math.floor(next() * list.length)];
  const maybe = (share) => next() < share;
  const times = (n, make) => Array.from({ length: n }, (_, i) => make(i));
  const many = (low, high, make) => times(int(low, high), make);
  const shuffled = (list) => {
    const copy = [...list];
    for (let i = copy.length - 1; i > 0; i--) {
      const j = int(0, i);
      [copy[i], copy[j]] = [copy[j], copy[i]];
    }
    return copy;
  };
  return { next, int, pick, maybe, times, many, shuffled };
}
