for (const kind of ['mousedown', 'mouseup', 'click', 'dblclick', 'auxclick', 'contextmenu', 'keydown', 'keyup']) {
  addEventListener(kind, e => {
    report(kind, {
      x: e.clientX, y: e.clientY, scale: devicePixelRatio, button: e.button, detail: e.detail, key: e.key, code: e.code, repeat: e.repeat,
      ctrl: e.ctrlKey, shift: e.shiftKey, alt: e.altKey, target: e.target.id,
    });
    if (kind == 'contextmenu' || kind.startsWith('key')) e.preventDefault();
  }, true);
}
addEventListener('mousemove', e => report('mousemove', { x: e.clientX, y: e.clientY, scale: devicePixelRatio, buttons: e.buttons }));
addEventListener('wheel', e => { report('wheel', { dx: e.deltaX, dy: e.deltaY, ctrl: e.ctrlKey }); }, { passive: true });
addEventListener('scrollend', () => report('scrollend', { x: scrollX, y: scrollY }));
source.addEventListener('dragstart', e => { e.dataTransfer.setData('text/plain', 'box'); report('dragstart', {}); });
target.addEventListener('dragover', e => e.preventDefault());
target.addEventListener('drop', e => { e.preventDefault(); report('drop', { data: e.dataTransfer.getData('text/plain') }); });
