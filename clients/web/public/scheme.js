// Runs before the first paint, so that a chosen colour scheme does not flash the other one. A file of its own because the
// content security policy allows no inline script.
(function () {
  var chosen = null;
  try {
    chosen = localStorage.getItem("motorium.scheme");
  } catch (error) {
    // Storage may be blocked; the system's scheme applies then.
  }
  var dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.classList.toggle("dark", dark);
})();
