/* Shared by the pages: styling, animations, and pageState(), which returns the
   state of a page without its animations. */
const wish = new URLSearchParams(location.search);

function pageState() {
  const parts = [];
  for (const element of document.querySelectorAll('body *')) {
    if (element.closest('.mover') || element.tagName === 'SCRIPT') continue;
    parts.push([element.tagName, element.id, element.className, element.value ?? null,
      element.checked ?? null, element.open ?? null, element.selectedIndex ?? null,
      Math.round(element.scrollTop), element.getAttribute('style'), element.hidden,
      element.childElementCount ? null : element.textContent,
      element.tagName === 'SELECT' ? element.matches(':open') : null]);
  }
  const focus = document.activeElement;
  let caret = null;
  try { caret = [focus.selectionStart, focus.selectionEnd]; } catch (error) { caret = null; }
  return {
    elements: JSON.stringify(parts), scroll: [Math.round(scrollX), Math.round(scrollY)],
    focus: focus ? focus.id || focus.tagName : '', caret,
    selection: String(getSelection()), title: document.title, path: location.pathname + location.hash,
  };
}

function look() {
  const dark = wish.get('theme') === 'dark';
  document.documentElement.style.colorScheme = dark ? 'dark' : 'light';
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  document.body.style.fontSize = (wish.get('size') || 15) + 'px';
  document.body.style.fontFamily = wish.get('font') || 'sans-serif';
}

function clockMover(box) {
  let seconds = 36000 + Number(wish.get('load') || 0) * 7;
  const show = () => {
    const part = (value) => String(value).padStart(2, '0');
    box.textContent = [seconds / 3600, seconds / 60 % 60, seconds % 60].map((value) => part(Math.floor(value))).join(':');
    seconds += 1;
  };
  show();
  setInterval(show, 1000);
}

function spinnerMover(box) {
  box.innerHTML = '<div class="wheel"></div>';
}

function videoMover(box) {
  box.innerHTML = '<canvas width="128" height="80"></canvas>';
  const pen = box.firstChild.getContext('2d');
  let turn = 0;
  const colours = ['#335c81', '#81a633', '#a65433', '#6b3381'];
  setInterval(() => {
    turn += 1;
    pen.fillStyle = colours[Math.floor(turn / 20) % 4];
    pen.fillRect(0, 0, 128, 80);
    pen.fillStyle = '#ffffff';
    pen.fillRect((turn * 7) % 140 - 20, 20 + 10 * Math.round(Math.sin(turn / 3)), 24, 24);
    pen.fillStyle = '#000000';
    pen.fillRect(0, 74, (turn * 3) % 128, 6);
  }, 80);
}

function progressMover(box) {
  box.innerHTML = '<div class="rail"><div class="fill"></div></div>';
  const fill = box.querySelector('.fill');
  let share = 5;
  setInterval(() => { share = share >= 100 ? 0 : share + 1.5; fill.style.width = share + '%'; }, 250);
}

function startMover() {
  const kind = wish.get('mover');
  const box = document.querySelector('.mover');
  if (!box || !kind) return;
  ({ clock: clockMover, spinner: spinnerMover, video: videoMover, progress: progressMover })[kind](box);
}

function say(text) { document.getElementById('status').textContent = text; }

document.addEventListener('DOMContentLoaded', () => { look(); startMover(); });
