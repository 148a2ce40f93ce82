// A press goes down and up again. A part of the page that is swapped in between would take the button away under the finger, and the
// click would be lost: the answer to a poll that comes in that moment is dropped, and the next one brings its news.
const LONGEST_MS = 3000; // a press whose end nobody hears of, behind a menu of the browser for example, holds up nothing for longer
let pressed = null;
let began = 0;

const isPolled = (element) => element.getAttribute("hx-trigger")?.includes("every ");
const isPress = (event) => event.button === 0 || event.key === " ";

for (const down of ["pointerdown", "keydown"]) {
  document.addEventListener(down, (event) => {
    if (isPress(event)) {
      pressed = event.target;
      began = event.timeStamp;
    }
  });
}
for (const up of ["pointerup", "pointercancel", "keyup"]) {
  document.addEventListener(up, () => {
    pressed = null;
  });
}

document.addEventListener("htmx:beforeSwap", (event) => {
  const { target, requestConfig } = event.detail;
  const isHeld = pressed && performance.now() - began < LONGEST_MS;
  if (isHeld && target.contains(pressed) && isPolled(requestConfig.elt)) {
    event.detail.shouldSwap = false;
  }
});

// A click on a link, or a form that is sent, leads to another page. An answer to a poll that leads elsewhere would turn back who is on the
// way there: it is dropped. Whoever is still here after some seconds got a file, and the polls count again.
const ON_THE_WAY_MS = 10_000;
let left = -ON_THE_WAY_MS;

const opensBeside = (event) => event.ctrlKey || event.metaKey || event.shiftKey;

window.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  const staysHere = !link || link.target || link.getAttribute("href").startsWith("#");
  if (!event.defaultPrevented && !staysHere && !opensBeside(event)) {
    left = performance.now();
  }
});
window.addEventListener("submit", (event) => {
  if (!event.defaultPrevented) {
    left = performance.now();
  }
});
window.addEventListener("pageshow", () => {
  left = -ON_THE_WAY_MS;
});

document.addEventListener("htmx:beforeOnLoad", (event) => {
  if (performance.now() - left < ON_THE_WAY_MS && isPolled(event.detail.elt)) {
    event.preventDefault();
  }
});
